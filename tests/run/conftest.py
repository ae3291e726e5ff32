"""Models and workers for the tests of `run`: the real worker, the real OGA, a real model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mince_gui.run import Runtime, WorkerProcess, bundled_runtime, read_model_folder
from mince_gui.run.protocol import LoadRequest

Load = Callable[..., LoadRequest]


@pytest.fixture(scope="session")
def shared_model(shared: Path) -> Path:
    return shared / "models" / "smollm2-135m-instruct-int4-cpu"


@pytest.fixture(scope="session")
def model_dir(demo: Path) -> Path:
    """The demo's INT4 model."""
    return demo / str(json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"])


@pytest.fixture(scope="session")
def load_request() -> Load:
    def build(path: Path, *, threads: int | None = None, ceiling: int | None = None) -> LoadRequest:
        folder = read_model_folder(path)
        return LoadRequest(
            str(path), threads, {}, ceiling or folder.ceiling, folder.kv_length, folder.eos_ids, folder.bos_id
        )

    return build


@pytest.fixture(scope="module")
def worker(model_dir: Path, load_request: Load) -> Iterator[WorkerProcess]:
    """A worker with its model loaded, for the tests of one module that leave it alive."""
    with WorkerProcess(bundled_runtime()) as process:
        process.load(load_request(model_dir))
        yield process


@pytest.fixture(scope="module")
def shared_worker(shared_model: Path, load_request: Load) -> Iterator[WorkerProcess]:
    with WorkerProcess(bundled_runtime()) as process:
        process.load(load_request(shared_model))
        yield process


@pytest.fixture
def script_runtime() -> Callable[[str], Runtime]:
    """A runtime whose "worker" is a script given as text."""

    def build(source: str) -> Runtime:
        return Runtime("script", (sys.executable, "-I", "-c", source), "bundled")

    return build


@pytest.fixture
def patched_runtime(script_runtime: Callable[[str], Runtime]) -> Callable[[str], Runtime]:
    """The real worker file, with a few lines run on its globals `w` before its main()."""
    path = bundled_runtime().command[-1]

    def build(source: str) -> Runtime:
        head = f"import os, runpy, signal, sys, time\nw = runpy.run_path({path!r}, run_name='worker')\n"
        return script_runtime(f"{head}{source}\nw['main']()\n")

    return build
