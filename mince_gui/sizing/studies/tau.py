"""tau sweep: n*, reduction and P95 from one curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mince_gui.base.errors import UsageError
from mince_gui.sizing import rules
from mince_gui.sizing.advice import on_n_star
from mince_gui.sizing.studies.table import Table, as_json, bound_column, reduction, whole
from mince_gui.sizing.types import SizingResult

TAUS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
"""The sweep of the published method, in pp per step."""


@dataclass(frozen=True)
class AtTau:
    """n* at one tau. `reduction_percent`, `p95_pp` and `gain_pp` are None where there is no n*.

    `notes` say how firm this n* is: nothing where neither a lump nor Monte Carlo noise would move it.
    """

    tau_pp: float
    n_star: int | None
    n_star_smooth: int | None
    reduction_percent: float | None
    p95_pp: float | None
    gain_pp: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TauStudy:
    """One row per tau, from the curve of `sizing`."""

    sizing: SizingResult
    rows: tuple[AtTau, ...]
    kind: str = "tau"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the sizing that do not speak of its own n*."""
        return tuple(text for text in self.sizing.warnings if text not in self.sizing.n_star_warnings)

    def table(self) -> Table:
        """One row per tau."""
        bound = bound_column(self.sizing.plan)
        columns = ("tau_pp", "n_star", "reduction_percent", bound, "gain_pp", "n_star_smooth", "firm")
        rows = [
            (
                row.tau_pp, row.n_star, row.reduction_percent, row.p95_pp, row.gain_pp, row.n_star_smooth,
                "no" if row.notes else "yes",
            )
            for row in self.rows
        ]  # fmt: skip
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """Why an n* is not firm, per tau."""
        return tuple(f"tau {row.tau_pp:g} pp: {note}" for row in self.rows for note in row.notes)

    def to_json(self) -> dict[str, Any]:
        """The rows with their notes, and the sizing."""
        return as_json(self, self.sizing, notes={f"{row.tau_pp:g}": list(row.notes) for row in self.rows})


def tau_sweep(sizing: SizingResult, taus: Sequence[float] = TAUS) -> TauStudy:
    """n* of the sizing's curve at every tau (pp per step). Raises UsageError for a tau that is none."""
    bad = [tau for tau in taus if not (math.isfinite(tau) and tau > 0)]
    if bad or not taus:
        given = f"not {bad[0]}" if bad else "and none is given"
        raise UsageError(f"tau must be a number of pp above 0, {given}.", "Such as --taus 0.5,1.0,2.0.")
    rows = []
    for tau in sorted(set(taus)):
        plan = replace(sizing.plan, tau_pp=tau)
        n = rules.n_star(plan.sizes, sizing.p95_pp, tau)
        rows.append(
            AtTau(
                tau_pp=tau,
                n_star=n,
                n_star_smooth=rules.n_star(plan.sizes, sizing.smooth_pp, tau),
                reduction_percent=reduction(n, sizing.total_items),
                p95_pp=None if n is None else sizing.bound_at(n),
                gain_pp=None if n is None else sizing.gain_pp[plan.sizes.index(n)],
                notes=tuple(
                    on_n_star(plan, sizing.p95_pp, sizing.gain_error_pp, sizing.lump_pp, n, sizing.total_items)
                ),
            )
        )
    return TauStudy(sizing, tuple(rows))
