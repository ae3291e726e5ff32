from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb, expit, logit
from scipy.stats import binomtest, hypergeom
from scipy.stats import t as student_t
from statsmodels.stats.proportion import proportion_confint

from mince_gui.report import approximate_ratio_interval, finite_population_interval
from mince_gui.report.intervals import approximate_total_interval, binomial_interval, hypergeometric_tails


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


def test_the_ratio_interval_of_the_whole_benchmark_is_the_point() -> None:
    assert approximate_ratio_interval([1, 0, 2], [1, 1, 3], 3) == (60.0, 60.0)


def test_a_perfect_ratio_score_is_not_given_as_certain() -> None:
    low, high = approximate_ratio_interval([1, 2, 3] * 10, [1, 2, 3] * 10, 541)
    assert (low, high) == finite_population_interval(30, 30, 541)


@settings(deadline=None)
@given(st.lists(st.sampled_from([(0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (3.0, 3.0), (0.5, 1.0)]), min_size=2, max_size=60))
def test_the_ratio_interval_holds_the_ratio_and_is_within_0_to_100(cells: list[tuple[float, float]]) -> None:
    passed, trials = [c[0] for c in cells], [c[1] for c in cells]
    score = 100 * sum(passed) / sum(trials)
    for total in (len(cells) + 1, 541, None):
        low, high = approximate_ratio_interval(passed, trials, total)
        assert 0 <= low <= score + 1e-9
        assert score - 1e-9 <= high <= 100


def test_the_ratio_interval_is_the_logit_of_the_linearised_error() -> None:
    passed, trials = [1.0, 0.0, 2.0, 1.0, 3.0, 0.0], [1.0, 1.0, 2.0, 3.0, 3.0, 2.0]
    r, t_mean = 7 / 12, 2.0
    variance = np.var(np.array(passed) - r * np.array(trials), ddof=1) / 6 * (1 - 6 / 20) / t_mean**2
    reach = student_t.ppf(0.975, 5) * math.sqrt(variance) / (r * (1 - r))
    expected = 100 * expit(logit(r) + np.array([-reach, reach]))
    assert approximate_ratio_interval(passed, trials, 20) == pytest.approx(expected)


def test_items_that_all_have_half_their_trials_right_do_not_make_a_certain_score() -> None:
    low, high = approximate_ratio_interval([1.0] * 30, [2.0] * 30, 541)
    assert 40 < low < 48
    assert low + high == pytest.approx(100)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_binomial_interval_is_clopper_and_pearsons(n: int, data: st.DataObject, level: float) -> None:
    passed = data.draw(st.integers(0, n))
    expected = proportion_confint(passed, n, alpha=1 - level, method="beta")
    assert binomial_interval(passed, n, level=level) == pytest.approx([100 * end for end in expected])
    also = binomtest(passed, n).proportion_ci(level, method="exact")
    assert binomial_interval(passed, n, level=level) == pytest.approx([100 * also.low, 100 * also.high])


def test_no_item_gives_everything_to_the_binomial_interval_too() -> None:
    assert binomial_interval(0, 0) == (0.0, 100.0)


@pytest.mark.parametrize(("passed", "n"), [(-1, 3), (4, 3)])
def test_impossible_counts_have_no_binomial_interval(passed: int, n: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        binomial_interval(passed, n)


def test_one_item_says_nothing_about_a_ratio() -> None:
    assert approximate_ratio_interval([1], [3], 10) == (0.0, 100.0)


def test_a_ratio_without_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="trials"):
        approximate_ratio_interval([], [], 10)


def test_the_total_never_falls_below_what_was_seen() -> None:
    low, high = approximate_total_interval([0.001, 0.001, 900.0], 4)
    assert 900.002 < low < high


def test_the_total_of_all_items_is_a_point() -> None:
    low, high = approximate_total_interval([1.0, 2.0, 4.0], 3)
    assert low == pytest.approx(7.0)
    assert high == pytest.approx(7.0)


def test_one_time_has_no_spread() -> None:
    with pytest.raises(ValueError, match="spread"):
        approximate_total_interval([1.0], 10)
