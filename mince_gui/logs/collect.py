"""Gathers the rows of one log, whatever their format, into arrays in canonical order."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, keys_of
from mince_gui.logs.types import FloatArray

NAN = math.nan
Outcome = tuple[str, float, float]
"""Metric, passed, trials; NaN and NaN where the log has no value."""


class RowError(InputError):
    """A row that cannot be used; whoever knows file and line puts them in front."""


class ContradictionError(RowError):
    """An item came a second time with another outcome."""


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@dataclass
class Tally:
    """Item keys that a check will speak of, in the order they came (a dict used as an ordered set)."""

    keys: dict[str, None] = field(default_factory=dict)

    def add(self, key: str) -> None:
        """Count the item once, however often it is named."""
        self.keys[key] = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def examples(self) -> tuple[str, ...]:
        """The first few keys."""
        return tuple(self.keys)[:5]


class Collector:
    """Rows in, arrays out. One key may come once per filter; the same again is counted, a contradiction refused."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._index: dict[str, int] = {}
        self._categories: list[str | None] = []
        self._hashes: list[str | None] = []
        self._columns: dict[str, tuple[array[float], array[float]]] = {}
        self._seen: dict[str, set[int]] = {}
        self.duplicates = Tally()
        self.in_order = True
        """Whether the items came in canonical order; known once `arrays` was called."""

    def __len__(self) -> int:
        """Items so far."""
        return len(self._index)

    @property
    def has_metrics(self) -> bool:
        """Whether any metric has a column."""
        return bool(self._columns)

    def drop(self, metric: str) -> None:
        """Forget a metric."""
        self._columns.pop(metric, None)

    def times(self, key: str, filters: Sequence[str]) -> int:
        """Under how many of `filters` the item has come already."""
        place = self._index.get(key)
        return sum(place in self._seen.get(name, ()) for name in filters)

    def add(
        self, key: str, filter_name: str, outcomes: Sequence[Outcome], category: str | None, content: str | None
    ) -> None:
        """Take one row. `content` is the item's content hash. Raises RowError for a contradiction."""
        index = self._index
        place = index.setdefault(key, len(index))
        if place == len(self._hashes):
            self._categories.append(category)
            self._hashes.append(content)
        elif content is not None and content != self._hashes[place]:
            if self._hashes[place] is not None:
                raise RowError(
                    f"item {key} has another content than in an earlier row",
                    "One key stands for two items: the log was put together wrongly (lm-eval mislabels rows when "
                    "--samples is not sorted). Evaluate again.",
                )
            self._hashes[place] = content
        seen = self._seen.get(filter_name)
        if seen is None:
            seen = self._seen[filter_name] = set()
        if place in seen:
            self._again(key, place, outcomes)
            return
        seen.add(place)
        for metric, passed, trials in outcomes:
            column = self._columns.get(metric)
            if column is None:
                column = self._columns[metric] = (array("d"), array("d"))
            gap = place - len(column[0])
            if gap == 0:
                column[0].append(passed)
                column[1].append(trials)
            elif gap > 0:
                column[0].extend([NAN] * gap + [passed])
                column[1].extend([NAN] * gap + [trials])
            else:
                column[0][place] = passed
                column[1][place] = trials

    def add_new(
        self,
        keys: Sequence[str],
        filter_name: str,
        columns: Mapping[str, Sequence[float]],
        category: str | None,
        contents: Sequence[str],
    ) -> bool:
        """Take many rows of one filter at once, each of one trial, if none of their items has come before.

        `columns` has the passed of every metric. False where an item is known or named twice: then nothing was taken.
        """
        index, first = self._index, len(self._index)
        new = dict(zip(keys, range(first, first + len(keys)), strict=True))
        if len(new) != len(keys) or not index.keys().isdisjoint(new):
            return False
        index.update(new)
        self._categories.extend([category] * len(keys))
        self._hashes.extend(contents)
        self._seen.setdefault(filter_name, set()).update(range(first, first + len(keys)))
        for metric, passed in columns.items():
            column = self._columns.setdefault(metric, (array("d"), array("d")))
            gap = first - len(column[0])
            column[0].extend([NAN] * gap)
            column[0].extend(passed)
            column[1].extend([NAN] * gap)
            column[1].extend([1.0] * len(keys))
        return True

    def _again(self, key: str, place: int, outcomes: Sequence[Outcome]) -> None:
        for metric, passed, trials in outcomes:
            column = self._columns.get(metric)
            known = column is not None and place < len(column[0])
            before = (column[0][place], column[1][place]) if column is not None and known else (NAN, NAN)
            if not (_same(before[0], passed) and _same(before[1], trials)):
                raise ContradictionError(
                    f"item {key} comes a second time with another {metric} ({passed:g} of {trials:g} "
                    f"after {before[0]:g} of {before[1]:g})",
                    "Two runs are mixed in one file: keep the rows of one of them.",
                )
        self.duplicates.add(key)

    def arrays(
        self,
    ) -> tuple[
        tuple[str, ...],
        tuple[str | None, ...],
        tuple[str | None, ...],
        Mapping[str, FloatArray],
        Mapping[str, FloatArray],
    ]:
        """Keys, categories, hashes, passed and trials, in canonical order; metrics in the benchmark's order first."""
        keys = tuple(self._index)
        order = list(range(len(keys)))
        if keys != keys_of(self._benchmark):
            sort_key = self._benchmark.sort_key
            order.sort(key=[sort_key(key) for key in keys].__getitem__)
        self.in_order = order == list(range(len(keys)))
        first = [metric.name for metric in self._benchmark.metrics if metric.name in self._columns]
        names = first + [name for name in self._columns if name not in first]
        passed: dict[str, FloatArray] = {}
        trials: dict[str, FloatArray] = {}
        place = np.asarray(order, dtype=np.intp)
        for name in names:
            for target, column in ((passed, self._columns[name][0]), (trials, self._columns[name][1])):
                full = np.full(len(keys), np.nan)
                full[: len(column)] = column
                target[name] = full[place]
        return (
            tuple(map(keys.__getitem__, order)),
            tuple(map(self._categories.__getitem__, order)),
            tuple(map(self._hashes.__getitem__, order)),
            passed,
            trials,
        )
