"""Where a run's outcome goes: the workspace's rows and the run's event file."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from mince_gui.base.events import Emit, Event, Warned, ignore, to_json
from mince_gui.run.types import Control, ItemResult, Place, RunConditions
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs

TIMED_BY = ("machine", "runtime", "device", "oga_version", "platform", "cpu", "threads", "timing")
"""Conditions that a wall clock depends on: sittings that differ in one of them make no speedup."""


SMOKE_BY = ("device", "runtime", "oga_version", "ort_version", "cpu", "threads")
"""Conditions by which the smoke test's answer may rightly differ."""


class WorkspaceSink:
    """The runner's sink: every item is committed when `item` returns.

    `before` are the conditions of earlier sittings, None for the first;
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
        self._now: dict[str, Any] = {}

    def item(self, result: ItemResult, elapsed_seconds: float) -> None:
        """Commit one item."""
        stored_runs.add_item(self._ws, self._run_id, result, elapsed_seconds)

    def conditions(self, conditions: RunConditions) -> None:
        """Store the conditions, and say where they are not those of the sitting before, or of before in this one."""
        now = {**dataclasses.asdict(conditions), **self._asked, "machine": platform.node(), "changed": []}
        del now["place"]
        now |= _placed(conditions.place)
        before = self._now or self._before
        if before is not None:
            fresh = [name for name in TIMED_BY if before.get(name) != now[name]]
            now["changed"] = sorted({*before.get("changed", ()), *fresh})
            if fresh:
                self._emit(
                    Warned(
                        f"From here on the run differs from before in: {', '.join(fresh)}.",
                        "Scores count on; the run's wall clock can make no speedup any more.",
                    )
                )
        stored_runs.set_conditions(self._ws, self._run_id, now)
        first, self._now = not self._now, now
        if first:
            self._compare_smoke(now)

    def _compare_smoke(self, now: Mapping[str, Any]) -> None:
        """Tell where the smoke test's answer is not what the same model gave in the newest run that asked the same."""
        mine = now["smoke"]
        for run_id, then in stored_runs.conditions_of_others(self._ws, self._run_id):
            theirs = then.get("smoke", {})
            if then["model_sha256"] != now["model_sha256"] or theirs.get("prompt") != mine.get("prompt"):
                continue
            if list(theirs.get("ids", ())) != list(mine.get("ids", ())):
                differs = [name for name in SMOKE_BY if then.get(name) != now[name]]
                message = f"The smoke test's answer is not the one of run {run_id}, the same model"
                if differs:
                    told = ", ".join(f"{name}: {then.get(name)} there, {now[name]} here" for name in differs)
                    self._emit(Warned(f"{message}.", f"These differ: {told}."))
                else:
                    self._emit(
                        Warned(
                            f"{message}, runtime, device and processor.",
                            "A driver or a power mode may have changed, or the device does not compute the same twice.",
                        )
                    )
            return

    def place(self, place: Place) -> None:
        """Store where it runs, known better by now: also that it is where the sitting before ran after all."""
        self._now |= _placed(place)
        before = self._before or {}
        if place.device == before.get("device") and "device" not in before.get("changed", ()):
            self._now["changed"] = [name for name in self._now["changed"] if name != "device"]
        stored_runs.set_conditions(self._ws, self._run_id, self._now)

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


def _placed(place: Place) -> dict[str, Any]:
    return {"device": place.device, "device_proven": place.proven, "device_proof": place.proof}


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


def outliving(emit: Emit) -> Emit:
    """An emit to a front end that may go away (a closed pipe or terminal): it is told nothing more then."""
    front = emit

    def guarded(event: Event) -> None:
        nonlocal front
        try:
            front(event)
        except OSError:
            front = ignore

    return guarded


@contextmanager
def event_writer(path: Path, emit: Emit) -> Iterator[Emit]:
    """An emit that also appends every event to `path`, one whole line at a time.

    A front end that goes away does not end the run.
    """
    guarded = outliving(emit)
    file = _EventFile(path, guarded)

    def tell(event: Event) -> None:
        file.write(event)
        guarded(event)

    try:
        yield tell
    finally:
        file.close()
