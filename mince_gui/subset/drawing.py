"""Which items: uniform draws, and draws stratified by category. Positions count from 0 in canonical order."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mince_gui.base.errors import UsageError

_ORDER_SEED = 0


def draw_uniform(total_items: int, n: int, seed: int) -> tuple[int, ...]:
    """`n` of `total_items` positions, ascending: numpy's `default_rng(seed).choice` without replacement.

    The public tool of the same method draws the same items for the same order, n and seed.
    Raises UsageError for an n outside 1..total_items.
    """
    _check(total_items, n, seed)
    drawn = np.random.default_rng(seed).choice(total_items, size=n, replace=False)
    return tuple(sorted(int(position) for position in drawn))


def running_order(n: int) -> tuple[int, ...]:
    """The order in which the n items of a subset are run: random, and the same on every machine.

    Benchmarks are sorted by subject or difficulty; run in that order, a score so far would say little of the whole.
    In this order every part that was run is a uniform draw of the subset.
    """
    return tuple(np.random.default_rng(_ORDER_SEED).permutation(n).tolist())


def draw_stratified(categories: Sequence[str | None], n: int, seed: int) -> tuple[int, ...]:
    """`n` positions, ascending, with every category's share kept by Webster apportionment.

    `categories[i]` belongs to the item at position i; items without one make a stratum of their own.
    Raises UsageError where no item has a category, or for an n outside 1..len(categories).
    """
    _check(len(categories), n, seed)
    if all(category is None for category in categories):
        raise UsageError("No item has a category, so there is nothing to stratify by.", "Use --sampler uniform.")
    strata: dict[str, list[int]] = {}
    for position, category in enumerate(categories):
        strata.setdefault(category or "", []).append(position)
    names = sorted(strata)
    seats = webster([len(strata[name]) for name in names], n)
    rng = np.random.default_rng(seed)
    drawn: list[int] = []
    for name, count in zip(names, seats, strict=True):
        drawn += (int(i) for i in rng.choice(strata[name], size=count, replace=False))
    return tuple(sorted(drawn))


def webster(populations: Sequence[int], seats: int) -> tuple[int, ...]:
    """Webster/Sainte-Lague seats per stratum: never above its population, `seats` in all.

    Every seat goes to the highest population / (2 x seats so far + 1); ties to the larger stratum,
    then to the earlier one. Raises ValueError where there are fewer items than seats.
    """
    if not 0 <= seats <= sum(populations):
        raise ValueError(f"{seats} seats for {sum(populations)} items")
    given = [0] * len(populations)
    waiting = [(-Fraction(size), -size, place) for place, size in enumerate(populations) if size > 0]
    heapq.heapify(waiting)
    for _ in range(seats):
        _, _, place = heapq.heappop(waiting)
        given[place] += 1
        size = populations[place]
        if given[place] < size:
            heapq.heappush(waiting, (-Fraction(size, 2 * given[place] + 1), -size, place))
    return tuple(given)


def _check(total_items: int, n: int, seed: int) -> None:
    if not 1 <= n <= total_items:
        raise UsageError(f"A subset of {n} items cannot be drawn from {total_items}.", "Give --n within that range.")
    if seed < 0:
        raise UsageError(f"--seed must be 0 or more, not {seed}.")
