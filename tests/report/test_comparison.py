"""Several runs side by side: table, order of models, pairs, cautions, as values, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from mince_gui.report import Ratio, build
from mince_gui.report.answers import Answers
from mince_gui.report.comparison.building import HeldRun, build_comparison, comparison_csv, comparison_json
from mince_gui.report.comparison.model import Caution, Comparison
from mince_gui.report.speed import DECODE_RATE, ITEM_WALL, PREFILL_RATE, TIME_TO_FIRST
from tests.report.conftest import TOTAL, MakeReference, MakeRun, Rows, ifeval_rows, subset_keys

HEADLINE = "prompt_level_strict_acc"
MakeLab = Callable[..., list[HeldRun]]


def cut(rows: Rows, keys: tuple[str, ...]) -> Rows:
    return {key: rows[key] for key in keys}


@pytest.fixture
def lab(make_run: MakeRun, make_own: MakeReference) -> MakeLab:
    """Runs of several models on the 250-item subset, each on CPU and NPU, with their own full runs."""

    def make(models: int = 4, **fields: Any) -> list[HeldRun]:
        made = []
        for number in range(models):
            rows = ifeval_rows(seed=100 + number)
            for place, device in enumerate(("CPU", "NPU (RyzenAI)")):
                run = make_run(
                    run_id=f"2026110{number}-{place}", model=f"model-{number}", precision="int4",
                    rows=cut(rows, subset_keys()), created=f"2026-11-0{number + 1}T1{place}:00:00+00:00",
                )  # fmt: skip
                conditions = {
                    **run.conditions, "device": device, "device_proven": True, "model_sha256": f"{number:02d}" * 32,
                    "machine": "laptop-a", "task": "ifeval",
                }  # fmt: skip
                own = make_own(model=f"model-{number}", rows=rows, reference_id=f"full-{number}")
                made.append(HeldRun(replace(run, conditions=conditions, **fields), own))
        return made

    return make


def again(held: HeldRun, **fields: Any) -> HeldRun:
    """The same run with other fields; `conditions` are added to its own."""
    added = fields.pop("conditions", {})
    data = replace(held.data, **fields)
    return HeldRun(replace(data, conditions={**data.conditions, **added}))


def test_a_run_has_the_same_numbers_as_in_its_own_report(lab: MakeLab, make_other: MakeReference) -> None:
    held = [replace(run, other=make_other(model=run.data.model)) for run in lab(1)]
    held.append(again(held[0], run_id="part", rows=dict(list(held[0].data.rows.items())[:99])))
    for each in held:
        report = build(each.data, own_full=each.own_full, other=each.other)
        run = build_comparison(held).run(each.data.run_id)
        for name in ("metrics", "bound", "sources", "verdict", "headline", "warnings", "precision", "sampler"):
            assert getattr(run, name) == getattr(report, name), name
        assert run.pace.speedup == report.speedup
        medians = {line.name: line.median for line in report.latency}
        assert (run.pace.item_seconds, run.pace.decode_rate) == (medians[ITEM_WALL], medians[DECODE_RATE])
        assert (run.pace.first_token_seconds, run.pace.prefill_rate) == (medians[TIME_TO_FIRST], medians[PREFILL_RATE])
        assert run.done == report.coverage.done


def kinds(comparison: Comparison) -> set[str]:
    return {caution.kind for caution in comparison.cautions}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_in_which_runs_are_given_changes_no_byte(lab: MakeLab, shuffled: random.Random) -> None:
    runs = lab(2)
    mixed = list(runs)
    shuffled.shuffle(mixed)
    baseline = runs[2].data.run_id
    first, second = (build_comparison(each, baseline=baseline) for each in (runs, mixed))
    assert comparison_json(first) == comparison_json(second)
    assert comparison_csv(first) == comparison_csv(second)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "b"]), st.booleans()), min_size=1, max_size=8))
def test_every_run_is_in_exactly_one_cell(make_run: MakeRun, drawn: list[tuple[int, str, bool]]) -> None:
    runs = []
    for place, (model, machine, whole) in enumerate(drawn):
        run = make_run(run_id=f"run-{place}", model=f"m{model}", precision="int4", conditions={"machine": machine})
        keys = run.subset_keys if whole else run.subset_keys[:40]
        runs.append(HeldRun(replace(run, rows=cut(dict(run.rows), keys))))  # type: ignore[arg-type]  # rows are read only
    fleet = build_comparison(runs).fleet
    cells = [cell for row in fleet.rows for cell in row.cells if cell is not None]
    listed = [run_id for cell in cells for run_id in (cell.run_id, *cell.others)]
    assert sorted(listed) == sorted(run.data.run_id for run in runs)
    assert len(fleet.rows) == len({(model, machine) for model, machine, _ in drawn})


def test_a_cell_shows_the_newest_complete_run_and_counts_the_others(lab: MakeLab) -> None:
    old = lab(1)[0]
    newer = again(old, run_id="newer", created="2026-11-20T10:00:00+00:00")
    rows = dict(list(old.data.rows.items())[:100])
    newest = again(old, run_id="newest", created="2026-11-21T10:00:00+00:00", rows=rows)
    comparison = build_comparison([newest, old, newer])
    (row,) = comparison.fleet.rows
    (cell,) = row.cells
    assert cell is not None
    assert cell.run_id == "newer"
    assert cell.runs == 3
    assert cell.others == (old.data.run_id, "newest")
    assert [c.run_ids for c in comparison.cautions if c.kind == "coverage"] == [("newest",)]


def test_the_headline_of_a_column_is_the_benchmarks_first_metric(lab: MakeLab) -> None:
    (column,) = build_comparison(lab(2)).fleet.columns
    assert column.metric == HEADLINE
    assert (column.subset.wanted, column.subset.total) == (250, TOTAL)


def test_other_items_get_a_column_of_their_own_whatever_the_subset_is_called(lab: MakeLab, full_rows: Rows) -> None:
    run = lab(1)[0]
    keys = subset_keys(100)
    other = again(run, run_id="other", subset_keys=keys, rows=cut(full_rows, keys))
    renamed = again(run, run_id="renamed", subset_name="a-copy")
    comparison = build_comparison([run, other, renamed])
    assert [column.subset.wanted for column in comparison.fleet.columns] == [100, 250]
    assert [cell is not None and cell.runs for cell in comparison.fleet.rows[0].cells] == [1, 2]
    (caution,) = [c for c in comparison.cautions if c.kind == "subsets"]
    assert "2 different sets of items" in caution.words


def test_a_renamed_folder_is_the_same_model_and_builds_of_unknown_precision_are_two(lab: MakeLab) -> None:
    run = lab(1)[0]
    renamed = again(run, run_id="renamed", model="my-copy")
    assert len(build_comparison([run, renamed]).fleet.rows) == 1
    unknown = [
        again(run, run_id=f"run-{sha}", precision="", conditions={"model_sha256": sha * 64}) for sha in ("a", "b")
    ]
    assert len(build_comparison(unknown).fleet.rows) == 2
    known = [again(each, precision="int4") for each in unknown]
    assert len(build_comparison(known).fleet.rows) == 1


def test_rho_is_scipys_and_the_swapped_neighbours_are_those_of_brute_force(lab: MakeLab) -> None:
    runs = lab(6)
    comparison = build_comparison(runs)
    assert len(comparison.rankings) == 4
    for ranking in comparison.rankings:
        full = [model.full for model in ranking.models]
        subset = [model.subset for model in ranking.models]
        assert full == sorted(full, reverse=True)
        assert ranking.rho == pytest.approx(stats.spearmanr(full, subset).statistic)
        assert [model.full_rank for model in ranking.models] == stats.rankdata([-score for score in full]).tolist()
        assert [model.subset_rank for model in ranking.models] == stats.rankdata([-s for s in subset]).tolist()
        swapped = [
            (a.run_id, b.run_id)
            for a, b in zip(ranking.models, ranking.models[1:], strict=False)
            if (a.full - b.full) * (a.subset - b.subset) < 0
        ]
        assert list(ranking.swapped) == swapped
        assert {model.use for model in ranking.models} == {"own full run"}
    # Every model counts once, by its newest run.
    assert {model.run_id[-1] for ranking in comparison.rankings for model in ranking.models} == {"1"}


def test_two_models_have_a_ranking_without_rho_and_incomplete_runs_none(lab: MakeLab) -> None:
    rankings = build_comparison(lab(2)).rankings
    assert {len(ranking.models) for ranking in rankings} == {2}
    assert {ranking.rho for ranking in rankings} == {None}
    part = [again(run, rows=dict(list(run.data.rows.items())[:200])) for run in lab(4)]
    assert build_comparison(part).rankings == ()


def test_a_stored_full_score_ranks_a_model_and_is_named(lab: MakeLab, make_other: MakeReference) -> None:
    runs = lab(3)
    other = make_other(model="model-0", metrics={HEADLINE: Ratio(300.0, float(TOTAL), TOTAL)})
    mixed = [HeldRun(runs[0].data, None, other), runs[2], runs[4]]
    (ranking,) = [r for r in build_comparison(mixed).rankings if r.metric == HEADLINE]
    assert sorted(model.use for model in ranking.models) == ["own full run", "own full run", "total gap"]
    (stored,) = [model for model in ranking.models if model.use == "total gap"]
    assert stored.full == pytest.approx(100 * 300 / TOTAL)
    assert "BF16" in stored.full_of


def test_a_pair_is_each_run_minus_the_first_one_on_the_items_that_both_have(lab: MakeLab) -> None:
    runs = lab(3)
    first, second = runs[0], runs[2]
    comparison = build_comparison(runs, baseline=first.data.run_id)
    assert first.data.run_id not in [pairing.run_id for pairing in comparison.pairings]
    assert len(comparison.pairings) == 5
    (pairing,) = [p for p in comparison.pairings if p.run_id == second.data.run_id]
    (metric,) = [m for m in pairing.paired.metrics if m.name == HEADLINE]
    mine = np.array([second.data.rows[key][HEADLINE][0] for key in subset_keys()])
    theirs = np.array([first.data.rows[key][HEADLINE][0] for key in subset_keys()])
    assert metric.delta_pp == pytest.approx(100 * (mine - theirs).mean())
    assert (metric.gained, metric.lost) == (int((mine > theirs).sum()), int((mine < theirs).sum()))


def test_a_run_of_another_benchmark_is_paired_with_nothing_and_has_its_own_column(
    lab: MakeLab, make_run: MakeRun
) -> None:
    first, *rest = lab(1)
    keys = tuple(str(place) for place in range(50))
    other = make_run(
        run_id="gsm", benchmark="gsm8k", subset_name="gsm8k-50", subset_keys=keys, total_items=1319,
        rows={key: {"exact_match": (float(place % 3 == 0), 1.0)} for place, key in enumerate(keys)},
        categories=dict.fromkeys(keys),
    )  # fmt: skip
    comparison = build_comparison([first, *rest, HeldRun(other)], baseline=first.data.run_id)
    assert [pairing.run_id for pairing in comparison.pairings] == [rest[0].data.run_id]
    assert len(comparison.fleet.columns) == 2


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("task", {"conditions": {"task": "ifeval_other"}}),
        ("prompts", {"conditions": {"chat_template_sha256": "c" * 64}}),
        ("prompts", {"conditions": {"system_prompt": "Be brief."}}),
        ("budget", {"answers": Answers(budget=512)}),
        ("timing", {"conditions": {"timing": "fast"}}),
        ("timing", {"conditions": {"threads": 4}}),
        ("power", {"conditions": {"machine_state": {"power_source": "battery"}}}),
        ("sampler", {"sampler": "stratified"}),
        ("content", {"accepted": ("1000",)}),
        ("sittings", {"conditions": {"changed": ["threads"]}}),
        ("rescored", {"rescored_of": "20261101-0"}),
        ("device", {"conditions": {"device": "NPU (RyzenAI)", "device_proven": False}}),
    ],
)
def test_runs_that_differ_in_more_than_what_is_compared_are_told(
    lab: MakeLab, kind: str, change: dict[str, Any]
) -> None:
    run = lab(1)[0]
    assert kind not in kinds(build_comparison([run, again(run, run_id="other")]))
    assert kind in kinds(build_comparison([run, again(run, run_id="other", **change)]))


def test_what_differs_from_a_full_score_is_told_with_the_runs_that_are_held_against_it(
    lab: MakeLab, make_other: MakeReference
) -> None:
    run = lab(1)[0]
    other = make_other(warnings=("5 examples there, 0 here",))
    (caution,) = [c for c in build_comparison([HeldRun(run.data, None, other)]).cautions if c.kind == "reference"]
    assert caution.run_ids == (run.data.run_id,)
    assert "5 examples there" in caution.words


@pytest.mark.parametrize("use", ["own full run", "total gap"])
def test_a_fleet_tells_once_that_many_full_scores_have_reservations(
    lab: MakeLab, make_other: MakeReference, use: str
) -> None:
    def told(machines: int) -> list[Caution]:
        run, held = lab(1)[0], []
        for place in range(machines):
            warnings = (f"its machine is lab-0, the run's lab-{place + 1}",)
            other, own = make_other(warnings=warnings), replace(run.own_full, warnings=warnings)  # type: ignore[type-var]  # has one
            each = again(run, run_id=f"run-{place}")
            held.append(replace(each, own_full=own) if use == "own full run" else HeldRun(each.data, None, other))
        return [c for c in build_comparison(held).cautions if c.kind == "reference"]

    assert len(told(3)) == 3
    (caution,) = told(30)
    assert caution.words.startswith("30 runs of 30 held against ")
    assert len(caution.run_ids) == 30


def test_a_release_is_told_for_amds_wheel_and_not_for_a_public_one_of_the_same_version(lab: MakeLab) -> None:
    run = lab(1)[0]
    wheels = {"onnxruntime-genai-directml-ryzenai": "1.7", "onnxruntime-genai": ""}
    for wheel, release in wheels.items():
        made = again(run, conditions={"distribution": wheel, "oga_version": "0.11.2"})
        assert build_comparison([made]).runs[0].release == release


def test_the_json_has_every_run_with_score_and_coverage_and_its_schema(lab: MakeLab) -> None:
    body = json.loads(comparison_json(build_comparison(lab(2), left_out={"x": "it has no finished item"})))
    assert (body["schema"], body["schema_version"]) == ("mince-gui/comparison", 1)
    assert body["left_out"] == {"x": "it has no finished item"}
    for run in body["runs"]:
        assert run["complete"] is True
        for metric in run["metrics"]:
            assert {"score_percent", "done", "wanted", "partial", "interval"} <= set(metric)
    assert set(body) == {
        "schema", "schema_version", "runs", "baseline", "history_of", "fleet", "rankings", "histories", "pairings",
        "cautions", "left_out",
    }  # fmt: skip


def test_the_csv_has_a_line_per_run_and_metric_and_no_formula(lab: MakeLab) -> None:
    runs = lab(2)
    hostile = again(runs[0], run_id="hostile", model='=HYPERLINK("http://x")', conditions={"machine": "@SUM(1)"})
    lines = list(csv.DictReader(io.StringIO(comparison_csv(build_comparison([*runs, hostile])))))
    assert len(lines) == 5 * 4
    assert not any(value.startswith(("=", "@", "+")) for line in lines for value in line.values())
    assert all(line["items_done"] == line["items_wanted"] == "250" for line in lines)


def test_an_unknown_baseline_is_an_error(lab: MakeLab) -> None:
    with pytest.raises(KeyError):
        build_comparison(lab(1), baseline="nothing")
