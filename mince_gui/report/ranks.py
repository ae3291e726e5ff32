"""Whether a subset keeps the order of several models: Spearman's rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST = 3
"""Models: of two the order is either kept or turned, which no correlation tells better."""


def spearman(full: Sequence[float], subset: Sequence[float]) -> float | None:
    """Spearman's rho between the full and the subset scores of the same models, ties averaged.

    None for fewer than three models and where one side is constant. Raises ValueError for unequal lengths.
    """
    if len(full) != len(subset):
        raise ValueError(f"{len(full)} full scores and {len(subset)} subset scores are not of the same models")
    if len(full) < FEWEST:
        return None
    mine, theirs = _centred_ranks(full), _centred_ranks(subset)
    size = math.fsum(a * a for a in mine) * math.fsum(b * b for b in theirs)
    if size == 0:
        return None
    rho = math.fsum(a * b for a, b in zip(mine, theirs, strict=True)) / math.sqrt(size)
    return max(-1.0, min(1.0, rho))


def _centred_ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value less the mean rank; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    for stop in range(1, len(order) + 1):
        if stop == len(order) or values[order[stop]] != values[order[start]]:
            for place in order[start:stop]:
                ranks[place] = (start + stop - 1) / 2 - (len(order) - 1) / 2
            start = stop
    return ranks
