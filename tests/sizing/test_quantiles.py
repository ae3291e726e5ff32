from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing.draws import Simulation, simulate
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.quantiles import around, drifts, error_between, percentile, quantiles, worst_case
from mince_gui.sizing.types import Worst

Make = Callable[..., ScoreMatrix]
SIZES = (20, 60, 150)


@pytest.fixture
def simulation(make_matrix: Make) -> Simulation:
    """Five models with a plain metric and a ratio each, 3,001 draws at three sizes."""
    rng = np.random.default_rng(3)
    trials = np.stack([np.ones(200), rng.integers(1, 4, size=200).astype(float)])
    shares = np.linspace(0.3, 0.7, 5)[:, None, None]
    passed = rng.binomial(trials.astype(int), np.broadcast_to(shares, (5, 2, 200))).astype(float)
    return simulate(pairs_of(make_matrix(passed, trials)), SIZES, 3001, 9)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=60),
    st.floats(0.001, 0.999),
)
def test_the_percentile_is_numpys(values: list[float], quantile: float) -> None:
    expected = float(np.percentile(values, 100 * quantile))
    assert percentile(np.array(values), quantile) == pytest.approx(expected, abs=1e-9)


def test_drift_is_a_division_of_whole_numbers_and_so_the_nearest_float(simulation: Simulation) -> None:
    pairs, patterns = simulation.pairs, simulation.patterns
    for c in range(len(pairs.places)):
        full = Fraction(int(pairs.passed[c].sum()), int(pairs.trials[c].sum()))
        found = drifts(simulation, 1, c)
        for draw in range(50):
            passed = int(simulation.sums[1, patterns.passed_at[c], draw])
            trials = int(simulation.sums[1, patterns.trials_at[c], draw])
            assert found[draw] == float(100 * abs(Fraction(passed, trials) - full))


def test_both_rules_follow_from_the_drift_of_every_draw(simulation: Simulation) -> None:
    found = quantiles(simulation, 0.9, "per-model")
    for t in range(len(SIZES)):
        drift = np.array([drifts(simulation, t, c) for c in range(10)])
        each = np.percentile(drift, 90, axis=1)
        assert found.pairs[:, t] == pytest.approx(each, abs=1e-12)
        assert found.by_rule["per-model"][t] == pytest.approx(each.max(), abs=1e-12)
        assert found.by_rule["joint"][t] == pytest.approx(np.percentile(drift.max(axis=0), 90), abs=1e-12)


@pytest.mark.parametrize("worst", ["per-model", "joint"])
def test_the_distribution_is_the_rule_at_every_level(simulation: Simulation, worst: Worst) -> None:
    levels = (0.1, 0.5, 0.95, 0.995)
    found = quantiles(simulation, 0.95, worst, levels=levels)
    assert found.by_level.shape == (4, 3)
    for level, row in zip(levels, found.by_level, strict=True):
        assert row.tolist() == worst_case(simulation, level, worst)[0].tolist()
    assert found.by_level[2].tolist() == found.by_rule[worst].tolist()


def test_the_error_from_one_set_of_draws_is_the_spread_over_many(make_matrix: Make) -> None:
    pairs = pairs_of(make_matrix(np.random.default_rng(5).random((3, 1, 200))))
    levels = around(0.95, 2000)
    found = quantiles(simulate(pairs, SIZES, 2000, 42), 0.95, "per-model", levels=levels)
    below, above = found.by_level
    error = error_between(below, above, 0.95, 2000)
    others = [worst_case(simulate(pairs, SIZES, 2000, seed), 0.95, "per-model")[0] for seed in range(100, 160)]
    spread = np.std(others, axis=0, ddof=1)
    assert (error < 2 * spread).all()
    assert (error > spread / 2).all()


@settings(max_examples=50, deadline=None)
@given(st.floats(0.001, 0.999), st.integers(100, 10_000))
def test_the_error_of_evenly_spread_draws_is_that_of_the_probability_at_any_quantile(
    quantile: float, draws: int
) -> None:
    """Oracle: where the value at each level is the level itself, a quantile errs as its probability does."""
    below, above = around(quantile, draws)
    assert 0 <= below < quantile < above <= 1
    error = error_between(np.array([below]), np.array([above]), quantile, draws)
    assert error[0] == pytest.approx(np.sqrt(quantile * (1 - quantile) / draws))


@pytest.mark.parametrize("worst", ["per-model", "joint"])
def test_the_quick_worst_case_is_that_of_all_pairs_for_every_pool(simulation: Simulation, worst: Worst) -> None:
    pools = [range(10), [0, 1], [9], [3, 8, 2], [4, 5, 6, 7]]
    found = worst_case(simulation, 0.95, worst, pools)
    for pool, row in zip(pools, found, strict=True):
        for t in range(len(SIZES)):
            drift = np.array([drifts(simulation, t, c) for c in pool])
            each = np.percentile(drift, 95, axis=1).max()
            expected = each if worst == "per-model" else np.percentile(drift.max(axis=0), 95)
            assert row[t] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 6), st.sampled_from([0.5, 0.9, 0.95]))
def test_no_pair_that_sets_the_worst_case_is_passed_over(seed: int, items: int, models: int, quantile: float) -> None:
    """Few items and like models: lumps that are equal, or nearly so, everywhere."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 3, size=(models, items)).astype(float)
    passed = np.minimum(rng.integers(0, 3, size=(models, items)), trials).astype(float)
    places = tuple((k, 0) for k in range(models))
    pairs = Pairs(places, passed, trials, passed.sum(axis=1) / trials.sum(axis=1), np.zeros(models, bool), ())
    found = simulate(pairs, [max(1, items // 3), items - 1], 200, seed)
    slow = quantiles(found, quantile, "per-model").by_rule["per-model"]
    assert worst_case(found, quantile, "per-model")[0].tolist() == slow.tolist()


def test_a_cancel_ends_the_quantiles_too(simulation: Simulation) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        quantiles(simulation, 0.95, "joint", cancel=token)
    with pytest.raises(CancelledError):
        worst_case(simulation, 0.95, "joint", cancel=token)
