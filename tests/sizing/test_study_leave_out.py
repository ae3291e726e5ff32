from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, UsageError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import make_plan, size
from mince_gui.sizing.studies import leave_out

Make = Callable[..., ScoreMatrix]
ITEMS = 500


def draw(n: int, seed: int) -> Sequence[int]:
    return sorted(np.random.default_rng(seed).choice(ITEMS, size=n, replace=False).tolist())


def plain(models: int, seed: int = 1) -> FloatArray:
    shares = np.linspace(0.2, 0.8, models)[:, None, None]
    return (np.random.default_rng(seed).random((models, 1, ITEMS)) < shares).astype(float)


def with_ratios(make_matrix: Make, models: int) -> ScoreMatrix:
    rng = np.random.default_rng(8)
    trials = np.stack([np.ones(ITEMS), rng.integers(1, 4, size=ITEMS).astype(float)])
    chance = np.linspace(0.2, 0.8, models)[:, None, None]
    return make_matrix(rng.binomial(trials.astype(int), chance, size=(models, 2, ITEMS)).astype(float), trials)


def test_seven_models_can_be_thinned_in_98_ways(make_matrix: Make) -> None:
    matrix = make_matrix(plain(7))
    study = leave_out(matrix, make_plan(matrix, step=50), draw)
    assert study.n_star is not None
    removed = [row.removed for row in study.rows]
    assert len(removed) == len(set(removed)) == 98
    assert [(part.count, part.ways) for part in study.by_count] == [(1, 7), (2, 21), (3, 35), (4, 35)]
    assert study.stable == sum(row.n_star == study.n_star for row in study.rows)
    assert sum(part.stable or 0 for part in study.by_count) == study.stable
    assert sum(part.outside or 0 for part in study.by_count) == study.outside
    assert [part.with_n_star for part in study.by_count] == [7, 21, 35, 35]


def test_three_models_stay_at_least(make_matrix: Make) -> None:
    matrix = make_matrix(plain(5))
    study = leave_out(matrix, make_plan(matrix), draw)
    assert {len(row.removed) for row in study.rows} == {1, 2}
    assert leave_out(matrix, make_plan(matrix), draw, most_out=1).by_count[-1].count == 1


def test_every_row_is_what_the_smaller_pool_gives_by_itself(make_matrix: Make) -> None:
    matrix = make_matrix(plain(6))
    plan = make_plan(matrix, step=50)
    study = leave_out(matrix, plan, draw)
    assert study.stable is not None
    assert study.stable < len(study.rows), "the pool must be one whose models matter"
    for row in study.rows:
        kept = [model for model in matrix.models if model not in row.removed]
        own = size(matrix.select(kept), plan)
        assert row.n_star == own.n_star
        if row.n_star is not None:
            assert row.p95_pp == own.bound_at(row.n_star)
            assert row.gain_pp == own.gain_pp[plan.sizes.index(row.n_star)]


def test_the_drift_is_the_largest_of_the_removed_models_on_the_subset_at_the_pool_s_own_n_star(
    make_matrix: Make,
) -> None:
    matrix = with_ratios(make_matrix, 5)
    study = leave_out(matrix, make_plan(matrix, step=50, draws=400), draw)
    for row in study.rows:
        assert row.n_star is not None
        items = list(draw(row.n_star, 42))
        drifts = {}
        for model in row.removed:
            k = matrix.models.index(model)
            for m, metric in enumerate(matrix.metrics):
                passed, trials = matrix.passed[k, m], matrix.trials[k, m]
                share = passed[items].sum() / trials[items].sum() - passed.sum() / trials.sum()
                drifts[model, metric] = 100 * share
        where = max(drifts, key=lambda pair: abs(drifts[pair]))
        assert row.drift_of == where
        assert row.drift_pp == pytest.approx(drifts[where])
        assert row.p95_pp is not None
        assert row.within == (abs(drifts[where]) <= row.p95_pp)


def test_by_the_joint_rule_a_smaller_pool_never_has_a_larger_bound(make_matrix: Make) -> None:
    matrix = with_ratios(make_matrix, 6)
    plan = make_plan(matrix, sizes=[100, 200], draws=800, worst="joint", tau_pp=50.0)
    study = leave_out(matrix, plan, draw)
    bounds = {row.removed: row.p95_pp for row in study.rows}
    assert study.sizing.bound_at(200) is not None
    for removed, bound in bounds.items():
        assert bound is not None
        for fewer in combinations(removed, len(removed) - 1):
            larger_pool = bounds[fewer] if fewer else study.sizing.bound_at(200)
            assert larger_pool is not None
            assert bound <= larger_pool + 0.15, "0.15 pp: the whole pool may have draws of its own"


