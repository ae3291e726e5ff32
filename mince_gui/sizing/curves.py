"""Curves for studies: many pools, or many seeds, from one exact solution or one set of draws each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing.draws import Simulation, simulate
from mince_gui.sizing.exact import exact_curves
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.patterns import Patterns, patterns_of
from mince_gui.sizing.quantiles import quantiles, worst_case
from mince_gui.sizing.solve import check_memory, is_exact
from mince_gui.sizing.types import Plan, Worst


@dataclass(frozen=True)
class PairCurves:
    """The quantile of |drift| of every pair, `pp` (C, T).

    `models` and `metrics` (C,) are places in the matrix's models and metrics; `exact` says how it was found.
    """

    models: npt.NDArray[np.int64]
    metrics: npt.NDArray[np.int64]
    pp: FloatArray
    exact: bool

    def worst(self, models: Sequence[int] | None = None) -> FloatArray:
        """P95 (T,) in pp by the rule per-model, of these models or of all; NaN where none of them takes part."""
        kept = self.pp if models is None else self.pp[np.isin(self.models, models)]
        return np.asarray(kept.max(axis=0) if len(kept) else np.full(self.pp.shape[1], np.nan), dtype=np.float64)


def pair_curves(
    matrix: ScoreMatrix,
    plan: Plan,
    *,
    seed: int | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> PairCurves:
    """The curve of every pair that takes part, exact where `plan` allows it, else by draws (seed: the plan's).

    Emits Progress (draws done, or sizes solved exactly). Raises UsageError as `size` does, CancelledError after a
    cancel.
    """
    pairs = pairs_of(matrix)
    models, metrics = np.array(pairs.places, dtype=np.int64).T
    if is_exact(matrix, pairs, plan):
        return PairCurves(models, metrics, _exact(pairs, plan, emit, cancel), exact=True)
    drawn = _draw(pairs, patterns_of(pairs), plan, plan.seed if seed is None else seed, emit, cancel)
    return PairCurves(models, metrics, quantiles(drawn, plan.quantile, plan.worst, cancel=cancel).pairs, exact=False)


def worst_curves(
    matrix: ScoreMatrix,
    plan: Plan,
    pools: Sequence[Sequence[int]],
    *,
    seed: int | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> FloatArray:
    """P95 (G, T) in pp by the plan's rule for each pool, given as places in `matrix.models`.

    All pools share one exact solution or one set of draws. NaN for a pool none of whose models takes part.
    Emits Progress (draws done, or sizes solved exactly). Raises UsageError as `size` does, CancelledError after a
    cancel.
    """
    pairs = pairs_of(matrix)
    if is_exact(matrix, pairs, plan):
        curves = pair_curves(matrix, plan, emit=emit, cancel=cancel)
        return np.array([curves.worst(pool) for pool in pools])
    model_of = np.array(pairs.places, dtype=np.int64)[:, 0]
    chosen = [np.flatnonzero(np.isin(model_of, pool)).tolist() for pool in pools]
    drawn = _draw(pairs, patterns_of(pairs), plan, plan.seed if seed is None else seed, emit, cancel)
    found = worst_case(drawn, plan.quantile, plan.worst, chosen, cancel=cancel)
    found[[not pool for pool in chosen]] = np.nan
    return found


def seed_curves(
    matrix: ScoreMatrix,
    plan: Plan,
    seeds: Sequence[int],
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> dict[Worst, FloatArray]:
    """P95 (S, T) in pp at every seed by both rules, from the same draws; by draws even where it could be exact.

    Emits Progress (draws done over all seeds). Raises CancelledError after a cancel.
    """
    pairs = pairs_of(matrix)
    patterns = patterns_of(pairs)
    found: dict[Worst, list[FloatArray]] = {"per-model": [], "joint": []}
    for number, seed in enumerate(seeds):

        def told(event: object, before: int = number * plan.draws, number: int = number) -> None:
            if isinstance(event, Progress):
                note = f"seed {number + 1} of {len(seeds)}"
                emit(Progress(before + event.done, len(seeds) * plan.draws, note))

        drawn = _draw(pairs, patterns, plan, seed, told, cancel, shared=True)
        for rule, curves in found.items():
            curves.append(worst_case(drawn, plan.quantile, rule, cancel=cancel)[0])
    return {rule: np.array(curves) for rule, curves in found.items()}


def _exact(pairs: Pairs, plan: Plan, emit: Emit, cancel: CancelToken | None) -> FloatArray:
    def tick(done: int) -> None:
        emit(Progress(done, len(plan.sizes), "sizes"))

    right = [round(count) for count in pairs.passed.sum(axis=1)]
    return exact_curves(pairs.total_items, right, plan.sizes, plan.quantile, tick=tick, cancel=cancel)


def _draw(
    pairs: Pairs,
    patterns: Patterns,
    plan: Plan,
    seed: int,
    emit: Emit,
    cancel: CancelToken | None,
    *,
    shared: bool = False,
) -> Simulation:
    check_memory(plan.draws, len(plan.sizes), patterns)

    def tick(done: int) -> None:
        emit(Progress(done, plan.draws, "draws"))

    shared = shared or plan.worst == "joint"
    return simulate(pairs, plan.sizes, plan.draws, seed, shared=shared, tick=tick, cancel=cancel, patterns=patterns)
