"""Run: a real detached runner with the demo's model, followed, paused, resumed, stopped."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.app import demo, detached
from mince_gui.app.run import RunOrder
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.faults import WorkspaceError
from mince_gui.store.runs import StoredRun
from mince_gui.ui import follower, reads
from mince_gui.ui.pages.run import RunPage
from mince_gui.ui.run_words import can_resume
from mince_gui.ui.window import Window
from tests.ui.conftest import interrupted_run, quiet, stored_run, wait_for_end

_PATIENCE = 60_000
_FULL, _FULL_ITEMS = "demo-math-full", 500


def _page(window: Window) -> RunPage:
    window.show_page("run")
    page = window.page("run")
    assert isinstance(page, RunPage)
    return page


def _stored(workspace: Path, run_id: str) -> StoredRun:
    with Workspace(workspace) as ws:
        return stored_runs.get(ws, run_id)


def _start(qtbot: QtBot, page: RunPage, pack: str) -> str:
    """Start a run by the form, and wait until its first items are seen."""
    page.hub.show("run", ("pack", pack))
    qtbot.waitUntil(lambda: page.form.pack.currentData() == pack)
    page.form.choose_model(demo.model_dir())
    QTest.mouseClick(page.form.start, Qt.MouseButton.LeftButton)

    def going() -> bool:
        shown = page.view.snapshot
        return shown is not None and shown.run.plan.subset == pack and shown.run.done > 0

    qtbot.waitUntil(going, timeout=_PATIENCE)
    assert page.follower.run_id is not None
    return page.follower.run_id


def _state(page: RunPage) -> str:
    return page.view.snapshot.run.state if page.view.snapshot is not None else ""


def test_an_empty_workspace_says_what_belongs_here(workspace: Path, open_window: Callable[..., Window]) -> None:
    page = _page(open_window(workspace, "run"))
    assert page.stack.currentWidget() is page.empty
    assert page.form.pack.currentData() is None
    assert not page.form.start.isEnabled()


def test_a_run_is_followed_to_its_end(qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]) -> None:
    page = _page(open_window(demo_workspace, "run"))
    pack = next(row for row in reads.subsets(demo_workspace) if row.benchmark == "demo-math" and row.stored)
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        run_id = _start(qtbot, page, pack.name)
    shown = page.view.snapshot
    assert shown is not None
    assert (shown.run.run_id, shown.run.cause, shown.run.done) == (run_id, "done", pack.n)
    assert len(page.view.items.rows) == pack.n
    assert [score.metric for score in shown.scores] == ["exact_match,strict-match", "exact_match,flexible-extract"]
    with Workspace(demo_workspace) as ws:
        passed, trials = stored_runs.totals(ws, run_id)["exact_match,strict-match"]
    assert shown.scores[0].percent == pytest.approx(100 * passed / trials)
    assert shown.bound_pp == pack.bound_pp
    assert page.view.chip.text() == "done"
    assert page.view.tiles.first.value != "-"
    assert page.view.tiles.rate.value.endswith("tok/s")
    assert not page.view.pause.isVisible()
    wait_for_end(shown.run.pid or 0)


def test_pause_resume_and_stop_are_taken_at_an_item_and_the_run_can_go_on(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    page = _page(open_window(demo_workspace, "run"))
    run_id = _start(qtbot, page, _FULL)
    # The list has no use for it: the page takes it.
    QTest.keyClick(page.list, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: _state(page) == "paused", timeout=_PATIENCE)
    paused = _stored(demo_workspace, run_id)
    held = paused.done
    assert page.view.go_on.isVisible()
    assert page.view.chip.text() == f"paused at {paused.done + paused.missing:,} of {_FULL_ITEMS}"

    page.view.go_on.click()
    qtbot.waitUntil(lambda: _stored(demo_workspace, run_id).done > held, timeout=_PATIENCE)
    qtbot.waitUntil(lambda: _state(page) == "running", timeout=_PATIENCE)
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        page.view.stop.click()
    stopped = _stored(demo_workspace, run_id)
    assert stopped.cause == "stopped"
    assert held < stopped.done < _FULL_ITEMS
    wait_for_end(stopped.pid or 0)

    assert page.view.go_on.isVisible()
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        page.view.go_on.click()
    ended = _stored(demo_workspace, run_id)
    assert (ended.cause, ended.done) == ("done", _FULL_ITEMS)
    assert len(page.view.items.rows) == _FULL_ITEMS
    wait_for_end(ended.pid or 0)


def test_closing_the_window_leaves_the_run_and_another_window_follows_it(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(demo_workspace, "run")
    run_id = _start(qtbot, _page(window), _FULL)
    window.close()
    assert "goes on" in window.activity.text
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=10_000)
    before = _stored(demo_workspace, run_id).done
    qtbot.waitUntil(lambda: _stored(demo_workspace, run_id).done > before, timeout=_PATIENCE)

    again = _page(open_window(demo_workspace))
    assert again.isVisible()
    qtbot.waitUntil(lambda: again.running and again.follower.run_id == run_id, timeout=_PATIENCE)
    with qtbot.waitSignal(again.over, timeout=_PATIENCE):
        again.view.stop.click()
    assert _stored(demo_workspace, run_id).cause == "stopped"
    wait_for_end(_stored(demo_workspace, run_id).pid or 0)


def test_a_run_that_cannot_start_is_an_error_in_place(
    qtbot: QtBot, demo_workspace: Path, tmp_path: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(demo_workspace, "run")
    page = _page(window)
    page.start(RunOrder(tmp_path, "demo-math-full"))
    quiet(qtbot, window)
    assert page.error.isVisible()
    assert str(tmp_path) in page.error.text
    assert page.form.start.isEnabled()
    page.error.copy.click()
    assert str(tmp_path) in QApplication.clipboard().text()


def test_a_run_whose_process_is_gone_offers_to_resume(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    run_id = detached.start(demo_workspace, RunOrder(demo.model_dir(), _FULL, limit=200))
    qtbot.waitUntil(lambda: _stored(demo_workspace, run_id).done > 5, timeout=_PATIENCE)
    killed = _stored(demo_workspace, run_id)
    assert killed.pid is not None
    import psutil

    # The worker ends by itself when its parent is gone.
    psutil.Process(killed.pid).kill()
    wait_for_end(killed.pid)
    page = _page(open_window(demo_workspace, "run"))
    qtbot.waitUntil(lambda: _state(page) == "interrupted", timeout=_PATIENCE)
    assert page.view.chip.text().startswith("interrupted at ")
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        page.view.go_on.click()
    ended = _stored(demo_workspace, run_id)
    assert (ended.cause, ended.done) == ("done", 200)
    wait_for_end(ended.pid or 0)


def test_a_database_that_refuses_for_a_moment_does_not_end_the_following(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = interrupted_run(demo_workspace, _FULL)
    get, refusals = stored_runs.get, [WorkspaceError("busy", "database is locked", "")] * 3

    def refusing(ws: Workspace, wanted: str) -> StoredRun:
        if refusals:
            raise refusals.pop()
        return get(ws, wanted)

    monkeypatch.setattr(stored_runs, "get", refusing)
    page = _page(open_window(demo_workspace, "run"))
    qtbot.waitUntil(lambda: _state(page) == "interrupted", timeout=_PATIENCE)
    assert refusals == []
    assert page.follower.run_id == run_id


@pytest.mark.parametrize("fault", [sqlite3.OperationalError("no such column"), KeyError("x")])
def test_a_defect_while_following_is_told_and_a_click_follows_again(
    qtbot: QtBot,
    demo_workspace: Path,
    open_window: Callable[..., Window],
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
) -> None:
    interrupted_run(demo_workspace, _FULL)
    monkeypatch.setattr(follower, "_POLL_SECONDS", 0.01)

    def broken(ws: Workspace, wanted: str) -> StoredRun:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(stored_runs, "get", broken)
        page = _page(open_window(demo_workspace, "run"))
        qtbot.waitUntil(lambda: page.follower.run_id is None and page.error.action.isVisible(), timeout=_PATIENCE)
        assert type(fault).__name__ in page.error.text
        page.error.copy.click()
        assert "in broken" in QApplication.clipboard().text()
    assert page.view.chip.text() == "not followed"
    index = page.list.currentIndex()
    QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=page.list.visualRect(index).center())
    qtbot.waitUntil(lambda: _state(page) == "interrupted", timeout=_PATIENCE)


def test_a_control_that_fails_can_be_asked_again(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(demo_workspace, "run")
    page = _page(window)
    run_id = _start(qtbot, page, _FULL)
    page.view.pause.click()
    qtbot.waitUntil(lambda: _state(page) == "paused", timeout=_PATIENCE)

    def refused(*_: object) -> None:
        raise WorkspaceError("busy", "The workspace is held by another program.", "")

    with monkeypatch.context() as patch:
        patch.setattr(detached, "ask", refused)
        page.view.stop.click()
        qtbot.waitUntil(page.error.isVisible, timeout=_PATIENCE)
    assert page.view.stop.isEnabled()
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        page.view.stop.click()
    wait_for_end(_stored(demo_workspace, run_id).pid or 0)


def test_the_number_of_runs_going_on_is_right_while_another_page_is_shown(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    window = open_window(demo_workspace, "run")
    page = _page(window)
    numbers: list[int] = []
    page.live_count.connect(numbers.append)
    with qtbot.waitSignal(page.over, timeout=_PATIENCE):
        run_id = _start(qtbot, page, _FULL)
        qtbot.waitUntil(lambda: 1 in numbers, timeout=_PATIENCE)
        window.show_page("logs")
        detached.ask(demo_workspace, run_id, "stop")
    qtbot.waitUntil(lambda: numbers[-1] == 0, timeout=_PATIENCE)
    assert not page.isVisible()
    wait_for_end(_stored(demo_workspace, run_id).pid or 0)


def test_a_model_folder_with_native_code_runs_only_where_it_is_trusted(
    qtbot: QtBot,
    demo_workspace: Path,
    tmp_path: Path,
    open_window: Callable[..., Window],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "custom"
    shutil.copytree(demo.model_dir(), folder)
    config = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    options = config["model"]["decoder"].setdefault("session_options", {})
    options["custom_ops_library"] = "libown.so"
    (folder / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
    orders: list[RunOrder] = []

    def start(workspace: Path, order: RunOrder) -> str:
        orders.append(order)
        return interrupted_run(workspace, _FULL)

    monkeypatch.setattr(detached, "start", start)
    window = open_window(demo_workspace, "run")
    page = _page(window)
    page.start(RunOrder(folder, _FULL))
    quiet(qtbot, window)
    assert orders == []
    assert "--trust" not in page.error.text
    assert page.error.action.text() == "Trust libown.so and start"
    page.error.action.click()
    quiet(qtbot, window)
    assert [order.trust_native_code for order in orders] == [True]
    qtbot.waitUntil(lambda: _state(page) == "interrupted", timeout=_PATIENCE)


def test_the_newest_interrupted_run_waits_unless_it_was_run_again_since() -> None:
    old, new = stored_run(run_id="old", state="interrupted"), stored_run(run_id="new", state="interrupted")
    assert reads.unfinished([new, old]) is new
    assert reads.unfinished([stored_run(run_id="again"), old]) is None
    assert reads.unfinished([]) is None
    foreign = stored_run(run_id="foreign", state="interrupted", cause=None, origin={"machine": "laptop 7"})
    assert reads.unfinished([foreign]) is None
    assert not can_resume(foreign)


def test_tab_goes_from_the_form_to_the_list_and_then_to_the_run(
    qtbot: QtBot, demo_workspace: Path, open_window: Callable[..., Window]
) -> None:
    interrupted_run(demo_workspace, _FULL)
    page = _page(open_window(demo_workspace, "run"))
    qtbot.waitUntil(lambda: _state(page) == "interrupted", timeout=_PATIENCE)
    page.form.start.setFocus()
    seen = []
    for _ in range(4):
        QTest.keyClick(page.window(), Qt.Key.Key_Tab)
        seen.append(page.window().focusWidget())
    assert seen == [page.list, page.view.go_on, page.view.filter, page.view.items_view]
