"""One sizing: exact or by draws, its errors, its companion curve and its warnings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing import advice, draws, rules
from mince_gui.sizing.exact import exact_quantiles
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.patterns import Patterns, patterns_of
from mince_gui.sizing.quantiles import around, error_between, quantiles, worst_case
from mince_gui.sizing.smooth import smooth_curve
from mince_gui.sizing.types import LEVELS, Plan, SizingResult, Worst

SEEDS = tuple(range(20))
"""The seeds of `n_star_by_seed`."""

_MOST_PER_SEED = 1e9  # nanoseconds of one core, by the rough costs of `patterns`
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
    draws for each and a warning says so. `error_pp` and `gain_error_pp` are then standard deviations
    over those seeds (scaled to the plan's draws); otherwise they follow from the draws around the
    quantile, and those of gains are upper limits. 0 for exact. `smooth_pp` and `n_star_smooth` follow
    the rule per-model also where the plan says joint.

    Emits Progress alone (draws done, or sizes solved exactly), from the calling thread; Started and Ended are the
    caller's. Raises UsageError where the method cannot serve the data, CancelledError after a cancel.
    """
    started = time.perf_counter()
    pairs = pairs_of(matrix)
    if plan.sizes[-1] >= matrix.total_items:
        raise UsageError(
            f"The plan has a candidate size of {plan.sizes[-1]}, but {matrix.benchmark.title} has "
            f"{matrix.total_items} items.",
            "Make a plan for this pool.",
        )
    exact = is_exact(matrix, pairs, plan)
    warnings = advice.on_the_pool(matrix, pairs) + advice.on_the_step(plan)
    warnings += [] if exact else advice.on_the_draws(plan)
    answer = _solved(pairs, plan, emit, cancel) if exact else _drawn(pairs, plan, by_seed, emit, cancel)
    p95 = answer.p95.tolist()
    gains = rules.gains(p95)
    gain_error = (None, *answer.gain_error.tolist())
    n_star = rules.n_star(plan.sizes, p95, plan.tau_pp)
    # Rule joint: no pair alone sets P95, so the one that would by the other rule stands for all.
    lump = (pairs.lumps[answer.curves.argmax(axis=0)] / np.array(plan.sizes)).tolist()
    smooth = smooth_curve(pairs, plan.sizes, plan.quantile)
    on_n_star = advice.on_n_star(plan, p95, gain_error, lump, n_star, matrix.total_items)
    on_n_star += advice.on_seeds(answer.n_star_by_seed, n_star, answer.seed_draws, plan)
    return SizingResult(
        benchmark=matrix.benchmark.name,
        total_items=matrix.total_items,
        models=matrix.models,
        metrics=matrix.metrics,
        plan=plan,
        method="exact" if exact else "draws",
        p95_pp=tuple(p95),
        gain_pp=gains,
        error_pp=tuple(answer.error.tolist()),
        smooth_pp=tuple(smooth.tolist()),
        lump_pp=tuple(lump),
        curves_pp=_by_place(answer.curves, pairs, matrix),
        n_star=n_star,
        n_star_smooth=rules.n_star(plan.sizes, smooth.tolist(), plan.tau_pp),
        n_star_by_seed=answer.n_star_by_seed,
        seconds=time.perf_counter() - started,
        warnings=(*warnings, *on_n_star),
        n_star_warnings=tuple(on_n_star),
        gain_error_pp=gain_error,
        by_rule_pp={rule: tuple(curve.tolist()) for rule, curve in answer.by_rule.items()},
        by_level_pp=answer.by_level,
    )


@dataclass(frozen=True)
class _Answer:
    """Curves (C, T), P95 and its error (T,), error of each gain (T - 1,), by level (L, T), all in pp."""

    curves: FloatArray
    p95: FloatArray
    error: FloatArray
    gain_error: FloatArray
    by_rule: Mapping[Worst, FloatArray]
    by_level: FloatArray
    n_star_by_seed: Mapping[int, int | None]
    seed_draws: int


