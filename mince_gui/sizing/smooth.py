"""The lump-free closed form: normal approximation with finite population, delta method for ratio metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mince_gui.logs.types import FloatArray
from mince_gui.sizing.pairs import Pairs


def smooth_curve(pairs: Pairs, sizes: Sequence[int], quantile: float) -> FloatArray:
    """Approximate P95 (rule per-model) in pp at every size, shape (T,).

    The worst pair is the one with the largest variance, the same at every size. Per item the
    linearised residual of a ratio is (passed - score x trials) / mean trials; for plain accuracies
    this gives p (1 - p) / n x (N - n) / (N - 1) exactly.
    """
    return _bound(float(spread(pairs).max()), pairs.total_items, sizes, quantile)


def spread(pairs: Pairs) -> FloatArray:
    """Variance per item (with N - 1) of each pair's linearised score, (C,)."""
    found = np.empty(len(pairs.places))
    for c, (passed, trials, full) in enumerate(zip(pairs.passed, pairs.trials, pairs.full, strict=True)):
        residual = passed - full * trials
        found[c] = residual @ residual / trials.mean() ** 2
    return found / max(pairs.total_items - 1, 1)


def preview(
    total_items: int, scores_percent: Sequence[float], sizes: Sequence[int], quantile: float = 0.95
) -> tuple[float, ...]:
    """Approximate P95 in pp at every size from full scores in percent alone: for plain accuracies, instant.

    The model nearest 50 % sets the worst case. NaN at every size where no score is given.
    """
    shares = np.asarray([s for s in scores_percent if not np.isnan(s)], dtype=np.float64) / 100.0
    if shares.size == 0 or total_items < 2:
        return tuple(float("nan") for _ in sizes)
    variance = float((shares * (1 - shares)).max()) * total_items / (total_items - 1)
    return tuple(float(v) for v in _bound(variance, total_items, sizes, quantile))


def _bound(variance: float, total: int, sizes: Sequence[int], quantile: float) -> FloatArray:
    """Bound in pp from the variance per item (with N - 1) of a mean over n of `total` items."""
    from scipy.special import ndtri  # as in `exact`: long to import, and not needed to read what was sized

    n = np.asarray(sizes, dtype=np.float64)
    z = float(ndtri((1.0 + quantile) / 2.0))
    return np.asarray(100.0 * z * np.sqrt(variance / n * (1.0 - n / total)), dtype=np.float64)
