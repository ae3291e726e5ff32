"""The two worst-case rules on draws: percentiles of |drift|.

All percentiles are those of `numpy.percentile` (linear between two of the sorted draws).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.logs.types import FloatArray
from mince_gui.sizing.draws import Simulation, threads
from mince_gui.sizing.smooth import spread
from mince_gui.sizing.types import Worst

# Relative, and as a fraction of trials: what counting in single precision may be wrong by, with room to spare.
_DOUBT = 1e-6

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Quantiles:
    """A simulation's answer, in pp.

    `pairs` (C, T) is the quantile of |drift| of each pair; `by_rule` the worst case (T,) by each rule that the draws
    serve (joint only where pairs share them); `by_level` (L, T) the asked rule at the asked levels.
    """

    pairs: FloatArray
    by_rule: Mapping[Worst, FloatArray]
    by_level: FloatArray


def drifts(simulation: Simulation, t: int, c: int) -> FloatArray:
    """|drift| in pp of pair `c` in every draw at size number `t`, (R,).

    Where outcomes are whole numbers this is one division of whole numbers, so equal fractions are equal numbers.
    """
    patterns = simulation.patterns
    passed_at, trials_at = patterns.passed_at[c], patterns.trials_at[c]
    trials = simulation.sums[t, trials_at].astype(np.float64)
    drift: FloatArray = simulation.sums[t, passed_at].astype(np.float64)
    drift *= patterns.totals[trials_at]
    drift -= trials * patterns.totals[passed_at]
    np.abs(drift, out=drift)
    drift *= 100.0
    trials *= patterns.totals[trials_at]
    drift /= trials
    return drift


def quantiles(
    simulation: Simulation,
    quantile: float,
    worst: Worst,
    *,
    levels: Sequence[float] = (),
    cancel: CancelToken | None = None,
) -> Quantiles:
    """Everything about `simulation` that a sizing keeps: the curve of every pair, both rules, the distribution."""
    draws = simulation.sums.shape[2]
    wanted = np.array([*levels, quantile])

    def at(t: int) -> tuple[FloatArray, float, FloatArray]:
        pairs = np.empty(len(simulation.pairs.places))
        highest = np.zeros(draws)
        by_level = np.zeros(len(levels))
        for c in range(len(pairs)):
            drift = drifts(simulation, t, c)
            if simulation.shared:
                np.maximum(highest, drift, out=highest)
            if worst == "per-model" and levels:
                drift.sort()
                found = _between(drift, wanted)
                np.maximum(by_level, found[:-1], out=by_level)
                pairs[c] = found[-1]
            else:
                pairs[c] = percentile(drift, quantile)
        if worst == "joint":
            highest.sort()
            by_level = _between(highest, wanted[:-1])
        return pairs, percentile(highest, quantile), by_level

    parts = _for_each_size(simulation, at, cancel)
    pairs = np.stack([part[0] for part in parts], axis=1)
    by_rule: dict[Worst, FloatArray] = {"per-model": pairs.max(axis=0)}
    if simulation.shared:
        by_rule["joint"] = np.array([part[1] for part in parts])
    return Quantiles(pairs, by_rule, np.stack([part[2] for part in parts], axis=1))


def around(quantile: float, draws: int) -> tuple[float, float]:
    """Levels two standard errors of a probability below and above `quantile`, as so many draws tell it.

    Never below 0 or above 1: near these they lie closer together.
    """
    reach = 2.0 * _probability_error(quantile, draws)
    return max(quantile - reach, 0.0), min(quantile + reach, 1.0)


def error_between(below_pp: FloatArray, above_pp: FloatArray, quantile: float, draws: int) -> FloatArray:
    """Monte Carlo standard error in pp of `quantile`, from the values at the two levels of `around`, (T,).

    Too small where only a few draws lie beyond the quantile: `advice.on_the_draws` warns of that.
    It needs no second set of draws and, wider than one error, sees the lump next to the one the quantile lies on.
    """
    below, above = around(quantile, draws)
    errors_apart = (above - below) / _probability_error(quantile, draws)
    return np.asarray((above_pp - below_pp) / errors_apart, dtype=np.float64)


def _probability_error(quantile: float, draws: int) -> float:
    return float(np.sqrt(quantile * (1 - quantile) / draws))


def worst_case(
    simulation: Simulation,
    quantile: float,
    worst: Worst,
    pools: Sequence[Sequence[int]] | None = None,
    *,
    cancel: CancelToken | None = None,
) -> FloatArray:
    """P95 (G, T) in pp by one rule, for each of the pools, given as numbers of pairs (default: one pool of all).

    Rule per-model orders the draws of a pair only where enough of them may lie above the highest percentile found so
    far; the pair with the largest variance comes first. The figures are those of `quantiles`.
    """
    count = len(simulation.pairs.places)
    pools = [range(count)] if pools is None else pools
    order = np.argsort(-spread(simulation.pairs), kind="stable").tolist()

    def joint_at(t: int) -> list[float]:
        return [_joint(simulation, t, pool, quantile) for pool in pools]

    def per_model_at(t: int) -> list[float]:
        known: dict[int, float] = {}
        found = []
        for pool in pools:
            members = set(pool)
            highest = 0.0
            for c in order:
                if c not in members:
                    continue
                if c not in known and _may_exceed(simulation, t, c, highest, quantile):
                    known[c] = percentile(drifts(simulation, t, c), quantile)
                highest = max(highest, known.get(c, 0.0))
            found.append(highest)
        return found

    return np.array(_for_each_size(simulation, joint_at if worst == "joint" else per_model_at, cancel)).T


def percentile(values: FloatArray, quantile: float) -> float:
    """`numpy.percentile` of the values, which are reordered."""
    last = len(values) - 1
    at = min(int(last * quantile) + 1, last)
    if at:
        values.partition(at)
        values[at - 1] = values[:at].max()
    return float(_between(values, np.array([quantile]))[0])


def _joint(simulation: Simulation, t: int, pool: Sequence[int], quantile: float) -> float:
    highest = np.zeros(simulation.sums.shape[2])
    for c in pool:
        np.maximum(highest, drifts(simulation, t, c), out=highest)
    return percentile(highest, quantile)


def _between(ordered: FloatArray, levels: FloatArray) -> FloatArray:
    """The percentiles, where the values around each are in their sorted places; numpy's formula, to the digit."""
    places = (len(ordered) - 1) * levels
    below = places.astype(np.int64)
    a, b = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    share = places - below
    return np.where(share >= 0.5, b - (b - a) * (1 - share), a + (b - a) * share)


def _may_exceed(simulation: Simulation, t: int, c: int, bound_pp: float, quantile: float) -> bool:
    """False only where the percentile of pair `c` is certainly at most `bound_pp`; costs far less than to order."""
    passed = simulation.sums[t, simulation.patterns.passed_at[c]]
    trials = simulation.sums[t, simulation.patterns.trials_at[c]]
    full = float(simulation.pairs.full[c])
    reach = bound_pp / 100.0 * (1 - _DOUBT) - _DOUBT
    above = np.count_nonzero(passed > trials * passed.dtype.type(full + reach))
    above += np.count_nonzero(passed < trials * passed.dtype.type(full - reach))
    draws = len(passed)
    return int(above) > draws - 2 - int((draws - 1) * quantile)


def _for_each_size(simulation: Simulation, answer: Callable[[int], Answer], cancel: CancelToken | None) -> list[Answer]:
    def checked(t: int) -> Answer:
        if cancel is not None:
            cancel.check()
        return answer(t)

    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(checked, range(len(simulation.sums))))
