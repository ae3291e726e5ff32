"""Intervals of a full-benchmark score, seen through a subset drawn without replacement.

The hypergeometric tails are summed here, in plain Python: the live charts ask for dozens of intervals at
a time, and the general functions of scipy.stats take ten times as long and most of a second to import.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_TIE = 1e-9
"""Relative: a tail as large as the level allows, but for rounding, refuses nothing (the wider interval)."""
_NEGLIGIBLE = 1e-18


def _chance(x: int, n: int, total: int, right: int) -> float:
    """P(X = x): x right ones among n drawn from `total` with `right` right ones; 0 outside what can be."""
    wrong = total - right
    if not max(0, n - wrong) <= x <= min(n, right):
        return 0.0
    return math.exp(_choose(right, x) + _choose(wrong, n - x) - _choose(total, n))


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _at_most(x: int, n: int, total: int, right: int) -> float:
    """P(X <= x), summed downwards from x; accurate where x is not far above the mean."""
    term = whole = _chance(x, n, total, right)
    spare = total - right - n
    while term > _NEGLIGIBLE * whole:
        term *= x * (spare + x) / ((right - x + 1) * (n - x + 1))
        whole += term
        x -= 1
    return whole


def _at_least(x: int, n: int, total: int, right: int) -> float:
    """P(X >= x), by counting the wrong ones; accurate where x is not far below the mean."""
    return _at_most(n - x, n, total, total - right)


def hypergeometric_tails(x: int, n: int, total: int, right: int) -> tuple[float, float]:
    """P(X <= x) and P(X >= x) of the number right among n drawn without replacement.

    The smaller tail is summed, the other follows from it: far from the mean a single chance underflows to 0.
    """
    if x * total <= n * right:
        return _at_most(x, n, total, right), 1.0 - _at_most(x - 1, n, total, right)
    return 1.0 - _at_least(x + 1, n, total, right), _at_least(x, n, total, right)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The smallest integer in low..high for which the monotone `holds` is true; `high` is taken to hold."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _check(n: int, total: int, level: float) -> None:
    if not 0 <= n <= total or total < 1:
        raise ValueError(f"{n} items of {total} is no subset")
    _check_level(level)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1")


def finite_population_interval(passed: int, n: int, total: int, *, level: float = 0.95) -> tuple[float, float]:
    """Exact interval in percent of the full score C/total, from `passed` of `n` items drawn without replacement.

    Inverts the two one-sided hypergeometric tests at (1 - level) / 2 each, so that it holds the true
    score with at least `level` for every C. For pass/fail metrics (one trial per item); `n == total`
    gives the point, `n == 0` gives 0 to 100. Raises ValueError for counts that cannot be.
    """
    _check(n, total, level)
    if not 0 <= passed <= n:
        raise ValueError(f"{passed} passed of {n} items cannot be")
    refused = (1 - level) / 2 * (1 - _TIE)
    least, most = passed, total - (n - passed)
    low = _first(least, most, lambda right: hypergeometric_tails(passed, n, total, right)[1] > refused)
    # The largest C that is not refused is one below the first that is; `most + 1` stands for "none is".
    high = _first(low, most + 1, lambda right: hypergeometric_tails(passed, n, total, right)[0] <= refused)
    return 100.0 * low / total, 100.0 * max(low, high - 1) / total


def binomial_interval(passed: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Exact (Clopper-Pearson) interval in percent of the chance of a pass, from `passed` of `n` items.

    For a population whose size is not known: it is never narrower in what it promises than
    `finite_population_interval`. `n == 0` gives 0 to 100. Raises ValueError for counts that cannot be.
    """
    from scipy.special import betaincinv

    if not 0 <= passed <= n:
        raise ValueError(f"{passed} passed of {n} items cannot be")
    _check_level(level)
    tail = (1 - level) / 2
    low = float(betaincinv(passed, n - passed + 1, tail)) if passed else 0.0
    high = float(betaincinv(passed + 1, n - passed, 1 - tail)) if passed < n else 1.0
    return 100.0 * low, 100.0 * high


def student_quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t at `share` for `freedom` degrees of freedom."""
    from scipy.special import stdtrit  # 0.1 s to import, and pass/fail metrics never need it

    return float(stdtrit(freedom, share))


def approximate_ratio_interval(
    passed: Sequence[float], trials: Sequence[float], total: int | None, *, level: float = 0.95
) -> tuple[float, float]:
    """Approximate interval in percent of the full ratio sum(passed) / sum(trials), for metrics with several trials.

    Linearised (delta method) on the logit scale: the standard error of the residuals passed - R * trials with the
    finite-population correction 1 - n/total (none where `total` is None), Student's t, and back from log(R / (1 - R)):
    near 0 and 100 % the plain scale misses up to 12 times in 100. `passed[i]` and `trials[i]` belong to one item. Where
    all items have the same ratio the residuals say nothing: then the interval leaves room for as many other items as
    the exact limit allows when none was seen. A single item gives 0 to 100. Raises ValueError where there is no trial.
    """
    n = len(passed)
    if total is not None:
        _check(n, total, level)
    size = math.fsum(trials)
    if size <= 0:
        raise ValueError("a ratio without trials has no interval")
    ratio = math.fsum(passed) / size
    if n == total:
        return 100.0 * ratio, 100.0 * ratio
    if n == 1:
        return 0.0, 100.0
    squares = math.fsum((p - ratio * t) ** 2 for p, t in zip(passed, trials, strict=True))
    spread = ratio * (1 - ratio)
    if squares <= _NEGLIGIBLE * size * size or spread <= 0:
        least = finite_population_interval(n, n, total, level=level) if total else binomial_interval(n, n, level=level)
        alike = least[0] / 100
        return 100.0 * ratio * alike, 100.0 * (1 - (1 - ratio) * alike)
    unseen = 1.0 if total is None else 1 - n / total
    error = math.sqrt(squares / (n - 1) / n * unseen) / (size / n)
    reach = student_quantile((1 + level) / 2, n - 1) * error / spread
    place = math.log(ratio / (1 - ratio))
    return 100.0 * _share_at(place - reach), 100.0 * _share_at(place + reach)


def _share_at(logit: float) -> float:
    """The share whose logit this is, without overflow at either end."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def approximate_total_interval(values: Sequence[float], total: int, *, level: float = 0.95) -> tuple[float, float]:
    """Approximate interval of the sum over all `total` items, from the values (>= 0) of the n >= 2 items at hand.

    What was seen is certain; of the rest the mean is taken, with Student's t and the finite-population correction on
    the log scale, since times have a long tail. Raises ValueError for fewer than two values.
    """
    n = len(values)
    _check(n, total, level)
    if n < 2:
        raise ValueError("one value has no spread")
    seen = math.fsum(values)
    mean = seen / n
    unseen = (total - n) * mean
    if unseen <= 0:
        return seen, seen
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    reach = total * student_quantile((1 + level) / 2, n - 1) * math.sqrt(variance / n * (1 - n / total))
    factor = math.exp(reach / unseen)
    return seen + unseen / factor, seen + unseen * factor
