"""One sizing: exact or by draws, its errors, its companion curve and its warnings."""

from __future__ import annotations

import time

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing import advice, draws, rules
from mince_gui.sizing.exact import exact_curves
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.smooth import smooth_curve
from mince_gui.sizing.types import Plan, SizingResult

SEEDS = tuple(range(20))
"""The seeds of `n_star_by_seed`."""

_GROUPS = 10
_FULL_WORK = 20_000_000
_MEMORY = 2 << 30


def size(
    matrix: ScoreMatrix,
    plan: Plan,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    by_seed: bool = True,
) -> SizingResult:
    """Size a subset of `matrix` as `plan` says.

    Method auto is exact where the rule is per-model and all pairs are plain accuracies, else draws.
    `by_seed` adds n* over the seeds 0 to 19 to a sizing by draws; large problems use a fifth of the
    draws for each and a warning says so. `error_pp` is then the standard deviation of P95 over those
    seeds (scaled to the plan's draws), otherwise it comes from 10 groups of the draws; 0 for exact.
    `smooth_pp` and `n_star_smooth` follow the rule per-model also where the plan says joint.

    Emits Progress alone (draws done), from the calling thread; Started and Ended are the caller's.
    Raises UsageError where the method cannot serve the data, CancelledError after a cancel.
    """
    started = time.perf_counter()
    pairs = pairs_of(matrix)
    if plan.sizes[-1] >= matrix.total_items:
        raise UsageError(
            f"The plan has a candidate size of {plan.sizes[-1]}, but {matrix.benchmark.title} has "
            f"{matrix.total_items} items.",
            "Make a plan for this pool.",
        )
    warnings = advice.on_the_pool(matrix, pairs) + advice.on_the_step(plan)
    by_seeds: dict[int, int | None] = {}
    seed_draws = plan.draws
    if _is_exact(matrix, pairs, plan):
        method = "exact"
        right = [round(count) for count in pairs.passed.sum(axis=1)]
        curves = exact_curves(pairs.total_items, right, plan.sizes, plan.quantile)
        p95 = rules.per_model(curves)
        error = np.zeros(len(plan.sizes))
    else:
        method = "draws"
        patterns = draws.patterns_of(pairs)
        few = patterns.few(len(plan.sizes))
        if not few and plan.draws * pairs.total_items > _FULL_WORK:
            seed_draws = max(100, plan.draws // 5)
        _check_memory(plan, patterns)
        total = plan.draws + (len(SEEDS) * seed_draws if by_seed else 0)

        def draw(seed: int, count: int, before: int, note: str) -> draws.Simulation:
            def tick(done: int) -> None:
                emit(Progress(before + done, total, note))

            return draws.simulate(pairs, plan.sizes, count, seed, tick=tick, cancel=cancel, patterns=patterns)

        curves, p95, error = _from_draws(draw(plan.seed, plan.draws, 0, "draws"), plan)
        if by_seed:
            others = []
            for number, seed in enumerate(SEEDS):
                before = plan.draws + number * seed_draws
                other = draw(seed, seed_draws, before, f"seed {number + 1} of {len(SEEDS)}")
                others.append(_p95(other, plan))
                by_seeds[seed] = rules.n_star(plan.sizes, others[-1].tolist(), plan.tau_pp)
            error = np.std(others, axis=0, ddof=1) * np.sqrt(seed_draws / plan.draws)
    n_star = rules.n_star(plan.sizes, p95.tolist(), plan.tau_pp)
    smooth = smooth_curve(pairs, plan.sizes, plan.quantile)
    on_n_star = advice.on_n_star(plan, p95.tolist(), error.tolist(), n_star, matrix.total_items)
    on_n_star += advice.on_seeds(by_seeds, n_star, seed_draws, plan)
    return SizingResult(
        benchmark=matrix.benchmark.name,
        total_items=matrix.total_items,
        models=matrix.models,
        metrics=matrix.metrics,
        plan=plan,
        method=method,
        p95_pp=tuple(p95.tolist()),
        gain_pp=rules.gains(p95.tolist()),
        error_pp=tuple(error.tolist()),
        smooth_pp=tuple(smooth.tolist()),
        curves_pp=_by_place(curves, pairs, matrix),
        n_star=n_star,
        n_star_smooth=rules.n_star(plan.sizes, smooth.tolist(), plan.tau_pp),
        n_star_by_seed=by_seeds,
        seconds=time.perf_counter() - started,
        warnings=(*warnings, *on_n_star),
        n_star_warnings=tuple(on_n_star),
    )


def _is_exact(matrix: ScoreMatrix, pairs: Pairs, plan: Plan) -> bool:
    """Whether to solve exactly. Raises UsageError where exact is asked for and cannot be."""
    plain = bool(pairs.plain.all())
    if plan.method == "auto":
        return plain and plan.worst == "per-model"
    if plan.method == "draws":
        return False
    if plan.worst == "joint":
        raise UsageError(
            "The rule joint has no exact solution: models and metrics share their draws.",
            "Use --method draws, or --worst per-model.",
        )
    if not plain:
        names = sorted({matrix.metrics[m] for (_, m), ok in zip(pairs.places, pairs.plain, strict=True) if not ok})
        raise UsageError(
            f"There is no exact solution for {', '.join(names)}: not every item counts as one right or wrong answer.",
            "Use --method draws, or leave these metrics out.",
        )
    return True


def _check_memory(plan: Plan, patterns: draws.Patterns) -> None:
    need = plan.draws * len(plan.sizes) * patterns.values.shape[1] * patterns.values.itemsize
    if need > _MEMORY:
        raise UsageError(
            f"{plan.draws:,} draws at {len(plan.sizes)} sizes would need {need / 2**30:.1f} GB of memory.",
            "Use fewer --draws or fewer sizes.",
        )


def _from_draws(simulation: draws.Simulation, plan: Plan) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Pair curves (C, T), P95 (T,) and its Monte Carlo error (T,) from groups of the draws, all in pp."""
    curves, p95, error = [], [], []
    for t in range(len(plan.sizes)):
        drift = simulation.drift_pp(t)
        curves.append(np.percentile(drift, 100.0 * plan.quantile, axis=1))
        p95.append(rules.joint(drift, plan.quantile) if plan.worst == "joint" else float(curves[-1].max()))
        parts = [_worst(part, plan) for part in np.array_split(drift, _GROUPS, axis=1)]
        error.append(float(np.std(parts, ddof=1)) / np.sqrt(_GROUPS))
    return np.stack(curves, axis=1), np.asarray(p95), np.asarray(error)


def _p95(simulation: draws.Simulation, plan: Plan) -> FloatArray:
    """P95 (T,) in pp by the plan's rule."""
    return np.asarray([_worst(simulation.drift_pp(t), plan) for t in range(len(plan.sizes))])


def _worst(drift_pp: FloatArray, plan: Plan) -> float:
    """The plan's rule on |drift| (C, R)."""
    if plan.worst == "joint":
        return rules.joint(drift_pp, plan.quantile)
    return float(np.percentile(drift_pp, 100.0 * plan.quantile, axis=1).max())


def _by_place(curves: FloatArray, pairs: Pairs, matrix: ScoreMatrix) -> FloatArray:
    """(C, T) -> (K, M, T), NaN for pairs that take no part."""
    table = np.full((len(matrix.models), len(matrix.metrics), curves.shape[1]), np.nan)
    for (k, m), curve in zip(pairs.places, curves, strict=True):
        table[k, m] = curve
    return table
