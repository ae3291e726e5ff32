"""Sampler comparison: the distribution of drift over many seeds, for each way to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

SAMPLER_SEEDS = tuple(range(100))
"""The seeds of the published comparison."""


@dataclass(frozen=True)
class Sampled:
    """One sampler: `drift_pp` (S, C), signed, per seed and pair."""

    sampler: str
    drift_pp: FloatArray

    @property
    def mean_pp(self) -> float:
        """Mean |drift| over pairs and seeds."""
        return float(np.abs(self.drift_pp).mean())

    @property
    def mean_error_pp(self) -> float:
        """Standard error of `mean_pp`; the seeds are independent, the pairs of one draw are not. NaN for one seed."""
        if len(self.drift_pp) < 2:
            return float("nan")
        return float(np.abs(self.drift_pp).mean(axis=1).std(ddof=1) / np.sqrt(len(self.drift_pp)))

    @property
    def worst_pp(self) -> FloatArray:
        """The largest |drift| over the pairs, per seed, shape (S,)."""
        return np.asarray(np.abs(self.drift_pp).max(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class SamplerStudy:
    """Samplers side by side at `n` items. `pairs` names (model, metric) of the columns of every `drift_pp`.

    `bound_pp` is P95 at n by the sizing's rule, which holds for uniform draws.
    """

    sizing: SizingResult
    n: int
    bound_pp: float
    seeds: tuple[int, ...]
    pairs: tuple[tuple[str, str], ...]
    samplers: tuple[Sampled, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "samplers"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the sizing, and samplers that could not be compared, with the reason."""
        return (*self.sizing.warnings, *self.left_out)

    def table(self) -> Table:
        """One row per sampler: mean |drift| over pairs and seeds, then the worst pair's over the seeds.

        `outside_percent` is the share of seeds whose worst pair is beyond the bound.
        """
        columns = (
            "sampler", "mean_pp", "mean_error_pp", "worst_mean_pp", "worst_median_pp", "worst_p95_pp", "worst_max_pp",
            "outside_percent",
        )  # fmt: skip
        rows = []
        for one in self.samplers:
            worst = one.worst_pp
            rows.append(
                (
                    one.sampler, one.mean_pp, None if np.isnan(one.mean_error_pp) else one.mean_error_pp,
                    float(worst.mean()), float(np.median(worst)), float(np.percentile(worst, 95)), float(worst.max()),
                    100.0 * float((worst > self.bound_pp).mean()),
                )
            )  # fmt: skip
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """What was drawn, the bound, and how far the samplers lie apart, beside what chance does."""
        plan = self.sizing.plan
        head = (
            f"{counted(len(self.seeds), 'seed')} each at n = {self.n:,} of {self.sizing.total_items:,}, "
            f"{counted(len(self.pairs), 'pair')}.",
            f"Bound {self.bound_pp:.2f} pp ({quantile_name(plan)} of uniform draws), rule {plan.worst}, "
            f"{of_what(plan)}; outside is the share of seeds whose worst pair is beyond it.",
        )
        if len(self.samplers) < 2:
            return (*head, *self.notes)
        means = sorted(self.samplers, key=lambda one: one.mean_pp)
        least, most = means[0], means[-1]
        apart = most.mean_pp - least.mean_pp
        noise = float(np.hypot(least.mean_error_pp, most.mean_error_pp))
        beside = "" if np.isnan(noise) else f"; the standard error of that difference is {noise:.2f} pp"
        return (
            *head,
            f"Mean |drift| lies {apart:.2f} pp apart between {least.sampler} ({least.mean_pp:.2f}) and {most.sampler} "
            f"({most.mean_pp:.2f}){beside}.",
            *self.notes,
        )

    def to_json(self) -> dict[str, Any]:
        """The rows, and every drift per sampler, seed and pair."""
        return as_json(
            self, self.sizing, n=self.n, bound_pp=self.bound_pp, seeds=list(self.seeds),
            pairs=[list(pair) for pair in self.pairs],
            drift_pp={one.sampler: one.drift_pp.tolist() for one in self.samplers},
        )  # fmt: skip


def compare_samplers(
    matrix: ScoreMatrix,
    sizing: SizingResult,
    n: int,
    bound_pp: float,
    drawings: Mapping[str, Drawing],
    *,
    seeds: Sequence[int] = SAMPLER_SEEDS,
    left_out: Sequence[str] = (),
    notes: Sequence[str] = (),
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> SamplerStudy:
    """Draw `n` items with every sampler and seed, and keep each pair's signed drift.

    `left_out` are sentences about samplers that cannot serve this pool, `notes` about those that do. Emits Progress
    (subsets drawn).
    """
    pairs = pairs_of(matrix)
    total = len(drawings) * len(seeds)
    sampled: list[Sampled] = []
    for name, draw in drawings.items():
        rows = []
        for seed in seeds:
            if cancel is not None:
                cancel.check()
            rows.append(drifts(pairs, draw(n, seed)))
            emit(Progress(len(sampled) * len(seeds) + len(rows), total, name))
        sampled.append(Sampled(name, np.stack(rows)))
    names = tuple((matrix.models[k], matrix.metrics[m]) for k, m in pairs.places)
    return SamplerStudy(sizing, n, bound_pp, tuple(seeds), names, tuple(sampled), tuple(left_out), tuple(notes))
