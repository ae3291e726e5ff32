from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import Worst, make_plan, size
from mince_gui.sizing.pairs import common_unit, pairs_of

Make = Callable[..., ScoreMatrix]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 1000), st.lists(st.integers(0, 3000), min_size=1, max_size=30))
def test_the_common_unit_is_that_of_the_fractions(parts: int, counts: list[int]) -> None:
    """Oracle: greatest common divisor of exact fractions."""
    exact = [Fraction(count, parts) for count in counts]
    down = lcm(*(value.denominator for value in exact))
    expected = Fraction(gcd(*(int(value * down) for value in exact)), down)
    assert common_unit(np.array([count / parts for count in counts])) == pytest.approx(float(expected))


def test_values_without_a_common_unit_have_none() -> None:
    assert common_unit(np.random.default_rng(1).random(50)) == 0.0
    assert common_unit(np.array([1.0, 2.0, np.pi])) == 0.0
    assert common_unit(np.zeros(5)) == 0.0


def test_lumps_count_units_and_trials(make_matrix: Make) -> None:
    rng = np.random.default_rng(4)
    plain = (rng.random(200) < 0.5).astype(float)
    trials = np.stack([np.ones(200), np.full(200, 4.0), np.tile([1.0, 2.0], 100), np.ones(200)])
    passed = np.stack([plain, rng.binomial(4, 0.5, size=200), plain, rng.integers(0, 3, size=200) / 2])
    lumps = pairs_of(make_matrix(passed[None], trials[None])).lumps
    assert lumps == pytest.approx([100, 25, 100 / 1.5, 50])


@pytest.mark.parametrize("worst", ["per-model", "joint"])
def test_a_sizing_of_many_trials_per_item_has_the_small_lump_of_its_pairs(make_matrix: Make, worst: Worst) -> None:
    rng = np.random.default_rng(5)
    trials = rng.integers(20, 47, size=300).astype(float)
    shares = rng.beta(0.4, 0.4, size=(3, 1, 300))
    matrix = make_matrix(rng.binomial(trials.astype(int), shares).astype(float), trials)
    result = size(matrix, make_plan(matrix, step=25, draws=1000, worst=worst), by_seed=False)
    assert result.lump_pp == pytest.approx([100 / n / trials.mean() for n in result.plan.sizes])
    assert not any("one lump (1." in text for text in result.warnings)


def test_a_sizing_of_real_outcomes_has_no_lump_and_never_speaks_of_one(make_matrix: Make) -> None:
    matrix = make_matrix(np.random.default_rng(6).random((3, 1, 300)))
    result = size(matrix, make_plan(matrix, step=25, draws=1000), by_seed=False)
    assert set(result.lump_pp) == {0.0}
    assert not any("lump" in text for text in result.warnings)


def test_the_lump_is_that_of_the_pair_that_sets_p95(make_matrix: Make) -> None:
    """A plain metric at 50 % beside one of four trials at 95 %, which drifts far less."""
    rng = np.random.default_rng(7)
    plain = np.tile([0.0, 1.0], 200)
    four = rng.binomial(4, 0.95, size=400).astype(float)
    trials = np.stack([np.ones(400), np.full(400, 4.0)])
    matrix = make_matrix(np.stack([plain, four])[None], trials[None])
    result = size(matrix, make_plan(matrix, step=100, draws=1000), by_seed=False)
    assert list(result.lump_pp) == [100 / n for n in result.plan.sizes]
