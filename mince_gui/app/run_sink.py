"""Where a run's outcome goes: the workspace's rows and the run's event file."""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from mince_gui.base.events import Emit, Event, Warned, ignore, to_json
from mince_gui.run.types import Control, ItemResult, RunConditions
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs

TIMED_BY = ("machine", "runtime", "device", "oga_version", "platform", "cpu", "threads", "timing")
"""Conditions that a wall clock depends on: sittings that differ in one of them make no speedup."""


class WorkspaceSink:
    """The runner's sink: every item is committed when `item` returns.

    It also keeps the run's wall clock: the time from one commit to the next, pauses left out, and of an item that
    was tried again only the attempt that counted. `before` are the conditions of earlier sittings, None for the first;
    `asked` says how the items are asked, and is kept with the conditions.
    """

    def __init__(
        self, ws: Workspace, run_id: str, before: Mapping[str, Any] | None, emit: Emit, asked: Mapping[str, Any]
    ) -> None:
        self._ws = ws
        self._run_id = run_id
        self._before = before
        self._emit = emit
        self._asked = asked
        self._wish: Control = "run"
        self._wish_id = 0
        self._since = time.perf_counter()

    def item(self, result: ItemResult) -> None:
        """Commit one item with the time since the one before it."""
        elapsed = time.perf_counter() - self._since
        if result.attempts > 1 and result.timing is not None:
            # The crash and the model's reload are no part of what an item takes.
            elapsed = result.timing.wall_seconds
        stored_runs.add_item(self._ws, self._run_id, result, elapsed)
        self._since = time.perf_counter()

    def conditions(self, conditions: RunConditions) -> None:
        """Store the conditions; the first item's clock starts here, after the model is loaded."""
        now = {**dataclasses.asdict(conditions), **self._asked, "machine": platform.node(), "changed": []}
        if self._before is not None:
            fresh = [name for name in TIMED_BY if self._before.get(name) != now[name]]
            now["changed"] = sorted({*self._before.get("changed", ()), *fresh})
            if fresh:
                self._emit(
                    Warned(
                        f"This sitting differs from the one before in: {', '.join(fresh)}.",
                        "Scores count on; the run's wall clock can make no speedup any more.",
                    )
                )
        stored_runs.set_conditions(self._ws, self._run_id, now)
        self._since = time.perf_counter()

    def control(self) -> Control:
        """The newest wish; a pause lasts until another wish comes."""
        asked = stored_runs.asked(self._ws, self._run_id)
        if asked is not None:
            self._wish_id, self._wish = asked
        return self._wish

    def took_control(self, control: Control) -> None:
        """Stamp the wish as taken and show the run's state."""
        stored_runs.took(self._ws, self._run_id, self._wish_id)
        if control == "pause":
            stored_runs.set_state(self._ws, self._run_id, "paused")
            return
        self._wish = "run" if control == "skip" else control
        if control == "run":
            stored_runs.set_state(self._ws, self._run_id, "running")
            self._since = time.perf_counter()


class _EventFile:
    """Appends whole lines; a disk that takes no more ends the file, not the run: the rows are the truth."""

    def __init__(self, path: Path, emit: Emit) -> None:
        self._path = path
        self._emit = emit
        self._file: TextIO | None = None
        with self._guarded():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="ascii", newline="\n")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            self.close()
            self._emit(
                Warned(f"{self._path} cannot be written: {exc.strerror}.", "A window sees this run by its rows.")
            )

    def write(self, event: Event) -> None:
        if self._file is not None:
            with self._guarded():
                self._file.write(to_json(event) + "\n")
                self._file.flush()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:
                # What could not be flushed was told already.
                return


@contextmanager
def event_writer(path: Path, emit: Emit) -> Iterator[Emit]:
    """An emit that also appends every event to `path`, one whole line at a time.

    A front end that goes away (a closed pipe or terminal) is told nothing more; the run goes on.
    """
    front = emit

    def guarded(event: Event) -> None:
        nonlocal front
        try:
            front(event)
        except OSError:
            front = ignore

    file = _EventFile(path, guarded)

    def tell(event: Event) -> None:
        file.write(event)
        guarded(event)

    try:
        yield tell
    finally:
        file.close()
