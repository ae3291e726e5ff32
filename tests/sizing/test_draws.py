from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import draws
from mince_gui.sizing.draws import simulate
from mince_gui.sizing.exact import exact_curves
from mince_gui.sizing.pairs import Pairs, pairs_of

Make = Callable[..., ScoreMatrix]

SIZES = (30, 60, 150, 240)


def outcomes(models: int, items: int, seed: int = 1) -> FloatArray:
    shares = np.linspace(0.2, 0.8, models)[:, None, None]
    return (np.random.default_rng(seed).random((models, 1, items)) < shares).astype(float)


@pytest.fixture
def many(make_matrix: Make) -> Pairs:
    """Eight models: about as many patterns as items, so whole orders are drawn."""
    return pairs_of(make_matrix(outcomes(8, 300)))


@pytest.fixture
def few(make_matrix: Make) -> Pairs:
    """Two models on 3,000 items: four patterns, so pattern counts are drawn."""
    return pairs_of(make_matrix(outcomes(2, 3000)))


@pytest.mark.parametrize("which", ["many", "few"])
def test_draws_agree_with_the_exact_solution_within_their_error(which: str, request: pytest.FixtureRequest) -> None:
    pairs: Pairs = request.getfixturevalue(which)
    count = 20_000
    simulation = simulate(pairs, SIZES, count, 5)
    assert simulation.patterns.few(len(SIZES)) == (which == "few")
    right = [int(c) for c in pairs.passed.sum(axis=1)]
    # Five standard errors of a probability: the exact quantile of the shifted probability must enclose it.
    slack = 5 * np.sqrt(0.95 * 0.05 / count)
    low = exact_curves(pairs.total_items, right, SIZES, 0.95 - slack)
    high = exact_curves(pairs.total_items, right, SIZES, 0.95 + slack)
    for t in range(len(SIZES)):
        found = np.percentile(simulation.drift_pp(t), 95, axis=1)
        assert (low[:, t] - 1e-9 <= found).all()
        assert (found <= high[:, t] + 1e-9).all()


@pytest.mark.parametrize("which", ["many", "few"])
def test_both_ways_to_count_give_the_mean_and_covariance_of_uniform_draws(
    which: str, request: pytest.FixtureRequest
) -> None:
    pairs: Pairs = request.getfixturevalue(which)
    simulation = simulate(pairs, SIZES, 20_000, 11)
    total = pairs.total_items
    cover = np.cov(pairs.passed[:2])
    for t, n in enumerate(SIZES):
        sums = simulation.sums[t][simulation.patterns.passed_at].astype(float)
        error = np.sqrt(np.cov(pairs.passed).diagonal() * n * (1 - n / total) / 20_000)
        assert (np.abs(sums.mean(axis=1) - n * pairs.full) < 5 * error).all()
        assert np.cov(sums[:2])[0, 1] == pytest.approx(cover[0, 1] * n * (1 - n / total), abs=0.05 * n * 0.25)


@pytest.mark.parametrize("which", ["many", "few"])
def test_a_larger_draw_contains_the_smaller_one(which: str, request: pytest.FixtureRequest) -> None:
    simulation = simulate(request.getfixturevalue(which), SIZES, 700, 3)
    steps = np.diff(simulation.sums, axis=0)
    assert (steps >= 0).all()
    trials = simulation.sums[:, simulation.patterns.trials_at[0], :]
    assert (trials == np.array(SIZES)[:, None]).all()


@pytest.mark.parametrize("which", ["many", "few"])
def test_results_depend_on_the_seed_alone(
    which: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs: Pairs = request.getfixturevalue(which)
    once = simulate(pairs, SIZES, 1700, 7, workers=1).sums
    assert np.array_equal(once, simulate(pairs, SIZES, 1700, 7, workers=4).sums)
    assert not np.array_equal(once, simulate(pairs, SIZES, 1700, 8).sums)
    # The first draws do not change when more are asked for, nor when memory is short.
    assert np.array_equal(once[:, :, :1500], simulate(pairs, SIZES, 1500, 7).sums)
    monkeypatch.setattr(draws, "_CHUNK_CELLS", 7000)
    assert np.array_equal(once, simulate(pairs, SIZES, 1700, 7).sums)


def test_fractional_scores_are_summed_in_double_precision(make_matrix: Make) -> None:
    passed = np.random.default_rng(0).random((1, 1, 40))
    simulation = simulate(pairs_of(make_matrix(passed)), (39,), 100, 0)
    left_out = (passed.sum() - simulation.sums[0][simulation.patterns.passed_at[0]]).astype(float)
    assert np.abs(left_out[:, None] - passed[0, 0]).min(axis=1).max() < 1e-12


def test_fractional_sums_are_the_same_in_any_order_of_additions(make_matrix: Make) -> None:
    """Threads of the linear algebra library, and machines, add in other orders."""
    passed = np.random.default_rng(0).random((3, 1, 400))
    values = draws.patterns_of(pairs_of(make_matrix(passed))).values
    assert values.dtype == np.float64
    exact = [math.fsum(column) for column in values.T]
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(values)
        assert np.cumsum(rows, axis=0)[-1].tolist() == exact
        split = rows[:150].sum(axis=0) + rows[150:].sum(axis=0)
        assert split.tolist() == exact


def test_a_cancelled_simulation_ends_with_cancelled(many: Pairs) -> None:
    token = CancelToken()
    seen: list[int] = []

    def tick(done: int) -> None:
        seen.append(done)
        token.cancel()

    with pytest.raises(CancelledError):
        simulate(many, SIZES, 100_000, 0, workers=1, tick=tick, cancel=token)
    assert seen[-1] < 100_000
