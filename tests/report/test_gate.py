"""Limits that a script sets: beyond, within, and what cannot be judged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.report import Ratio, Report, RunData, build
from mince_gui.report.gate import Limits, gated, judge
from mince_gui.report.sides import side_of_run
from tests.report.conftest import MakeReference, MakeRun


@pytest.fixture
def drifted(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    """A complete run of a subset with an own full run, a stored full score, and a pair."""
    mine = make_run()
    # Every tenth item came out the other way on the other side.
    other_rows = {
        key: {m: (t - p if i % 10 == 0 else p, t) for m, (p, t) in row.items()}
        for i, (key, row) in enumerate(mine.rows.items())
    }
    other = replace(mine, run_id="bf16", model="Phi-4-mini-instruct BF16", rows=other_rows)
    return build(mine, own_full=make_own(), other=make_other(), sides=(side_of_run(other),))


def largest(values: list[float | None]) -> float:
    return max(abs(value) for value in values if value is not None)


def test_each_limit_is_held_against_the_largest_value_of_any_metric(drifted: Report) -> None:
    drift = largest([m.drift_pp for m in drifted.metrics])
    delta = largest([m.delta_pp for pair in drifted.paired for m in pair.metrics])
    total = largest([m.total_gap_pp for m in drifted.metrics])
    assert min(drift, delta, total) > 0
    for name, value in (("drift_pp", drift), ("delta_pp", delta), ("total_pp", total)):
        for limit, outcome in ((value + 0.01, "within"), (value, "within"), (value - 0.01, "beyond")):
            gate = judge(drifted, Limits(**{name: limit}))
            (check,) = gate.checks
            assert (gate.outcome, check.outcome) == (outcome, outcome)
            assert abs(check.value_pp or 0.0) == pytest.approx(value)
            assert gate.line.startswith(f"gate {outcome}: {check.subject} {outcome} (")
            assert "\n" not in gate.line


def test_one_limit_beyond_decides_over_those_that_are_kept(drifted: Report) -> None:
    gate = judge(drifted, Limits(drift_pp=99.0, delta_pp=0.001, total_pp=99.0))
    assert gate.outcome == "beyond"
    assert [check.outcome for check in gate.checks] == ["within", "beyond", "within"]


def test_drift_is_judged_against_an_own_full_run_only(make_run: MakeRun, make_other: MakeReference) -> None:
    gate = judge(build(make_run(), own_full=None, other=make_other()), Limits(drift_pp=50.0))
    assert gate.outcome == "not judged"
    assert "no full run of this very model is stored" in gate.line


def test_nothing_is_judged_of_a_part_of_the_subset(drifted: Report, make_run: MakeRun, make_own: MakeReference) -> None:
    rows = dict(list(make_run().rows.items())[:137])
    part = build(make_run(rows=rows), own_full=make_own(), other=None)
    gate = judge(part, Limits(drift_pp=50.0))
    assert gate.outcome == "not judged"
    assert "only 137 of 250 items are done" in gate.line
    assert gate.checks[0].value_pp is not None


def test_without_anything_to_compare_with_no_limit_is_passed(make_run: MakeRun) -> None:
    gate = judge(build(make_run(), own_full=None, other=None), Limits(1.0, 1.0, 1.0))
    assert [check.outcome for check in gate.checks] == ["not judged"] * 3
    assert "--against" in gate.line
    assert "mince reference" in gate.line


def test_a_pair_that_lacks_items_is_not_judged(make_run: MakeRun) -> None:
    mine = make_run()
    half = replace(mine, run_id="half", rows=dict(list(mine.rows.items())[:100]))
    gate = judge(build(mine, own_full=None, other=None, sides=(side_of_run(half),)), Limits(delta_pp=50.0))
    assert gate.outcome == "not judged"
    assert "only 100 of 250 items are in" in gate.line


def test_a_limit_run_a_full_run_and_accepted_differences_are_not_judged(
    make_run: MakeRun, make_own: MakeReference, full_rows: dict[str, dict[str, tuple[float, float]]]
) -> None:
    for report, why in (
        (build(make_run(accepted=("1003",)), own_full=make_own(), other=None), "differs from what was frozen"),
        (build(make_run(conditions={"limit": 250}), own_full=make_own(), other=None), "--limit"),
        (
            build(make_run(subset_keys=tuple(full_rows), rows=full_rows), own_full=None, other=None),
            "this is the full run",
        ),
    ):
        gate = judge(report, Limits(drift_pp=50.0))
        assert gate.outcome == "not judged"
        assert why in gate.line


def flipped(run: RunData, every: int) -> RunData:
    """The run with another verdict on every so many items."""
    rows = {
        key: {m: (t - p if i % every == 0 else p, t) for m, (p, t) in row.items()}
        for i, (key, row) in enumerate(run.rows.items())
    }
    return replace(run, rows=rows)


def test_a_run_that_does_not_repeat_its_full_run_passes_no_drift_limit_by_the_full_runs_answers(
    make_run: MakeRun, make_own: MakeReference
) -> None:
    broken = flipped(make_run(), 1)
    report = build(broken, own_full=make_own(), other=None)
    drift = largest([m.drift_pp for m in report.metrics])
    gone = largest([m.difference_pp for m in report.metrics])
    assert gone > 4.6 > drift
    assert judge(report, Limits(drift_pp=4.6)).outcome == "not judged"
    # Without a bound the limit alone decides.
    unbounded = judge(build(replace(broken, bound_pp=None), own_full=make_own(), other=None), Limits(drift_pp=4.6))
    assert unbounded.outcome == "beyond"
    assert "between this run's score and the full run's" in unbounded.line
    assert abs(unbounded.checks[0].value_pp or 0) == pytest.approx(gone)


def test_a_metric_without_an_own_full_score_is_not_passed_by_the_others(
    make_run: MakeRun, make_own: MakeReference, make_other: MakeReference
) -> None:
    own = make_own(rows=None, metrics={"prompt_level_strict_acc": Ratio(300, 541, 541)})
    report = build(make_run(), own_full=own, other=make_other())
    assert "total gap only" in [metric.verdict for metric in report.metrics]
    gate = judge(report, Limits(drift_pp=99.0))
    assert gate.outcome == "not judged"
    assert "no full run of this model is stored" in gate.line


def test_a_total_gap_of_items_that_are_not_the_frozen_ones_is_not_judged(
    make_run: MakeRun, make_other: MakeReference
) -> None:
    gate = judge(build(make_run(accepted=("1003",)), own_full=None, other=make_other()), Limits(total_pp=99.0))
    assert gate.outcome == "not judged"
    assert "1 of 250 items differ from what was frozen" in gate.line


def test_a_pair_whose_metric_is_of_a_part_of_the_items_is_not_judged(make_run: MakeRun) -> None:
    mine = make_run()
    lacking = {
        key: {m: cell for m, cell in row.items() if i or m != "inst_level_strict_acc"}
        for i, (key, row) in enumerate(mine.rows.items())
    }
    side = side_of_run(replace(mine, run_id="other", rows=lacking))
    gate = judge(build(mine, own_full=None, other=None, sides=(side,)), Limits(delta_pp=99.0))
    assert gate.outcome == "not judged"
    assert "of a part of the items only" in gate.line


def test_the_line_says_what_was_not_compared_and_that_there_are_cautions(
    make_run: MakeRun, make_other: MakeReference
) -> None:
    other = make_other(warnings=("its number of examples is 5, the run's 0",))
    line = judge(build(make_run(), own_full=None, other=other), Limits(total_pp=99.0)).line
    assert line.startswith("gate within")
    assert "with 1 caution: see the report" in line
    # The stored score has two of the four metrics.
    assert "loose" in line.partition("(")[2]
    assert "not there to compare with" in line


def test_a_report_without_limits_stays_as_it_is(drifted: Report) -> None:
    assert gated(drifted, Limits()) is drifted
    assert gated(drifted, Limits(drift_pp=9.0)).gate == judge(drifted, Limits(drift_pp=9.0))
    with pytest.raises(ValueError, match="no limit"):
        judge(drifted, Limits())


@given(limit=st.floats(0.001, 100.0), wider=st.floats(0.0, 50.0))
def test_what_a_limit_lets_pass_a_wider_one_lets_pass_too(limit: float, wider: float) -> None:
    report = _report()
    if judge(report, Limits(total_pp=limit)).outcome == "within":
        assert judge(report, Limits(total_pp=limit + wider)).outcome == "within"


def _report() -> Report:
    from mince_gui.report import Reference

    keys = tuple(str(i) for i in range(20))
    run = RunData(
        run_id="r", benchmark="made_up", model="m", subset_name="s", subset_keys=keys, total_items=100, bound_pp=None,
        rows={key: {"acc": (float(int(key) % 2), 1.0)} for key in keys}, categories={}, wall_seconds=None,
        item_seconds=(), first_token_seconds=(), prefill_rates=(), decode_rates=(), missing={}, conditions={},
        created="", ended="", device_key="",
    )  # fmt: skip
    other = Reference("o", "imported", "made_up", "m", {"acc": Ratio(37.0, 100.0, 100)}, "log", "2026-01-01")
    return build(run, own_full=None, other=other)
