from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from mince_gui.base.errors import UsageError
from mince_gui.report import Ratio, Reference, RunData, build, finite_population_interval
from mince_gui.report.sides import side_of_run
from mince_gui.report.speed import percentile
from mince_gui.report.words import headline

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
STRICT = "prompt_level_strict_acc"
INSTRUCTION = "inst_level_strict_acc"


def plain_run(run: RunData, right: int, n: int = 100, total: int = 1000) -> RunData:
    """A run of an unknown benchmark with one pass/fail metric, `right` of `n` items right."""
    keys = tuple(str(i) for i in range(n))
    rows = {key: {"acc": (float(i < right), 1.0)} for i, key in enumerate(keys)}
    return replace(run, benchmark="our-task", subset_keys=keys, total_items=total, rows=rows, bound_pp=5.0)


def plain_full(right: int, total: int = 1000) -> Reference:
    return Reference(
        reference_id="r", kind="own full run", benchmark="our-task", model="m",
        metrics={"acc": Ratio(right, total, total)}, source="run r", date="2026-11-01",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("right", "drift", "verdict"),
    [(73, 3.0, "inside"), (67, -3.0, "inside"), (75, 5.0, "inside"), (65, -5.0, "inside"), (76, 6.0, "outside"),
     (64, -6.0, "outside")],
)  # fmt: skip
def test_drift_is_subset_minus_full_and_the_bound_itself_is_inside(
    make_run: MakeRun, right: int, drift: float, verdict: str
) -> None:
    report = build(plain_run(make_run(), right), own_full=plain_full(700), other=None)
    (metric,) = report.metrics
    assert metric.drift_pp == pytest.approx(drift)
    assert metric.verdict == report.verdict == verdict
    assert f"drift {drift:+.1f} pp" in report.banner
    assert report.banner.startswith("Inside the bound" if verdict == "inside" else "Outside the bound")


def test_the_pass_fail_interval_is_the_exact_one(make_run: MakeRun) -> None:
    (metric,) = build(plain_run(make_run(), 73), own_full=None, other=None).metrics
    assert metric.interval is not None
    assert (metric.interval.low, metric.interval.high) == finite_population_interval(73, 100, 1000)
    assert metric.interval.method == "exact hypergeometric"


def test_instruction_level_metrics_get_an_interval_named_approximate(make_run: MakeRun) -> None:
    report = build(make_run(), own_full=None, other=None)
    interval = report.metric(INSTRUCTION).interval
    assert interval is not None
    assert interval.method.startswith("approximate")


def test_a_metric_that_only_the_reference_has_does_not_spoil_the_verdict(make_run: MakeRun) -> None:
    own = plain_full(700)
    extra = replace(own, metrics={**own.metrics, "acc_norm": Ratio(1, 1000, 1000)})
    report = build(plain_run(make_run(), 71), own_full=extra, other=extra)
    assert [metric.name for metric in report.metrics] == ["acc"]
    assert report.verdict == "inside"


def test_partial_credit_makes_a_metric_a_ratio(make_run: MakeRun) -> None:
    run = plain_run(make_run(), 50)
    rows = {**run.rows, "3": {"acc": (0.5, 1.0)}}
    (metric,) = build(replace(run, rows=rows), own_full=None, other=None).metrics
    assert metric.ratio
    assert metric.score == pytest.approx(49.5)


def test_metrics_stand_in_the_declared_order_with_their_titles(make_run: MakeRun) -> None:
    report = build(make_run(), own_full=None, other=None)
    titles = [metric.title for metric in report.metrics]
    assert titles == ["prompt strict", "instruction strict", "prompt loose", "instruction loose"]


