from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, UsageError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import Method, Plan, Worst, bound_at, budget_for, make_plan, n_for_target, questions, size
from mince_gui.sizing.exact import exact_curves

Make = Callable[..., ScoreMatrix]
Load = Callable[[str], ScoreMatrix]


def of_counts(make_matrix: Make, right: list[int], items: int) -> ScoreMatrix:
    passed = np.zeros((len(right), 1, items))
    for row, count in zip(passed, right, strict=True):
        row[0, :count] = 1
    return make_matrix(passed)


@pytest.fixture
def ratios(make_matrix: Make) -> ScoreMatrix:
    rng = np.random.default_rng(3)
    trials = rng.integers(1, 4, size=300).astype(float)
    return make_matrix(rng.binomial(trials.astype(int), 0.5, size=(3, 1, 300)).astype(float), trials)


def every_bound(items: int, right: list[int], quantile: float) -> FloatArray:
    """Oracle: the worst exact quantile at every size, one by one."""
    bounds: FloatArray = exact_curves(items, right, range(1, items), quantile).max(axis=0)
    return bounds


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_exact_target_is_the_first_of_all_sizes_that_holds_it(data: st.DataObject, make_matrix: Make) -> None:
    items = data.draw(st.integers(4, 150))
    right = data.draw(st.lists(st.integers(0, items), min_size=1, max_size=3))
    quantile = data.draw(st.sampled_from([0.5, 0.9, 0.95]))
    target = data.draw(st.floats(0.5, 30))
    matrix = of_counts(make_matrix, right, items)
    sizing = size(matrix, make_plan(matrix, sizes=[1, items - 1], quantile=quantile))
    found = n_for_target(matrix, sizing, target)
    bounds = every_bound(items, right, quantile)
    held = [n for n in range(1, items) if bounds[n - 1] <= target + 1e-9]
    assert found.bound.n == (held[0] if held else items)
    assert found.bound.p95_pp == (bounds[held[0] - 1] if held else 0.0)
    failing = [n for n in range(1, items) if bounds[n - 1] > target + 1e-9]
    assert found.n_always == (failing[-1] + 1 if failing else 1)
    assert found.bound.method == "exact"


def test_a_target_that_equals_a_bound_is_held(make_matrix: Make) -> None:
    matrix = of_counts(make_matrix, [50, 30], 100)
    sizing = size(matrix, make_plan(matrix, step=10))
    for n in (10, 40, 70):
        bound = sizing.bound_at(n)
        assert bound is not None
        assert n_for_target(matrix, sizing, bound).bound.n <= n


def test_where_lumps_exceed_the_target_again_that_is_said(make_matrix: Make) -> None:
    """One item of a model that is right 99 times of 100: P95 is 1 pp, with two items it is larger."""
    matrix = of_counts(make_matrix, [99], 100)
    sizing = size(matrix, make_plan(matrix, step=10))
    found = n_for_target(matrix, sizing, 1.5)
    assert found.bound.n == 1
    assert found.n_always > 10
    assert (every_bound(100, [99], 0.95)[found.n_always - 1 :] <= 1.5).all()


def test_no_subset_holds_a_target_that_only_all_items_hold(make_matrix: Make) -> None:
    matrix = of_counts(make_matrix, [50], 100)
    found = n_for_target(matrix, size(matrix, make_plan(matrix, step=10)), 0.01)
    assert (found.bound.n, found.bound.p95_pp, found.n_always) == (100, 0.0, 100)


def test_a_drawn_target_is_near_the_exact_one(make_matrix: Make) -> None:
    matrix = of_counts(make_matrix, [160, 200, 250], 400)
    exact = n_for_target(matrix, size(matrix, make_plan(matrix, step=50)), 4.0)
    plan = make_plan(matrix, step=50, method="draws", draws=4000)
    drawn = n_for_target(matrix, size(matrix, plan, by_seed=False), 4.0)
    assert drawn.bound.method == "draws"
    assert drawn.bound.error_pp > 0
    assert drawn.bound.n == pytest.approx(exact.bound.n, abs=20)


