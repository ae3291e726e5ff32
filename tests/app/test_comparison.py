"""Stored runs side by side: which are taken, and what real runs of the demo's model show together."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pypdfium2
import pytest

from mince_gui.app.comparison import compare, write_comparison
from mince_gui.app.demo import model_dir
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import UsageError
from mince_gui.report.comparison.model import Comparison
from mince_gui.store import Workspace
from mince_gui.store import references as stored_references
from mince_gui.store import runs as stored_runs

CHOICE = RunOrder(model_dir(), "demo-choice-250", threads=1)


def run(workspace: Path, order: RunOrder) -> str:
    run_id = create(workspace, order)
    execute(workspace, run_id)
    return run_id


def dated(workspace: Path, run_id: str, day: int) -> str:
    """The run as if it had been made on that day of October 2026."""
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE runs SET created_at = ? WHERE run_id = ?", (f"2026-10-{day:02d}T12:00:00+00:00", run_id))
    return run_id


@pytest.fixture(scope="module")
def runs(prepared: Path) -> dict[str, str]:
    """Real runs: two thread counts, two timing modes, a part, another benchmark; and one that was never begun."""
    orders = {
        "one": CHOICE,
        "two": replace(CHOICE, threads=2),
        "fast": replace(CHOICE, timing="fast"),
        "part": replace(CHOICE, limit=20),
        "math": replace(CHOICE, subset="demo-math-175", limit=5),
    }
    made = {name: dated(prepared, run(prepared, order), day) for day, (name, order) in enumerate(orders.items(), 1)}
    made["empty"] = create(prepared, CHOICE)
    return made


def ids(comparison: Comparison) -> set[str]:
    return {each.run_id for each in comparison.runs}


def test_everything_holds_each_run_with_items_and_the_numbers_of_its_own_report(
    prepared: Path, runs: dict[str, str]
) -> None:
    comparison = compare(prepared, everything=True)
    assert ids(comparison) == set(runs.values()) - {runs["empty"]}
    for each in comparison.runs:
        report = compute(prepared, each.run_id)
        assert each.metrics == report.metrics
        assert each.verdict == report.verdict
        assert each.pace.speedup == report.speedup
        assert each.sources == report.sources
    assert len(comparison.fleet.rows) == 1
    cells = [cell for cell in comparison.fleet.rows[0].cells if cell is not None]
    # Of four runs of the 250 items the newest complete one is shown.
    assert sorted(cell.runs for cell in cells) == [1, 4]
    (shown,) = [cell for cell in cells if cell.runs == 4]
    assert shown.run_id == runs["fast"]
    assert {"coverage", "timing"} <= {caution.kind for caution in comparison.cautions}


def test_named_runs_are_paired_with_the_first_and_the_same_model_gives_the_same_answers(
    prepared: Path, runs: dict[str, str]
) -> None:
    comparison = compare(prepared, [runs["one"], runs["two"], runs["part"]])
    assert comparison.baseline == runs["one"]
    by_run = {pairing.run_id: pairing.paired for pairing in comparison.pairings}
    assert set(by_run) == {runs["two"], runs["part"]}
    assert (by_run[runs["two"]].common, by_run[runs["part"]].common) == (250, 20)
    for paired in by_run.values():
        assert [(metric.gained, metric.lost) for metric in paired.metrics] == [(0, 0)] * len(paired.metrics)


def test_a_history_is_of_the_model_and_the_items_in_the_order_of_time(prepared: Path, runs: dict[str, str]) -> None:
    comparison = compare(prepared, history_of=runs["two"])
    (history,) = comparison.histories
    assert [point.run_id for point in history.points] == [runs[name] for name in ("one", "two", "fast", "part")]
    assert comparison.history_of == runs["two"]
    assert history.pairing is not None
    assert (history.pairing.run_id, history.pairing.paired.ident) == (runs["part"], runs["fast"])
    named = compare(prepared, [runs["one"], runs["fast"]], history_of=runs["two"]).histories[0].pairing
    assert named is not None
    assert (named.run_id, named.paired.ident) == (runs["fast"], runs["one"])


def test_a_run_without_items_is_left_out_and_said(prepared: Path, runs: dict[str, str]) -> None:
    comparison = compare(prepared, [runs["empty"], runs["one"], runs["two"]])
    assert ids(comparison) == {runs["one"], runs["two"]}
    assert comparison.left_out == {runs["empty"]: "it has no finished item"}
    assert comparison.baseline == runs["one"]


def test_what_cannot_be_compared_is_refused_with_the_way_out(
    prepared: Path, runs: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="No run is named"):
        compare(prepared)
    with pytest.raises(UsageError, match="nothing to compare"):
        compare(tmp_path / "empty", everything=True)
    with pytest.raises(UsageError, match="is not a run of this workspace"):
        compare(prepared, ["nothing"])
    with pytest.raises(UsageError, match="another model or subset"):
        compare(prepared, [runs["one"], runs["math"]], history_of=runs["one"])
    with pytest.raises(UsageError, match="3 are named"):
        compare(prepared, [runs["one"], runs["two"], runs["fast"]], history_of=runs["one"])
    with pytest.raises(UsageError, match="Only one run is named"):
        compare(prepared, [runs["one"], runs["one"]])
    with pytest.raises(UsageError, match="No comparison") as refused:
        write_comparison(compare(prepared, [runs["one"]]), tmp_path / "comparison.docx")
    assert ".csv" in refused.value.remedy


def test_references_and_subsets_are_read_once_for_all_runs(
    prepared: Path, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def watch(module: ModuleType, name: str) -> None:
        inner = getattr(module, name)

        def watched(*args: Any) -> Any:
            read.append(name)
            return inner(*args)

        monkeypatch.setattr(module, name, watched)

    watch(stored_references, "listing")
    watch(stored_runs, "subset_of")
    assert len(compare(prepared, [runs[name] for name in ("one", "two", "fast", "part")]).runs) == 4
    assert sorted(read) == ["listing", "subset_of"]


def test_runs_that_scored_answers_again_are_compared_where_they_are_named_only(
    prepared: Path, runs: dict[str, str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy)
    with Workspace(copy) as ws, ws.writing() as db:
        db.execute("UPDATE runs SET rescored_of = ? WHERE run_id = ?", (runs["one"], runs["fast"]))
    assert runs["fast"] not in ids(compare(copy, everything=True)) | ids(compare(copy, history_of=runs["one"]))
    named = compare(copy, [runs["one"], runs["fast"]])
    assert runs["fast"] in ids(named)
    assert "rescored" in {caution.kind for caution in named.cautions}


@pytest.mark.parametrize("history", [False, True])
def test_every_document_is_written_and_tells_coverage_beside_scores(
    prepared: Path, runs: dict[str, str], tmp_path: Path, history: bool
) -> None:
    def made() -> Comparison:
        return compare(prepared, history_of=runs["one"]) if history else compare(prepared, everything=True)

    comparison = made()
    for suffix in ("html", "pdf", "md", "csv", "json"):
        write_comparison(comparison, tmp_path / f"comparison.{suffix}")
    html = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "20 of 250 items" in html
    assert re.search(r"\d\.\d %.{0,400}250 of 250 items", html, re.DOTALL)
    assert "20 of 250 items" in (tmp_path / "comparison.md").read_text(encoding="utf-8")
    pdf = pypdfium2.PdfDocument(tmp_path / "comparison.pdf")
    try:
        text = "".join(page.get_textpage().get_text_range() for page in pdf)
    finally:
        pdf.close()
    assert "of 250 items" in " ".join(text.split())
    assert json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))["schema"] == "mince-gui/comparison"
    again = tmp_path / "again.json"
    write_comparison(made(), again)
    assert again.read_bytes() == (tmp_path / "comparison.json").read_bytes()