def test_drift_comes_from_the_full_runs_own_rows_and_repeats_are_counted(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run, own = make_run(), make_own()
    assert own.rows is not None
    flipped = run.subset_keys[:3]
    rows = {key: dict(row) for key, row in run.rows.items()}
    for key in flipped:
        rows[key][STRICT] = (1.0 - rows[key][STRICT][0], 1.0)
    report = build(replace(run, rows=rows), own_full=own, other=None)
    metric = report.metric(STRICT)
    on_subset = 100 * sum(own.rows[key][STRICT][0] for key in run.subset_keys) / len(run.subset_keys)
    on_all = 100 * sum(row[STRICT][0] for row in own.rows.values()) / len(own.rows)
    assert metric.drift_basis == "same run"
    assert metric.drift_pp == pytest.approx(on_subset - on_all)
    assert metric.score is not None
    assert metric.difference_pp == pytest.approx(metric.score - on_all)
    assert report.repeatability is not None
    assert report.repeatability.differing == flipped
    assert report.repeatability.common == 250
    assert any("3 of 250 items got another verdict" in warning for warning in report.warnings)


def test_rows_read_back_as_lists_are_no_different_verdicts(make_run: MakeRun, make_own: MakeReference) -> None:
    run = make_run()
    rows = json.loads(json.dumps(run.rows))
    report = build(replace(run, rows=rows), own_full=make_own(), other=None)
    assert report.repeatability is not None
    assert report.repeatability.differing == ()


def test_no_bound_is_said_and_not_taken_for_inside(make_run: MakeRun, make_own: MakeReference) -> None:
    report = build(make_run(bound_pp=None), own_full=make_own(), other=None)
    assert report.verdict == "no bound"
    assert "Inside" not in report.banner


def test_the_banner_names_the_metric_with_the_largest_drift(make_run: MakeRun, make_own: MakeReference) -> None:
    report = build(make_run(), own_full=make_own(), other=None)
    largest = max(report.metrics, key=lambda metric: abs(metric.drift_pp or 0))
    assert report.headline == largest.name
    assert largest.title in report.banner


def test_one_metric_outside_makes_the_run_outside(make_run: MakeRun, make_own: MakeReference) -> None:
    inside = build(make_run(), own_full=make_own(), other=None)
    drifts = sorted(abs(metric.drift_pp or 0) for metric in inside.metrics)
    report = build(make_run(bound_pp=(drifts[-1] + drifts[-2]) / 2), own_full=make_own(), other=None)
    assert [metric.verdict for metric in report.metrics].count("outside") == 1
    assert report.verdict == "outside"
    assert any("1 subset in 20" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("rule", "quantile", "words"),
    [("joint", 0.8, "about 1 subset in 5,"), ("joint", 0.7, "about 30 % of subsets,"), ("joint", None, "some subsets,"),
     ("per-model", 0.99, "about 1 subset in 100, on each metric,"), ("joint", 7, "some subsets,")],
)  # fmt: skip
def test_how_often_the_bound_is_passed_by_chance_follows_from_the_quantile(
    make_run: MakeRun, make_own: MakeReference, rule: str, quantile: float | None, words: str
) -> None:
    evidence = {"rule": rule, "quantile": quantile}
    report = build(make_run(bound_pp=0.0, evidence=evidence), own_full=make_own(), other=None)
    assert report.verdict == "outside"
    assert any(f"expected for {words}" in warning for warning in report.warnings)


def test_a_bound_without_evidence_claims_no_quantile_and_no_rule(make_run: MakeRun, make_own: MakeReference) -> None:
    report = build(make_run(evidence={}), own_full=make_own(), other=None)
    assert report.bound is not None
    assert report.bound.name == "quantile not recorded, rule not recorded"
    assert "95" not in report.bound.meaning + report.banner


def test_inside_is_said_of_the_metrics_that_were_judged_alone(make_run: MakeRun, make_own: MakeReference) -> None:
    own = make_own()
    assert own.rows is not None
    only = {key: {STRICT: row[STRICT]} for key, row in own.rows.items()}
    report = build(make_run(), own_full=replace(own, rows=only), other=None)
    assert [metric.verdict for metric in report.metrics].count("inside") == 1
    assert report.verdict == "not judged"
    assert report.banner.startswith("Inside the bound on 1 of 4 metrics: IFEVAL prompt strict")
    assert report.headline == STRICT


def test_another_precisions_full_score_gives_a_total_gap_and_no_drift(
    make_run: MakeRun, make_other: MakeReference
) -> None:
    report = build(make_run(), own_full=None, other=make_other())
    metric = report.metric(STRICT)
    assert metric.score is not None
    assert metric.total_gap_pp == pytest.approx(metric.score - 68.5)
    assert metric.drift_pp is None
    assert metric.verdict == "total gap only"
    assert report.metric("prompt_level_loose_acc").verdict == "no full score"
    assert report.banner.startswith("Total gap only")
    assert "drift" not in report.banner


@pytest.mark.parametrize("complete", [True, False])
def test_drift_is_judged_only_when_every_item_is_there(
    make_run: MakeRun, make_own: MakeReference, complete: bool
) -> None:
    run = make_run()
    rows = dict(run.rows)
    if not complete:
        del rows[run.subset_keys[9]]
    report = build(
        replace(run, rows=rows, missing={run.subset_keys[9]: "worker crashed twice"} if not complete else {}),
        own_full=make_own(), other=None,
    )  # fmt: skip
    assert (report.verdict == "inside") is complete
    if not complete:
        assert {metric.verdict for metric in report.metrics} == {"not judged"}
        assert report.coverage.missing == {run.subset_keys[9]: "worker crashed twice"}
        assert "249 of 250 items" in report.banner
        assert all(metric.partial for metric in report.metrics)
        assert any("249 of 250" in warning for warning in report.warnings)


def test_an_item_without_row_and_cause_was_not_run(make_run: MakeRun) -> None:
    run = make_run()
    report = build(replace(run, rows={k: run.rows[k] for k in run.subset_keys[:20]}), own_full=None, other=None)
    assert report.coverage.causes() == {"not run": 230}


def test_a_metric_that_some_items_lack_is_partial_on_its_own(make_run: MakeRun, make_own: MakeReference) -> None:
    run = make_run()
    first = run.subset_keys[0]
    rows = {**run.rows, first: {STRICT: (1.0, 1.0)}}
    report = build(replace(run, rows=rows), own_full=make_own(), other=None)
    assert report.coverage.complete
    assert report.metric(INSTRUCTION).done == 249
    assert report.metric(INSTRUCTION).verdict == "not judged"
    assert report.verdict == "not judged"


def test_rows_outside_the_subset_are_left_out_and_said(make_run: MakeRun) -> None:
    run = plain_run(make_run(), 50)
    report = build(replace(run, rows={**run.rows, "999": {"acc": (1.0, 1.0)}}), own_full=None, other=None)
    assert report.metrics[0].score == pytest.approx(50.0)
    assert any("not in the subset" in warning for warning in report.warnings)


def test_a_limit_run_is_flagged_and_never_judged(make_run: MakeRun, make_own: MakeReference) -> None:
    run = make_run()
    limited = replace(run, subset_keys=run.subset_keys[:20], conditions={**run.conditions, "limit": 20})
    report = build(limited, own_full=make_own(), other=None)
    assert report.verdict == "not judged"
    assert report.banner.startswith("Not judged (--limit 20)")
    assert any("--limit 20" in warning for warning in report.warnings)
    assert all("--limit 20" in metric.reason for metric in report.metrics)


def test_an_incomplete_full_run_judges_nothing(make_run: MakeRun, make_own: MakeReference) -> None:
    own = make_own()
    assert own.rows is not None
    short = dict(own.rows)
    del short[next(key for key in own.rows if key not in make_run().subset_keys)]
    report = build(make_run(), own_full=replace(own, rows=short), other=None)
    assert report.verdict == "not judged"
    assert any("does not cover all 541 items" in warning for warning in report.warnings)


def test_a_run_without_any_item_has_no_score(make_run: MakeRun, make_own: MakeReference) -> None:
    report = build(
        make_run(rows={}, item_seconds=()), own_full=make_own(metrics={STRICT: Ratio(1, 2, 541)}), other=None
    )
    assert report.verdict == "no score"
    assert report.metrics[0].score is None
    assert report.speedup.kind == "none"


def test_a_run_without_any_metric_still_makes_a_report(make_run: MakeRun) -> None:
    report = build(make_run(rows={}, item_seconds=()), own_full=None, other=None)
    assert report.metrics == ()
    assert report.banner.startswith("No score")


def test_a_full_run_has_no_drift_no_bound_and_a_point_interval(
    make_run: MakeRun, make_own: MakeReference, make_other: MakeReference
) -> None:
    own = make_own()
    assert own.rows is not None
    run = make_run(subset_keys=tuple(own.rows), rows=own.rows, subset_name="full")
    report = build(run, own_full=None, other=make_other())
    assert report.verdict == "full run"
    metric = report.metric(STRICT)
    assert metric.drift_pp is None
    assert metric.bound_pp is None
    assert metric.interval is not None
    assert metric.interval.low == metric.interval.high == pytest.approx(metric.score)
    assert metric.total_gap_pp is not None
    assert report.speedup.kind == "none"


def test_references_of_another_benchmark_are_refused(make_run: MakeRun, make_own: MakeReference) -> None:
    with pytest.raises(UsageError, match="gsm8k"):
        build(make_run(), own_full=make_own(benchmark="gsm8k"), other=None)


def test_the_speedup_is_measured_where_both_runs_are_timed_on_one_device(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    speed = build(make_run(wall_seconds=3_240.0), own_full=make_own(wall_seconds=6_480.0), other=None).speedup
    assert speed.kind == "measured"
    assert speed.factor == pytest.approx(2.0)
    assert speed.saved_seconds == pytest.approx(3_240.0)


@pytest.mark.parametrize(
    "fields",
    [{"device_key": "machine-b/bundled/standard"}, {"device_key": ""}, {"wall_seconds": None}, {"wall_seconds": 0.0}],
)
def test_a_full_run_of_another_device_or_untimed_never_enters(
    make_run: MakeRun, make_own: MakeReference, fields: dict[str, object]
) -> None:
    run = make_run()
    given = build(run, own_full=make_own(**{"wall_seconds": 1e9, **fields}), other=None).speedup
    alone = build(run, own_full=None, other=None).speedup
    assert given.kind == "estimate"
    assert (given.factor, given.low, given.high, given.full_seconds) == (
        alone.factor, alone.low, alone.high, alone.full_seconds,
    )  # fmt: skip
    assert "stimated" in given.words


def test_a_full_run_in_standard_mode_makes_no_measured_speedup_of_a_fast_subset(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run = make_run()
    fast = make_run(device_key="machine-a/bundled/fast", conditions={**run.conditions, "timing": "fast"})
    speed = build(fast, own_full=make_own(timing="standard"), other=None).speedup
    assert speed.kind == "estimate"
    assert "The full run was timed in standard mode, this run in fast mode" in speed.words
    assert build(run, own_full=make_own(timing="standard"), other=None).speedup.kind == "measured"


@pytest.mark.parametrize("changed", [["timing"], ["device", "threads"]])
def test_sittings_of_two_kinds_make_no_speedup(make_run: MakeRun, changed: list[str]) -> None:
    run = make_run()
    mixed = make_run(conditions={**run.conditions, "changed": changed}, wall_seconds=None)
    speed = build(mixed, own_full=None, other=None).speedup
    assert (speed.kind, speed.factor, speed.full_seconds) == ("none", None, None)
    assert f"differ in {', '.join(changed)}:" in speed.words


def test_two_empty_device_keys_are_not_the_same_device(make_run: MakeRun, make_own: MakeReference) -> None:
    assert build(make_run(device_key=""), own_full=make_own(device_key=""), other=None).speedup.kind == "estimate"


def test_a_stored_wall_clock_of_another_model_never_enters(make_run: MakeRun, make_other: MakeReference) -> None:
    assert build(make_run(), own_full=None, other=make_other(wall_seconds=1e9)).speedup.factor == pytest.approx(
        build(make_run(), own_full=None, other=None).speedup.factor
    )


def test_an_estimate_is_the_mean_item_time_times_n_with_its_interval(make_run: MakeRun) -> None:
    run = make_run()
    speed = build(run, own_full=None, other=None).speedup
    assert run.wall_seconds is not None
    assert speed.factor == pytest.approx(float(np.mean(run.item_seconds)) * 541 / run.wall_seconds)
    assert speed.low is not None
    assert speed.high is not None
    assert speed.factor is not None
    assert speed.low < speed.factor < speed.high
    assert "2.2x as fast as the full run, estimated" in build(run, own_full=None, other=None).banner


def test_a_partial_run_is_never_measured_and_has_no_speed_in_its_banner(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    run = make_run()
    rows = {key: run.rows[key] for key in run.subset_keys[:100]}
    report = build(replace(run, rows=rows, item_seconds=run.item_seconds[:100]), own_full=make_own(), other=None)
    assert report.speedup.kind == "estimate"
    assert report.speedup.factor == pytest.approx(541 / 250)
    assert report.speedup.low is None
    assert "no interval" in report.speedup.words
    assert "faster" not in report.banner


def test_without_any_time_there_is_no_speedup(make_run: MakeRun) -> None:
    speed = build(make_run(wall_seconds=None, item_seconds=()), own_full=None, other=None).speedup
    assert (speed.kind, speed.factor) == ("none", None)


def test_a_subset_that_is_slower_is_not_called_faster(make_run: MakeRun, make_own: MakeReference) -> None:
    banner = build(make_run(wall_seconds=900.0), own_full=make_own(wall_seconds=800.0), other=None).banner
    assert "not faster" in banner


def test_latency_agrees_with_numpy_and_leaves_out_what_was_not_timed(make_run: MakeRun) -> None:
    run = make_run(first_token_seconds=(), decode_rates=(20.0, float("nan"), 10.0))
    found = {line.name: line for line in build(run, own_full=None, other=None).latency}
    assert "time to first token" not in found
    assert found["decode rate"].items == 2
    assert found["decode rate"].median == pytest.approx(15.0)
    wall = found["wall clock per item"]
    shown = [wall.lowest, wall.p05, wall.p25, wall.median, wall.p75, wall.p95, wall.highest]
    assert shown == pytest.approx(np.percentile(run.item_seconds, [0, 5, 25, 50, 75, 95, 100]))
    assert percentile([3.0], 0.95) == 3.0


def test_a_curve_may_stand_beside_a_single_bound(make_run: MakeRun) -> None:
    evidence = {"p95_pp": 4.6, "sizes": [50, 250], "curve_pp": [12.4, 4.6], "rule": "per-model"}
    curve = build(make_run(evidence=evidence), own_full=None, other=None).curve
    assert curve is not None
    assert (curve.sizes, curve.p95_pp, curve.rule) == ((50, 250), (12.4, 4.6), "per-model")


def test_paired_deltas_count_gained_and_lost_and_test_by_mcnemar(make_run: MakeRun) -> None:
    mine = plain_run(make_run(), 60)
    base = replace(mine, run_id="base", rows={k: {"acc": (float(4 <= int(k) < 50), 1.0)} for k in mine.subset_keys})
    paired = build(mine, own_full=None, other=None, sides=(side_of_run(base),)).paired[0]
    (metric,) = paired.metrics
    assert (metric.gained, metric.lost) == (14, 0)
    assert metric.delta_pp == pytest.approx(14.0)
    assert metric.p_value == pytest.approx(binomtest(0, 14).pvalue)
    assert metric.interval is not None
    assert 0 < metric.interval.low < 14 < metric.interval.high


def test_runs_that_agree_on_every_item_may_still_differ_on_the_rest(make_run: MakeRun) -> None:
    run = plain_run(make_run(), 60)
    paired = build(run, own_full=None, other=None, sides=(side_of_run(run),)).paired[0]
    interval = paired.metrics[0].interval
    assert interval is not None
    assert interval.low < -1 < 1 < interval.high
    assert paired.metrics[0].p_value == 1.0
    assert paired.changed == ()


def test_a_broken_curve_in_the_evidence_is_left_out(make_run: MakeRun) -> None:
    for evidence in ({}, {"sizes": "x", "p95_pp": [1]}, {"sizes": [50, 100], "p95_pp": [None, "3"]}, {"p95_pp": 4.6}):
        assert build(make_run(evidence=evidence), own_full=None, other=None).curve is None
    kept = build(make_run(), own_full=None, other=None).curve
    assert kept is not None
    assert (kept.n_star, kept.pool) == (250, 17)


def test_the_running_score_ends_at_the_score(make_run: MakeRun) -> None:
    report = build(make_run(), own_full=None, other=None)
    assert report.running is not None
    last = report.running.points[-1]
    metric = report.metric(report.headline)
    assert last.done == 250
    assert last.percent == pytest.approx(metric.score)
    assert metric.interval is not None
    assert (last.low, last.high) == (metric.interval.low, metric.interval.high)


def test_a_run_that_does_not_repeat_its_full_run_is_not_inside(make_run: MakeRun, make_own: MakeReference) -> None:
    rows = {key: {m: (t - p, t) for m, (p, t) in row.items()} for key, row in make_run().rows.items()}
    report = build(make_run(rows=rows), own_full=make_own(), other=None)
    for metric in report.metrics:
        assert metric.drift_pp is not None
        assert abs(metric.drift_pp) < 4.6
        assert metric.verdict == "not judged"
        assert "did not repeat" in metric.reason
    assert report.banner.startswith("Not judged: ")
    assert "this run's score -" in report.banner


def test_a_drift_of_nothing_is_not_taken_for_a_total_gap(make_run: MakeRun) -> None:
    metrics = [
        replace(metric, drift_pp=drift, total_gap_pp=gap, verdict="inside")
        for metric, drift, gap in zip(
            build(make_run(), own_full=None, other=None).metrics, (0.0, 1.0, -0.5, 0.0), (9.0, 0.0, 0.0, 0.0),
            strict=True,
        )
    ]  # fmt: skip
    head = headline(metrics)
    assert head is not None
    assert head.drift_pp == 1.0


def test_a_run_that_was_continued_elsewhere_says_so(make_run: MakeRun) -> None:
    conditions = {"device": "CPU", "changed": ["device", "oga_version", "threads"]}
    report = build(make_run(conditions=conditions), own_full=None, other=None)
    assert any(
        warning.startswith("The run was continued with another device, another version of onnxruntime-genai:")
        for warning in report.warnings
    )
