from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binomtest, bootstrap, multinomial
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from mince_gui.report import RunData
from mince_gui.report.answers import Answers
from mince_gui.report.bootstrap import bootstrap_interval
from mince_gui.report.model import PairedReport
from mince_gui.report.paired import holm, mcnemar_p, paired_report
from mince_gui.report.paired_intervals import counts_interval
from mince_gui.report.scores import metric_facts
from mince_gui.report.sides import role_of, side_of_run
from mince_gui.report.types import Side

MakeRun = Callable[..., RunData]
STRICT = "prompt_level_strict_acc"
INSTRUCTION = "inst_level_strict_acc"
HUGE = 10**9


def against(run: RunData, other: RunData | Side) -> PairedReport:
    side = other if isinstance(other, Side) else side_of_run(other)
    return paired_report(run, side, metric_facts(run, ()))


def plain(run: RunData, right: str) -> RunData:
    """A run of an unknown benchmark of 100 items, one item for each letter: "1" passed, "0" failed, "-" missing."""
    keys = tuple(f"{place:03}" for place in range(len(right)))
    rows = {key: {"acc": (float(letter), 1.0)} for key, letter in zip(keys, right, strict=True) if letter != "-"}
    return replace(
        run, benchmark="our-task", model="Phi-4-mini", precision="int4", subset_keys=keys, total_items=100, rows=rows,
        categories={},
    )  # fmt: skip


# McNemar


def brute_force(gained: int, lost: int) -> float:
    """The share of all ways to turn the changed items that are at least as uneven."""
    uneven = abs(gained - lost)
    ways = [abs(sum(signs)) >= uneven for signs in product((1, -1), repeat=gained + lost)]
    return sum(ways) / len(ways)


@pytest.mark.parametrize(("gained", "lost"), [(g, total - g) for total in range(11) for g in range(total + 1)])
def test_mcnemar_counts_the_ways_that_are_as_uneven(gained: int, lost: int) -> None:
    assert mcnemar_p(gained, lost) == pytest.approx(brute_force(gained, lost))


@settings(deadline=None)
@given(st.integers(0, 4000), st.integers(0, 4000))
def test_mcnemar_agrees_with_scipy_and_statsmodels(gained: int, lost: int) -> None:
    found = mcnemar_p(gained, lost)
    assert found == pytest.approx(float(mcnemar([[7, gained], [lost, 3]], exact=True).pvalue))
    if gained + lost:
        assert found == pytest.approx(binomtest(gained, gained + lost).pvalue)


@pytest.mark.parametrize("p_values", [[0.03], [0.01, 0.04, 0.03, 0.005, 0.04, 1.0], [0.5, 0.5, 1e-300, 0.0, 0.6, 0.02]])
def test_holms_correction_agrees_with_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


# the interval of pass/fail metrics


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(0, 300), st.data())
def test_the_counts_interval_holds_the_difference_and_turns_with_the_sides(
    n: int, more: int, data: st.DataObject
) -> None:
    gained = data.draw(st.integers(0, n))
    lost = data.draw(st.integers(0, n - gained))
    low, high = counts_interval(gained, lost, n, n + more)
    assert -100 <= low <= 100 * (gained - lost) / n + 1e-9
    assert 100 * (gained - lost) / n - 1e-9 <= high <= 100
    assert counts_interval(lost, gained, n, n + more) == pytest.approx((-high, -low))
    if not more:
        assert low == high


def test_no_changed_item_still_leaves_room_on_both_sides() -> None:
    low, high = counts_interval(0, 0, 250, 541)
    assert low == -high
    assert 0.7 < high < 1.2