def dense(matrix: ScoreMatrix, plan: Plan, target: float) -> tuple[int, int]:
    """Oracle: the first size that holds the target, the one above the last that exceeds it; all drawn at once."""
    every = range(1, matrix.total_items)
    bounds = size(matrix, dataclasses.replace(plan, sizes=tuple(every)), by_seed=False).p95_pp
    first = next((n for n, bound in zip(every, bounds, strict=True) if bound <= target), matrix.total_items)
    return first, 1 + max((n for n, bound in zip(every, bounds, strict=True) if bound > target), default=0)


@pytest.mark.parametrize("worst", ["per-model", "joint"])
@pytest.mark.parametrize("step", [20, 90])
def test_a_drawn_target_is_that_of_a_sweep_over_every_size(make_matrix: Make, worst: Worst, step: int) -> None:
    """Candidate sizes and points between them alone miss the size that holds first, and those that exceed again."""
    rng = np.random.default_rng(2)
    matrix = make_matrix((rng.random((2, 1, 200)) < np.array([0.8, 0.6])[:, None, None]).astype(float))
    plan = dataclasses.replace(make_plan(matrix, step=step, draws=1000, method="draws"), worst=worst)
    sizing = size(matrix, plan, by_seed=False)
    for target in (1.0, 2.5, 4.0, 6.0, 9.0, 14.0, 25.0, 60.0):
        found = n_for_target(matrix, sizing, target)
        assert (found.bound.n, found.n_always) == dense(matrix, plan, target)
        assert found.bound.p95_pp <= target