def _solved(pairs: Pairs, plan: Plan, emit: Emit, cancel: CancelToken | None) -> _Answer:
    def tick(done: int) -> None:
        emit(Progress(done, len(plan.sizes), "sizes"))

    right = [round(count) for count in pairs.passed.sum(axis=1)]
    levels = (*LEVELS, plan.quantile)
    found = exact_quantiles(pairs.total_items, right, plan.sizes, levels, tick=tick, cancel=cancel)
    p95 = found[-1].max(axis=0)
    error = np.zeros(len(plan.sizes))
    return _Answer(found[-1], p95, error, error[1:], {"per-model": p95}, found[:-1].max(axis=1), {}, plan.draws)


def _drawn(pairs: Pairs, plan: Plan, by_seed: bool, emit: Emit, cancel: CancelToken | None) -> _Answer:
    patterns = patterns_of(pairs)
    check_memory(plan.draws, len(plan.sizes), patterns)
    shared = plan.worst == "joint"
    costs = patterns.costs(len(plan.sizes), shared=shared)
    large = min(costs.values()) * plan.draws > _MOST_PER_SEED
    seed_draws = max(100, plan.draws // 5) if large else plan.draws
    total = plan.draws + (len(SEEDS) * seed_draws if by_seed else 0)

    def draw(seed: int, count: int, before: int, note: str) -> draws.Simulation:
        def tick(done: int) -> None:
            emit(Progress(before + done, total, note))

        return draws.simulate(
            pairs, plan.sizes, count, seed, shared=shared, tick=tick, cancel=cancel, patterns=patterns
        )

    main = draw(plan.seed, plan.draws, 0, "draws")
    levels = (*LEVELS, *around(plan.quantile, plan.draws))
    found = quantiles(main, plan.quantile, plan.worst, levels=levels, cancel=cancel)
    by_level, below, above = found.by_level[:-2], *found.by_level[-2:]
    by_seeds: dict[int, int | None] = {}
    if by_seed:
        curves = []
        for number, seed in enumerate(SEEDS):
            note = f"seed {number + 1} of {len(SEEDS)}"
            other = draw(seed, seed_draws, plan.draws + number * seed_draws, note)
            curves.append(worst_case(other, plan.quantile, plan.worst, cancel=cancel)[0])
            by_seeds[seed] = rules.n_star(plan.sizes, curves[-1].tolist(), plan.tau_pp)
        scale = np.sqrt(seed_draws / plan.draws)
        error = np.std(curves, axis=0, ddof=1) * scale
        gain_error = np.diff(curves, axis=1).std(axis=0, ddof=1) * scale
    else:
        error = error_between(below, above, plan.quantile, plan.draws)
        # Sizes share their draws, so that their errors partly cancel in a gain.
        gain_error = np.hypot(error[1:], error[:-1])
    return _Answer(
        found.pairs, found.by_rule[plan.worst], error, gain_error, found.by_rule, by_level, by_seeds, seed_draws
    )


def is_exact(matrix: ScoreMatrix, pairs: Pairs, plan: Plan) -> bool:
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


def check_memory(count: int, sizes: int, patterns: Patterns) -> None:
    """Raise UsageError where the sums of so many draws at so many sizes would not fit the memory allowed."""
    need = count * sizes * patterns.values.shape[1] * patterns.values.itemsize
    if need > _MEMORY:
        raise UsageError(
            f"{count:,} draws at {sizes} sizes would need {need / 2**30:.1f} GB of memory.",
            "Use fewer --draws or fewer sizes.",
        )


def _by_place(curves: FloatArray, pairs: Pairs, matrix: ScoreMatrix) -> FloatArray:
    """(C, T) -> (K, M, T), NaN for pairs that take no part."""
    table = np.full((len(matrix.models), len(matrix.metrics), curves.shape[1]), np.nan)
    for (k, m), curve in zip(pairs.places, curves, strict=True):
        table[k, m] = curve
    return table
