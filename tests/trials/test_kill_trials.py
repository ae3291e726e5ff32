"""Kills at random moments of a run's whole life: no finished item is lost or repeated, in any trial.

Five trials of each kind run with the other tests; a hundred of each: `pytest tests/trials --trials 100`. The number in
brackets behind a failed trial's name is its seed.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.listings import show_run
from mince_gui.app.run import RunOrder, create
from mince_gui.run.deadlines import DOING
from mince_gui.store.runs import StoredItem

# Choices take one forward pass, text takes many: kills hit both in the middle of an item.
ITEMS = {"demo-choice-full": 20, "demo-math-full": 12}
_PATIENCE = 120

Event = dict[str, Any]
Items = Mapping[str, StoredItem]


class Sitting:
    """One `mince run --resume`, and the events that it told. A last line that a kill cut short was not told."""

    def __init__(self, workspace: Path, run_id: str) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []
        words = [sys.executable, "-m", "mince_gui", "run", "--resume", run_id, "--workspace", str(workspace)]
        self._begin = time.monotonic()
        self.process = subprocess.Popen(
            [*words, "--events", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def listen(self, count: int | None = None) -> None:
        """Read events until there are `count`, or to the end."""
        assert self.process.stdout is not None
        while count is None or len(self.events) < count:
            line = self.process.stdout.readline()
            if not line.endswith("\n"):
                return
            self.events.append(json.loads(line))
            self.times.append(time.monotonic() - self._begin)

    def end(self) -> int:
        """Hear it out; its exit code."""
        self.listen()
        self.process.communicate(timeout=_PATIENCE)
        return self.process.returncode

    def items(self) -> list[Event]:
        """The items that were told as committed."""
        return [event for event in self.events if event["type"] == "ItemDone"]

    def told(self) -> str:
        """All that was told in words."""
        return " ".join(str(event.get("message", "")) + " " + str(event.get("detail", "")) for event in self.events)


@contextlib.contextmanager
def _sitting(workspace: Path, run_id: str) -> Iterator[Sitting]:
    sitting = Sitting(workspace, run_id)
    try:
        yield sitting
    finally:
        if sitting.process.poll() is None:
            sitting.process.kill()
        sitting.process.communicate(timeout=_PATIENCE)


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody killed: its items, and when (seconds from its start) it told each event, and ended."""

    items: Items
    events: list[Event]
    times: list[float]


@pytest.fixture(scope="session")
def undisturbed(workspace: Path) -> Mapping[str, Undisturbed]:
    found = {}
    for subset, count in ITEMS.items():
        run_id = _create(workspace, subset)
        with _sitting(workspace, run_id) as sitting:
            begin = time.monotonic()
            assert sitting.end() == 0
            found[subset] = Undisturbed(
                _items(workspace, run_id), sitting.events, [*sitting.times, time.monotonic() - begin]
            )
        assert len(found[subset].items) == count
    return found


def _create(workspace: Path, subset: str) -> str:
    return create(workspace, RunOrder(model_dir(), subset, limit=ITEMS[subset]))


def _items(workspace: Path, run_id: str) -> Items:
    rows = show_run(workspace, run_id)[1]
    keys = [row.item_key for row in rows]
    assert len(set(keys)) == len(keys)
    return {row.item_key: row for row in rows}


def _moment(draw: random.Random, run: Undisturbed, first: int) -> tuple[int, float]:
    """When to kill, from the event `first` on: behind how many events, and how many seconds later.

    Half the trials take any moment of the run's life, most of which is its start; for the other half every step
    between two events is as likely as any other, however short it is.
    """
    times = [0.0, *run.times]
    if draw.random() < 0.5:
        moment = draw.uniform(times[first], times[-1])
        behind = bisect.bisect_right(times, moment, hi=len(times) - 1) - 1
        return behind, moment - times[behind]
    behind = draw.randrange(first, len(run.times))
    return behind, draw.uniform(0, times[behind + 1] - times[behind])


def _let_pass(process: subprocess.Popen[str], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)


def _worker_of(process: subprocess.Popen[str]) -> psutil.Process | None:
    """The runner's worker, as soon as it has one; None if the runner ends without."""
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(process.pid).children():
                if any(word.endswith("worker.py") for word in child.cmdline()):
                    return child
    return None


