"""A worker's process, and its end by a ladder: ask, terminate, kill, each step bounded."""

from __future__ import annotations

import contextlib
import subprocess

import psutil

from mince_gui.run.deadlines import Deadlines


class Child:
    """The process that we started, and the one behind it where that is a launcher of the process with the model."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._behind: list[psutil.Process] = []

    def named(self, pid: int) -> None:
        """The worker says that it is `pid`: it is ended too if it descends from our process.

        If it does not it is none of ours: a worker in a container names an id that means another process here.
        """
        with contextlib.suppress(psutil.Error):
            self._behind = [process for process in self._below() if process.pid == pid]

    def _below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def wait(self, seconds: float) -> int | None:
        """The exit code; None if the process is still there after `seconds`."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def close_stdin(self, last: bytes = b"") -> None:
        """Write `last` and close: both are for a worker that still listens."""
        stdin = self.process.stdin
        assert stdin is not None
        if not stdin.closed:
            # A worker that is gone already has broken the pipe; there is nobody left to tell.
            with contextlib.suppress(OSError):
                stdin.write(last)
            with contextlib.suppress(OSError):
                stdin.close()

    def end(self, ask: bytes | None, deadlines: Deadlines) -> None:
        """End it, by writing `ask` first (None = without asking). Some outlive even this: see `survivors`."""
        if not self._behind:
            # Not named yet: whatever a launcher has started is what was to become the worker.
            with contextlib.suppress(psutil.Error):
                self._behind = self._below()
        self._end_process(ask, deadlines)
        # A launcher that was killed leaves the process behind it; one that was asked may be a little ahead of it.
        _, alive = psutil.wait_procs(self._behind, timeout=deadlines.terminate if ask is not None else 0)
        for process in alive:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=deadlines.kill)

    def _end_process(self, ask: bytes | None, deadlines: Deadlines) -> None:
        process = self.process
        if ask is not None and process.poll() is None:
            self.close_stdin(ask)
            if self.wait(deadlines.ask) is not None:
                return
        for step, seconds in ((process.terminate, deadlines.terminate), (process.kill, deadlines.kill)):
            if process.poll() is not None:
                break
            # Windows denies it for a process that is in the hands of a driver.
            with contextlib.suppress(OSError):
                step()
            if self.wait(seconds) is not None:
                break
        self.close_stdin()

    def survivors(self) -> list[int]:
        """Ids of the processes that are still there. After `end`, a driver holds them; only a restart frees it."""
        alive = [self.process.pid] if self.process.poll() is None else []
        for process in self._behind:
            with contextlib.suppress(psutil.Error):
                # A zombie waits for its parent only: its device is free.
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    alive.append(process.pid)
        return alive
