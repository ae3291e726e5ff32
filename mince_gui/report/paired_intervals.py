"""Intervals of a paired difference over the whole benchmark, seen through a subset drawn without replacement."""

from __future__ import annotations

import math

from mince_gui.report.intervals import finite_population_interval

_EDGE = 1e-9


def counts_interval(gained: int, lost: int, n: int, total: int, *, level: float = 0.95) -> tuple[float, float]:
    """Interval in pp of (items gained - items lost) / total, from the gained and lost ones among n drawn items.

    The exact (hypergeometric) limits of either count are combined by the method of variance estimates recovery (MOVER:
    Zou and Donner 2008, with the correlation of two cells of one table), then widened to the next difference that a
    benchmark of `total` items can have. Where nothing changed there is still an interval; `n == total` gives the point.
    Raises ValueError for counts that cannot be.
    """
    if gained < 0 or lost < 0 or gained + lost > n:
        raise ValueError(f"{gained} gained and {lost} lost of {n} items cannot be")
    low, high = combined(gained, lost, n, total, 1.0, 1.0, level)
    least = math.floor(low * total / 100 + _EDGE)
    greatest = math.ceil(high * total / 100 - _EDGE)
    return 100.0 * max(-total, least) / total, 100.0 * min(total, greatest) / total


def combined(gained: int, lost: int, n: int, total: int, gain: float, loss: float, level: float) -> tuple[float, float]:
    """Interval of gained less lost in pp of all items, an item gained counting `gain` and one lost `loss`."""
    up, down = 100.0 * gained / n, 100.0 * lost / n
    up_low, up_high = finite_population_interval(gained, n, total, level=level)
    down_low, down_high = finite_population_interval(lost, n, total, level=level)
    # Both counts are of one table: an item that was gained cannot be lost.
    rest = (n - gained) * (n - lost)
    together = -math.sqrt(gained * lost / rest) if rest else -1.0
    centre = gain * up - loss * down
    below = _reach(gain * (up - up_low), loss * (down_high - down), together)
    above = _reach(gain * (up_high - up), loss * (down - down_low), together)
    return centre - below, centre + above


def _reach(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(0.0, first * first + second * second - 2 * correlation * first * second))
