"""Plain accuracies need no simulation: the number right in a uniform draw is hypergeometric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.logs.types import FloatArray

# Sums of some thousand probabilities carry about 1e-12; a CDF that equals the quantile must count as reached.
_TOLERANCE = 1e-10
# The same for a CDF that was followed from size to size over a whole benchmark.
_FOLLOWED_TOLERANCE = 1e-8
# Standard deviations around the mean that are looked at first; beyond lies less than 1e-14.
_REACH = 8.0

IntArray = npt.NDArray[np.int64]


def log_factorials(largest: int) -> FloatArray:
    """ln 0!, ln 1!, ..., ln `largest`!, shape (largest + 1,)."""
    from scipy.special import gammaln  # 0.3 s to import, and a run, which reads frozen subsets, sizes nothing

    return np.asarray(gammaln(np.arange(largest + 1) + 1.0), dtype=np.float64)


def exact_quantiles(
    total_items: int,
    right: Sequence[int],
    sizes: Sequence[int],
    levels: Sequence[float],
    *,
    tick: Callable[[int], None] | None = None,
    cancel: CancelToken | None = None,
) -> FloatArray:
    """Exact quantiles of |drift| in pp, shape (len(levels), len(right), len(sizes)).

    `right[c]` is the number right among all `total_items`. A quantile is the smallest value whose CDF
    reaches its level. `tick(sizes solved)` is called after each size; raises CancelledError at the next
    size after a cancel.
    """
    counts, inverse = np.unique(np.asarray(right, dtype=np.int64), return_inverse=True)
    table = log_factorials(total_items)
    wanted = np.asarray(levels, dtype=np.float64)
    columns = []
    for done, n in enumerate(sizes, start=1):
        if cancel is not None:
            cancel.check()
        columns.append(_quantiles_at(total_items, counts, n, wanted, table))
        if tick is not None:
            tick(done)
    return np.stack(columns, axis=2)[:, inverse.reshape(-1)]


def exact_curves(
    total_items: int,
    right: Sequence[int],
    sizes: Sequence[int],
    quantile: float,
    *,
    tick: Callable[[int], None] | None = None,
    cancel: CancelToken | None = None,
) -> FloatArray:
    """`exact_quantiles` at one level, shape (len(right), len(sizes))."""
    found = exact_quantiles(total_items, right, sizes, [quantile], tick=tick, cancel=cancel)
    return np.asarray(found[0], dtype=np.float64)


def exact_within(total_items: int, right: int, target_pp: float) -> FloatArray:
    """P(|drift| <= `target_pp`) at every size 1, 2, ..., N - 1, shape (N - 1,); about 1e-9 is certain.

    `right` is the number right among all `total_items`; no drift exceeds 100 pp, so a larger target is that.
    """
    n = np.arange(1, total_items, dtype=np.int64)
    # |x/n - C/N| <= d as whole numbers; the last digits of d n N must not decide whether a distance equals it.
    allowed = np.floor(min(target_pp, 100.0) / 100.0 * n * total_items * (1 + 1e-12) + 1e-9).astype(np.int64)
    table = log_factorials(total_items)
    upper = np.minimum((right * n + allowed) // total_items, n)
    lower = np.maximum(-((allowed - right * n) // total_items), 0)
    return _followed(total_items, right, n, upper, table) - _followed(total_items, right, n, lower - 1, table)


def holds(within: FloatArray, quantile: float) -> npt.NDArray[np.bool_]:
    """Where the quantile of |drift| is at most the target that `exact_within` was asked for."""
    return np.asarray(within >= quantile - _FOLLOWED_TOLERANCE)


def _followed(total: int, right: int, n: IntArray, bound: IntArray, table: FloatArray) -> FloatArray:
    """P(X_n <= bound_n) for every n from 1 on; the bound grows by 0 or 1 from size to size.

    One more item changes P(X <= k) only where k are right already and the item is right too; so one
    probability per size, and one more where the bound grows, follow the whole curve.
    """
    weight = _weights(total, right, n, bound, table)
    lost = weight[:-1] * (right - bound[:-1]) / (total - n[:-1])
    won = np.where(np.diff(bound) > 0, weight[1:], 0.0)
    first = 0.0 if bound[0] < 0 else 1.0 if bound[0] >= 1 else 1.0 - right / total
    return np.asarray(first + np.concatenate([[0.0], np.cumsum(won - lost)]), dtype=np.float64)


def _weights(total: int, right: npt.ArrayLike, n: npt.ArrayLike, seen: npt.ArrayLike, table: FloatArray) -> FloatArray:
    """P(X_n = seen), broadcast; 0 where it cannot be."""
    good, size, x = (np.asarray(part, dtype=np.int64) for part in (right, n, seen))
    possible = (x >= 0) & (x <= good) & (x <= size) & (size - x <= total - good)
    x = np.where(possible, x, np.maximum(0, size - (total - good)))  # any possible count; its weight is set to 0 below
    log_weight: npt.NDArray[Any] = (
        table[good] - table[x] - table[good - x]
        + table[total - good] - table[size - x] - table[total - good - size + x]
        - (table[total] - table[size] - table[total - size])
    )  # fmt: skip
    return np.where(possible, np.exp(log_weight), 0.0)


def _quantiles_at(total: int, right: IntArray, n: int, levels: FloatArray, table: FloatArray) -> FloatArray:
    """Quantiles of |drift| in pp at size `n` for every count of `right` (distinct), shape (L, len(right))."""
    good = right[:, None]
    share = right / total
    deviation = float(np.sqrt((share * (1 - share)).max() * n * (total - n) / max(total - 1, 1)))
    reach = int(_REACH * deviation) + 2
    while True:
        seen = good * n // total + np.arange(-reach, reach + 1)
        weight = _weights(total, good, n, seen, table)
        # Whole numbers, so that equal distances above and below the mean are equal: |x/n - C/N| times n N.
        distance = np.abs(seen * total - good * n)
        order = np.argsort(distance, axis=1)
        reached = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
        if reach > n or bool((reached[:, -2] >= levels.max() - _TOLERANCE).all()):
            break
        reach *= 2
    places = np.stack([np.searchsorted(row, levels - _TOLERANCE) for row in reached])
    at = np.take_along_axis(distance, np.take_along_axis(order, np.minimum(places, 2 * reach), axis=1), axis=1)
    return np.asarray(100.0 * at.T / (n * total), dtype=np.float64)
