"""Resumes a run and ends it at its first item, in a process of its own.

    python resume.py WORKSPACE RUN

Prints one JSON object in seconds: `to_first_item` from the start of `execute` to the first request of an item,
`worker` the part of it in which a worker was started, loaded its model and was looked at (smoke test, the machine's
state), `own` the rest: what our own side needs, and `own_cpu` how long that kept the processor.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mince_gui.app.run import execute
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.run.bring_up import Crew
from mince_gui.run.supervisor import WorkerProcess


class _Clock:
    """Wall clock and processor seconds."""

    def __init__(self) -> None:
        self._begin = self._now()
        self._worker = (0.0, 0.0)
        self.figures: dict[str, float] = {}

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def around(self, part: Callable[..., Any]) -> Callable[..., Any]:
        """The same function; its time is the worker's."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            wall, cpu = self._now()
            try:
                return part(*args, **kwargs)
            finally:
                now = self._now()
                self._worker = self._worker[0] + now[0] - wall, self._worker[1] + now[1] - cpu

        return timed

    def stop(self) -> None:
        """The first item is asked."""
        wall, cpu = (now - begin for now, begin in zip(self._now(), self._begin, strict=True))
        self.figures = {
            "to_first_item": wall, "worker": self._worker[0], "own": wall - self._worker[0],
            "own_cpu": cpu - self._worker[1],
        }  # fmt: skip


def measure(workspace: Path, run_id: str) -> dict[str, float]:
    """The seconds of one resume."""
    cancel = CancelToken()

    def first(*args: Any, **kwargs: Any) -> Any:
        clock.stop()
        cancel.cancel()
        raise CancelledError("That was all.")

    clock = _Clock()
    for owner, name in ((Crew, "bring_up"), (Crew, "first_look")):
        setattr(owner, name, clock.around(getattr(owner, name)))
    look = Crew.first_look

    def then_items(*args: Any, **kwargs: Any) -> Any:
        found = look(*args, **kwargs)
        for name in ("choice", "generate"):
            setattr(WorkerProcess, name, first)
        return found

    Crew.first_look = then_items  # type: ignore[method-assign] # the bench's own hook
    execute(workspace, run_id, cancel=cancel)
    return clock.figures


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])) + "\n")