def _left(config: str) -> list[psutil.Process]:
    """Processes that one of this trial's processes started: they have its settings folder in their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("MINCE_CONFIG") == config and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    _, alive = psutil.wait_procs(_left(str(tmp_path / "config")), timeout=_PATIENCE)
    assert not alive


def _finish(workspace: Path, run_id: str, killed: Sitting, run: Undisturbed) -> int:
    """Go on to the end, and hold every promise against what the killed sitting told. How many were untold."""
    before = _items(workspace, run_id)
    done = {key for key, row in before.items() if row.state == "done"}
    told = {event["item_key"]: event for event in killed.items()}
    assert len(told) == len(killed.items())
    # An item that was told is there, as it was told.
    for key, event in told.items():
        assert before[key].state == event["state"]
        assert {name: list(pair) for name, pair in before[key].scores.items()} == event["scores"]
    untold = set(before) - set(told)
    with _sitting(workspace, run_id) as sitting:
        assert sitting.end() == 0, sitting.told()
    after = _items(workspace, run_id)
    # Nothing is lost, nothing changed, nothing done again.
    assert {key: after[key] for key in done} == {key: before[key] for key in done}
    again = [event["item_key"] for event in sitting.items()]
    assert sorted(again) == sorted(set(after) - done)
    # And the run is what it would have been.
    assert after.keys() == run.items.keys()
    for key, row in after.items():
        same = run.items[key]
        assert (row.state, row.position, row.text, row.picked, row.scores) == (
            "done", same.position, same.text, same.picked, same.scores,
        )  # fmt: skip
    return len(untold)


def _phase(sitting: Sitting, items: int) -> str:
    """Where in its life the runner told its last event."""
    count = len(sitting.items())
    if count == items:
        return "after the end was told" if sitting.events[-1]["type"] == "Ended" else "after the last item"
    if count:
        return "among the items"
    if not sitting.events:
        return "before it told anything"
    notes = [event["note"] for event in sitting.events if event.get("note")]
    # What is told behind these is how long the run will take.
    known = [note for note in notes if note in ("starting the worker", "loading the model", "smoke test")]
    if not known:
        return "before the worker"
    return "before the first item" if known[-1] != notes[-1] else f"at: {known[-1]}"


@pytest.mark.usefixtures("nothing_left")
def test_a_killed_runner_loses_and_repeats_nothing(
    workspace: Path, undisturbed: Mapping[str, Undisturbed], seed: int, record_property: Any
) -> None:
    draw = random.Random(f"runner {seed}")
    subset = draw.choice(list(ITEMS))
    run = undisturbed[subset]
    behind, seconds = _moment(draw, run, 0)
    run_id = _create(workspace, subset)
    with _sitting(workspace, run_id) as sitting:
        sitting.listen(behind)
        _let_pass(sitting.process, seconds)
        sitting.process.kill()
        sitting.end()
    phase = _phase(sitting, ITEMS[subset])
    untold = _finish(workspace, run_id, sitting, run)
    # Between an item's commit and its event there is at most one item.
    assert untold <= 1
    record_property("hit", f"runner killed {phase}{', between a commit and its event' if untold else ''}")


@pytest.mark.usefixtures("nothing_left")
def test_a_killed_worker_loses_and_repeats_nothing(
    workspace: Path, undisturbed: Mapping[str, Undisturbed], seed: int, record_property: Any
) -> None:
    draw = random.Random(f"worker {seed}")
    subset = draw.choice(list(ITEMS))
    run = undisturbed[subset]
    # Before this event there is no worker to kill.
    starts = next(i for i, event in enumerate(run.events) if event.get("note") == "starting the worker")
    behind, seconds = _moment(draw, run, starts + 1)
    run_id = _create(workspace, subset)
    with _sitting(workspace, run_id) as sitting:
        sitting.listen(behind)
        _let_pass(sitting.process, seconds)
        worker = _worker_of(sitting.process)
        if worker is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        sitting.end()
    told = sitting.told()
    lost = next((words for words in (*DOING.values(), "did not start") if words in told), None)
    assert _finish(workspace, run_id, sitting, run) == 0
    if lost is None:
        when = "when its work was done"
    else:
        where = "among the items" if sitting.items() else "before the first item"
        when = f"{'while starting' if lost == 'did not start' else lost}, {where}"
    record_property("hit", f"worker killed {when}")