def test_by_the_joint_rule_a_smaller_pool_agrees_with_one_that_was_drawn_by_itself(make_matrix: Make) -> None:
    matrix = with_ratios(make_matrix, 5)
    plan = make_plan(matrix, sizes=[100, 200], draws=4000, worst="joint", tau_pp=50.0)
    for row in leave_out(matrix, plan, draw).rows:
        own = size(matrix.select([m for m in matrix.models if m not in row.removed]), plan, by_seed=False)
        assert row.p95_pp == pytest.approx(own.bound_at(200), abs=6 * own.error_pp[1] + 0.1)


def test_a_pair_without_results_takes_no_part(make_matrix: Make) -> None:
    passed = np.concatenate([plain(5), plain(5, seed=2)], axis=1)
    passed[1, 0, 3] = np.nan
    matrix = make_matrix(passed)
    study = leave_out(matrix, make_plan(matrix, step=50), draw)
    assert not any(row.drift_of == ("model-1", "metric-0") for row in study.rows)
    passed[1] = np.nan
    without = make_matrix(passed)
    study = leave_out(without, make_plan(without, step=50), draw)
    assert study.models == ("model-0", "model-2", "model-3", "model-4")
    assert {row.removed for row in study.rows} == {(model,) for model in study.models}


def test_the_sentence_names_the_models_that_all_unstable_ways_remove(make_matrix: Make) -> None:
    passed = np.zeros((5, 1, ITEMS))
    for k, right in enumerate([250, 20, 15, 10, 5]):
        passed[k, 0, :right] = 1
    matrix = make_matrix(passed)
    study = leave_out(matrix, make_plan(matrix, step=50), draw)
    assert study.unstable
    assert any("all of these remove model-0" in text for text in study.summary())
    shown = [study.table().rows[i][0] for i in study.table().shown]
    assert {" + ".join(row.removed) for row in study.unstable} <= set(shown)


def test_without_an_n_star_nothing_is_stable_or_outside(make_matrix: Make) -> None:
    matrix = make_matrix(plain(5))
    study = leave_out(matrix, make_plan(matrix, sizes=[10, 20, 40], tau_pp=0.01), draw)
    assert study.n_star is None
    assert (study.stable, study.outside) == (None, None)
    for part in study.by_count:
        assert (part.with_n_star, part.stable, part.outside) == (0, None, None)
    rows = study.to_json()["rows"]
    assert {(row["stable"], row["within"]) for row in rows} == {(None, None)}
    said = " ".join(study.summary())
    assert "Without 1 model: 5 ways, none of which has an n*." in said
    assert "stable" not in said
    assert "outside" not in said


def test_ways_without_an_n_star_are_not_counted_as_looked_at(make_matrix: Make) -> None:
    # Only a pool whose bound is small at 100 items has a gain below tau: one without the model near half.
    passed = np.zeros((5, 1, ITEMS))
    for k, right in enumerate([250, 20, 15, 10, 5]):
        passed[k, 0, :right] = 1
    matrix = make_matrix(passed)
    study = leave_out(matrix, make_plan(matrix, sizes=[50, 100], tau_pp=2.5), draw)
    have = [row for row in study.rows if row.n_star is not None]
    assert study.n_star is None
    assert 0 < len(have) < len(study.rows)
    assert study.stable is None
    assert study.outside == sum(row.within is False for row in have)
    assert sum(part.with_n_star for part in study.by_count) == len(have)
    said = " ".join(study.summary())
    assert f"of {len(have)} that have an n*" in said
    assert "no way to remove some can be called stable" in said
    assert "of each pair by itself" in said


def test_pools_that_are_too_small_or_too_large_are_refused_with_a_way_out(make_matrix: Make) -> None:
    small = make_matrix(plain(3))
    with pytest.raises(UsageError, match="at least 4 models"):
        leave_out(small, make_plan(small), draw)
    large = make_matrix(np.repeat(plain(10), 6, axis=0))
    with pytest.raises(UsageError, match="--most-out"):
        leave_out(large, make_plan(large), draw)
    with pytest.raises(UsageError, match="--most-out"):
        leave_out(large, make_plan(large), draw, most_out=0)


def test_progress_reaches_the_last_combination_and_cancel_ends_the_study(make_matrix: Make) -> None:
    matrix = make_matrix(plain(5))
    seen: list[Event] = []
    leave_out(matrix, make_plan(matrix), draw, emit=seen.append)
    last = [event for event in seen if isinstance(event, Progress)][-1]
    assert last.done == last.total == 15
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        leave_out(matrix, make_plan(matrix), draw, cancel=token)
