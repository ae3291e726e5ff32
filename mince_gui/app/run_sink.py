"""Where a run's outcome goes: the workspace's rows and the run's event file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mince_gui.base.events import Emit, Event, to_json
from mince_gui.run.types import Control, ItemResult, RunConditions
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs


class WorkspaceSink:
    """The runner's sink: every item is committed when `item` returns.

    It also keeps the run's wall clock: the time from one commit to the next, pauses left out.
    """

    def __init__(self, ws: Workspace, run_id: str) -> None:
        self._ws = ws
        self._run_id = run_id
        self._wish: Control = "run"
        self._since = time.perf_counter()

    def item(self, result: ItemResult) -> None:
        """Commit one item with the time since the one before it."""
        elapsed = time.perf_counter() - self._since
        stored_runs.add_item(self._ws, self._run_id, result, elapsed)
        self._since = time.perf_counter()

    def conditions(self, conditions: RunConditions) -> None:
        """Store the conditions; the first item's clock starts here, after the model is loaded."""
        stored_runs.set_conditions(self._ws, self._run_id, conditions)
        self._since = time.perf_counter()

    def control(self) -> Control:
        """The newest wish; a pause lasts until another wish comes."""
        self._wish = stored_runs.asked(self._ws, self._run_id) or self._wish
        return self._wish

    def took_control(self, control: Control) -> None:
        """Stamp the wish as taken and show the run's state."""
        stored_runs.took(self._ws, self._run_id)
        if control == "pause":
            stored_runs.set_state(self._ws, self._run_id, "paused")
            return
        self._wish = "run" if control == "skip" else control
        if control == "run":
            stored_runs.set_state(self._ws, self._run_id, "running")
            self._since = time.perf_counter()


@contextmanager
def event_writer(path: Path, emit: Emit) -> Iterator[Emit]:
    """An emit that also appends every event to `path`, one whole line at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="ascii", newline="\n") as file:

        def tell(event: Event) -> None:
            file.write(to_json(event) + "\n")
            file.flush()
            emit(event)

        yield tell
