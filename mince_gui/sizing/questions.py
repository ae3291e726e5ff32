"""What people ask first: how many items for this bound, and what bound for this much time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing.draws import Simulation, most_narrow, simulate
from mince_gui.sizing.exact import exact_curves, exact_within, holds
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.patterns import Patterns, patterns_of
from mince_gui.sizing.quantiles import around, error_between, quantiles, worst_case
from mince_gui.sizing.solve import check_memory, is_exact
from mince_gui.sizing.types import Bound, Budget, Plan, SizingResult, Target

_POINTS = 32
# Lumps looked at to either side of where bounds cross a target: a bound moves by about one, the crossing as well.
_LUMPS = 3
_LARGEST_PP = 100.0
_SUMS_AT_ONCE = 512 << 20
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
    return _bound(_draw(pairs, patterns_of(pairs), sizing.plan, [n], emit, cancel), sizing.plan, n, cancel)


def n_for_target(
    matrix: ScoreMatrix,
    sizing: SizingResult,
    target_pp: float,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Target:
    """The smallest n, candidate size or not, whose bound is at most `target_pp`; `matrix` is the sizing's own pool.

    Exact: every n is looked at. By draws: every n from some lumps below the first that holds the target to as many
    above the last that exceeds it, with the sizing's seed; farther off the candidate sizes alone. A target above
    100 pp is one of 100 pp. Emits Progress (draws done, or scores looked at). Raises UsageError for a target that is
    none, CancelledError after a cancel.
    """
    check_target(target_pp)
    target_pp = min(target_pp, _LARGEST_PP)
    pairs = pairs_of(matrix)
    if is_exact(matrix, pairs, sizing.plan):
        return _exact_target(pairs, sizing, target_pp, emit, cancel)
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
    check_budget(hours, seconds_per_item)
    n = math.floor(min(_fitting(hours, seconds_per_item), float(matrix.total_items)))
    return Budget(hours, seconds_per_item, bound_at(matrix, sizing, n, emit=emit, cancel=cancel))


def check_target(target_pp: float) -> None:
    """Raise UsageError for a target that no n could answer; needs no sizing, so that it may come before one."""
    if not (math.isfinite(target_pp) and target_pp > 0):
        raise UsageError(f"--target-p95 must be a number of pp above 0, not {target_pp}.", "For instance 3.0.")


def check_budget(hours: float, seconds_per_item: float) -> None:
    """Raise UsageError for times that are none, or where not one item fits; needs no sizing either."""
    for name, value, unit in (("--hours", hours, _SECONDS_PER_HOUR), ("--seconds-per-item", seconds_per_item, 1.0)):
        if not (math.isfinite(value * unit) and value > 0):
            raise UsageError(f"{name} must be a number above 0 that is a time, not {value}.")
    if _fitting(hours, seconds_per_item) < 1:
        raise UsageError(
            f"Not one item fits into {hours:g} hours at {seconds_per_item:g} seconds per item.", "Give it more --hours."
        )


def _fitting(hours: float, seconds_per_item: float) -> float:
    """How many items fit; a hair more, for 0.1 hours are a little less than 360 seconds in binary."""
    return hours * _SECONDS_PER_HOUR / seconds_per_item + 1e-9


def _exact_target(
    pairs: Pairs, sizing: SizingResult, target_pp: float, emit: Emit, cancel: CancelToken | None
) -> Target:
    total = pairs.total_items
    held = np.ones(total - 1, dtype=np.bool_)
    counts = sorted(set(_right(pairs)))
    for done, right in enumerate(counts, start=1):
        if cancel is not None:
            cancel.check()
        held &= holds(exact_within(total, right, target_pp), sizing.plan.quantile)
        emit(Progress(done, len(counts), "scores"))
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
    bounds = _known(sizing)
    known = {0: np.inf, **{n: bound.p95_pp for n, bound in bounds.items()}}
    while wanted := _worth_drawing(known, target_pp):
        for sizes in _parts(wanted, sizing.plan, patterns):
            drawn = _draw(pairs, patterns, sizing.plan, sizes, emit, cancel)
            p95 = worst_case(drawn, sizing.plan.quantile, sizing.plan.worst, cancel=cancel)[0]
            known |= zip(sizes, p95.tolist(), strict=True)
            first = next((t for t, bound in enumerate(p95) if bound <= target_pp), None)
            # Only the answer needs an error, and it is the first that holds of the part that it was drawn with.
            if first is not None:
                bounds[sizes[first]] = _bound(drawn, sizing.plan, sizes[first], cancel, first)
    first, _, _, always = _crossing(known, target_pp)
    return Target(target_pp, bounds[first], always)


def _crossing(known: Mapping[int, float], target_pp: float) -> tuple[int, int, int, int]:
    """The first size that holds the target and the one below, the last that exceeds it and the one above, as known."""
    first = min(n for n, p95 in known.items() if p95 <= target_pp)
    last = max(n for n, p95 in known.items() if p95 > target_pp)
    return first, max(n for n in known if n < first), last, min(n for n in known if n > last)


def _worth_drawing(known: Mapping[int, float], target_pp: float) -> list[int]:
    """The sizes to draw next: some in gaps that are wide, then every one near the first and the last crossing.

    From one size to the next P95 falls by P95/2n N/(N - n) pp, and a lump is 100/n pp or less: so many sizes go by
    until P95 has fallen by a few lumps.
    """
    total = max(known)
    first, below, last, above = _crossing(known, target_pp)
    share_left = 1 - first / total
    reach = math.ceil(min(max(_LUMPS * 200.0 / target_pp * share_left, 1.0), float(total)))
    gaps = [(low, high) for low, high in sorted({(below, first), (last, above)}) if high - low > 2 * reach]
    wanted: set[int] = set()
    for low, high in gaps:
        wanted |= {int(n) for n in np.linspace(low, high, min(_POINTS + 2, high - low + 1)).round()[1:-1]}
    if not gaps:
        wanted = set(range(max(min(below + 1, first - reach), 1), min(max(above - 1, last + reach), total - 1) + 1))
    return sorted(wanted - known.keys())


def _parts(sizes: list[int], plan: Plan, patterns: Patterns) -> list[list[int]]:
    """`sizes` in parts of about equal length that fit the memory, with the draws of a single size where that pays."""
    one = plan.draws * patterns.values.shape[1] * patterns.values.itemsize
    most = max(_SUMS_AT_ONCE // one, 1)
    if (narrow := most_narrow(patterns)) >= _POINTS:
        most = min(most, narrow)
    return [part.tolist() for part in np.array_split(sizes, -(-len(sizes) // most))]


def _draw(
    pairs: Pairs, patterns: Patterns, plan: Plan, sizes: list[int], emit: Emit, cancel: CancelToken | None
) -> Simulation:
    def tick(done: int) -> None:
        emit(Progress(done, plan.draws, f"{sizes[0]} to {sizes[-1]} items" if len(sizes) > 1 else f"{sizes[0]} items"))

    check_memory(plan.draws, len(sizes), patterns)
    shared = plan.worst == "joint"
    return simulate(pairs, sizes, plan.draws, plan.seed, shared=shared, tick=tick, cancel=cancel, patterns=patterns)


def _bound(drawn: Simulation, plan: Plan, n: int, cancel: CancelToken | None, t: int = 0) -> Bound:
    """The bound at `n`, which is size number `t` of those drawn, and its error."""
    drawn = replace(drawn, sums=drawn.sums[t : t + 1])
    levels = around(plan.quantile, plan.draws)
    found = quantiles(drawn, plan.quantile, plan.worst, levels=levels, cancel=cancel)
    below, above = found.by_level
    error = error_between(below, above, plan.quantile, plan.draws)
    return Bound(n, float(found.by_rule[plan.worst][0]), float(error[0]), "draws")


def _known(sizing: SizingResult) -> dict[int, Bound]:
    """What the sizing says already: its candidate sizes, and all items, which have no drift."""
    sizes = (*sizing.plan.sizes, sizing.total_items)
    triples = zip(sizes, (*sizing.p95_pp, 0.0), (*sizing.error_pp, 0.0), strict=True)
    return {n: Bound(n, p95, error, sizing.method) for n, p95, error in triples}


def _exact_p95(pairs: Pairs, plan: Plan, n: int) -> float:
    return float(exact_curves(pairs.total_items, _right(pairs), [n], plan.quantile).max())


def _right(pairs: Pairs) -> list[int]:
    return [round(count) for count in pairs.passed.sum(axis=1)]