@pytest.mark.parametrize(("gained", "lost", "n"), [(-1, 0, 3), (2, 2, 3)])
def test_impossible_changes_are_refused(gained: int, lost: int, n: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        counts_interval(gained, lost, n, 10)


def tango(gained: int, lost: int, n: int) -> tuple[float, float]:
    """Tango's score interval (1998) in pp of an endless population, the likelihood maximised by a general optimiser."""

    def z_of(delta: float) -> float:
        def against_likelihood(q: float) -> float:
            up, down = max(q + delta, 1e-15), max(q, 1e-15)
            return float(
                -(gained * np.log(up) + lost * np.log(down) + (n - gained - lost) * np.log(max(1 - up - down, 1e-15)))
            )

        bounds = (max(0.0, -delta), (1 - delta) / 2)
        q = float(minimize_scalar(against_likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x)
        return float((gained - lost - n * delta) / np.sqrt(n * (2 * q + delta * (1 - delta))))

    estimate = (gained - lost) / n
    low = brentq(lambda delta: z_of(delta) - 1.959964, estimate - 0.3, estimate - 1e-4)
    high = brentq(lambda delta: z_of(delta) + 1.959964, estimate + 1e-4, estimate + 0.3)
    return 100 * low, 100 * high


@pytest.mark.parametrize(("gained", "lost", "n"), [(30, 20, 300), (60, 25, 500), (12, 40, 400), (90, 80, 1000)])
def test_the_counts_interval_is_a_little_wider_than_tangos_score_interval(gained: int, lost: int, n: int) -> None:
    low, high = counts_interval(gained, lost, n, HUGE)
    least, greatest = tango(gained, lost, n)
    assert low <= least + 0.02
    assert high >= greatest - 0.02
    assert high - low < 1.1 * (greatest - least)


# the bootstrap


def cells(passed: list[float], trials: float = 2.0) -> list[tuple[float, float]]:
    return [(value, trials) for value in passed]


def test_the_bootstrap_ends_are_the_percentiles_of_all_replicates() -> None:
    """40 of 79 items: a replicate draws 39 / (1 - 40/79) = 79 of them, so that every outcome can be listed."""
    mine, theirs = cells([2.0] * 14 + [0.0] * 10 + [1.0] * 16), cells([1.0] * 40)
    up, down = np.meshgrid(np.arange(80), np.arange(80))
    possible = up + down <= 79
    up, down = up[possible], down[possible]
    chances = np.asarray(multinomial.pmf(np.stack([up, down, 79 - up - down], axis=1), 79, [0.35, 0.25, 0.4]))
    differences = 100 * (up - down) / (2 * 79)
    order = np.argsort(differences)
    reached = np.cumsum(chances[order])
    expected = [differences[order][np.searchsorted(reached, share)] for share in (0.025, 0.975)]
    # 2,000 replicates: an end is off by one or two of the steps of 100 / 158 pp.
    assert bootstrap_interval(mine, theirs, 79) == pytest.approx(expected, abs=2 * 100 / 158)


def test_without_an_end_to_the_benchmark_it_is_the_bootstrap_of_scipy() -> None:
    rng = np.random.default_rng(8)
    trials = rng.choice([1.0, 2.0, 3.0], size=300)
    theirs = np.round(rng.random(300) * trials)
    mine = np.where(rng.random(300) < 0.3, np.round(rng.random(300) * trials), theirs)
    found = bootstrap_interval(
        list(zip(mine.tolist(), trials.tolist(), strict=True)),
        list(zip(theirs.tolist(), trials.tolist(), strict=True)), HUGE,
    )  # fmt: skip

    def difference(m: np.ndarray, t: np.ndarray, k: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(100 * (m.sum(axis=axis) - t.sum(axis=axis)) / k.sum(axis=axis))

    oracle = bootstrap(
        (mine, theirs, trials), difference, paired=True, vectorized=True, n_resamples=4000, method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    width = oracle.high - oracle.low
    assert found == pytest.approx((oracle.low, oracle.high), abs=0.06 * width)


def test_the_bootstrap_is_the_same_for_the_same_items_in_any_order() -> None:
    rng = np.random.default_rng(2)
    pairs = [((float(rng.integers(3)), 2.0), (float(rng.integers(3)), 2.0)) for _ in range(120)]
    found = {bootstrap_interval([m for m, _ in some], [t for _, t in some], 541) for some in (pairs, pairs[::-1])}
    assert len(found) == 1


def test_items_that_are_all_different_are_merged_without_a_loss() -> None:
    rng = np.random.default_rng(3)
    mine, theirs = rng.random(3000), rng.random(3000)
    low, high = bootstrap_interval([(v, 1.0) for v in mine], [(v, 1.0) for v in theirs], 9000)
    reach = 1.96 * float(np.std(mine - theirs, ddof=1)) * np.sqrt((1 - 1 / 3) / 3000)
    assert [low, high] == pytest.approx(100 * (np.mean(mine - theirs) + np.array([-reach, reach])), abs=0.15)


def test_a_ratio_without_a_changed_item_still_leaves_room() -> None:
    low, high = bootstrap_interval(cells([1.0] * 100), cells([1.0] * 100), 541)
    assert low < -1 < 1 < high
    assert counts_interval(0, 0, 100, 541) == pytest.approx((low, high), abs=0.3)


def test_a_ratio_over_the_whole_benchmark_is_a_point_and_one_item_says_nothing() -> None:
    assert bootstrap_interval(cells([2.0, 1.0]), cells([1.0, 1.0]), 2) == (25.0, 25.0)
    assert bootstrap_interval(cells([2.0]), cells([1.0]), 2) == (-100.0, 100.0)


def test_ratios_without_trials_have_no_difference() -> None:
    with pytest.raises(ValueError, match="trials"):
        bootstrap_interval([(0.0, 0.0)] * 3, [(0.0, 0.0)] * 3, 10)


def test_an_item_without_trials_is_passed_over_and_does_not_stop_the_bootstrap() -> None:
    mine, theirs = [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0)], [(0.0, 0.0), (0.0, 1.0), (0.0, 1.0)]
    low, high = bootstrap_interval(mine, theirs, 10)
    assert low <= 50.0 <= high


# what a paired report says


def test_a_pair_counts_on_the_common_items_of_the_subset_alone(make_run: MakeRun) -> None:
    mine, theirs = plain(make_run(), "1101-0" * 5), plain(make_run(), "0101-1" * 5)
    theirs = replace(theirs, rows={**theirs.rows, "999": {"acc": (1.0, 1.0)}, "000": {"other": (1.0, 1.0)}})
    report = against(mine, theirs)
    (metric,) = report.metrics
    assert (report.common, report.wanted) == (25, 30)
    assert (metric.mine.items, metric.gained, metric.lost) == (24, 4, 5)
    assert metric.delta_pp == pytest.approx(100 * (4 - 5) / 24)
    assert metric.interval is not None
    assert (metric.interval.low, metric.interval.high) == counts_interval(4, 5, 24, 100)
    assert metric.interval.method == "paired, exact limits combined"
    assert "Only 25 of 30 items of the subset are in common" in report.warnings[0]


def test_a_pair_over_the_whole_benchmark_is_certain(make_run: MakeRun) -> None:
    mine, theirs = (replace(plain(make_run(), right), total_items=20) for right in ("11011" * 4, "10011" * 4))
    (metric,) = against(mine, theirs).metrics
    assert metric.interval is not None
    assert (metric.interval.low, metric.interval.high) == pytest.approx((20.0, 20.0))
    assert metric.interval.method == "whole benchmark"


def test_ratio_metrics_get_the_bootstrap_and_no_p_value(make_run: MakeRun) -> None:
    mine = make_run()
    rows = {key: {**row, INSTRUCTION: (0.0, row[INSTRUCTION][1])} for key, row in list(mine.rows.items())[:40]}
    theirs = replace(mine, rows={**mine.rows, **rows})
    found = {metric.name: metric for metric in against(mine, theirs).metrics}
    ratio, strict = found[INSTRUCTION], found[STRICT]
    assert ratio.p_value is None
    assert ratio.interval is not None
    assert ratio.interval.method == "paired bootstrap"
    assert ratio.interval.low < ratio.delta_pp < ratio.interval.high
    assert (strict.p_value, strict.gained, strict.lost) == (1.0, 0, 0)


def test_a_subset_that_was_not_drawn_uniformly_has_approximate_intervals(make_run: MakeRun) -> None:
    mine = replace(plain(make_run(), "10" * 20), sampler="kmeans")
    (metric,) = against(mine, plain(make_run(), "01" * 20)).metrics
    assert metric.interval is not None
    assert metric.interval.method == "approximate, as if drawn uniformly"


def test_partial_credit_on_the_other_side_takes_the_pair_out_of_mcnemar(make_run: MakeRun) -> None:
    theirs = plain(make_run(), "01" * 20)
    theirs = replace(theirs, rows={**theirs.rows, "000": {"acc": (0.5, 1.0)}})
    (metric,) = against(plain(make_run(), "11" * 20), theirs).metrics
    assert (metric.gained, metric.p_value) == (20, None)


def test_the_changed_items_come_with_both_answers_and_how_they_changed(make_run: MakeRun) -> None:
    run = make_run()
    first, second, third = run.subset_keys[:3]
    low, high = {STRICT: (0.0, 1.0), INSTRUCTION: (1.0, 2.0)}, {STRICT: (1.0, 1.0), INSTRUCTION: (2.0, 2.0)}
    mixed = {STRICT: (1.0, 1.0), INSTRUCTION: (0.0, 2.0)}
    mine = replace(
        run, rows={first: high, second: low, third: low}, answers_given={first: "a long answer\n" * 500},
        expected={first: "42"},
    )  # fmt: skip
    other = replace(
        side_of_run(run), rows={first: low, second: high, third: mixed}, answers={second: "theirs"},
        expected={second: "7"},
    )  # fmt: skip
    gained, lost, both = against(mine, other).changed
    assert [(i.key, i.change) for i in (gained, lost, both)] == [(first, "gained"), (second, "lost"), (third, "both")]
    assert (gained.my_answer, gained.their_answer, gained.expected) == ("a long answer\n" * 500, None, "42")
    assert (lost.my_answer, lost.their_answer, lost.expected) == (None, "theirs", "7")
    assert gained.mine == high
    assert gained.theirs == low
    assert gained.category == "keywords:existence"


def test_categories_are_tested_apart_and_corrected_for_their_number(make_run: MakeRun) -> None:
    names = ["even" if place % 2 else "odd" if place < 60 else "rare" for place in range(72)]
    mine = plain(make_run(), "1" * 72)
    mine = replace(mine, categories=dict(zip(mine.subset_keys, names, strict=True)))
    theirs = plain(make_run(), "".join("0" if name == "odd" and i < 20 else "1" for i, name in enumerate(names)))
    odd, even = against(mine, theirs).categories
    assert (odd.category, odd.items, odd.gained, odd.lost) == ("odd", 30, 10, 0)
    assert odd.delta_pp == pytest.approx(100 / 3)
    assert odd.p_value == pytest.approx(2 * 0.5**10)
    assert odd.p_holm == pytest.approx(4 * 0.5**10)
    assert (even.category, even.p_value, even.p_holm) == ("even", 1.0, 1.0)


def test_one_category_alone_is_no_table(make_run: MakeRun) -> None:
    mine = plain(make_run(), "10" * 10)
    mine = replace(mine, categories=dict.fromkeys(mine.subset_keys, "all"))
    assert against(mine, mine).categories == ()


def test_other_prompts_are_counted_and_said(make_run: MakeRun) -> None:
    mine = replace(plain(make_run(), "1111"), prompts={"000": "a", "001": "b", "002": "c"})
    report = against(mine, replace(plain(make_run(), "1111"), prompts={"000": "a", "001": "x", "003": "d"}))
    assert (report.prompts_compared, report.prompts_equal) == (2, 1)
    assert any("prompts differ in 1 of 2 items" in warning for warning in report.warnings)
    assert any("For 2 of 4 items in common a side keeps no prompt" in warning for warning in report.warnings)


def test_equal_prompts_and_a_proven_device_need_no_warning(make_run: MakeRun) -> None:
    mine = replace(plain(make_run(), "1101"), prompts={f"{i:03}": "p" for i in range(4)})
    report = against(mine, mine)
    assert report.role == "repeat"
    assert report.warnings == ()


def test_an_unproven_device_and_another_model_are_said(make_run: MakeRun) -> None:
    mine = plain(make_run(), "11")
    npu = replace(mine, conditions={"device": "NPU (RyzenAI)", "device_proven": False}, model="Qwen3-8B")
    warnings = against(mine, npu).warnings
    assert any("not proven: Qwen3-8B INT4 on NPU" in warning for warning in warnings)
    assert any("The models are not the same" in warning for warning in warnings)


def test_other_folders_of_one_model_are_said_as_what_they_may_be(make_run: MakeRun) -> None:
    mine = plain(make_run(), "11")
    report = against(mine, replace(mine, conditions={**mine.conditions, "model_sha256": "cd" * 32}))
    assert any("model folders differ" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"answers": Answers(budget=1280)}, "The token budget differs: 256 here, 1,280 in other."),
        ({"conditions": {"task": "ifeval_other"}}, "The task differs: ifeval here, ifeval_other in other."),
        (
            {"conditions": {"task": "ifeval", "rescored": {"task": "ifeval", "version": "9.9"}}},
            "The scoring differs: when it was run here, again by ifeval of mince 9.9 in other.",
        ),
    ],
)
def test_runs_that_were_asked_or_scored_otherwise_warn(make_run: MakeRun, fields: dict[str, Any], words: str) -> None:
    mine = replace(plain(make_run(), "1101"), conditions={"task": "ifeval"}, answers=Answers(budget=256))
    assert words not in against(mine, mine).warnings
    assert words in against(mine, replace(mine, run_id="other", **fields)).warnings


