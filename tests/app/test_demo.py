from __future__ import annotations

import json
from pathlib import Path

import pytest

from mince_gui.app.demo import BENCHMARKS, demo
from mince_gui.base.events import Ended, ItemDone, Started
from mince_gui.cli.demo import print_result
from mince_gui.report.format import pp
from mince_gui.store import Workspace, references, runs
from tests.app.conftest import Walked


def test_the_demo_runs_every_item_of_subset_and_full_benchmark(walked: Walked) -> None:
    assert [part.subset.benchmark for part in walked.parts] == list(BENCHMARKS)
    for part in walked.parts:
        assert part.sizing.n_star == part.subset.n
        assert (part.subset_run.done, part.subset_run.missing) == (part.subset.n, {})
        assert part.full is not None
        assert (part.full.done, part.full.missing) == (part.subset.total_items, {})


def test_the_demo_model_scores_as_its_stored_full_run_says(walked: Walked, demo: Path) -> None:
    stored = json.loads((demo / "demo.json").read_text(encoding="utf-8"))["benchmarks"]
    for part in walked.parts:
        assert part.full is not None
        for metric, (passed, trials) in part.full.scores.items():
            expected = stored[part.subset.benchmark]["metrics"][metric]
            assert trials == expected["trials"]
            # Other instruction sets use other kernels: an answer near a tie may fall the other way.
            assert abs(passed - expected["passed"]) <= 0.01 * trials


def test_drift_is_the_subset_of_the_full_run_minus_the_full_run(walked: Walked) -> None:
    for part in walked.parts:
        with Workspace(walked.workspace) as ws:
            assert part.full is not None
            rows = {item.item_key: item.scores for item in runs.items(ws, part.full.run_id)}
        for metric in part.report.metrics:
            on_subset = [rows[key][metric.name] for key in part.subset.item_keys]
            everywhere = [row[metric.name] for row in rows.values()]
            drift = 100 * (
                sum(p for p, _ in on_subset) / sum(t for _, t in on_subset)
                - sum(p for p, _ in everywhere) / sum(t for _, t in everywhere)
            )
            assert metric.drift_pp == pytest.approx(drift)
            assert metric.bound_pp == part.subset.p95_pp


def test_the_speedup_is_measured_from_both_wall_clocks(walked: Walked) -> None:
    for part in walked.parts:
        assert part.full is not None
        assert part.report.speedup.kind == "measured"
        assert part.full.elapsed_seconds is not None
        assert part.subset_run.elapsed_seconds is not None
        ratio = part.full.elapsed_seconds / part.subset_run.elapsed_seconds
        assert part.report.speedup.factor == pytest.approx(ratio)


def test_the_command_tells_drift_quantisation_and_speedup_apart(
    walked: Walked, capsys: pytest.CaptureFixture[str]
) -> None:
    print_result(walked.parts)
    drifts, costs = capsys.readouterr().out.split("quantisation delta")
    for part in walked.parts:
        for metric in part.report.metrics:
            assert metric.drift_pp is not None
            assert f"{metric.drift_pp:+.1f} pp" in drifts
        (paired,) = part.report.paired
        for pair in paired.metrics:
            (line,) = [line for line in costs.splitlines() if part.subset.name in line and f" {pair.title} " in line]
            assert pp(pair.delta_pp) in line
            assert line.endswith(f" {part.subset.n}")
        assert part.report.speedup.words in costs
        assert str(part.html) in costs


def test_the_html_report_stands_alone(walked: Walked) -> None:
    for part in walked.parts:
        text = part.html.read_text(encoding="utf-8")
        assert part.report.banner.split(":")[0] in text
        for outside in ("http://", "https://", "<script", "src="):
            assert outside not in text.replace("http://www.w3.org/2000/svg", "")


def test_every_stream_of_events_is_closed_once_and_every_item_is_told(walked: Walked) -> None:
    depth = 0
    for event in walked.events:
        depth += isinstance(event, Started) - isinstance(event, Ended)
        assert depth in (0, 1)
    assert depth == 0
    told = [(event.run_id, event.item_key) for event in walked.events if isinstance(event, ItemDone)]
    assert len(told) == len(set(told)) == sum(part.subset.n + part.subset.total_items for part in walked.parts)


def test_the_quick_demo_takes_the_shipped_scores_and_calls_the_speedup_an_estimate(tmp_path: Path) -> None:
    parts = demo(tmp_path, quick=True)
    for part in parts:
        assert part.full is None
        assert part.report.speedup.kind == "estimate"
        with Workspace(tmp_path) as ws:
            (stored,) = (known for known in references.listing(ws, part.subset.benchmark) if known.model_sha256)
        assert stored.kind == "shipped with the demo"
        for metric in part.report.metrics:
            assert metric.full == stored.metrics[metric.name]
            assert metric.drift_pp is not None


def test_the_demo_a_second_time_in_one_workspace_starts_from_what_is_there(tmp_path: Path) -> None:
    demo(tmp_path, quick=True)
    with Workspace(tmp_path) as ws:
        first = [run.run_id for run in runs.runs(ws)]
    demo(tmp_path, quick=True)
    with Workspace(tmp_path) as ws:
        assert len(runs.runs(ws)) == 2 * len(first)
