"""A sitting of the runner with the real worker, for its tests: a sink in memory, items that ask for a few tokens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Event, Warned
from mince_gui.run import (
    Deadlines,
    ItemResult,
    Place,
    RunConditions,
    RunEnd,
    RunItem,
    RunnerSettings,
    Runtime,
    bundled_runtime,
    run_items,
)
from mince_gui.run.types import Control
from mince_gui.tasks.types import Answer, Request, Scored


def worker_process(runner: psutil.Process) -> psutil.Process:
    """The worker of this runner: its child that executes worker.py, beside one that may hold off sleep."""
    found = []
    for child in runner.children():
        with contextlib.suppress(psutil.Error):
            if "worker.py" in " ".join(child.cmdline()):
                found.append(child)
    (worker,) = found
    return worker


@dataclass
class ListSink:
    """Keeps what is committed, and gives the controls that a test scripts."""

    results: list[ItemResult] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    stored: list[RunConditions] = field(default_factory=list)
    taken: list[Control] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    on_control: Callable[[], Control] = lambda: "run"

    def item(self, result: ItemResult, elapsed_seconds: float) -> None:
        self.results.append(result)
        self.elapsed.append(elapsed_seconds)

    def conditions(self, conditions: RunConditions) -> None:
        self.stored.append(conditions)

    def place(self, place: Place) -> None:
        self.places.append(place)

    def control(self) -> Control:
        return self.on_control()

    def took_control(self, control: Control) -> None:
        self.taken.append(control)

    @property
    def positions(self) -> list[int]:
        return [result.position for result in self.results]


@dataclass
class Sitting:
    """One call of run_items and all that came of it."""

    model_dir: Path
    runtime: Runtime = field(default_factory=bundled_runtime)
    sink: ListSink = field(default_factory=ListSink)
    events: list[Event] = field(default_factory=list)
    cancel: CancelToken = field(default_factory=CancelToken)
    deadlines: Deadlines = field(default_factory=Deadlines)

    def run(self, items: Sequence[RunItem], **more: Any) -> RunEnd:
        return run_items(
            items,
            run_id="r1",
            runtime=self.runtime,
            model_dir=self.model_dir,
            score=more.pop("score", plain_score),
            sink=self.sink,
            emit=more.pop("emit", self.events.append),
            cancel=self.cancel,
            settings=RunnerSettings("sha", deadlines=self.deadlines, max_new_tokens=8, **more.pop("settings", {})),
            total=more.pop("total", len(items)),
            **more,
        )

    @property
    def warnings(self) -> list[Warned]:
        return [event for event in self.events if isinstance(event, Warned)]


class Hours:
    """Adds hours to the clock that items are timed by, so that a test sees what is counted without waiting for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = time.perf_counter
        self._added = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: real() + self._added)

    def add(self) -> None:
        self._added += 3600.0


def plain_score(item: RunItem, answer: Answer) -> Scored:
    return Scored({"acc": (float(item.position % 2), 1.0)})


def text_items(count: int, budget: int = 4) -> list[RunItem]:
    return [
        RunItem(n, f"k{n}", "even" if n % 2 == 0 else None, {}, Request("generate", f"1 2 3 {n}", (), (), budget))
        for n in range(count)
    ]
