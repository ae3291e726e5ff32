"""Plain accuracies need no simulation: the number right in a uniform draw is hypergeometric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from mince_gui.logs.types import FloatArray

# Sums of some thousand probabilities carry about 1e-12; a CDF that equals the quantile must count as reached.
_TOLERANCE = 1e-10


def log_factorials(largest: int) -> FloatArray:
    """ln 0!, ln 1!, ..., ln `largest`!, shape (largest + 1,)."""
    return np.asarray(gammaln(np.arange(largest + 1) + 1.0), dtype=np.float64)


def exact_curves(total_items: int, right: Sequence[int], sizes: Sequence[int], quantile: float) -> FloatArray:
    """Exact quantile of |drift| in pp, shape (len(right), len(sizes)).

    `right[c]` is the number right among all `total_items`. The quantile is the smallest value whose
    CDF reaches `quantile`.
    """
    counts, inverse = np.unique(np.asarray(right, dtype=np.int64), return_inverse=True)
    table = log_factorials(total_items)
    columns = [_quantiles_at(total_items, counts, n, quantile, table) for n in sizes]
    return np.stack(columns, axis=1)[inverse]


def _quantiles_at(total: int, right: npt.NDArray[np.int64], n: int, quantile: float, table: FloatArray) -> FloatArray:
    """Quantile of |drift| in pp at size `n` for every count of `right` (distinct), shape (len(right),)."""
    seen = np.arange(n + 1)[None, :]
    good = right[:, None]
    possible = (seen <= good) & (n - seen <= total - good)
    inside = np.where(possible, seen, good * n // total)  # any possible count; its weight is set to 0 below
    log_weight = (
        table[good] - table[inside] - table[np.maximum(good - inside, 0)]
        + table[total - good] - table[n - inside] - table[np.maximum(total - good - n + inside, 0)]
        - (table[total] - table[n] - table[total - n])
    )  # fmt: skip
    weight = np.where(possible, np.exp(log_weight), 0.0)
    # Whole numbers, so that equal distances above and below the mean are equal: |x/n - C/N| times n N.
    distance = np.abs(seen * total - good * n)
    order = np.argsort(distance, axis=1)
    reached = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1) >= quantile - _TOLERANCE
    first = np.argmax(reached, axis=1)
    place = np.take_along_axis(order, first[:, None], axis=1)
    at = np.take_along_axis(distance, place, axis=1)[:, 0]
    return np.asarray(100.0 * at / (n * total), dtype=np.float64)
