"""How a child process ended, in words: exit codes and signals become an `Outcome`."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from mince_gui.run.types import Outcome

_NTSTATUS = {
    0xC0000005: "access violation",
    0xC0000006: "a page could not be read from disk",
    0xC0000017: "not enough memory",
    0xC000001D: "illegal instruction: a library was built for another processor",
    0xC00000FD: "stack overflow",
    0xC0000135: "a DLL was not found",
    0xC0000139: "a DLL lacks a function: versions do not match",
    0xC000013A: "ended by Ctrl-C",
    0xC0000142: "a DLL could not start",
    0xC00002B6: "the device was removed or went offline",
    0xC0000374: "heap corruption",
    0xC0000409: "fail-fast or stack buffer overrun",
    0xE06D7363: "uncaught C++ exception",
}

_SIGNALS = {
    "SIGABRT": "native code aborted",
    "SIGBUS": "bad memory access",
    "SIGFPE": "arithmetic fault",
    "SIGILL": "illegal instruction: a library was built for another processor",
    # Who sent it cannot be known: the system does so when memory runs out, and so may any user.
    "SIGKILL": "killed from outside, by the system when memory ran out or by someone",
    "SIGSEGV": "access violation",
    "SIGTERM": "asked to end from outside",
}


def describe_exit(returncode: int) -> tuple[str, str | None]:
    """Words for an exit code, and the signal's name if one ended the process (POSIX: negative codes)."""
    if returncode < 0 and returncode >= -64:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = f"signal {-returncode}"
        return f"{name} ({_SIGNALS[name]})" if name in _SIGNALS else name, name
    status = returncode & 0xFFFFFFFF
    if status in _NTSTATUS:
        return f"0x{status:08X} ({_NTSTATUS[status]})", None
    if status >= 0xC0000000:
        return f"0x{status:08X} (native fault)", None
    return f"exit code {returncode}", None


def outcome_of_exit(returncode: int, *, doing: str, asked: bool = False, stderr: Sequence[str] = ()) -> Outcome:
    """The outcome of a worker that is gone.

    `doing` says what it was doing, for people ("while loading the model"); `asked` means that we asked
    it to end, so that its end is our wish, whatever code a native library leaves at teardown.
    """
    words, name = describe_exit(returncode)
    tail = tuple(stderr)
    if asked:
        detail = "ended as asked" if returncode == 0 else f"ended as asked, with {words} at teardown"
        return Outcome("stopped", detail, returncode, name, tail)
    if returncode == 0:
        return Outcome("crashed", f"the worker left {doing} without being asked (exit code 0)", 0, None, tail)
    return Outcome("crashed", f"the worker crashed {doing}: {words}", returncode, name, tail)


def hung(*, doing: str, seconds: float, limit: float, stderr: Sequence[str] = ()) -> Outcome:
    """The outcome of a worker that was silent for `seconds` where `limit` seconds were allowed, and was killed."""
    detail = f"the worker gave no sign of life for {seconds:.0f} s {doing} (limit {limit:.0f} s) and was killed"
    return Outcome("hung", detail, None, None, tuple(stderr))


def not_started(detail: str, *, code: int | None = None, stderr: Sequence[str] = ()) -> Outcome:
    """The outcome of a worker that never said hello."""
    words, name = describe_exit(code) if code is not None else ("", None)
    return Outcome("not_started", f"{detail}: {words}" if words else detail, code, name, tuple(stderr))