def test_a_drawn_target_does_not_hang_on_how_many_sizes_fit_the_memory(
    ratios: ScoreMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizing = size(ratios, make_plan(ratios, step=50, draws=1000), by_seed=False)
    whole = n_for_target(ratios, sizing, 5.0)
    monkeypatch.setattr(questions, "_SUMS_AT_ONCE", 300_000)
    parted = n_for_target(ratios, sizing, 5.0)
    assert (parted.bound.n, parted.n_always) == (whole.bound.n, whole.n_always)


def test_the_bound_of_a_drawn_answer_is_that_of_its_size_alone(ratios: ScoreMatrix) -> None:
    """But for the few draws that are done again for a tie, which one size has seldom and many have more often."""
    sizing = size(ratios, make_plan(ratios, step=50, draws=4000), by_seed=False)
    found = n_for_target(ratios, sizing, 5.0)
    alone = bound_at(ratios, sizing, found.bound.n)
    assert found.bound.p95_pp == pytest.approx(alone.p95_pp, abs=0.1 * alone.error_pp)
    assert found.bound.error_pp == pytest.approx(alone.error_pp, rel=0.1)


@pytest.mark.parametrize("method", ["exact", "draws"])
def test_a_target_above_all_drifts_is_held_by_one_item(make_matrix: Make, method: Method) -> None:
    matrix = of_counts(make_matrix, [60, 30], 100)
    sizing = size(matrix, make_plan(matrix, step=10, draws=500, method=method), by_seed=False)
    found = n_for_target(matrix, sizing, 1e300)
    assert (found.target_pp, found.bound.n, found.n_always) == (100.0, 1, 1)


def test_exact_targets_tell_how_far_they_are_and_can_be_cancelled(make_matrix: Make) -> None:
    matrix = of_counts(make_matrix, [50, 30, 50], 100)
    sizing = size(matrix, make_plan(matrix, step=10))
    seen: list[Event] = []
    n_for_target(matrix, sizing, 5.0, emit=seen.append)
    assert [(e.done, e.total) for e in seen if isinstance(e, Progress)] == [(1, 2), (2, 2)]
    token = CancelToken()
    with pytest.raises(CancelledError):
        n_for_target(matrix, sizing, 5.0, emit=lambda _: token.cancel(), cancel=token)


def test_a_candidate_size_that_holds_the_target_bounds_the_drawn_answer(ratios: ScoreMatrix) -> None:
    for worst in ("per-model", "joint"):
        plan = dataclasses.replace(make_plan(ratios, step=50, draws=1000), worst=worst)
        sizing = size(ratios, plan, by_seed=False)
        found = n_for_target(ratios, sizing, sizing.p95_pp[2])
        assert plan.sizes[1] < found.bound.n <= plan.sizes[2]
        assert found.n_always >= found.bound.n


def test_the_bound_at_a_candidate_size_is_that_of_the_sizing(ratios: ScoreMatrix, make_matrix: Make) -> None:
    for matrix in (ratios, of_counts(make_matrix, [130, 150], 300)):
        sizing = size(matrix, make_plan(matrix, step=50, draws=1000), by_seed=False)
        bound = bound_at(matrix, sizing, 150)
        assert (bound.p95_pp, bound.error_pp) == (sizing.p95_pp[2], sizing.error_pp[2])
        assert bound_at(matrix, sizing, 300).p95_pp == 0.0
        assert sizing.p95_pp[3] < bound_at(matrix, sizing, 160).p95_pp < sizing.p95_pp[1]


@pytest.mark.parametrize("n", [0, 301])
def test_a_size_outside_the_benchmark_has_no_bound(ratios: ScoreMatrix, n: int) -> None:
    with pytest.raises(UsageError, match="1 to 300"):
        bound_at(ratios, size(ratios, make_plan(ratios, step=50, draws=100), by_seed=False), n)


def test_hours_and_a_rate_give_the_items_that_fit_and_their_bound(make_matrix: Make) -> None:
    matrix = of_counts(make_matrix, [150], 300)
    sizing = size(matrix, make_plan(matrix, step=50))
    budget = budget_for(matrix, sizing, 1.0, 36.0)
    assert budget.bound == bound_at(matrix, sizing, 100)
    # 0.1 hours are 360 seconds in decimals, a little less in binary: ten items fit.
    assert budget_for(matrix, sizing, 0.1, 36.0).bound.n == 10
    assert budget_for(matrix, sizing, 1.0, 37.0).bound.n == 97
    assert budget_for(matrix, sizing, 1000.0, 1.0).bound.n == 300


INF = float("inf")


@pytest.mark.parametrize(
    ("hours", "rate", "named"),
    [
        (0, 1, "--hours"),
        (1, -1, "--seconds-per-item"),
        (INF, 1, "--hours"),
        (1e308, 1e-308, "--hours"),
        (1, 4000, "Not one item"),
    ],
)
def test_a_time_that_is_none_or_too_short_is_refused(
    ratios: ScoreMatrix, hours: float, rate: float, named: str
) -> None:
    sizing = size(ratios, make_plan(ratios, step=50, draws=100), by_seed=False)
    with pytest.raises(UsageError, match=named):
        budget_for(ratios, sizing, hours, rate)


@pytest.mark.parametrize("target", [0.0, -1.0, float("nan")])
def test_a_target_that_is_none_is_refused(ratios: ScoreMatrix, target: float) -> None:
    sizing = size(ratios, make_plan(ratios, step=50, draws=200), by_seed=False)
    with pytest.raises(UsageError, match="--target-p95"):
        n_for_target(ratios, sizing, target)


@pytest.mark.shared
@pytest.mark.parametrize(("target", "items"), [(6.0, range(150, 220)), (4.5, range(220, 300)), (4.0, range(250, 320))])
def test_real_ifeval_logs_hold_a_drawn_target_at_the_first_of_all_sizes(
    real_matrix: Load, target: float, items: range
) -> None:
    """6 pp: 184 items hold it, 190 exceed it again."""
    matrix = real_matrix("ifeval")
    plan = make_plan(matrix)
    found = n_for_target(matrix, size(matrix, plan, by_seed=False), target)
    bounds = size(matrix, dataclasses.replace(plan, sizes=tuple(items)), by_seed=False).p95_pp
    held = [n for n, bound in zip(items, bounds, strict=True) if bound <= target]
    failing = [n for n, bound in zip(items, bounds, strict=True) if bound > target]
    assert (found.bound.n, found.n_always) == (held[0], failing[-1] + 1)


@pytest.mark.shared
def test_real_gsm8k_logs_hold_four_points_at_about_400_items(real_matrix: Load) -> None:
    matrix = real_matrix("gsm8k")
    sizing = size(matrix, make_plan(matrix, method="exact"))
    found = n_for_target(matrix, sizing, 4.0)
    bounds = np.concatenate([every_bound(1319, [round(c) for c in matrix.passed[:, m].sum(axis=1)], 0.95)[None]
                             for m in range(len(matrix.metrics))]).max(axis=0)  # fmt: skip
    assert found.bound.n == int(np.argmax(bounds <= 4.0)) + 1
    assert found.n_always == int(np.flatnonzero(bounds > 4.0)[-1]) + 2
    assert 390 <= found.bound.n <= found.n_always <= 420
