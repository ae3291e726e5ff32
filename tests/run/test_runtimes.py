"""Runtimes and the environment that their workers get."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mince_gui.base.errors import InputError
from mince_gui.run import WorkerProcess, bundled_runtime, external_runtime
from mince_gui.run.runtime_facts import probe_runtime
from mince_gui.run.runtimes import clean_environment


def test_a_path_that_is_no_python_is_refused_with_a_way_out(tmp_path: Path) -> None:
    plain = tmp_path / "python.txt"
    plain.write_text("no program", encoding="utf-8")
    plain.chmod(0o644)
    cases = {tmp_path / "none": "no Python", tmp_path: "folder"}
    if os.name != "nt":
        cases[plain] = "cannot be executed"
    for path, words in cases.items():
        with pytest.raises(InputError) as caught:
            external_runtime(path)
        assert words in caught.value.message
        assert "onnxruntime-genai" in caught.value.remedy


def test_an_external_python_is_probed_and_named_after_its_environment() -> None:
    runtime = external_runtime(Path(sys.executable))
    assert runtime.kind == "external"
    assert runtime.name == Path(sys.executable).parent.parent.name
    assert probe_runtime(runtime).oga_version


def test_the_link_of_a_virtual_environment_is_kept(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("links need a right on Windows")
    link = tmp_path / "env" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    assert external_runtime(link).command[0] == str(link)
    assert external_runtime(link).name == "env"


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no programs in /bin")
def test_a_python_in_no_named_folder_is_called_after_itself() -> None:
    assert external_runtime(Path("/bin/sh")).name == "sh"


def test_what_belongs_to_this_program_alone_is_not_handed_on() -> None:
    base = {"PYTHONPATH": "x", "PYTHONHOME": "x", "QT_PLUGIN_PATH": "x", "_MEIPASS2": "x", "HOME": "h", "PATH": "p"}
    assert clean_environment(bundled_runtime(), base) == {"HOME": "h", "PATH": "p"}


def test_an_external_environment_comes_first_on_path() -> None:
    path = clean_environment(external_runtime(Path(sys.executable)), {"PATH": "p"})["PATH"]
    assert path.split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert path.split(os.pathsep)[-1] == "p"


def test_a_bundle_gives_the_library_path_back_and_a_plain_python_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"LD_LIBRARY_PATH": "bundle", "LD_LIBRARY_PATH_ORIG": "xrt", "DYLD_LIBRARY_PATH": "bundle"}
    # A Ryzen AI runtime on Linux needs the user's own library path.
    assert clean_environment(bundled_runtime(), base)["LD_LIBRARY_PATH"] == "bundle"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert clean_environment(bundled_runtime(), base) == {"LD_LIBRARY_PATH": "xrt"}
    assert bundled_runtime().command[1:] == ("--worker",)


def test_a_broken_python_variable_of_ours_does_not_reach_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "nowhere")
    with WorkerProcess(bundled_runtime()) as worker:
        worker.ping()


@pytest.mark.skipif(sys.platform == "win32", reason="AMD's Linux environments have another shape")
def test_a_ryzen_ai_environment_is_activated_as_amds_scripts_do(tmp_path: Path) -> None:
    """A folder of the shape that AMD's Linux installer makes; its library is empty."""
    library = tmp_path / "venv/deployment/lib/libonnxruntime_providers_ryzenai.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"")
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    # The user's own variable names another release: the runtime's own library is meant.
    base = {"PATH": "p", "LD_LIBRARY_PATH": "l", "RYZENAI_EP_PATH": "/opt/other/lib.so"}
    kept = clean_environment(external_runtime(python), base)
    assert kept["RYZENAI_EP_PATH"] == str(library)
    assert kept["RYZEN_AI_INSTALLATION_PATH"] == str(tmp_path / "venv")
    assert kept["LD_LIBRARY_PATH"].split(":")[-2:] == [str(library.parent), "l"]
    assert clean_environment(external_runtime(Path(sys.executable)), base)["RYZENAI_EP_PATH"] == "/opt/other/lib.so"
