from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, hypergeom

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import draws
from mince_gui.sizing.draws import Simulation, simulate
from mince_gui.sizing.exact import exact_curves
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.patterns import patterns_of
from mince_gui.sizing.quantiles import drifts

Make = Callable[..., ScoreMatrix]

SIZES = (30, 60, 150, 240)


def outcomes(models: int, items: int, seed: int = 1) -> FloatArray:
    shares = np.linspace(0.2, 0.8, models)[:, None, None]
    return (np.random.default_rng(seed).random((models, 1, items)) < shares).astype(float)


def keep_random_bits(monkeypatch: pytest.MonkeyPatch, mask: int) -> None:
    words = draws.random_words
    monkeypatch.setattr(draws, "random_words", lambda bits, count: words(bits, count) & np.uint64(mask))


WAYS = ["orders", "patterns", "chains"]


@pytest.fixture
def made(make_matrix: Make) -> Callable[[str], Pairs]:
    """Pairs that are drawn in the way asked for: many patterns, few patterns, or plain pairs on their own."""

    def make(way: str) -> Pairs:
        models, items = {"orders": (8, 301), "patterns": (2, 3000), "chains": (3, 3000)}[way]
        return pairs_of(make_matrix(outcomes(models, items)))

    return make


def drawn(pairs: Pairs, way: str, count: int, seed: int, workers: int | None = None) -> Simulation:
    simulation = simulate(pairs, SIZES, count, seed, shared=way != "chains", workers=workers)
    assert simulation.way == way
    return simulation


@pytest.mark.parametrize("way", WAYS)
def test_draws_agree_with_the_exact_solution_within_their_error(way: str, made: Callable[[str], Pairs]) -> None:
    pairs = made(way)
    count = 20_000
    simulation = drawn(pairs, way, count, 5)
    right = [int(c) for c in pairs.passed.sum(axis=1)]
    # Five standard errors of a probability: the exact quantile of the shifted probability must enclose it.
    slack = 5 * np.sqrt(0.95 * 0.05 / count)
    low = exact_curves(pairs.total_items, right, SIZES, 0.95 - slack)
    high = exact_curves(pairs.total_items, right, SIZES, 0.95 + slack)
    for t in range(len(SIZES)):
        for c in range(len(right)):
            found = np.percentile(drifts(simulation, t, c), 95)
            assert low[c, t] - 1e-9 <= found <= high[c, t] + 1e-9


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_drawn_quantiles_enclose_the_exact_one_for_any_population(data: st.DataObject, make_matrix: Make) -> None:
    items, models = data.draw(st.integers(3, 700)), data.draw(st.integers(1, 6))
    right = data.draw(st.lists(st.integers(0, items), min_size=models, max_size=models))
    n = data.draw(st.integers(1, items - 1))
    shared, count = data.draw(st.booleans()), 3000
    passed = np.zeros((models, 1, items))
    for k, row in enumerate(passed):
        row[0, np.random.default_rng(k).permutation(items)[: right[k]]] = 1
    pairs = pairs_of(make_matrix(passed))
    simulation = simulate(pairs, [n], count, data.draw(st.integers(0, 1 << 40)), shared=shared)
    slack = 6 * np.sqrt(0.95 * 0.05 / count)
    low, high = (exact_curves(items, right, [n], 0.95 + sign * slack)[:, 0] for sign in (-1, 1))
    for c in range(models):
        assert low[c] - 1e-9 <= np.percentile(drifts(simulation, 0, c), 95) <= high[c] + 1e-9


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_hypergeometric_distribution(way: str, made: Callable[[str], Pairs]) -> None:
    """Oracle: scipy, by a chi-squared test at every size; the seed is the default one, the limit 1 in 100,000."""
    pairs, count = made(way), 20_000
    simulation = drawn(pairs, way, count, 42)
    for t, n in enumerate(SIZES):
        right = int(pairs.passed[0].sum())
        sums = simulation.sums[t, simulation.patterns.passed_at[0]].astype(int)
        law = hypergeom(pairs.total_items, right, n)
        low, high = law.ppf(0.001), law.ppf(0.999)
        seen = np.bincount(np.clip(sums, low, high).astype(int) - int(low), minlength=int(high - low) + 1)
        expected = law.pmf(np.arange(low, high + 1))
        expected[0] += law.cdf(low - 1)
        expected[-1] += law.sf(high)
        assert chisquare(seen, expected * count).pvalue > 1e-5


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_covariance_of_uniform_draws(way: str, made: Callable[[str], Pairs]) -> None:
    pairs = made(way)
    simulation = drawn(pairs, way, 20_000, 11)
    total = pairs.total_items
    cover = np.cov(pairs.passed[:2])
    for t, n in enumerate(SIZES):
        sums = simulation.sums[t][simulation.patterns.passed_at].astype(float)
        error = np.sqrt(np.cov(pairs.passed).diagonal() * n * (1 - n / total) / 20_000)
        assert (np.abs(sums.mean(axis=1) - n * pairs.full) < 5 * error).all()
        together = cover[0, 1] if simulation.shared else 0.0
        assert np.cov(sums[:2])[0, 1] == pytest.approx(together * n * (1 - n / total), abs=0.05 * n * 0.25)
        # Nested: a draw and the larger one that holds it are as correlated as they must be.
        if t:
            smaller = SIZES[t - 1]
            before = simulation.sums[t - 1][simulation.patterns.passed_at[0]].astype(float)
            expected = cover[0, 0] * smaller * (1 - n / total)
            assert np.cov(before, sums[0])[0, 1] == pytest.approx(expected, abs=0.05 * smaller * 0.25)


