from __future__ import annotations

from fractions import Fraction
from math import comb, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from mince_gui.sizing.exact import exact_curves, log_factorials


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


def test_a_cdf_that_equals_the_quantile_counts_as_reached() -> None:
    # N = 4, C = 2, n = 2: x = 1 has probability 4/6 exactly.
    assert exact_curves(4, [2], [2], 4 / 6)[0, 0] == 0.0
    assert exact_curves(4, [2], [2], 4 / 6 + 1e-6)[0, 0] == 50.0


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