def test_what_is_known_to_differ_in_a_reference_is_a_warning_of_the_pair(make_run: MakeRun) -> None:
    mine = plain(make_run(), "1101")
    side = replace(side_of_run(mine), ident="log-1", kind="reference", warnings=("its task version is 3, the run's 4",))
    assert "Of log-1: its task version is 3, the run's 4." in against(mine, side).warnings


def test_a_run_that_was_continued_on_another_device_is_of_no_device(make_run: MakeRun) -> None:
    mine = plain(make_run(), "1101")
    mixed = replace(mine, run_id="mixed", conditions={"device": "NPU (RyzenAI)", "changed": ["device"]})
    report = against(mine, mixed)
    assert (report.role, report.device) == ("other", "")
    assert any("one device of mixed is not known" in warning for warning in report.warnings)


# what differs between two sides

CPU, NPU, NO = "CPU", "NPU (RyzenAI), proven", ""


@pytest.mark.parametrize(
    ("mine", "theirs", "role"),
    [
        (("int4", CPU), ("bf16", ""), "quantisation"), (("bf16", ""), ("int4", CPU), "quantisation"),
        (("int4", NPU), ("bf16", CPU), "quantisation and hardware"),
        (("int4", NPU), ("bf16", ""), "quantisation and hardware"),
        (("int4", NPU), ("int4", CPU), "hardware"), (("INT4", CPU), ("int4", CPU), "repeat"),
        (("int4", CPU), ("int8", CPU), "quantisation"), (("int4", NPU), ("int8", CPU), "quantisation and hardware"),
        (("int4", NO), ("bf16", CPU), "other"), (("", CPU), ("bf16", CPU), "other"),
        (("int4", CPU), ("int4", NO), "other"),
        (("bf16", NO), ("bf16", "GPU"), "repeat"), (("fp32", CPU), ("bf16", CPU), "quantisation"),
    ],
)  # fmt: skip
def test_the_role_of_a_pair_is_what_differs(mine: tuple[str, str], theirs: tuple[str, str], role: str) -> None:
    sides = [Side("i", "run", "ifeval", "Phi-4-mini", *facts, rows={}) for facts in (mine, theirs)]
    assert role_of(*sides) == role


def test_two_models_are_never_a_quantisation_of_one_another() -> None:
    mine = Side("a", "run", "ifeval", "Phi-4-mini", "int4", CPU, rows={})
    assert role_of(mine, replace(mine, model="Qwen3-8B", precision="bf16")) == "other"


def test_one_model_folder_on_two_devices_differs_in_hardware_whatever_its_precision() -> None:
    mine = Side("a", "run", "ifeval", "Phi-4-mini", "", CPU, rows={}, model_sha256="ab")
    assert role_of(mine, replace(mine, device=NPU)) == "hardware"
