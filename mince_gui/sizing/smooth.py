"""The lump-free closed form: normal approximation with finite population, delta method for ratio metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from mince_gui.logs.types import FloatArray
from mince_gui.sizing.pairs import Pairs


def smooth_curve(pairs: Pairs, sizes: Sequence[int], quantile: float) -> FloatArray:
    """Approximate P95 (rule per-model) in pp at every size, shape (T,).

    The worst pair is the one with the largest variance, the same at every size. Per item the
    linearised residual of a ratio is (passed - score x trials) / mean trials; for plain accuracies
    this gives p (1 - p) / n x (N - n) / (N - 1) exactly.
    """
    residual = (pairs.passed - pairs.full[:, None] * pairs.trials) / pairs.trials.mean(axis=1, keepdims=True)
    spread = (residual**2).sum(axis=1) / max(pairs.total_items - 1, 1)
    return _bound(float(spread.max()), pairs.total_items, sizes, quantile)


def preview(
    total_items: int, scores_percent: Sequence[float], sizes: Sequence[int], quantile: float = 0.95
) -> tuple[float, ...]:
    """Approximate P95 in pp at every size from full scores in percent alone: for plain accuracies, instant.

    The model nearest 50 % sets the worst case. NaN at every size where no score is given.
    """
    shares = np.asarray([s for s in scores_percent if not np.isnan(s)], dtype=np.float64) / 100.0
    if shares.size == 0 or total_items < 2:
        return tuple(float("nan") for _ in sizes)
    spread = float((shares * (1 - shares)).max()) * total_items / (total_items - 1)
    return tuple(float(v) for v in _bound(spread, total_items, sizes, quantile))


def _bound(spread: float, total: int, sizes: Sequence[int], quantile: float) -> FloatArray:
    """Bound in pp from the variance per item (with N - 1) of a mean over n of `total` items."""
    n = np.asarray(sizes, dtype=np.float64)
    z = float(ndtri((1.0 + quantile) / 2.0))
    return np.asarray(100.0 * z * np.sqrt(spread / n * (1.0 - n / total)), dtype=np.float64)
