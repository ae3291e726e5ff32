"""What the columns of a table mean, and what its file's name says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mince_gui.benchmarks import BENCHMARKS, Benchmark, of_task
from mince_gui.logs.tables import cells

_SURE_KEYS = ("item_key", "key", "item", "item_id", "doc_id")
_OTHER_KEYS = ("id", "index", "sample_id", "question_id")
_VALUES = ("passed", "value", "score", "correct", "is_correct", "outcome")
_ROLES = {
    "model": ("model", "model_name"),
    "metric": ("metric", "metric_name"),
    "trials": ("trials",),
    "benchmark": ("benchmark", "task"),
    "subject": ("subject",),
    "category": ("category",),
}
_SUFFIXES = (".gz", ".csv", ".tsv", ".parquet", ".npy")


@dataclass(frozen=True)
class FileName:
    """What a file's name says; "" where it does not."""

    benchmark: str
    metric: str
    model: str


def file_name(path: Path) -> FileName:
    """`<benchmark>[__<metric>[__<model>]]` in front of the suffix."""
    stem = path.name
    for suffix in _SUFFIXES:
        stem = stem.removesuffix(suffix)
    benchmark, _, rest = stem.partition("__")
    metric, _, model = rest.partition("__")
    return FileName(benchmark.strip(), metric.strip(), model.strip())


def benchmark_of(name: str) -> Benchmark:
    """The benchmark of that name, in any case; else one of its own."""
    return BENCHMARKS.get(name.lower()) or of_task(name)


@dataclass(frozen=True)
class Layout:
    """Which column is what; None where there is none.

    `values` are the models' columns of a wide table, or, beside a model's column, those of the metrics.
    """

    key: int
    subject: int | None = None
    model: int | None = None
    metric: int | None = None
    value: int | None = None
    trials: int | None = None
    benchmark: int | None = None
    category: int | None = None
    values: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether a row is of one model."""
        return self.value is not None or self.model is not None

    def item_key(self, row: Sequence[Any]) -> str | None:
        """The key of the row's item, None where it has none."""
        key = cells.name(row[self.key])
        subject = cells.name(row[self.subject]) if self.subject is not None else None
        if key is None or (self.subject is not None and subject is None):
            return None
        return f"{subject}/{key}" if subject is not None and "/" not in key else key


def layout_of(path: Path, columns: Sequence[str]) -> Layout | None:
    """What the columns mean by their names; None where no column can be the key."""
    low = [column.lower() for column in columns]
    named = file_name(path).benchmark.lower() in BENCHMARKS or bool(set(_ROLES["benchmark"]) & set(low))
    key = _find(low, (*_SURE_KEYS, *_OTHER_KEYS) if named else _SURE_KEYS)
    if key is None:
        return None
    model, metric, trials, benchmark, subject, category = (_find(low, names) for names in _ROLES.values())
    value = _find(low, _VALUES)
    layout = Layout(
        key, subject=subject, model=model, metric=metric, trials=trials, benchmark=benchmark, category=category
    )
    taken = {key, model, metric, trials, benchmark, subject, category}
    rest = tuple(place for place, column in enumerate(columns) if place not in taken and cells.name(column))
    if value is not None and (layout.model is not None or rest == (value,)):
        return replace(layout, value=value)
    return replace(layout, values=rest)


def _find(columns: Sequence[str], names: Sequence[str]) -> int | None:
    return next((columns.index(name) for name in names if name in columns), None)
