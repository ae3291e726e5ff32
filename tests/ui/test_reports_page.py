"""Reports: the banner, the table and the exports, from real runs of the demo's model."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from mince_gui.app import demo
from mince_gui.app.report import compute
from mince_gui.app.rescore import rescore
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.report import VERDICT_WORDS, Interval, Verdict
from mince_gui.report import format as fmt
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.ui import icons, theme
from mince_gui.ui.pages.report_view import METRICS, VERDICT_STATES
from mince_gui.ui.pages.reports import ReportsPage
from mince_gui.ui.run_words import can_resume
from mince_gui.ui.states import Figure
from mince_gui.ui.tables import TableView
from mince_gui.ui.window import Window
from tests.ui.conftest import quiet


@pytest.fixture
def run_id(finished_demo: tuple[Path, str], workspace: Path) -> str:
    """A finished run of the demo's generated subset, in the test's own workspace."""
    shutil.copytree(finished_demo[0], workspace)
    return finished_demo[1]


@pytest.fixture
def page(qtbot: QtBot, workspace: Path, run_id: str, open_window: Callable[..., Window]) -> ReportsPage:
    window = open_window(workspace, "reports")
    made = window.page("reports")
    assert isinstance(made, ReportsPage)
    made.opens_documents = False
    qtbot.waitUntil(lambda: made.view.report is not None)
    return made


def test_the_report_shows_what_the_documents_say(page: ReportsPage, workspace: Path, run_id: str) -> None:
    computed = compute(workspace, run_id)
    assert page.view.report == computed
    assert page.view.banner_text == computed.banner
    assert [entry.ident for entry in page.list.entries.entries] == [run_id]


def test_every_timed_quantity_is_shown_with_its_spread_and_no_word_of_the_scores_is_cut(page: ReportsPage) -> None:
    report = page.view.report
    assert report is not None
    shown = [figure.accessibleName() for figure in page.view.findChildren(Figure)]
    for line in report.latency:
        median, most = fmt.amount(line.median, line.unit), fmt.amounts(line.p05, line.p95, line.unit)
        assert f"{line.name[:1].upper()}{line.name[1:]}: {median} {most}" in shown
    scores = page.view.findChild(TableView)
    assert scores is not None
    for place in range(1, len(METRICS)):
        if not scores.isColumnHidden(place):
            assert scores.columnWidth(place) >= scores.sizeHintForColumn(place), METRICS[place].title


def test_the_report_says_how_items_were_asked_and_scored(page: ReportsPage) -> None:
    assert page.view.report is not None
    shown = [label.text() for label in page.view.findChildren(QLabel)]
    assert page.view.report.asking
    for name, words in page.view.report.asking:
        assert name[:1].upper() + name[1:] in shown
        assert words in shown


def _texts(page: ReportsPage) -> list[str]:
    return [shown.text() for shown in page.view.findChildren(QLabel)]


def test_every_part_of_a_difference_is_shown_with_its_value_and_interval(page: ReportsPage) -> None:
    report = page.view.report
    assert report is not None
    first, *others = report.split.lines
    value = dataclasses.replace(first.values[0], interval=Interval(-2.1, 1.3, 0.95, "paired bootstrap"))
    split = dataclasses.replace(report.split, lines=(dataclasses.replace(first, values=(value,)), *others))
    page.view.show_report(dataclasses.replace(report, split=split), 1.0)
    shown = _texts(page)
    for line in split.lines:
        assert line.part in shown
        assert f"{line.of or line.words}".rstrip(".").lower() in " ".join(shown).lower()
    assert fmt.pp(value.pp) in shown
    assert fmt.interval(-2.1, 1.3, unit="pp") in shown


def test_a_paired_comparison_is_a_table_with_what_was_gained_and_lost(
    page: ReportsPage, workspace: Path, run_id: str
) -> None:
    again = create(workspace, RunOrder(demo.model_dir(), page.list.entries.entries[0].title, limit=20))
    execute(workspace, again)
    report = compute(workspace, run_id, against=[again])
    page.view.show_report(report, 1.0)
    shown = _texts(page)
    (pair,) = report.paired
    assert f"Paired with {pair.named}" in shown
    assert any(f"This run minus the other (run {again}), on the 20 of" in text for text in shown)
    for title in ("Delta", "Gained", "Lost", "McNemar p"):
        assert title in shown
    for metric in pair.metrics:
        assert fmt.pp(metric.delta_pp) in shown


def test_where_a_run_and_its_scores_come_from_is_said_and_what_differs_of_a_source(page: ReportsPage) -> None:
    report = page.view.report
    assert report is not None
    assert report.sources
    warned = dataclasses.replace(report.sources[0], warnings=("Its task version is another one.",))
    elsewhere = {"machine": "lab-laptop-7", "bundle_sha256": "0" * 64, "imported_at": "2026-11-30T10:00:00+00:00"}
    told = dataclasses.replace(
        report, precision="int4", rescored_of="20260101-000000-abcd", origin=elsewhere, sources=(warned,)
    )
    page.view.show_report(told, 1.0)
    shown = _texts(page)
    (under,) = (text for text in shown if "scored again" in text and report.subset_name in text)
    assert "answers of run 20260101-000000-abcd" in under
    assert "made on lab-laptop-7" in under
    assert "int4" in under
    assert "Its task version is another one." in shown


def test_a_rescored_run_has_its_own_report_and_cannot_be_resumed(
    qtbot: QtBot, page: ReportsPage, workspace: Path, run_id: str
) -> None:
    kept = rescore(workspace, run_id, keep=True).run_id
    assert kept is not None
    page.open_with(kept)
    qtbot.waitUntil(lambda: page.view.report is not None and page.view.report.run_id == kept)
    assert page.view.report is not None
    assert page.view.report.rescored_of == run_id
    assert {entry.ident: entry.subtitle for entry in page.list.entries.entries}[kept].endswith(", rescored")
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("DELETE FROM run_items WHERE run_id = ? AND position > 5", (kept,))
    with Workspace(workspace) as ws:
        assert not can_resume(stored_runs.get(ws, kept))


@pytest.mark.parametrize("kind", ["html", "pdf", "md", "csv", "json"])
def test_a_report_is_exported_in_every_kind(
    qtbot: QtBot, page: ReportsPage, run_id: str, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / f"report.{kind}"
    page.export(run_id, out)
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    written = out.read_bytes()
    assert page.view.report is not None
    if kind == "json":
        assert json.loads(written)["banner"] == page.view.report.banner
    elif kind == "pdf":
        assert written.startswith(b"%PDF-")
    else:
        assert page.view.report.subset_name in written.decode()
    assert out.name in window.activity.text


def test_every_kind_of_document_is_offered(page: ReportsPage) -> None:
    offered = [action.text() for action in page.findChildren(QMenu)[0].actions()]
    assert offered == ["HTML", "PDF", "Markdown", "CSV", "JSON"]


def test_an_export_that_cannot_be_written_is_an_error_in_place(
    qtbot: QtBot, page: ReportsPage, run_id: str, tmp_path: Path
) -> None:
    page.export(run_id, tmp_path / "report.xyz")
    window = page.window()
    assert isinstance(window, Window)
    quiet(qtbot, window)
    assert page.error.isVisible()


def test_every_verdict_has_a_word_a_colour_and_an_icon(qapp: QApplication) -> None:
    for verdict in get_args(Verdict):
        assert VERDICT_WORDS[verdict]
        state, _, shape = VERDICT_STATES[verdict].partition(":")
        assert theme.LIGHT.role(state) != theme.LIGHT.text
        assert not icons.pixmap(shape or state, theme.LIGHT.role(state)).isNull()


def test_a_run_without_a_finished_item_says_why_it_has_no_report(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    create(demo_workspace, RunOrder(demo.model_dir(), "demo-math-full"))
    window = open_window(demo_workspace, "reports")
    quiet(qtbot, window)
    page = window.page("reports")
    assert isinstance(page, ReportsPage)
    assert "No item" in page.view.banner_text
    assert not page.export_button.isEnabled()


def test_the_time_of_a_run_that_is_not_complete_is_its_own_and_the_whole_one_is_called_an_estimate(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    run_id = create(demo_workspace, RunOrder(demo.model_dir(), "demo-math-full", limit=6))
    execute(demo_workspace, run_id)
    with Workspace(demo_workspace) as ws:
        elapsed = stored_runs.get(ws, run_id).elapsed_seconds
    window = open_window(demo_workspace, "reports")
    page = window.page("reports")
    assert isinstance(page, ReportsPage)
    qtbot.waitUntil(lambda: page.view.report is not None)
    scores = page.view.findChild(TableView)
    assert scores is not None
    assert "6/500" in scores.as_text()
    said = [figure.accessibleName() for figure in page.view.findChildren(Figure)]
    assert f"This run: {fmt.seconds(elapsed)} 6 of 500 items" in said
    assert not any(name.startswith("Whole subset") and "about" not in name for name in said)
