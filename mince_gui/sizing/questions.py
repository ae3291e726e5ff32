"""What people ask first: how many items for this bound, and what bound for this much time."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing.draws import simulate
from mince_gui.sizing.exact import exact_curves, exact_within, holds
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.patterns import Patterns, patterns_of
from mince_gui.sizing.quantiles import around, error_between, quantiles
from mince_gui.sizing.solve import check_memory, is_exact
from mince_gui.sizing.types import Bound, Budget, Plan, SizingResult, Target

_POINTS = 32
_SECONDS_PER_HOUR = 3600.0


def bound_at(
    matrix: ScoreMatrix, sizing: SizingResult, n: int, *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> Bound:
    """The bound at any `n` from 1 to N, as `sizing` has it at its candidate sizes; `matrix` is its own pool.

    Emits Progress (draws done). Raises UsageError for another `n`, CancelledError after a cancel.
    """
    pairs = pairs_of(matrix)
    if not 1 <= n <= pairs.total_items:
        raise UsageError(f"A subset of {matrix.benchmark.title} has 1 to {pairs.total_items} items, not {n}.")
    if n in (known := _known(sizing)):
        return known[n]
    if is_exact(matrix, pairs, sizing.plan):
        return Bound(n, _exact_p95(pairs, sizing.plan, n), 0.0, "exact")
    return _draw(pairs, patterns_of(pairs), sizing.plan, [n], emit, cancel)[n]


def n_for_target(
    matrix: ScoreMatrix,
    sizing: SizingResult,
    target_pp: float,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Target:
    """The smallest n, candidate size or not, whose bound is at most `target_pp`; `matrix` is the sizing's own pool.

    Exact: every n is looked at. By draws: below the first candidate size that holds the target, ever closer, with
    the sizing's seed. Emits Progress (draws done). Raises UsageError for a target that is
    none, CancelledError after a cancel.
    """
    if not (math.isfinite(target_pp) and target_pp > 0):
        raise UsageError(f"--target-p95 must be a number of pp above 0, not {target_pp}.", "For instance 3.0.")
    pairs = pairs_of(matrix)
    if is_exact(matrix, pairs, sizing.plan):
        return _exact_target(pairs, sizing, target_pp)
    return _drawn_target(pairs, sizing, target_pp, emit, cancel)


def budget_for(
    matrix: ScoreMatrix,
    sizing: SizingResult,
    hours: float,
    seconds_per_item: float,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Budget:
    """How many items `hours` last for, at most N, and the bound at that n.

    Emits Progress (draws done). Raises UsageError for times that are none, or where not one item fits,
    CancelledError after a cancel.
    """
    for name, value in (("--hours", hours), ("--seconds-per-item", seconds_per_item)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be a number above 0, not {value}.")
    fits = min(hours * _SECONDS_PER_HOUR / seconds_per_item, float(matrix.total_items))
    n = math.floor(fits + 1e-9)
    if n < 1:
        raise UsageError(
            f"Not one item fits into {hours:g} hours at {seconds_per_item:g} seconds per item.", "Give it more --hours."
        )
    return Budget(hours, seconds_per_item, bound_at(matrix, sizing, n, emit=emit, cancel=cancel))


def _exact_target(pairs: Pairs, sizing: SizingResult, target_pp: float) -> Target:
    total = pairs.total_items
    held = np.ones(total - 1, dtype=np.bool_)
    for right in sorted(set(_right(pairs))):
        held &= holds(exact_within(total, right, target_pp), sizing.plan.quantile)
    if not held.any():
        return Target(target_pp, _known(sizing)[total], total)
    n = int(np.argmax(held)) + 1
    failing = np.flatnonzero(~held)
    always = int(failing[-1]) + 2 if len(failing) else 1
    return Target(target_pp, Bound(n, _exact_p95(pairs, sizing.plan, n), 0.0, "exact"), always)


def _drawn_target(
    pairs: Pairs, sizing: SizingResult, target_pp: float, emit: Emit, cancel: CancelToken | None
) -> Target:
    patterns = patterns_of(pairs)
    known = _known(sizing)
    while True:
        first = min(n for n, bound in known.items() if bound.p95_pp <= target_pp)
        below = max((n for n in known if n < first), default=0)
        if first - below == 1:
            break
        inner = np.linspace(below, first, min(_POINTS + 2, first - below + 1)).round().astype(int)[1:-1]
        known |= _draw(pairs, patterns, sizing.plan, sorted({int(n) for n in inner}), emit, cancel)
    above = [n for n, bound in known.items() if bound.p95_pp > target_pp]
    always = min(n for n in known if n > max(above, default=0))
    return Target(target_pp, known[first], always)


def _draw(
    pairs: Pairs, patterns: Patterns, plan: Plan, sizes: list[int], emit: Emit, cancel: CancelToken | None
) -> Mapping[int, Bound]:
    def tick(done: int) -> None:
        emit(Progress(done, plan.draws, f"{sizes[0]} to {sizes[-1]} items" if len(sizes) > 1 else f"{sizes[0]} items"))

    check_memory(plan.draws, len(sizes), patterns)
    shared = plan.worst == "joint"
    drawn = simulate(pairs, sizes, plan.draws, plan.seed, shared=shared, tick=tick, cancel=cancel, patterns=patterns)
    levels = around(plan.quantile, plan.draws)
    found = quantiles(drawn, plan.quantile, plan.worst, levels=levels, cancel=cancel)
    error = error_between(*found.by_level)
    p95 = found.by_rule[plan.worst]
    return {n: Bound(n, float(p95[t]), float(error[t]), "draws") for t, n in enumerate(sizes)}


def _known(sizing: SizingResult) -> dict[int, Bound]:
    """What the sizing says already: its candidate sizes, and all items, which have no drift."""
    sizes = (*sizing.plan.sizes, sizing.total_items)
    triples = zip(sizes, (*sizing.p95_pp, 0.0), (*sizing.error_pp, 0.0), strict=True)
    return {n: Bound(n, p95, error, sizing.method) for n, p95, error in triples}


def _exact_p95(pairs: Pairs, plan: Plan, n: int) -> float:
    return float(exact_curves(pairs.total_items, _right(pairs), [n], plan.quantile).max())


def _right(pairs: Pairs) -> list[int]:
    return [round(count) for count in pairs.passed.sum(axis=1)]
