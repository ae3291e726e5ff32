"""Models and workers for the tests of `run`: the real worker, the real OGA, a real model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mince_gui.run import Runtime, WorkerProcess, bundled_runtime, external_runtime, read_model_folder
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


@pytest.fixture(scope="session")
def runtime() -> Runtime:
    """The runtime under test: the bundled one, or the Python that MINCE_TEST_PYTHON names (see tests/oga_matrix.py)."""
    python = os.environ.get("MINCE_TEST_PYTHON")
    return external_runtime(Path(python)) if python else bundled_runtime()


@pytest.fixture(scope="module")
def worker(runtime: Runtime, model_dir: Path, load_request: Load) -> Iterator[WorkerProcess]:
    """A worker with its model loaded, for the tests of one module that leave it alive."""
    with WorkerProcess(runtime) as process:
        process.load(load_request(model_dir))
        yield process


@pytest.fixture(scope="module")
def shared_worker(runtime: Runtime, shared_model: Path, load_request: Load) -> Iterator[WorkerProcess]:
    with WorkerProcess(runtime) as process:
        # Nothing hangs on the number of threads, and one takes the least time where others use the machine too.
        process.load(load_request(shared_model, threads=1))
        yield process


@pytest.fixture
def script_runtime(runtime: Runtime) -> Callable[[str], Runtime]:
    """A runtime whose "worker" is a script given as text."""

    def build(source: str) -> Runtime:
        return Runtime("script", (runtime.command[0], "-I", "-c", source), runtime.kind)

    return build


@pytest.fixture
def patched_runtime(runtime: Runtime, script_runtime: Callable[[str], Runtime]) -> Callable[[str], Runtime]:
    """The real worker file, with a few lines run on its globals `w` before its main()."""
    path = runtime.command[-1]

    def build(source: str) -> Runtime:
        head = f"import os, runpy, signal, sys, time\nw = runpy.run_path({path!r}, run_name='worker')\n"
        return script_runtime(f"{head}{source}\nw['main']()\n")

    return build
