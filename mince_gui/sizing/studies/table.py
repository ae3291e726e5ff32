"""What every study gives beside its own fields: a table, sentences that sum it up, and one JSON object."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mince_gui.sizing.types import Plan, SizingResult

Cell = str | int | float | None
"""A value of a table; None where there is none."""


@dataclass(frozen=True)
class Table:
    """Columns and rows, full precision. A column's name ends in its unit (`_pp`, `_percent`).

    `shown` are the rows that are worth a place on a screen; the file has all of them. `names` are those that fill
    the columns `shortened`, alone or joined by " + ", which a screen may shorten where the table is too wide for it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shown: tuple[int, ...]
    names: tuple[str, ...] = ()
    shortened: tuple[str, ...] = ()


class Study(Protocol):
    """A study's result, as front ends see it."""

    @property
    def kind(self) -> str:
        """tau, leave-out, samplers, ranks, seeds or holdout."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before trusting it."""

    def table(self) -> Table:
        """Its rows."""

    def summary(self) -> tuple[str, ...]:
        """The result in sentences."""

    def to_json(self) -> dict[str, Any]:
        """All of it."""


def whole(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """A table of which every row is shown."""
    return Table(tuple(columns), tuple(tuple(row) for row in rows), tuple(range(len(rows))))


def as_json(study: Study, sizing: SizingResult, **more: Any) -> dict[str, Any]:
    """kind, the table's rows as objects, the sizing that the study stands on, what is its own, warnings."""
    table = study.table()
    return {
        "kind": study.kind,
        "benchmark": sizing.benchmark,
        "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
        **more,
        "summary": list(study.summary()),
        "sizing": sizing.to_json(),
        "warnings": list(study.warnings),
    }


def number(value: float) -> float | None:
    """NaN as None: JSON and tables have no NaN."""
    return None if math.isnan(value) else float(value)


def bound_column(plan: Plan) -> str:
    """The column of the bound, named by the plan's quantile: "p95_pp", "p50_pp"."""
    return f"{quantile_name(plan).lower()}_pp"


def quantile_name(plan: Plan) -> str:
    """ "P95", "P99.5"."""
    return f"P{100 * plan.quantile:.6g}"


def of_what(plan: Plan) -> str:
    """What the plan's rule bounds, to follow a bound."""
    return "of each pair by itself" if plan.worst == "per-model" else "of all pairs of the pool at once"


def counted(count: int, noun: str) -> str:
    """ "1 seed", "1,200 seeds"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def star(n: int | None) -> str:
    """An n* in words: "1,500", or "none"."""
    return "none" if n is None else f"{n:,}"


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def reduction(n: int | None, total_items: int) -> float | None:
    """How many items fewer than all, in percent; None without an n."""
    return None if n is None else 100.0 * (1.0 - n / total_items)
