"""What a run looks like at one moment: counts, running scores with their intervals, timings, the trail so far."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mince_gui.app.timing import decode_rate, prefill_rate, prefill_seconds
from mince_gui.benchmarks import Benchmark
from mince_gui.logs.types import FloatArray
from mince_gui.report import approximate_ratio_interval, finite_population_interval
from mince_gui.report.answers import Answers
from mince_gui.store.runs import StoredItem, StoredRun

_POINTS = 60
"""About how many points a curve of the running score has."""


@dataclass(frozen=True)
class Score:
    """A running score in percent with the projected full score's interval; `full` is the stored full score."""

    metric: str
    title: str
    percent: float
    low: float
    high: float
    full: float | None


@dataclass(frozen=True)
class Snapshot:
    """A run as it stands. `fresh` are items that are new since the last snapshot; `anew` says to forget the old ones.

    `points` maps a metric to rows (done, percent, low, high); `first_tokens`, `decode_rates` and `prefills` have
    rows (number of the item, value). Times in seconds, rates in tokens per second. `choices`: answers are weighed, not
    written; no prefill rate is known where they have several tokens. `memory_bytes` is the worker's after the latest
    item, None where the system does not tell.
    """

    run: StoredRun
    fresh: tuple[StoredItem, ...]
    anew: bool
    scores: tuple[Score, ...]
    answers: Answers
    first_token_seconds: float | None
    decode_rate: float | None
    prefill_seconds: float | None
    prefill_rate: float | None
    seconds_left: float | None
    phase: str
    notices: tuple[str, ...]
    bound_pp: float | None
    points: Mapping[str, FloatArray]
    first_tokens: FloatArray
    decode_rates: FloatArray
    prefills: FloatArray
    choices: bool
    memory_bytes: int | None

    @property
    def live(self) -> bool:
        """Whether a runner is at work (or waits at a pause)."""
        return self.run.state in ("started", "running", "paused")


@dataclass
class _Sum:
    """One metric summed over done items."""

    ratio: bool = False
    passed: list[float] = field(default_factory=list)
    trials: list[float] = field(default_factory=list)
    points: list[tuple[float, float, float, float]] = field(default_factory=list)

    def interval(self, total: int) -> tuple[float, float]:
        """Of the projected full score, in percent."""
        if self.ratio:
            return approximate_ratio_interval(self.passed, self.trials, total)
        return finite_population_interval(round(sum(self.passed)), len(self.passed), total)

    @property
    def total(self) -> float:
        return sum(self.trials)

    @property
    def percent(self) -> float:
        return 100.0 * sum(self.passed) / self.total


class Trail:
    """Collects a run's items in order; every point of a curve is computed once."""

    def __init__(self, run: StoredRun, benchmark: Benchmark) -> None:
        self._total = run.plan.total_items
        self._stride = max(1, run.plan.items // _POINTS)
        self._titles = {metric.name: metric.title for metric in benchmark.metrics}
        self._ratios = {metric.name for metric in benchmark.metrics if metric.ratio}
        self._sums: dict[str, _Sum] = {}
        self._first: list[tuple[int, float]] = []
        self._decode: list[tuple[int, float]] = []
        self._prefill: list[tuple[int, float]] = []
        self._reading: list[float] = []
        self._choices = False
        self._memory: int | None = None
        self.count = 0
        self.done = 0
        self.answers = Answers()
        self.last = -1

    def add(self, items: Sequence[StoredItem]) -> None:
        """Take in further items, in the run's order."""
        for item in items:
            self.count += 1
            self.last = max(self.last, item.position)
            self.answers = self.answers.counting(
                text=item.text, cause=item.cause, capped=item.capped, finish=item.finish, repeats=item.repeats
            )
            self._memory = self._memory if item.memory_bytes is None else item.memory_bytes
            if item.state != "done":
                continue
            self.done += 1
            self._timings(item)
            for metric, (passed, trials) in item.scores.items():
                kept = self._sums.setdefault(metric, _Sum(metric in self._ratios))
                # A metric that nobody declared shows by its rows whether an item counts more than once.
                kept.ratio = kept.ratio or trials != 1.0 or passed not in (0.0, 1.0)
                kept.passed.append(passed)
                kept.trials.append(trials)
                if self.done % self._stride == 0 and kept.total > 0:
                    kept.points.append((float(self.done), kept.percent, *kept.interval(self._total)))

    def _timings(self, item: StoredItem) -> None:
        self._choices = self._choices or item.text is None
        if item.first_token_seconds is not None:
            self._first.append((self.done, item.first_token_seconds))
        self._reading.extend(prefill_seconds([item]))
        if (written := decode_rate(item)) is not None:
            self._decode.append((self.done, written))
        if (read := prefill_rate(item)) is not None:
            self._prefill.append((self.done, read))

    def scores(self, full: Mapping[str, float]) -> tuple[Score, ...]:
        """Running scores, in the benchmark's order of metrics."""
        order = list(self._titles)
        names = sorted(self._sums, key=lambda name: order.index(name) if name in order else len(order))
        found = []
        for name in names:
            kept = self._sums[name]
            if kept.total > 0:
                low, high = kept.interval(self._total)
                found.append(Score(name, self._titles.get(name, name), kept.percent, low, high, full.get(name)))
        return tuple(found)

    def facts(self) -> dict[str, Any]:
        """The fields of a Snapshot that come from the trail."""
        return {
            "first_token_seconds": _median(self._first),
            "decode_rate": _median(self._decode),
            "prefill_seconds": statistics.median(self._reading) if self._reading else None,
            "prefill_rate": _median(self._prefill),
            "points": {name: np.array(kept.points).reshape(-1, 4) for name, kept in self._sums.items()},
            "first_tokens": _pairs(self._first),
            "decode_rates": _pairs(self._decode),
            "prefills": _pairs(self._prefill),
            "choices": self._choices,
            "memory_bytes": self._memory,
        }


def _median(values: Sequence[tuple[int, float]]) -> float | None:
    return statistics.median(value for _, value in values) if values else None


def _pairs(values: Sequence[tuple[int, float]]) -> FloatArray:
    return np.array(values, dtype=np.float64).reshape(-1, 2)
