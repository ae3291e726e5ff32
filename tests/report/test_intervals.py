from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb
from scipy.stats import hypergeom

from mince_gui.report import approximate_ratio_interval, finite_population_interval
from mince_gui.report.intervals import approximate_total_interval, hypergeometric_tails


def tail_tables(n: int, total: int) -> tuple[list[list[float]], list[list[float]]]:
    """P(X <= x) and P(X >= x) for every C, from binomial coefficients alone."""
    at_most, at_least = [], []
    for right in range(total + 1):
        ways = [comb(right, x, exact=True) * comb(total - right, n - x, exact=True) for x in range(n + 1)]
        everything = comb(total, n, exact=True)
        at_most.append([sum(ways[: x + 1]) / everything for x in range(n + 1)])
        at_least.append([sum(ways[x:]) / everything for x in range(n + 1)])
    return at_most, at_least


@st.composite
def samples(draw: st.DrawFn) -> tuple[int, int, int]:
    total = draw(st.integers(1, 40))
    n = draw(st.integers(0, total))
    return draw(st.integers(0, n)), n, total


@settings(max_examples=50, deadline=None)
@given(samples(), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_holds_exactly_the_populations_that_no_tail_refuses(
    sample: tuple[int, int, int], level: float
) -> None:
    passed, n, total = sample
    at_most, at_least = tail_tables(n, total)
    tail = (1 - level) / 2 * (1 - 1e-9)
    kept = [
        right
        for right in range(passed, total - (n - passed) + 1)
        if at_most[right][passed] > tail and at_least[right][passed] > tail
    ]
    low, high = finite_population_interval(passed, n, total, level=level)
    assert low == pytest.approx(100 * min(kept) / total)
    assert high == pytest.approx(100 * max(kept) / total)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from([(541, 250), (1319, 400), (14_042, 1500), (14_042, 14_000)]), st.data())
def test_the_tails_agree_with_scipy_wherever_they_decide_anything(sizes: tuple[int, int], data: st.DataObject) -> None:
    total, n = sizes
    passed = data.draw(st.integers(0, n))
    right = data.draw(st.integers(passed, total - (n - passed)))
    below, above = hypergeometric_tails(passed, n, total, right)
    assert below == pytest.approx(hypergeom.cdf(passed, total, right, n), rel=1e-6, abs=1e-9)
    assert above == pytest.approx(hypergeom.sf(passed - 1, total, right, n), rel=1e-6, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([(541, 250), (1319, 400), (14_042, 1500)]), st.data())
def test_the_ends_of_a_large_interval_are_the_last_that_scipy_does_not_refuse(
    sizes: tuple[int, int], data: st.DataObject
) -> None:
    total, n = sizes
    passed = data.draw(st.integers(0, n))
    low, high = (round(bound * total / 100) for bound in finite_population_interval(passed, n, total))
    assert hypergeom.sf(passed - 1, total, low, n) > 0.025
    assert low == passed or hypergeom.sf(passed - 1, total, low - 1, n) <= 0.025
    assert hypergeom.cdf(passed, total, high, n) > 0.025
    assert high == total - (n - passed) or hypergeom.cdf(passed, total, high + 1, n) <= 0.025


@pytest.mark.parametrize(("total", "n"), [(12, 5), (30, 11), (57, 40), (100, 10)])
def test_the_interval_covers_every_population_at_least_95_times_in_100(total: int, n: int) -> None:
    spans = [finite_population_interval(x, n, total) for x in range(n + 1)]
    everything = comb(total, n, exact=True)
    for right in range(total + 1):
        truth = 100 * right / total
        ways = sum(
            comb(right, x, exact=True) * comb(total - right, n - x, exact=True)
            for x, (low, high) in enumerate(spans)
            if low - 1e-9 <= truth <= high + 1e-9
        )
        assert ways / everything >= 0.95, right


@pytest.mark.parametrize(("passed", "total"), [(0, 7), (7, 7), (3, 7), (9000, 14_042)])
def test_the_whole_benchmark_gives_the_point(passed: int, total: int) -> None:
    assert finite_population_interval(passed, total, total) == (100 * passed / total, 100 * passed / total)


def test_no_item_gives_everything() -> None:
    assert finite_population_interval(0, 0, 541) == (0.0, 100.0)


def test_all_passed_still_leaves_room_below() -> None:
    low, high = finite_population_interval(20, 20, 541)
    assert high == 100.0
    assert 80 < low < 90


def test_more_items_never_widen_the_interval() -> None:
    widths = [high - low for low, high in (finite_population_interval(n // 2, n, 541) for n in range(20, 541, 40))]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("passed", "n", "total"), [(3, 2, 10), (-1, 2, 10), (1, 11, 10), (0, 0, 0)])
def test_impossible_counts_are_refused(passed: int, n: int, total: int) -> None:
    with pytest.raises(ValueError, match=r"cannot be|no subset"):
        finite_population_interval(passed, n, total)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        finite_population_interval(1, 2, 3, level=level)


def population(score: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    trials = rng.choice([1, 2, 3], size=541, p=[0.6, 0.26, 0.14])
    # Passing depends on the item, as it does in real logs: trials of one prompt succeed together.
    ability = rng.beta(2 * score, 2 * (1 - score), size=541)
    return rng.binomial(trials, ability), trials


@pytest.mark.parametrize(("score", "n"), list(product([0.12, 0.5, 0.88], [100, 250, 450])))
def test_the_ratio_interval_covers_93_to_97_times_in_100(score: float, n: int) -> None:
    passed, trials = population(score, seed=n)
    truth = 100 * passed.sum() / trials.sum()
    rng = np.random.default_rng(11)
    hits, rounds = 0, 1500
    for _ in range(rounds):
        chosen = rng.choice(541, size=n, replace=False)
        low, high = approximate_ratio_interval(passed[chosen].tolist(), trials[chosen].tolist(), 541)
        hits += low <= truth <= high
    noise = 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert 0.95 - 0.02 - noise <= hits / rounds <= 0.95 + 0.02 + noise


def test_the_ratio_interval_of_the_whole_benchmark_is_the_point() -> None:
    assert approximate_ratio_interval([1, 0, 2], [1, 1, 3], 3) == (60.0, 60.0)


def test_a_perfect_ratio_score_is_not_given_as_certain() -> None:
    low, high = approximate_ratio_interval([1, 2, 3] * 10, [1, 2, 3] * 10, 541)
    assert (low, high) == finite_population_interval(30, 30, 541)


def test_one_item_says_nothing_about_a_ratio() -> None:
    assert approximate_ratio_interval([1], [3], 10) == (0.0, 100.0)


def test_a_ratio_without_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="trials"):
        approximate_ratio_interval([], [], 10)


def test_the_total_interval_covers_about_95_times_in_100() -> None:
    rng = np.random.default_rng(5)
    times = rng.lognormal(2.4, 0.5, size=541)
    hits = 0
    for _ in range(1000):
        chosen = times[rng.choice(541, size=150, replace=False)]
        low, high = approximate_total_interval(chosen.tolist(), 541)
        hits += low <= times.sum() <= high
    assert 0.92 <= hits / 1000 <= 0.98


def test_the_total_of_all_items_is_a_point() -> None:
    low, high = approximate_total_interval([1.0, 2.0, 4.0], 3)
    assert low == pytest.approx(7.0)
    assert high == pytest.approx(7.0)


def test_one_time_has_no_spread() -> None:
    with pytest.raises(ValueError, match="spread"):
        approximate_total_interval([1.0], 10)
