"""Holds off the machine's sleep while a run is on."""

from __future__ import annotations

import contextlib
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from mince_gui.run.runtimes import bundled_runtime, clean_environment

_INHIBIT = "systemd-inhibit"
_WHY = "a run is on"
_ANSWER_SECONDS = 5.0
_LEAVE_SECONDS = 2.0
_MARK = b"held\n"
# winbase.h
_ES_CONTINUOUS = 0x80000000
_ES_SYSTEM_REQUIRED = 0x00000001


@contextlib.contextmanager
def awake() -> Iterator[str]:
    """Hold off sleep while inside, where the system lets us; leave on the thread that entered.

    Yields words for a run's conditions: "held off by ..." or "not held off: why". It never fails. The display may go
    dark, and a user who closes the lid or a laptop that runs on a battery may sleep nevertheless (see run.clock).
    """
    if sys.platform == "win32":
        import ctypes

        with _held_by_windows(ctypes.windll.kernel32.SetThreadExecutionState) as words:
            yield words
    elif sys.platform == "linux":
        with _held_by_systemd() as words:
            yield words
    else:
        yield f"not held off: not known how on {sys.platform}"


@contextlib.contextmanager
def _held_by_windows(set_state: Callable[[int], int]) -> Iterator[str]:
    """`set_state` is SetThreadExecutionState: it holds for the calling thread, and ends with it."""
    if not set_state(_ES_CONTINUOUS | _ES_SYSTEM_REQUIRED):
        yield "not held off: Windows refused"
        return
    try:
        yield "held off by Windows"
    finally:
        set_state(_ES_CONTINUOUS)


@contextlib.contextmanager
def _held_by_systemd() -> Iterator[str]:
    """systemd-inhibit holds sleep off while its command lives: here `cat`, which ends with our end of its stdin.

    So even a runner that is killed leaves nothing behind. What cat gives back proves that the lock was taken, since it
    is started only then.
    """
    program, cat = shutil.which(_INHIBIT), shutil.which("cat")
    if program is None or cat is None:
        yield f"not held off: {_INHIBIT} is not there"
        return
    words = [program, "--what=sleep:idle", "--who=mince", f"--why={_WHY}", "--mode=block", cat]
    try:
        process = subprocess.Popen(  # noqa: S603  # a fixed command
            words,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=clean_environment(bundled_runtime()),
            start_new_session=True,
        )
    except OSError as exc:
        yield f"not held off: {_INHIBIT} could not be started: {exc}"
        return
    try:
        answer = _answer(process)
        if not answer.startswith("held"):
            _end(process)
        yield answer
    finally:
        _end(process)


def _answer(process: subprocess.Popen[bytes]) -> str:
    """Words for how systemd-inhibit answered; bounded in time, whatever is at the other end."""
    assert process.stdin is not None
    assert process.stdout is not None
    # One that refuses has broken the pipe already, or does so before cat would have answered.
    with contextlib.suppress(OSError):
        process.stdin.write(_MARK)
    until = time.monotonic() + _ANSWER_SECONDS
    said = b""
    while _MARK not in said:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return f"not held off: {_INHIBIT} did not answer within {_ANSWER_SECONDS:.0f} s"
        more = process.stdout.read(1 << 12)
        if not more:
            last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
            return f"not held off: {_INHIBIT} refused: {last}" if last else f"not held off: {_INHIBIT} refused"
        said = (said + more)[-(1 << 16) :]
    return f"held off by {_INHIBIT}"


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    for step in (None, process.terminate, process.kill):
        if step is not None:
            step()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LEAVE_SECONDS)
            break
    process.stdout.close()
