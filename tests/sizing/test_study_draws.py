"""Studies that draw subsets: samplers, ranks, held-out models; and n* over seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, spearmanr

from mince_gui.base.errors import UsageError
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import make_plan, size
from mince_gui.sizing.studies import compare_samplers, holdout, ranks, seeds_study, spearman
from mince_gui.sizing.types import Worst

Make = Callable[..., ScoreMatrix]
ITEMS = 800


def uniform(n: int, seed: int) -> Sequence[int]:
    return sorted(np.random.default_rng(seed).choice(ITEMS, size=n, replace=False).tolist())


def first(n: int, seed: int) -> Sequence[int]:
    return range(n)


def plain(models: int = 4, seed: int = 1) -> FloatArray:
    shares = np.linspace(0.3, 0.7, models)[:, None, None]
    return (np.random.default_rng(seed).random((models, 1, ITEMS)) < shares).astype(float)


def drift_of(matrix: ScoreMatrix, k: int, items: Sequence[int]) -> float:
    return 100 * float(matrix.passed[k, 0, list(items)].mean() - matrix.passed[k, 0].mean())


def test_samplers_keep_the_signed_drift_of_every_seed_and_pair(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    sizing = size(matrix, make_plan(matrix))
    study = compare_samplers(matrix, sizing, 200, 5.0, {"uniform": uniform, "first": first}, seeds=range(5))
    by_name = {one.sampler: one for one in study.samplers}
    for s in range(5):
        for k in range(4):
            assert by_name["uniform"].drift_pp[s, k] == pytest.approx(drift_of(matrix, k, uniform(200, s)))
    assert np.ptp(by_name["first"].drift_pp, axis=0).max() == 0
    assert study.pairs[2] == ("model-2", "metric-0")
    worst = np.abs(by_name["uniform"].drift_pp).max(axis=1)
    row = dict(zip(study.table().columns, study.table().rows[0], strict=True))
    assert row["worst_max_pp"] == worst.max()
    assert row["worst_median_pp"] == np.median(worst)
    json.dumps(study.to_json(), allow_nan=False)


def test_the_mean_drift_of_uniform_draws_is_the_closed_form_s(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    study = compare_samplers(matrix, size(matrix, make_plan(matrix)), 200, 5.0, {"uniform": uniform}, seeds=range(400))
    one = study.samplers[0]
    shares = matrix.passed[:, 0].mean(axis=1)
    spread = np.sqrt(shares * (1 - shares) / 200 * (ITEMS - 200) / (ITEMS - 1))
    # E|X| of a normal variable is sqrt(2/pi) of its standard deviation.
    assert one.mean_pp == pytest.approx(100 * float((spread * 2 * norm.pdf(0)).mean()), abs=4 * one.mean_error_pp)
    assert 0 < one.mean_error_pp < 0.2


def test_one_seed_has_no_standard_error(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    study = compare_samplers(matrix, size(matrix, make_plan(matrix)), 200, 5.0, {"uniform": uniform}, seeds=[7])
    assert study.to_json()["rows"][0]["mean_error_pp"] is None
    two = compare_samplers(
        matrix, study.sizing, 200, 5.0, {"uniform": uniform, "first": first}, seeds=[7], notes=["A note."]
    )
    assert "nan" not in " ".join(two.summary())
    assert two.summary()[-1] == "A note."


def test_ranks_are_spearman_s_on_the_scores_they_show(make_matrix: Make) -> None:
    matrix = make_matrix(plain(7))
    study = ranks(matrix, size(matrix, make_plan(matrix)), 60, uniform, seeds=range(20))
    row = study.metrics[0]
    assert row.full == pytest.approx((100 * matrix.passed[:, 0].mean(axis=1)).tolist())
    assert row.subset == pytest.approx((100 * matrix.passed[:, 0, list(uniform(60, 42))].mean(axis=1)).tolist())
    assert row.rho == pytest.approx(spearmanr(np.round(row.full, 9), np.round(row.subset, 9)).statistic)
    assert row.rho < 1, "60 items must not keep the whole order, or the test shows nothing"
    assert len(row.rho_by_seed) == 20
    json.dumps(study.to_json(), allow_nan=False)


def test_a_draw_that_ties_all_models_keeps_no_order_and_is_counted(make_matrix: Make) -> None:
    # The models differ in the first 8 items alone, so a draw that has none of these ties them.
    passed = np.zeros((2, 1, ITEMS))
    passed[:, :, ITEMS // 2 :] = 1
    passed[1, :, :8] = 1
    matrix = make_matrix(passed)

    def every_other(n: int, seed: int) -> Sequence[int]:
        return range(seed % 2 * 8, seed % 2 * 8 + n)

    study = ranks(matrix, size(matrix, make_plan(matrix)), 60, every_other, seeds=range(10))
    row = dict(zip(study.table().columns, study.table().rows[0], strict=True))
    assert [row["rho_mean"], row["rho_least"]] == pytest.approx([1.0, 1.0])
    assert row["same_order_percent"] == 50.0
    assert row["seeds_without_rho"] == 5
    assert any("5 of 10 seeds tie all models" in text for text in study.summary())
    assert study.to_json()["rho_by_seed"]["metric-0"][1::2] == [None] * 5


def test_where_all_draws_tie_the_order_is_never_kept_but_without_an_order_nothing_is_said(make_matrix: Make) -> None:
    passed = np.zeros((2, 2, ITEMS))
    passed[:, :, ITEMS // 2 :] = 1
    passed[1, 0, -8:] = 0
    matrix = make_matrix(passed)
    study = ranks(matrix, size(matrix, make_plan(matrix)), 60, first, seeds=range(3))
    shares = [row.same_order_percent for row in study.metrics]
    assert shares == [0.0, None]
    assert [row.seeds_without_rho for row in study.metrics] == [3, 3]
    assert any(text.startswith("metric-1: all models have the same full score") for text in study.summary())


@pytest.mark.parametrize("worst", ["per-model", "joint"])
def test_studies_that_draw_carry_the_sizing_s_warnings_and_say_what_the_bound_bounds(
    make_matrix: Make, worst: Worst
) -> None:
    matrix = make_matrix(plain(2))
    sizing = size(matrix, make_plan(matrix, draws=200, worst=worst), by_seed=False)
    assert any("only 2 models" in text for text in sizing.warnings)
    samplers = compare_samplers(matrix, sizing, 200, 5.25, {"uniform": uniform}, seeds=[7], left_out=["kmeans is out."])
    ranked = ranks(matrix, sizing, 200, uniform, seeds=[7])
    assert set(sizing.warnings) < set(samplers.warnings)
    assert "kmeans is out." in samplers.warnings
    assert set(sizing.warnings) < set(ranked.warnings)
    said = " ".join(samplers.summary())
    assert "1 seed each" in said
    assert f"Bound 5.25 pp (P95 of uniform draws), rule {worst}" in said
    assert ("of each pair by itself" in said) == (worst == "per-model")
    held = holdout(matrix, sizing, 200, 5.25, uniform, other_draws=1)
    assert "Over 1 other draw " in " ".join(held.summary())


def test_ranks_need_two_models(make_matrix: Make) -> None:
    matrix = make_matrix(plain(1))
    with pytest.raises(UsageError, match="two models"):
        ranks(matrix, size(matrix, make_plan(matrix)), 60, uniform, seeds=[0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12))
def test_spearman_with_ties_is_the_correlation_of_average_ranks(values: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, dtype=np.float64) for side in zip(*values, strict=True))

    def average_ranks(x: FloatArray) -> FloatArray:
        return np.array([(np.sum(x < v) + np.sum(x <= v) + 1) / 2 for v in x])

    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert np.isnan(spearman(a, b))
        return
    assert spearman(a, b) == pytest.approx(np.corrcoef(average_ranks(a), average_ranks(b))[0, 1])


def test_scores_that_are_equal_as_fractions_tie() -> None:
    almost = np.array([10.0, 10.0 + 1e-13, 30.0])
    assert spearman(almost, np.array([2.0, 2.0, 3.0])) == 1.0


def test_a_held_out_model_s_drift_is_measured_on_the_pool_s_subset(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    held = make_matrix(plain(2, seed=9))
    sizing = size(matrix, make_plan(matrix))
    study = holdout(held, sizing, 300, 4.0, uniform, other_draws=50)
    assert study.seeds == (*range(42), *range(43, 51)), "42 is the plan's own draw and no other one"
    for k, row in enumerate(study.rows):
        assert row.drift_pp == pytest.approx(drift_of(held, k, uniform(300, 42)))
        assert row.drift_pp == pytest.approx(row.subset - row.full)
        assert row.within == (abs(row.drift_pp) <= 4.0)
        others = [abs(drift_of(held, k, uniform(300, s))) for s in study.seeds]
        assert row.outside_percent == pytest.approx(100 * np.mean(np.array(others) > 4.0))
    assert study.drift_by_seed.shape == (50, 2)
    json.dumps(study.to_json(), allow_nan=False)


def test_the_bound_holds_for_about_the_promised_share_of_draws_of_a_model_like_the_pool_s(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    sizing = size(matrix, make_plan(matrix))
    bound = sizing.bound_at(400)
    assert bound is not None
    held = make_matrix(np.roll(matrix.passed, 100, axis=2))
    study = holdout(held, sizing, 400, bound, uniform, other_draws=600)
    # 5 % of 600 draws is 30; five standard deviations of that are 27.
    nearest = int(np.argmin(np.abs(matrix.passed[:, 0].mean(axis=1) - 0.5)))
    assert 0.5 < study.rows[nearest].outside_percent < 9.5


def test_n_star_over_seeds_is_what_a_sizing_with_that_seed_gives(make_matrix: Make) -> None:
    rng = np.random.default_rng(3)
    trials = np.stack([np.ones(300), rng.integers(1, 4, size=300).astype(float)])
    matrix = make_matrix(rng.binomial(trials.astype(int), 0.5, size=(3, 2, 300)).astype(float), trials)
    plan = make_plan(matrix, step=50, draws=300)
    study = seeds_study(matrix, plan, seeds=range(4), worst=("per-model", "joint"))
    assert [(row.worst, row.seed) for row in study.rows] == [(w, s) for w in ("per-model", "joint") for s in range(4)]
    for row in study.rows:
        own = size(matrix, make_plan(matrix, step=50, draws=300, seed=row.seed, worst=row.worst), by_seed=False)
        assert row.n_star == own.n_star
        assert row.curve_pp == pytest.approx(own.p95_pp)
    assert sum(study.distribution("joint").values()) == 4
    json.dumps(study.to_json(), allow_nan=False)


def test_seeds_are_drawn_also_where_the_sizing_itself_is_exact(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    plan = make_plan(matrix, draws=300)
    study = seeds_study(matrix, plan, seeds=range(3), worst=("per-model",))
    assert study.sizing.method == "exact"
    assert len({row.curve_pp for row in study.rows}) == 3
    assert any("Exact" in text for text in study.summary())
    for row in study.rows:
        by_draws = make_plan(matrix, draws=300, method="draws", seed=row.seed)
        assert row.curve_pp == size(matrix, by_draws, by_seed=False).p95_pp