@pytest.mark.parametrize("way", WAYS)
def test_a_larger_draw_contains_the_smaller_one(way: str, made: Callable[[str], Pairs]) -> None:
    simulation = drawn(made(way), way, 700, 3)
    steps = np.diff(simulation.sums, axis=0)
    assert (steps >= 0).all()
    trials = simulation.sums[:, simulation.patterns.trials_at[0], :]
    assert (trials == np.array(SIZES)[:, None]).all()


@pytest.mark.parametrize("way", WAYS)
def test_results_depend_on_the_seed_alone(
    way: str, made: Callable[[str], Pairs], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = made(way)
    # Few random bits in the keys: equal ones, which are drawn again, become common.
    keep_random_bits(monkeypatch, 0xFFFF_0000_FFFF_0000)
    once = drawn(pairs, way, 1700, 7, workers=1).sums
    assert np.array_equal(once, drawn(pairs, way, 1700, 7, workers=4).sums)
    assert not np.array_equal(once, drawn(pairs, way, 1700, 8).sums)
    # The first draws do not change when more are asked for, nor when memory is short.
    assert np.array_equal(once[:, :, :1500], drawn(pairs, way, 1500, 7).sums)
    monkeypatch.setattr(draws, "_CHUNK_KEYS", 7000)
    assert np.array_equal(once, drawn(pairs, way, 1700, 7).sums)


def test_random_orders_are_the_same_on_every_machine(make_matrix: Make) -> None:
    """Written down once: whoever changes the stream changes every figure by draws that was ever published."""
    items = np.arange(101)
    passed = np.array([[(items * factor % 13 < 6).astype(float)] for factor in range(2, 9)])
    simulation = simulate(pairs_of(make_matrix(passed)), (10, 40, 90), 600, 42)
    assert simulation.way == "orders"
    sums = simulation.sums[:, simulation.patterns.passed_at]
    assert sums[1, :, 0].tolist() == [20, 16, 20, 15, 15, 21, 20]
    assert sums[2, 3, 595:].tolist() == [43, 43, 42, 42, 40]


def test_equal_keys_at_a_size_are_drawn_again_without_bias(make_matrix: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 3 random bits for 12 items most draws have equal keys at a size; those left must still be uniform."""
    passed = np.zeros((6, 1, 12))
    passed[np.arange(6), 0, np.arange(6)] = 1
    pairs = pairs_of(make_matrix(passed))
    patterns = patterns_of(pairs)
    keep_random_bits(monkeypatch, 0x0000_0070_0000_0070)
    orders = draws._Orders(patterns, np.array([3, 7]))
    count = 6000
    fine = np.empty((2, patterns.values.shape[1], count), dtype=np.float32)
    orders.count(np.random.SeedSequence(1), fine, None)
    for t, n in enumerate((3, 7)):
        shares = fine[t][patterns.passed_at].mean(axis=1)
        assert np.abs(shares - n / 12).max() < 5 * np.sqrt(n / 12 * (1 - n / 12) / count)


@pytest.mark.parametrize("largest", [1, 3, 255, 256, 40_000])
def test_whole_numbers_of_any_size_are_added_up_exactly(make_matrix: Make, largest: int) -> None:
    trials = np.random.default_rng(1).integers(1, largest + 1, size=2000).astype(float)
    passed = np.random.default_rng(2).binomial(trials.astype(int), 0.4, size=(9, 1, 2000)).astype(float)
    pairs = pairs_of(make_matrix(passed, trials))
    simulation = simulate(pairs, (1, 100, 1999), 300, 3)
    for c in range(9):
        left_out = pairs.passed[c].sum() - simulation.sums[2, simulation.patterns.passed_at[c]]
        assert np.isin(left_out, pairs.passed[c]).all()
        first = simulation.sums[0, simulation.patterns.passed_at[c]]
        assert np.isin(first, pairs.passed[c]).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_patterns_number_the_distinct_columns_of_the_items(data: st.DataObject) -> None:
    items, models = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 6))
    cells = st.sampled_from([0.0, 1.0, 2.0, 0.25, 1 / 3, 1000.0])
    passed = np.array(data.draw(st.lists(st.lists(cells, min_size=items, max_size=items), min_size=models,
                                         max_size=models)))  # fmt: skip
    trials = np.ones_like(passed) * 1000
    full = passed.sum(axis=1) / trials.sum(axis=1)
    pairs = Pairs(tuple((k, 0) for k in range(models)), passed, trials, full, np.zeros(models, bool), ())
    patterns = patterns_of(pairs)
    assert len(patterns.counts) == len({tuple(column) for column in passed.T})
    assert patterns.counts.sum() == items
    again = patterns.values[patterns.of_item]
    assert pytest.approx(passed, abs=1e-9) == again[:, patterns.passed_at].T
    assert (again[:, patterns.trials_at] == 1000).all()


def test_fractional_scores_are_summed_in_double_precision(make_matrix: Make) -> None:
    passed = np.random.default_rng(0).random((1, 1, 40))
    simulation = simulate(pairs_of(make_matrix(passed)), (39,), 100, 0)
    left_out = (passed.sum() - simulation.sums[0][simulation.patterns.passed_at[0]]).astype(float)
    assert np.abs(left_out[:, None] - passed[0, 0]).min(axis=1).max() < 1e-12


def test_fractional_sums_are_the_same_in_any_order_of_additions(make_matrix: Make) -> None:
    """Threads of the linear algebra library, and machines, add in other orders."""
    passed = np.random.default_rng(0).random((3, 1, 400))
    values = patterns_of(pairs_of(make_matrix(passed))).values
    assert values.dtype == np.float64
    exact = [math.fsum(column) for column in values.T]
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(values)
        assert np.cumsum(rows, axis=0)[-1].tolist() == exact
        split = rows[:150].sum(axis=0) + rows[150:].sum(axis=0)
        assert split.tolist() == exact


def test_a_cancelled_simulation_ends_with_cancelled(made: Callable[[str], Pairs]) -> None:
    token = CancelToken()
    seen: list[int] = []

    def tick(done: int) -> None:
        seen.append(done)
        token.cancel()

    with pytest.raises(CancelledError):
        simulate(made("orders"), SIZES, 100_000, 0, workers=1, tick=tick, cancel=token)
    assert seen[-1] < 100_000
