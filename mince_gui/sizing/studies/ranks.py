"""Rank preservation: does a subset order the models as the full benchmark does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing.pairs import pairs_of
from mince_gui.sizing.studies.drawn import Drawing, drifts
from mince_gui.sizing.studies.table import Cell, Table, as_json, number, whole
from mince_gui.sizing.types import SizingResult


@dataclass(frozen=True)
class MetricRanks:
    """One metric. `full` and `subset` are scores in percent per model (frozen subset).

    `rho` is Spearman's rank correlation of the two, NaN where either has no order; `rho_by_seed` (S,) the same
    for the draws of other seeds.
    """

    metric: str
    models: tuple[str, ...]
    full: tuple[float, ...]
    subset: tuple[float, ...]
    rho: float
    rho_by_seed: FloatArray


@dataclass(frozen=True)
class RankStudy:
    """Spearman's rho per metric on the subset of `n` items that `seed` draws, and over `seeds`."""

    sizing: SizingResult
    n: int
    seed: int
    seeds: tuple[int, ...]
    metrics: tuple[MetricRanks, ...]
    kind: str = "ranks"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What keeps the ranks from saying much."""
        few = [row for row in self.metrics if len(row.models) < 5]
        return (f"With {len(few[0].models)} models a rank correlation takes few values.",) if few else ()

    def table(self) -> Table:
        """One row per metric."""
        columns = ("metric", "models", "rho", "rho_mean", "rho_least", "same_order_percent")
        rows: list[tuple[Cell, ...]] = []
        for row in self.metrics:
            known = row.rho_by_seed[~np.isnan(row.rho_by_seed)]
            spread: tuple[Cell, ...] = (None, None, None)
            if known.size:
                spread = (float(known.mean()), float(known.min()), 100.0 * float((known > 1 - 1e-9).mean()))
            rows.append((row.metric, len(row.models), number(row.rho), *spread))
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """What was compared."""
        return (
            f"Spearman's rho between full and subset scores at n = {self.n:,}, seed {self.seed}; then its mean, its "
            f"least and the share of draws that keep the whole order, over {len(self.seeds)} seeds.",
        )

    def to_json(self) -> dict[str, Any]:
        """The rows, and the scores that they compare."""
        scores = {
            row.metric: [
                {"model": model, "full_percent": full, "subset_percent": subset}
                for model, full, subset in zip(row.models, row.full, row.subset, strict=True)
            ]
            for row in self.metrics
        }
        by_seed = {row.metric: [number(value) for value in row.rho_by_seed] for row in self.metrics}
        return as_json(
            self, self.sizing, n=self.n, seed=self.seed, seeds=list(self.seeds), scores=scores, rho_by_seed=by_seed
        )


def ranks(
    matrix: ScoreMatrix,
    sizing: SizingResult,
    n: int,
    draw: Drawing,
    *,
    seeds: Sequence[int],
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> RankStudy:
    """Compare the order of the models on the subset that the plan's seed draws, and on those of `seeds`.

    Raises UsageError where no metric has two models.
    """
    pairs = pairs_of(matrix)
    metric_of = np.array([m for _, m in pairs.places])
    full = 100.0 * pairs.full
    seed = sizing.plan.seed
    frozen = full + drifts(pairs, draw(n, seed))
    drawn = []
    for done, other in enumerate(seeds):
        if cancel is not None:
            cancel.check()
        drawn.append(full + drifts(pairs, draw(n, other)))
        emit(Progress(done + 1, len(seeds), "ranks"))
    found = []
    for m, metric in enumerate(matrix.metrics):
        at = np.flatnonzero(metric_of == m)
        if len(at) < 2:
            continue
        found.append(
            MetricRanks(
                metric=metric,
                models=tuple(matrix.models[pairs.places[c][0]] for c in at),
                full=tuple(full[at].tolist()),
                subset=tuple(frozen[at].tolist()),
                rho=spearman(full[at], frozen[at]),
                rho_by_seed=np.array([spearman(full[at], scores[at]) for scores in drawn]),
            )
        )
    if not found:
        raise UsageError("A rank needs at least two models with the same metric.", "Import logs of more models.")
    return RankStudy(sizing, n, seed, tuple(seeds), tuple(found))


# Scores that are equal as fractions may differ in their last binary digits; they must tie.
_DIGITS = 9


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rho with average ranks for ties; NaN where one side has no order at all."""
    x, y = np.round(a, _DIGITS), np.round(b, _DIGITS)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(spearmanr(x, y).statistic)
