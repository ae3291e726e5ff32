"""System tools: bounded in time, without a shell, without a window; their absence is a value."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import psutil

from mince_gui.run.devices.reading import Reading
from mince_gui.run.runtimes import foreign_environment

_POLL_SECONDS = 0.02
_LEAVE_SECONDS = 0.5
_OUTPUT_BYTES = 4 << 20


class Tool:
    """One tool, started at once. `poll` never waits; close it, or wait for its answer.

    Its output goes to a file and not to a pipe: a grandchild that keeps a pipe open could not be waited for in
    bounded time.
    """

    def __init__(self, command: Sequence[str], seconds: float, *, extra: dict[str, str] | None = None) -> None:
        self._name = Path(command[0]).name
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: Reading[str] | None = None
        self._out: IO[bytes] | None = None
        try:
            self._out = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the tool
        except OSError as exc:
            self._finish(Reading(None, f"{self._name} was not asked: no temporary file could be made ({exc.strerror})"))
            return
        try:
            self._process = subprocess.Popen(  # noqa: S603  # a system tool's own path and fixed words, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=subprocess.STDOUT,
                env={**foreign_environment(), **(extra or {})},
                creationflags=_creation_flags(),
                start_new_session=True,
            )
        except FileNotFoundError:
            self._finish(Reading(None, f"{self._name} is not there"))
        except OSError as exc:
            self._finish(Reading(None, f"{self._name} could not be started: {exc.strerror or exc}"))

    def poll(self) -> Reading[str] | None:
        """The tool's output, or why there is none; None while it still works. Ends a tool that is over its time."""
        if self._answer is None and self._process is not None:
            code = self._process.poll()
            if code is not None:
                self._finish(self._said(code))
            elif time.monotonic() > self._end:
                _end_tree(self._process)
                self._finish(Reading(None, f"{self._name} did not answer within {self._seconds:.3g} s"))
        return self._answer

    def wait(self) -> Reading[str]:
        """The answer; waits for the tool, at most as long as it was given."""
        while (answer := self.poll()) is None:
            assert self._process is not None
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL_SECONDS)
        return answer

    def close(self) -> None:
        """End the tool if it still works."""
        if self._process is not None and self._answer is None:
            _end_tree(self._process)
            self._finish(Reading(None, f"{self._name} was ended"))

    def _finish(self, answer: Reading[str]) -> None:
        self._answer = answer
        if self._out is not None:
            self._out.close()

    def _said(self, code: int) -> Reading[str]:
        assert self._out is not None
        self._out.seek(0)
        text = _text(self._out.read(_OUTPUT_BYTES))
        if code == 0:
            return Reading(text)
        last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
        return Reading(None, f"{self._name} ended with code {code}" + (f": {last:.200}" if last else ""))


def _creation_flags() -> int:
    """No console window may flash up on Windows."""
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0


def system_program(tail: str) -> Path:
    """A program of Windows by its whole path: a bare name would be looked for in the current directory first."""
    return Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", tail)


def run_tool(command: Sequence[str], seconds: float) -> Reading[str]:
    """What a tool writes, or why there is nothing; takes at most `seconds` and a moment to end it."""
    return Tool(command, seconds).wait()


def _text(raw: bytes) -> str:
    """A tool's output: UTF-16 as some Windows tools write it, else UTF-8, else the machine's own code page."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("oem" if sys.platform == "win32" else "latin-1", "replace")


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it started. One that a driver holds may survive: it is not waited for longer."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    if sys.platform != "win32":
        # Those whose parent has gone already are no children any more, but still of the group.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, 9)
    with contextlib.suppress(OSError):
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LEAVE_SECONDS)
