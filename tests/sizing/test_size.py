from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, UsageError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import LEVELS, Worst, draws, make_plan, pair_curves, quantiles, seed_curves, size, solve

Make = Callable[..., ScoreMatrix]

Load = Callable[[str], ScoreMatrix]


def plain(models: int = 3, items: int = 400) -> FloatArray:
    shares = np.linspace(0.35, 0.65, models)[:, None, None]
    return (np.random.default_rng(2).random((models, 1, items)) < shares).astype(float)


def ratio_matrix(make_matrix: Make) -> ScoreMatrix:
    rng = np.random.default_rng(3)
    trials = np.stack([np.ones(300), rng.integers(1, 4, size=300).astype(float)])
    return make_matrix(rng.binomial(trials.astype(int), 0.5, size=(3, 2, 300)).astype(float), trials)


def test_auto_is_exact_for_plain_accuracies_and_draws_for_everything_else(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    assert size(matrix, make_plan(matrix, step=50)).method == "exact"
    assert size(matrix, make_plan(matrix, step=50, draws=500, worst="joint"), by_seed=False).method == "draws"
    ratios = ratio_matrix(make_matrix)
    assert size(ratios, make_plan(ratios, step=50, draws=500), by_seed=False).method == "draws"


def test_exact_refuses_a_ratio_metric_by_its_name_and_says_the_way_out(make_matrix: Make) -> None:
    matrix = ratio_matrix(make_matrix)
    with pytest.raises(UsageError, match=r"metric-1(.|\n)*--method draws"):
        size(matrix, make_plan(matrix, step=50, method="exact"))


def test_exact_refuses_the_joint_rule(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    with pytest.raises(UsageError, match="joint"):
        size(matrix, make_plan(matrix, step=50, method="exact", worst="joint"))


def test_exact_has_no_monte_carlo_error_and_no_seeds(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    result = size(matrix, make_plan(matrix, step=50))
    assert set(result.error_pp) == {0.0}
    assert result.n_star_by_seed == {}


def test_draws_report_n_star_over_twenty_seeds_that_a_user_can_repeat(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    result = size(matrix, make_plan(matrix, step=50, draws=1000, method="draws"))
    assert list(result.n_star_by_seed) == list(range(20))
    for seed in (0, 13):
        again = size(matrix, make_plan(matrix, step=50, draws=1000, method="draws", seed=seed), by_seed=False)
        assert again.n_star == result.n_star_by_seed[seed]
    assert min(result.error_pp) > 0


def test_errors_of_gains_are_those_of_nested_draws(make_matrix: Make) -> None:
    """Oracle: the spread over 60 other seeds. P95 of two sizes share their draws, so a gain errs less than both do."""
    matrix = ratio_matrix(make_matrix)
    plan = make_plan(matrix, step=50, draws=2000)
    result = size(matrix, plan)
    curves = seed_curves(matrix, plan, range(100, 160))["per-model"]
    expected = np.diff(curves, axis=1).std(axis=0, ddof=1)
    assert result.gain_error_pp[0] is None
    found = np.array(result.gain_error_pp[1:], dtype=float)
    assert (found < 2 * expected).all()
    assert (found > expected / 2).all()
    upper = np.array(size(matrix, plan, by_seed=False).gain_error_pp[1:], dtype=float)
    assert (upper > expected / 2).all()


def test_exact_results_keep_their_distribution_too(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    plan = make_plan(matrix, step=50)
    result = size(matrix, plan)
    assert result.by_level_pp.shape == (len(LEVELS), len(plan.sizes))
    assert result.by_level_pp[LEVELS.index(0.95)].tolist() == list(result.p95_pp)
    assert (np.diff(result.by_level_pp, axis=0) >= 0).all()
    drawn = size(matrix, make_plan(matrix, step=50, method="draws"), by_seed=False)
    assert (np.abs(drawn.by_level_pp - result.by_level_pp) < 0.75 * np.array(result.lump_pp)).all()


def test_both_rules_come_from_common_draws_and_joint_is_the_larger(make_matrix: Make) -> None:
    matrix = ratio_matrix(make_matrix)
    result = size(matrix, make_plan(matrix, step=50, draws=1000), by_seed=False)
    assert result.by_rule_pp["per-model"] == result.p95_pp
    joint = size(matrix, make_plan(matrix, step=50, draws=1000, worst="joint"), by_seed=False)
    assert result.by_rule_pp["joint"] == joint.p95_pp == joint.by_rule_pp["joint"]
    assert all(a <= b for a, b in zip(result.p95_pp, joint.p95_pp, strict=True))


def test_plain_pairs_drawn_on_their_own_have_no_joint_rule(make_matrix: Make) -> None:
    matrix = make_matrix(plain(items=9000))
    result = size(matrix, make_plan(matrix, step=500, method="draws", draws=500), by_seed=False)
    assert list(result.by_rule_pp) == ["per-model"]


@pytest.mark.parametrize("worst", ["per-model", "joint"])
@pytest.mark.parametrize("models", [3, 9])
def test_no_result_hangs_on_the_number_of_threads(
    make_matrix: Make, monkeypatch: pytest.MonkeyPatch, worst: Worst, models: int
) -> None:
    matrix = make_matrix(plain(models, 1500))
    plan = make_plan(matrix, step=100, method="draws", draws=1200, worst=worst)
    results = []
    for count in (1, 5):
        monkeypatch.setattr(draws, "threads", lambda count=count: count)
        monkeypatch.setattr(quantiles, "threads", lambda count=count: count)
        results.append({**size(matrix, plan).to_json(), "seconds": 0})
    assert results[0] == results[1]


def test_real_valued_metrics_are_sized_by_draws(make_matrix: Make) -> None:
    """Oracle: the normal law, which a mean of 100 values between 0 and 1 follows closely."""
    passed = np.random.default_rng(5).beta(2, 2, size=(3, 1, 500))
    matrix = make_matrix(passed)
    result = size(matrix, make_plan(matrix, step=100), by_seed=False)
    assert result.method == "draws"
    assert list(result.p95_pp) == pytest.approx(list(result.smooth_pp), rel=0.05)


def test_fewer_draws_for_the_seeds_of_a_large_problem_are_admitted(
    make_matrix: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "_MOST_PER_SEED", 1)
    matrix = ratio_matrix(make_matrix)
    result = size(matrix, make_plan(matrix, step=50, draws=1000))
    assert any("200 draws each instead of 1,000" in warning for warning in result.warnings)


def test_the_pair_of_a_model_with_missing_items_is_left_out_and_named(make_matrix: Make) -> None:
    passed = np.concatenate([plain(), plain(3, 400)[::-1]], axis=1)
    passed[1, 0, 7] = np.nan
    passed[2, 1] = np.nan
    matrix = make_matrix(passed)
    result = size(matrix, make_plan(matrix, step=50))
    assert np.isnan(result.curves_pp[1, 0]).all()
    assert np.isnan(result.curves_pp[2, 1]).all()
    assert not np.isnan(result.curves_pp[1, 1]).any()
    assert any("model-1 takes no part with metric-0: 1 of 400" in warning for warning in result.warnings)
    assert not any("model-2" in warning for warning in result.warnings)


def test_a_pool_without_any_whole_result_is_refused(make_matrix: Make) -> None:
    passed = plain()
    passed[:, :, 0] = np.nan
    matrix = make_matrix(passed)
    with pytest.raises(UsageError, match="every item"):
        size(matrix, make_plan(matrix, step=50))


def test_a_plan_of_a_larger_pool_is_refused(make_matrix: Make) -> None:
    plan = make_plan(make_matrix(plain(items=400)), step=50)
    with pytest.raises(UsageError, match="350"):
        size(make_matrix(plain(items=300)), plan)


def test_too_many_draws_for_the_memory_are_refused(make_matrix: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "_MEMORY", 1000)
    matrix = ratio_matrix(make_matrix)
    with pytest.raises(UsageError, match="--draws"):
        size(matrix, make_plan(matrix, step=50))


def test_warnings_name_the_small_pool_the_step_and_scores_far_from_half(make_matrix: Make) -> None:
    passed = np.zeros((2, 1, 400))
    passed[0, 0, :360] = 1
    passed[1, 0, :340] = 1
    matrix = make_matrix(passed)
    text = "\n".join(size(matrix, make_plan(matrix, step=50)).warnings)
    assert "only 2 models" in text
    assert "the nearest is 85.0 % (model-1, metric-0)" in text
    assert "The step is 50 items; the default step is 100" in text
    uneven = "\n".join(size(matrix, make_plan(matrix, sizes=[10, 50, 200])).warnings)
    assert "not evenly spaced" in uneven


def test_no_n_star_comes_with_advice(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    result = size(matrix, make_plan(matrix, sizes=[5, 10, 20]))
    assert result.n_star is None
    assert any("Widen the sweep" in warning and "loosen tau" in warning for warning in result.warnings)


def test_progress_counts_up_to_all_draws_and_cancel_ends_the_work(make_matrix: Make) -> None:
    matrix = ratio_matrix(make_matrix)
    plan = make_plan(matrix, step=100, draws=600)
    seen: list[Event] = []
    size(matrix, plan, emit=seen.append)
    counts = [event.done for event in seen if isinstance(event, Progress)]
    assert counts == sorted(counts)
    assert counts[-1] == 21 * 600
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        size(matrix, plan, cancel=token)


def test_exact_solutions_count_their_sizes_and_can_be_cancelled(make_matrix: Make) -> None:
    matrix = make_matrix(plain())
    plan = make_plan(matrix, step=50)
    for solve_it in (size, pair_curves):
        seen: list[Event] = []
        solve_it(matrix, plan, emit=seen.append)
        counts = [(event.done, event.total) for event in seen if isinstance(event, Progress)]
        assert counts == [(done, len(plan.sizes)) for done in range(1, len(plan.sizes) + 1)]
        token = CancelToken()

        def stop(_: Event, token: CancelToken = token) -> None:
            token.cancel()

        with pytest.raises(CancelledError):
            solve_it(matrix, plan, emit=stop, cancel=token)


def test_the_same_plan_gives_the_same_result(make_matrix: Make) -> None:
    matrix = ratio_matrix(make_matrix)
    plan = make_plan(matrix, step=50, draws=700, worst="joint")
    first, second = (size(matrix, plan).to_json() for _ in range(2))
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


@pytest.mark.shared
def test_real_ifeval_logs_give_the_published_p95_and_a_warning(real_matrix: Load) -> None:
    matrix = real_matrix("ifeval")
    assert matrix.passed.shape == (17, 4, 541)
    result = size(matrix, make_plan(matrix), by_seed=False)
    bound = result.bound_at(250)
    assert bound is not None
    assert 4.4 <= bound <= 4.8
    assert result.n_star in {250, 300}
    assert result.n_star_smooth == 250
    gain = result.smooth_pp[3] - result.smooth_pp[4]
    assert gain == pytest.approx(0.96, abs=0.005)
    assert any(f"n* = {result.n_star} is not firm" in warning for warning in result.warnings)


@pytest.mark.shared
def test_real_ifeval_logs_by_the_joint_rule_need_more_items(real_matrix: Load) -> None:
    matrix = real_matrix("ifeval")
    result = size(matrix, make_plan(matrix, worst="joint"), by_seed=False)
    assert result.n_star in {300, 350}
    assert result.bound_at(300) == pytest.approx(5.3, abs=0.15)
    assert result.bound_at(350) == pytest.approx(4.4, abs=0.15)


@pytest.mark.shared
def test_real_gsm8k_logs_give_n_star_400_exactly(real_matrix: Load) -> None:
    matrix = real_matrix("gsm8k")
    result = size(matrix, make_plan(matrix, method="exact"))
    assert len(result.models) == 8
    assert result.n_star == result.n_star_smooth == 400
    assert result.bound_at(400) == pytest.approx(4.0, abs=0.05)
    assert result.gain_pp[3] == pytest.approx(0.95, abs=0.005)
