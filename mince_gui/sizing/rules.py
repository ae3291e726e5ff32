"""Marginal gains and the n* rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

# P95 values that are equal as fractions may differ in their last binary digits; gains are rounded to this.
_DIGITS = 9


def gains(p95_pp: Sequence[float]) -> tuple[float | None, ...]:
    """Marginal gain per step in pp: None for the first size, then P95(n_{t-1}) - P95(n_t)."""
    steps = pairwise(p95_pp)
    return (None, *(round(float(before) - float(after), _DIGITS) + 0.0 for before, after in steps))


def n_star(sizes: Sequence[int], p95_pp: Sequence[float], tau_pp: float) -> int | None:
    """The first size, from the second on, whose gain g satisfies 0 <= g < tau; None where there is none."""
    for n, gain in zip(sizes, gains(p95_pp), strict=True):
        if gain is not None and 0 <= gain < tau_pp:
            return n
    return None
