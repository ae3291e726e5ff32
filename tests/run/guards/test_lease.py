"""Leases on devices, between real processes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mince_gui.base.errors import MinceError, UsageError
from mince_gui.run.guards import lease
from mince_gui.run.guards.lease import DeviceBusyError, holder, leases

_HOLD = """
import subprocess, sys
from pathlib import Path
from mince_gui.run.guards.lease import DeviceBusyError, leases
folder, name, *devices = sys.argv[1:]
try:
    with leases(Path(folder), devices, name):
        if name == "parent":
            subprocess.Popen([sys.executable, "-c", "input()"], close_fds=False)
        print("held", flush=True)
        sys.stdin.readline()
except DeviceBusyError as exc:
    print("busy", exc.message, flush=True)
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that takes leases, says how that went, and stays until its stdin ends."""
    with contextlib.ExitStack() as stack:

        def begin(name: str, *devices: str) -> subprocess.Popen[str]:
            words = [sys.executable, "-c", _HOLD, str(tmp_path), name, *devices]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            return process

        yield begin


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_PATIENCE_SECONDS", 0.2)


def test_a_device_is_held_by_one_process_and_a_refusal_names_it(tmp_path: Path, start: Start) -> None:
    other = start("run 7", "npu")
    assert _said(other) == "held\n"
    with pytest.raises(DeviceBusyError) as caught, leases(tmp_path, ["npu"], "run 8"):
        pass
    assert isinstance(caught.value, UsageError)
    assert f"npu is in use by run 7 (process {other.pid}, since 20" in caught.value.message
    assert "run 7" in (holder(tmp_path, "npu") or "")
    with leases(tmp_path, ["cpu"], "run 8"):
        assert "run 8" in (holder(tmp_path, "cpu") or "")
    other.communicate("\n")
    assert holder(tmp_path, "npu") is None
    with leases(tmp_path, ["npu"], "run 8"):
        pass


def test_a_killed_holder_gives_its_device_back_at_once_even_if_its_child_lives_on(tmp_path: Path, start: Start) -> None:
    parent = start("parent", "npu")
    assert _said(parent) == "held\n"
    parent.kill()
    parent.wait()
    # The child, which has the parent's stdin, has not been told to end yet.
    assert (tmp_path / "npu.json").is_file()
    assert holder(tmp_path, "npu") is None
    with leases(tmp_path, ["npu"], "run 2"):
        assert "run 2" in (holder(tmp_path, "npu") or "")
    assert parent.stdin is not None
    parent.stdin.close()
    # The child's end closes the last writer of this pipe.
    assert parent.stdout is not None
    assert parent.stdout.read() == ""


def test_of_contenders_one_wins(start: Start) -> None:
    contenders = [start(f"run {i}", "npu") for i in range(3)]
    said = [_said(process).split()[0] for process in contenders]
    for process in contenders:
        process.communicate("\n")
    assert sorted(said) == ["busy", "busy", "held"]


def test_all_devices_are_taken_or_none(tmp_path: Path) -> None:
    with leases(tmp_path, ["npu"], "run 1"):
        with pytest.raises(DeviceBusyError), leases(tmp_path, ["gpu", "npu", "cpu"], "run 2"):
            pass
        assert holder(tmp_path, "gpu") is None
        assert holder(tmp_path, "cpu") is None
        assert "run 1" in (holder(tmp_path, "npu") or "")


def test_a_device_that_is_named_twice_is_taken_once(tmp_path: Path) -> None:
    with leases(tmp_path, ["cpu", "cpu"], "run 1"):
        assert holder(tmp_path, "cpu")


def test_a_failure_inside_gives_the_device_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), leases(tmp_path, ["npu"], "run 1"):
        raise KeyError
    assert holder(tmp_path, "npu") is None


@pytest.mark.parametrize("words", ["", "[]", json.dumps({"holder": "a run"})])
def test_words_that_cannot_be_read_harm_nobody(tmp_path: Path, words: str) -> None:
    with leases(tmp_path, ["npu"], "run 1"):
        (tmp_path / "npu.json").write_text(words, encoding="utf-8")
        assert holder(tmp_path, "npu") == "another run"
        with pytest.raises(DeviceBusyError, match="another run"), leases(tmp_path, ["npu"], "run 2"):
            pass
    with leases(tmp_path, ["npu"], "run 2"):
        assert "run 2" in (holder(tmp_path, "npu") or "")


def test_a_device_that_is_given_back_in_a_moment_is_waited_for(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_PATIENCE_SECONDS", 30.0)
    other = start("run 1", "npu")
    assert _said(other) == "held\n"
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()
    with leases(tmp_path, ["npu"], "run 2"):
        assert "run 2" in (holder(tmp_path, "npu") or "")


def test_devices_whose_names_are_no_file_names_are_leased_too(tmp_path: Path) -> None:
    with leases(tmp_path, ["GPU:0/../x"], "run 1"):
        assert holder(tmp_path, "GPU:0/../x")
    assert {path.parent for path in tmp_path.rglob("*.lock")} == {tmp_path}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("", encoding="utf-8")
    with pytest.raises(MinceError) as caught, leases(place / "leases", ["npu"], "run 1"):
        pass
    assert not isinstance(caught.value, DeviceBusyError)
    assert str(place) in caught.value.remedy
    assert holder(place / "leases", "npu") is None
