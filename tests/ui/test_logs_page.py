"""Logs: dropped, looked at, imported, excluded."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot

from mince_gui.ui import reads
from mince_gui.ui.pages.logs import LogsPage
from mince_gui.ui.window import Window
from tests.ui.conftest import quiet, write_gsm8k_log


def _page(window: Window) -> LogsPage:
    window.show_page("logs")
    page = window.page("logs")
    assert isinstance(page, LogsPage)
    return page


def _drop(page: LogsPage, *paths: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, button, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    assert page.acceptDrops()
    page.dropEvent(QDropEvent(QPointF(300, 300), action, data, button, keys))


def test_dropped_logs_are_shown_first_and_stored_only_on_import(
    qtbot: QtBot, workspace: Path, pool_folder: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(workspace)
    page = _page(window)
    _drop(page, pool_folder)
    quiet(qtbot, window)
    assert [line.found.model for line in page.panel.found.rows] == ["lab/middle-b", "lab/small", "lab/the-large"]
    assert page.panel.go.text() == "Import 3 logs"
    assert reads.logs(workspace) == []

    page.panel.found.set_ticks(lambda line: line.found.model != "lab/small")
    assert page.panel.go.text() == "Import 2 logs"
    page.panel.go.click()
    quiet(qtbot, window)
    assert [log.model for log in reads.logs(workspace)] == ["lab/middle-b", "lab/the-large"]
    assert [line.result for line in page.panel.result.rows] == ["imported", "imported"]
    page.panel.closed.emit()
    assert [log.model for log in page.model.rows] == ["lab/middle-b", "lab/the-large"]
    assert page.stack.currentWidget() is page.content


def test_a_refused_log_is_named_with_its_reason_and_stops_no_other(
    qtbot: QtBot, workspace: Path, pool_folder: Path, open_window: Callable[..., Window]
) -> None:
    broken = write_gsm8k_log(pool_folder / "broken", "lab/broken", 0.5, items=20)
    broken.write_text(broken.read_text(encoding="utf-8")[:-30], encoding="utf-8")
    window = open_window(workspace)
    page = _page(window)
    page.look([pool_folder])
    quiet(qtbot, window)
    page.panel.go.click()
    quiet(qtbot, window)
    refused = page.panel.result.rows[0]
    assert refused.result == "refused"
    assert broken.name in refused.why
    assert len(reads.logs(workspace)) == 3


def test_a_folder_without_logs_says_so_and_stores_nothing(
    qtbot: QtBot, workspace: Path, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("nothing", encoding="utf-8")
    window = open_window(workspace)
    page = _page(window)
    page.look([tmp_path / "other"])
    quiet(qtbot, window)
    assert not page.panel.go.isEnabled()
    page.panel.closed.emit()
    assert page.stack.currentWidget() is page.empty


def test_a_path_that_is_gone_is_an_error_in_place(
    qtbot: QtBot, workspace: Path, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(workspace)
    page = _page(window)
    page.look([tmp_path / "gone"])
    quiet(qtbot, window)
    assert page.error.isVisible()
    assert "does not exist" in page.error.text


def test_an_excluded_log_leaves_the_pool_and_comes_back(
    qtbot: QtBot, sized_workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(sized_workspace, "logs")
    page = _page(window)
    quiet(qtbot, window)
    assert page.view.choose(lambda log: log.model == "lab/small")
    page.details.toggle.click()
    quiet(qtbot, window)
    assert reads.pool(sized_workspace, "gsm8k").models == ("lab/middle-b", "lab/the-large")
    assert page.details.toggle.text() == "Include in sizing"
    page.details.toggle.click()
    quiet(qtbot, window)
    assert len(reads.pool(sized_workspace, "gsm8k").models) == 3


def test_a_broken_log_is_refused_and_with_a_tick_its_whole_rows_are_taken(
    qtbot: QtBot, workspace: Path, pool_folder: Path, open_window: Callable[..., Window]
) -> None:
    (broken,) = (pool_folder / "lab__small").glob("samples_*")
    broken.write_bytes(broken.read_bytes()[:-40])
    window = open_window(workspace)
    page = _page(window)
    for whole_rows in (False, True):
        _drop(page, broken)
        quiet(qtbot, window)
        page.panel.salvage.setChecked(whole_rows)
        quiet(qtbot, window)
        page.panel.go.click()
        quiet(qtbot, window)
        assert [log.items for log in reads.logs(workspace)] == ([1_318] if whole_rows else [])
    (log,) = reads.logs(workspace)
    assert {"salvaged", "partial"} <= {check.kind for check in log.checks}


def test_a_broken_archive_gives_its_whole_logs_once_the_box_is_ticked(
    qtbot: QtBot, workspace: Path, pool_folder: Path, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    archive = tmp_path / "logs.tar"
    with tarfile.open(archive, "w") as file:
        file.add(pool_folder / "lab__small", "lab__small")
        file.add(pool_folder / "lab__the-large", "lab__the-large")
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size * 3 // 4])
    window = open_window(workspace)
    page = _page(window)
    _drop(page, archive)
    quiet(qtbot, window)
    assert page.panel.found.rows == []
    page.panel.salvage.setChecked(True)
    quiet(qtbot, window)
    assert "lab/small" in {line.found.model for line in page.panel.found.rows}
