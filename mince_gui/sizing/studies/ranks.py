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
from mince_gui.sizing.studies.table import Cell, Table, as_json, counted, number, whole
from mince_gui.sizing.types import SizingResult


@dataclass(frozen=True)
class MetricRanks:
    """One metric. `full` and `subset` are scores in percent per model (frozen subset).

    `rho` is Spearman's rank correlation of the two, NaN where either has no order; `rho_by_seed` (S,) the same
    for the draw of every seed of the study, NaN where that draw ties all models.
    """

    metric: str
    models: tuple[str, ...]
    full: tuple[float, ...]
    subset: tuple[float, ...]
    rho: float
    rho_by_seed: FloatArray

    @property
    def seeds_without_rho(self) -> int:
        """The draws that tie all models; all of them where the full scores do."""
        return int(np.isnan(self.rho_by_seed).sum())

    @property
    def same_order_percent(self) -> float | None:
        """The share of all draws that keep the whole order; one that ties all models keeps none.

        None where the full scores have no order to keep.
        """
        if _tied(self.full):
            return None
        return 100.0 * float((self.rho_by_seed > 1 - 1e-9).mean())


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
        """Those of the sizing, and what keeps the ranks from saying much."""
        few = [row for row in self.metrics if len(row.models) < 5]
        says_little = (f"With {len(few[0].models)} models a rank correlation takes few values.",) if few else ()
        return (*self.sizing.warnings, *says_little)

    def table(self) -> Table:
        """One row per metric. Mean and least rho are over the seeds that have one, the same order over all seeds."""
        columns = ("metric", "models", "rho", "rho_mean", "rho_least", "same_order_percent", "seeds_without_rho")
        rows: list[tuple[Cell, ...]] = []
        for row in self.metrics:
            known = row.rho_by_seed[~np.isnan(row.rho_by_seed)]
            spread = (float(known.mean()), float(known.min())) if known.size else (None, None)
            rows.append(
                (
                    row.metric, len(row.models), number(row.rho), *spread, row.same_order_percent,
                    row.seeds_without_rho,
                )
            )  # fmt: skip
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """What was compared, and where a draw has no rho."""
        said = [
            f"Spearman's rho between full and subset scores at n = {self.n:,}, seed {self.seed}; then its mean, its "
            f"least and the share of draws that keep the whole order, over {counted(len(self.seeds), 'seed')}."
        ]
        for row in self.metrics:
            if _tied(row.full):
                said.append(f"{row.metric}: all models have the same full score, so there is no order to keep.")
            elif row.seeds_without_rho:
                said.append(
                    f"{row.metric}: the draws of {row.seeds_without_rho} of {counted(len(self.seeds), 'seed')} tie all "
                    "models and have no rho: mean and least are of the others, and the order counts as not kept."
                )
        return tuple(said)

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
    if _tied(a) or _tied(b):
        return float("nan")
    return float(spearmanr(np.round(a, _DIGITS), np.round(b, _DIGITS)).statistic)


def _tied(scores: FloatArray | tuple[float, ...]) -> bool:
    return bool(np.ptp(np.round(scores, _DIGITS)) == 0)
