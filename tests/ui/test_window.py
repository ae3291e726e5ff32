"""The frame: first start, pages by key, both themes, the demo by its door, pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.app.run import RunOrder
from mince_gui.ui import main, reads, theme
from mince_gui.ui.bridge import Job
from mince_gui.ui.hub import PAGES
from mince_gui.ui.pages.reports import ReportsPage
from mince_gui.ui.pages.run import RunPage
from mince_gui.ui.pages.subsets import SubsetsPage
from mince_gui.ui.window import Window
from tests.ui.conftest import interrupted_run, quiet


def test_an_empty_workspace_opens_with_three_doors(workspace: Path, open_window: Callable[..., Window]) -> None:
    window = open_window(workspace)
    assert window.start_page is not None
    assert window.current is window.start_page
    assert [door.accessibleName() for door in window.start_page.doors] == [
        "Try the demo", "I have evaluation logs", "I have a model and a pack",
    ]  # fmt: skip


def test_a_workspace_with_logs_opens_on_them(sized_workspace: Path, open_window: Callable[..., Window]) -> None:
    window = open_window(sized_workspace)
    assert window.start_page is None
    assert window.current is window.page("logs")


def test_every_page_opens_by_its_key_and_says_what_belongs_in_it(
    qtbot: QtBot, workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(workspace)
    window.activateWindow()
    for number, name in enumerate(PAGES, start=1):
        QTest.keyClick(window, getattr(Qt.Key, f"Key_{number}"), Qt.KeyboardModifier.ControlModifier)
        quiet(qtbot, window)
        page = window.page(name)
        assert window.current is page
        assert page.stack.currentWidget() is page.empty


def test_a_workspace_that_cannot_be_opened_is_an_error_in_place(
    qtbot: QtBot, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    window = open_window(tmp_path / "file")
    page = window.page("logs")
    assert page.error.isVisible()
    assert "cannot be opened" in page.error.text


def test_the_theme_changes_under_an_open_window(
    qtbot: QtBot, qapp: QApplication, sized_workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(sized_workspace)
    for name in PAGES:
        window.show_page(name)
        quiet(qtbot, window)
    light = window.grab().toImage().pixelColor(700, 760)
    theme.apply(qapp, theme.DARK)
    quiet(qtbot, window)
    dark = window.grab().toImage().pixelColor(700, 760)
    assert light.lightness() > 200
    assert dark.lightness() < 80


def test_a_pack_is_made_from_a_dataset_and_a_wrong_one_is_refused(
    qtbot: QtBot, demo_workspace: Path, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(demo_workspace, "subsets")
    quiet(qtbot, window)
    page = window.page("subsets")
    assert isinstance(page, SubsetsPage)
    frozen = next(row for row in page.model.rows if row.stored is not None)
    assert frozen.pack is not None
    page.pack_from(tmp_path / "nowhere", subset=frozen.name)
    quiet(qtbot, window)
    assert page.error.isVisible()
    before = frozen.pack.created_at
    with Path(frozen.pack.path).open("rb") as file:
        size = len(file.read())
    from mince_gui.app import demo

    page.pack_from(demo.folder() / frozen.benchmark, subset=frozen.name)
    quiet(qtbot, window)
    again = next(row for row in page.model.rows if row.name == frozen.name)
    assert again.pack is not None
    assert again.pack.created_at >= before
    assert again.pack.path.stat().st_size == pytest.approx(size, rel=0.05)


def test_the_demo_runs_live_from_its_door_and_ends_with_a_report(
    qtbot: QtBot, workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(workspace)
    assert window.start_page is not None
    window.start_page.doors[0].click()
    assert window.tour is not None
    tour = window.tour
    qtbot.waitUntil(lambda: not tour.active, timeout=120_000)
    assert not window.page("run").error.isVisible(), window.page("run").error.text
    quiet(qtbot, window)
    page = window.current
    assert isinstance(page, ReportsPage)
    qtbot.waitUntil(lambda: page.view.report is not None)
    assert page.view.report is not None
    assert page.view.report.benchmark == "demo-math"
    assert page.view.report.speedup.kind == "measured"
    runs = reads.runs(workspace)
    assert [run.cause for run in runs] == ["done"] * 4
    assert sorted(run.plan.subset.endswith("full") for run in runs) == [False, False, True, True]


def _run_page(window: Window) -> RunPage:
    page = window.page("run")
    assert isinstance(page, RunPage)
    return page


def test_looking_at_another_run_or_page_does_not_stop_the_demo(
    qtbot: QtBot, workspace: Path, open_window: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The four runs of the demo, but none of them to the end of its pack.
    monkeypatch.setattr("mince_gui.ui.demo_tour.RunOrder", partial(RunOrder, limit=40))
    window = open_window(workspace)
    window.start_demo()
    tour, page = window.tour, _run_page(window)
    assert tour is not None
    followed: list[str] = []
    tour.followed.connect(lambda run_id, before: followed.append(run_id))
    qtbot.waitUntil(lambda: len(followed) >= 2 and len(page.list.entries.entries) >= 2, timeout=120_000)
    first = page.list.entries.entries[-1].ident
    page.list.choose(first)
    window.show_page("logs")
    qtbot.waitUntil(lambda: not tour.active, timeout=120_000)
    assert window.current is window.page("logs")
    assert page.follower.run_id == first
    assert [run.cause for run in reads.runs(workspace)] == ["done"] * 4
    window.show_page("run")
    assert page.form.isVisible()
    assert not page.banner.isVisible()


def test_the_demo_can_be_ended_and_tried_again(
    qtbot: QtBot, workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(workspace)
    window.start_demo()
    page = _run_page(window)
    assert page.banner.isVisible()
    page.end_demo.click()
    assert page.form.isVisible()
    quiet(qtbot, window)
    assert "Demo ended" in page.error.text
    page.error.action.click()
    assert window.tour is not None
    assert window.tour.active
    assert not page.error.isVisible()
    # Cancelled in the bar at the bottom.
    for job in window.hub.jobs.findChildren(Job):
        job.cancel()
    qtbot.waitUntil(lambda: not window.tour.active, timeout=60_000)  # type: ignore[union-attr]
    assert "Demo cancelled" in page.error.text
    assert page.error.action.text() == "Try again"
    assert reads.runs(workspace) == []


def test_the_doors_are_never_far(qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]) -> None:
    window = open_window(sized_workspace)
    QTest.mouseClick(window.start_button, Qt.MouseButton.LeftButton)
    assert window.current is window.start_page
    assert window.start_button.isChecked()
    window.show_page("logs")
    assert not window.start_button.isChecked()


def test_an_interrupted_run_is_told_at_opening_and_can_be_resumed(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = interrupted_run(demo_workspace, "demo-math-full")
    resumed: list[str] = []
    monkeypatch.setattr("mince_gui.app.detached.resume", lambda workspace, run: resumed.append(run))
    window = open_window(demo_workspace)
    page = _run_page(window)
    assert window.current is page
    assert "demo-math-full" in page.error.text
    assert "interrupted" in page.error.text
    page.error.action.click()
    quiet(qtbot, window)
    assert resumed == [run_id]


def test_screenshots_are_made_of_every_page(
    qapp: QApplication, finished_demo: tuple[Path, str], tmp_path: Path
) -> None:
    out = tmp_path / "pictures"
    assert main(["--workspace", str(finished_demo[0]), "--screenshots", str(out)]) == 0
    names = ["start", *PAGES]
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{n}{d}.png" for n in names for d in ("", "-dark"))
    for path in out.iterdir():
        picture = QImage(str(path))
        assert (picture.width(), picture.height()) == (1280, 800)
