"""System tools: bounded, ended with their children, absence a value."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from mince_gui.run.devices.tools import Tool, run_tool, system_program


def _python(source: str) -> list[str]:
    return [sys.executable, "-I", "-c", source]


def test_what_a_tool_writes_is_its_answer_also_from_stderr() -> None:
    answer = run_tool(_python("import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr)"), 60)
    assert answer.value is not None
    assert answer.value.split() == ["out", "err"]
    assert answer.unknown == ""


def test_a_tool_that_is_not_there_is_a_reason_and_no_error(tmp_path: Path) -> None:
    answer = run_tool([str(tmp_path / "xrt-smi"), "examine"], 60)
    assert (answer.value, answer.unknown) == (None, "xrt-smi is not there")


def test_a_file_that_cannot_be_executed_is_a_reason(tmp_path: Path) -> None:
    plain = tmp_path / "tool"
    plain.write_text("no program", encoding="utf-8")
    plain.chmod(0o644)
    assert "could not be started" in run_tool([str(plain)], 60).unknown


def test_a_tool_that_fails_is_told_with_its_code_and_last_line() -> None:
    answer = run_tool(_python("import sys; print('first'); print('access denied'); print(); sys.exit(5)"), 60)
    assert answer.value is None
    assert answer.unknown.endswith("ended with code 5: access denied")


def test_a_hanging_tool_is_ended_and_told() -> None:
    tool = Tool(_python("import threading; threading.Event().wait()"), 0.2)
    answer = tool.wait()
    assert answer.value is None
    assert answer.unknown.endswith("did not answer within 0.2 s")
    assert tool.wait() is answer


@pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
def test_what_a_tool_has_started_ends_with_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    child = f"import os, threading; open({str(pipe)!r}, 'w').write(str(os.getpid())); threading.Event().wait()"
    # Reading a named pipe waits for its writer: the grandchild is there when its number is.
    tool = Tool(_python(f"import subprocess, sys, threading; subprocess.Popen([sys.executable, '-I', '-c', {child!r}]);"
                        "threading.Event().wait()"), 300)  # fmt: skip
    grandchild = psutil.Process(int(pipe.read_text(encoding="ascii")))
    assert tool.poll() is None
    tool.close()
    psutil.wait_procs([grandchild], timeout=30)
    assert not grandchild.is_running()
    assert tool.wait().unknown.endswith("was ended")


def test_windows_tools_that_write_utf16_or_broken_text_are_read() -> None:
    wide = run_tool(_python("import sys; sys.stdout.buffer.write('Größe'.encode('utf-16'))"), 60)
    assert wide.value == "Größe"
    broken = run_tool(_python("import sys; sys.stdout.buffer.write(b'abc' + bytes([255]))"), 60)
    assert broken.value is not None
    assert broken.value.startswith("abc")


def test_what_belongs_to_this_program_does_not_reach_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "nowhere")
    monkeypatch.setenv("QT_PLUGIN_PATH", "ours")
    answer = run_tool([sys.executable, "-c", "import os; print('QT_PLUGIN_PATH' in os.environ)"], 60)
    assert answer.value is not None
    assert answer.value.strip() == "False"


def test_without_room_for_a_tools_output_there_is_a_reason_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    tool = Tool(_python("print(1)"), 60)
    answer = tool.wait()
    assert answer.value is None
    assert "no temporary file" in answer.unknown
    tool.close()


def test_programs_of_windows_are_called_by_their_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMROOT", "D:\\Win")
    assert system_program("pnputil.exe") == Path("D:\\Win", "System32", "pnputil.exe")
    monkeypatch.delenv("SYSTEMROOT")
    assert system_program("pnputil.exe").parts[0].startswith("C:\\")
