from __future__ import annotations

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.sizing.exact import exact_curves, exact_quantiles, exact_within, log_factorials


@st.composite
def populations(draw: st.DrawFn) -> tuple[int, int, int]:
    total = draw(st.integers(2, 400))
    return total, draw(st.integers(0, total)), draw(st.integers(1, total - 1))


def by_scipy(total: int, right: int, n: int, quantile: float) -> float:
    """Smallest |x/n - C/N| (in pp) whose CDF reaches the quantile, from scipy's probabilities."""
    weights: dict[Fraction, float] = {}
    for x in range(max(0, n - (total - right)), min(n, right) + 1):
        distance = abs(Fraction(x, n) - Fraction(right, total))
        weights[distance] = weights.get(distance, 0.0) + float(hypergeom.pmf(x, total, right, n))
    reached = 0.0
    for distance in sorted(weights):
        reached += weights[distance]
        if reached >= quantile - 1e-9:
            return 100.0 * float(distance)
    raise AssertionError("probabilities do not sum to 1")


@settings(max_examples=50, deadline=None)
@given(populations(), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_the_exact_quantile_is_the_hypergeometric_one(population: tuple[int, int, int], quantile: float) -> None:
    total, right, n = population
    found = exact_curves(total, [right], [n], quantile)
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(by_scipy(total, right, n, quantile), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(populations(), st.floats(0.01, 60))
def test_the_probability_within_a_target_is_the_hypergeometric_one_at_every_size(
    population: tuple[int, int, int], target: float
) -> None:
    total, right, _ = population
    found = exact_within(total, right, target)
    assert found.shape == (total - 1,)
    for n in {1, 2, total // 3 + 1, total - 1} & set(range(1, total)):
        x = np.arange(n + 1)
        inside = np.abs(x * total - right * n) <= target / 100 * n * total + 1e-6
        assert found[n - 1] == pytest.approx(hypergeom.pmf(x[inside], total, right, n).sum(), abs=1e-9)


def test_a_probability_followed_over_a_million_sizes_is_still_right() -> None:
    found = exact_within(1_000_000, 412_345, 0.5)
    for n in (1, 777, 40_000, 500_000, 999_000):
        mean, reach = n * 0.412345, n * 0.005
        low, high = np.ceil(mean - reach - 1e-9), np.floor(mean + reach + 1e-9)
        law = hypergeom(1_000_000, 412_345, n)
        assert found[n - 1] == pytest.approx(law.cdf(high) - law.cdf(low - 1), abs=1e-7)


def test_quantiles_at_several_levels_are_those_of_each_level() -> None:
    levels = (0.001, 0.5, 0.95, 0.999999)
    found = exact_quantiles(300, [20, 150, 20], [7, 299], levels)
    assert found.shape == (4, 3, 2)
    for level, table in zip(levels, found, strict=True):
        assert table.tolist() == exact_curves(300, [20, 150, 20], [7, 299], level).tolist()
        assert table[1, 0] == pytest.approx(by_scipy(300, 150, 7, level))


def test_a_quantile_far_out_in_a_skewed_tail_is_found() -> None:
    level = 1 - 1e-8
    assert exact_curves(2000, [3], [10], level)[0, 0] == pytest.approx(by_scipy(2000, 3, 10, level))


def test_a_cdf_that_equals_the_quantile_counts_as_reached() -> None:
    # N = 4, C = 2, n = 2: x = 1 has probability 4/6 exactly.
    assert exact_curves(4, [2], [2], 4 / 6)[0, 0] == 0.0
    assert exact_curves(4, [2], [2], 4 / 6 + 1e-6)[0, 0] == 50.0


def test_every_size_is_told_and_a_cancel_ends_at_the_next_one() -> None:
    told: list[int] = []
    exact_quantiles(100, [50, 10], [10, 20, 30], [0.95], tick=told.append)
    assert told == [1, 2, 3]
    token, told = CancelToken(), []

    def tick(done: int) -> None:
        told.append(done)
        if done == 2:
            token.cancel()

    with pytest.raises(CancelledError):
        exact_quantiles(100, [50, 10], range(1, 100), [0.95], tick=tick, cancel=token)
    assert told == [1, 2]


def test_every_size_is_certainly_within_a_target_above_all_drifts() -> None:
    for target in (100.0, 1e18, 1e300):
        assert exact_within(1319, 600, target) == pytest.approx(np.ones(1318), abs=1e-9)


def test_models_with_equal_counts_share_a_curve_and_keep_their_places() -> None:
    curves = exact_curves(100, [50, 10, 50], [10, 20], 0.95)
    assert curves[0].tolist() == curves[2].tolist()
    assert curves[1].tolist() == exact_curves(100, [10], [10, 20], 0.95)[0].tolist()


def test_a_model_that_is_always_right_or_wrong_never_drifts() -> None:
    assert exact_curves(1319, [0, 1319], [100, 1300], 0.95).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_large_populations_keep_their_probabilities() -> None:
    assert exact_curves(14_042, [7021], [13_000], 0.95)[0, 0] == pytest.approx(by_scipy(14_042, 7021, 13_000, 0.95))


def test_log_factorials_are_those_of_whole_numbers() -> None:
    table = log_factorials(30)
    assert table[30] - table[12] - table[18] == pytest.approx(log(comb(30, 12)))
