"""Held-out validation: size and freeze on a pool, then look at models that were not in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing.pairs import pairs_of
from mince_gui.sizing.studies.drawn import Drawing, drifts
from mince_gui.sizing.studies.table import Table, as_json, counted, of_what, quantile_name, whole
from mince_gui.sizing.types import SizingResult

OTHER_DRAWS = 100
"""Draws beside the plan's own that say how often a held-out model leaves the bound."""


@dataclass(frozen=True)
class HeldOut:
    """One held-out (model, metric): full and subset score in percent, signed drift in pp.

    `outside_percent` is the share of other draws of the same size that put this pair outside the bound.
    """

    model: str
    metric: str
    full: float
    subset: float
    drift_pp: float
    within: bool
    outside_percent: float


@dataclass(frozen=True)
class HoldoutStudy:
    """`rows` in the order of models, then metrics; the bound is P95 at `n` of the pool of `sizing`.

    `drift_by_seed` (S, C) is the signed drift of every row on the draw of each of `seeds`, none of which is `seed`.
    """

    sizing: SizingResult
    n: int
    seed: int
    bound_pp: float
    rows: tuple[HeldOut, ...]
    seeds: tuple[int, ...]
    drift_by_seed: FloatArray
    excluded: tuple[str, ...] = ()
    kind: str = "holdout"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the sizing, and held-out pairs without a whole result."""
        return (*self.sizing.warnings, *self.excluded)

    def table(self) -> Table:
        """One row per held-out model and metric."""
        columns = ("model", "metric", "full_percent", "subset_percent", "drift_pp", "within", "outside_percent")
        rows = [
            (row.model, row.metric, row.full, row.subset, row.drift_pp, "yes" if row.within else "no",
             row.outside_percent)
            for row in self.rows
        ]  # fmt: skip
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """How many stay within the bound, here and over other draws, and what the bound promises."""
        plan = self.sizing.plan
        size = np.abs([row.drift_pp for row in self.rows])
        inside = sum(row.within for row in self.rows)
        outside = np.abs(self.drift_by_seed) > self.bound_pp
        said = f"The bound is {quantile_name(plan)} {of_what(plan)}"
        if plan.worst == "per-model":
            said += (
                f": a pair as near 50 % as the pool's nearest is outside in {100 * (1 - plan.quantile):.2g} % of draws"
            )
        return (
            f"n = {self.n:,}, seed {self.seed}, bound {self.bound_pp:.2f} pp ({plan.worst}): "
            f"{inside} of {counted(len(self.rows), 'held-out pair')} within it; "
            f"mean |drift| {size.mean():.2f} pp, largest {size.max():.2f} pp.",
            f"Over {counted(len(self.seeds), 'other draw')} {100 * outside.mean():.1f} % of the pairs, and in "
            f"{100 * outside.any(axis=1).mean():.0f} % of the draws at least one pair, are outside. {said}.",
        )

    def to_json(self) -> dict[str, Any]:
        """The rows, and the drift on every other draw."""
        return as_json(
            self, self.sizing, n=self.n, seed=self.seed, bound_pp=self.bound_pp, seeds=list(self.seeds),
            drift_by_seed=self.drift_by_seed.tolist(),
        )  # fmt: skip


def holdout(
    held: ScoreMatrix,
    sizing: SizingResult,
    n: int,
    bound_pp: float,
    draw: Drawing,
    *,
    other_draws: int = OTHER_DRAWS,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> HoldoutStudy:
    """Signed drift of the models of `held` on the subset that the plan's seed draws, against `bound_pp`.

    The `other_draws` (1 or more) are those of the seeds from 0 on, without the plan's own.
    `held` has the items of the pool that `sizing` is of. Raises UsageError where no held-out model is whole.
    """
    pairs = pairs_of(held)
    seed = sizing.plan.seed
    drift = drifts(pairs, draw(n, seed))
    seeds = tuple(other for other in range(other_draws + 1) if other != seed)[:other_draws]
    others = []
    for done, other in enumerate(seeds, start=1):
        if cancel is not None:
            cancel.check()
        others.append(drifts(pairs, draw(n, other)))
        emit(Progress(done, other_draws, "held-out models"))
    by_seed = np.stack(others)
    outside = 100.0 * (np.abs(by_seed) > bound_pp).mean(axis=0)
    rows = tuple(
        HeldOut(
            model=held.models[k],
            metric=held.metrics[m],
            full=100.0 * float(pairs.full[c]),
            subset=100.0 * float(pairs.full[c]) + float(drift[c]),
            drift_pp=float(drift[c]),
            within=bool(abs(drift[c]) <= bound_pp),
            outside_percent=float(outside[c]),
        )
        for c, (k, m) in enumerate(pairs.places)
    )
    return HoldoutStudy(sizing, n, seed, bound_pp, rows, seeds, by_seed, pairs.excluded)
