"""A paired bootstrap: the interval of the difference of two ratios over the whole benchmark. Loads numpy."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mince_gui.report.paired_intervals import combined

Cell = tuple[float, float]
Cells = npt.NDArray[np.float64]
"""Items x (passed, trials, their passed, their trials)."""
FEW_CHANGES = 20
"""Items: with fewer that changed, a bootstrap knows too little of those that it did not see."""
_REPLICATES = 2000
_MOST_KINDS = 500
"""Different items drawn from; more of them are merged with those most like them, at no loss that shows."""
_EDGE = 1e-9


def bootstrap_interval(
    mine: Sequence[Cell], theirs: Sequence[Cell], total: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Interval in pp of the difference of two ratios over the whole benchmark: a paired bootstrap over items.

    `mine[i]` and `theirs[i]` are (passed, trials) of one item. So many items are drawn with replacement, (n - 1) /
    (1 - n/total), that the replicates vary as samples without replacement do (McCarthy and Snowden 1985); the ends are
    percentiles. Where fewer than 20 items changed it is widened to the interval of the counts, an item counting as much
    as those that changed do, since rare changes that were not seen are in no replicate. The generator is seeded by the
    data: the same items give the same interval. One item gives -100 to 100. Raises ValueError without trials.
    """
    n = len(mine)
    cells = np.array([(*m, *t) for m, t in zip(mine, theirs, strict=True)], dtype=np.float64).reshape(n, 4)
    passed, trials, their_passed, their_trials = cells.sum(axis=0).tolist()
    if min(trials, their_trials) <= 0:
        raise ValueError("a ratio without trials has no interval")
    delta = 100.0 * (passed / trials - their_passed / their_trials)
    if n >= total:
        return delta, delta
    if n == 1:
        return -100.0, 100.0
    low, high = _percentiles(cells, total, level)
    usable = cells[(cells[:, 1] > 0) & (cells[:, 3] > 0)]
    gains = (usable[:, 0] / usable[:, 1] - usable[:, 2] / usable[:, 3]) * usable[:, 3]
    up, down = gains[gains > _EDGE], gains[gains < -_EDGE]
    if len(up) + len(down) < FEW_CHANGES:
        # What a changed item weighs; where none was seen, as much as one that changes in all its trials.
        mean = their_trials / n
        gain = float(up.mean()) / mean if len(up) else 1.0
        loss = -float(down.mean()) / mean if len(down) else 1.0
        least, greatest = combined(len(up), len(down), n, total, gain, loss, level)
        low, high = min(low, least), max(high, greatest)
    return max(-100.0, min(low, delta)), min(100.0, max(high, delta))


def _percentiles(cells: Cells, total: int, level: float) -> tuple[float, float]:
    """Equal items are drawn together, as counts: the cost grows with the number of different items only."""
    n = len(cells)
    kinds, counts = _kinds(cells)
    rng = np.random.default_rng(_seed(kinds, counts, total))
    size = (n - 1) / (1 - n / total)
    # The size is seldom whole: some replicates get one item more, so that the mean size is right.
    sizes = np.maximum(1, math.floor(size) + (rng.random(_REPLICATES) < size % 1).astype(np.int64))
    sums = rng.multinomial(sizes, counts / n) @ kinds
    sums = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    differences = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    return 100.0 * float(low), 100.0 * float(high)


def _kinds(cells: Cells) -> tuple[Cells, npt.NDArray[np.int64]]:
    """The different items, and how many there are of each; at most 500, by merging those that say nearly the same."""
    kinds, counts = np.unique(cells, axis=0, return_counts=True)
    if len(kinds) <= _MOST_KINDS:
        return kinds, counts
    passed, trials, their_passed, their_trials = cells.sum(axis=0)
    says = (kinds[:, 0] - passed / trials * kinds[:, 1]) / trials
    says -= (kinds[:, 2] - their_passed / their_trials * kinds[:, 3]) / their_trials
    groups = np.array_split(np.argsort(says, kind="stable"), _MOST_KINDS)
    merged = np.array([counts[group] @ kinds[group] / counts[group].sum() for group in groups])
    return merged, np.array([counts[group].sum() for group in groups])


def _seed(kinds: Cells, counts: npt.NDArray[np.int64], total: int) -> int:
    """The same for the same items on every machine, in whatever order they come."""
    digest = hashlib.sha256(kinds.astype("<f8").tobytes() + counts.astype("<i8").tobytes() + str(total).encode())
    return int.from_bytes(digest.digest()[:8], "big")
