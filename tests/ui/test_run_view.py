"""What the parts of the Run page do with a run's states, without a runner."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.report.answers import Answers
from mince_gui.store.runs import StoredRun
from mince_gui.ui.bridge import DefectError
from mince_gui.ui.pages.run_view import ITEMS, RunView
from mince_gui.ui.plots import Plot
from mince_gui.ui.run_words import local, verdict
from mince_gui.ui.snapshot import Score, Snapshot
from mince_gui.ui.states import ErrorBar
from tests.ui.conftest import stored_item, stored_run

_NONE = np.zeros((0, 2))


def _snapshot(run: StoredRun, **changed: Any) -> Snapshot:
    facts: dict[str, Any] = {
        "run": run, "fresh": (), "anew": False, "scores": (), "answers": Answers(256), "first_token_seconds": None,
        "decode_rate": None, "prefill_seconds": None, "prefill_rate": None, "seconds_left": None, "phase": "",
        "notices": (), "bound_pp": None, "points": {}, "first_tokens": _NONE, "decode_rates": _NONE, "prefills": _NONE,
        "choices": False, "memory_bytes": None,
    }  # fmt: skip
    return Snapshot(**{**facts, **changed})


def _at(state: str, **changed: object) -> Snapshot:
    return _snapshot(stored_run(state=state, cause=None, done=50, **changed))


@pytest.fixture
def view(qtbot: QtBot, qapp: QApplication) -> RunView:
    made = RunView()
    qtbot.addWidget(made)
    made.resize(820, 620)
    made.show()
    return made


def _offered(view: RunView) -> set[str]:
    return {b.text() for b in (view.pause, view.go_on, view.skip, view.stop) if b.isVisible() and b.isEnabled()}


def test_a_pause_that_is_still_to_come_can_be_taken_back_and_locks_nothing_else(view: RunView) -> None:
    wishes: list[str] = []
    view.wish.connect(wishes.append)
    view.show_snapshot(_at("running"))
    assert _offered(view) == {"Pause", "Skip", "Stop"}
    view.pause.click()
    view.show_snapshot(_at("running"))
    assert _offered(view) == {"Go on", "Skip", "Stop"}
    view.go_on.click()
    assert _offered(view) == {"Pause", "Skip", "Stop"}
    view.pause.click()
    view.show_snapshot(_at("paused"))
    assert _offered(view) == {"Go on", "Stop"}
    assert wishes == ["pause", "run", "pause"]


def test_a_wish_that_did_not_reach_the_runner_can_be_asked_again(view: RunView) -> None:
    view.show_snapshot(_at("running"))
    view.stop.click()
    assert _offered(view) == set()
    view.take_back()
    assert _offered(view) == {"Pause", "Skip", "Stop"}
    view.show_snapshot(_at("paused"))
    view.go_on.click()
    assert _offered(view) == {"Stop"}
    view.take_back()
    assert _offered(view) == {"Go on", "Stop"}


def test_a_run_that_is_not_followed_any_more_is_not_said_to_be_running(view: RunView) -> None:
    view.show_snapshot(_at("running"))
    view.lost()
    assert view.chip.text() == "not followed"
    assert _offered(view) == set()


def test_the_bound_stands_beside_the_drift_of_the_whole_subset_only(view: RunView) -> None:
    score = Score("exact_match,strict-match", "strict match", 52.0, 45.0, 59.0, 50.0)
    part = _snapshot(stored_run(state="running", cause=None, done=50), scores=(score,))
    view.show_snapshot(part)
    assert view.tiles.score.accessibleName().endswith("+2.0 pp to the full run so far")
    view.show_snapshot(_snapshot(stored_run(), scores=(score,), bound_pp=4.1))
    assert view.tiles.score.accessibleName().endswith("+2.0 pp to the full run, bound 4.1 pp")


def test_a_run_without_items_has_no_numbers_at_its_axes(view: RunView) -> None:
    view.show_snapshot(_at("started"))
    axes = [plot.getAxis(side) for plot in view.findChildren(Plot) if plot.isVisible() for side in ("left", "bottom")]
    assert {axis.style["showValues"] for axis in axes} == {False}
    times = np.array([[1, 0.2], [2, 0.3]])
    view.show_snapshot(_snapshot(stored_run(done=2), first_tokens=times, first_token_seconds=0.25, anew=True))
    assert view.tiles.first_plot.getAxis("left").style["showValues"]
    assert (view.tiles.first.value, view.tiles.first_plot.getAxis("left").labelText) == ("0.25 s", "s")


def test_a_failed_run_is_told_as_an_error_and_its_items_fit(view: RunView) -> None:
    items = tuple(stored_item(i, 0.0, capped=True, category="algebra") for i in range(3))
    run = stored_run(cause="failed", detail="The worker ended.\nRun again.", done=3)
    score = Score("a", "a", 0.0, 0.0, 9.0, 50.0)
    view.show_snapshot(_snapshot(run, fresh=items, anew=True, scores=(score, replace(score, metric="b"))))
    assert view.notices.text == "The worker ended.\nRun again."
    assert view.notices.state == "bad"
    needed = view.items_view.sizeHintForColumn(5)
    assert view.items_view.columnWidth(5) >= needed, (view.items_view.columnWidth(5), needed)


def test_space_reaches_the_page_from_a_table(view: RunView) -> None:
    for table in (view.items_view, view.scores_view):
        press = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Space, Qt.KeyboardModifier.NoModifier, " ")
        table.keyPressEvent(press)
        assert not press.isAccepted()
    assert {plot.focusPolicy() for plot in view.findChildren(Plot)} == {Qt.FocusPolicy.NoFocus}


def test_the_trace_of_a_defect_is_copied_with_it(qtbot: QtBot, qapp: QApplication) -> None:
    bar = ErrorBar()
    qtbot.addWidget(bar)
    try:
        [].pop()
    except IndexError as exc:
        bar.show_error(DefectError(exc))
    bar.copy.click()
    copied = QApplication.clipboard().text()
    assert "This is a defect of the program" in copied
    assert "test_the_trace_of_a_defect_is_copied_with_it" in copied
    assert "Traceback" not in bar.text


def test_what_is_offered_beside_a_message_is_done_once_and_goes_with_it(qtbot: QtBot, qapp: QApplication) -> None:
    bar = ErrorBar()
    qtbot.addWidget(bar)
    done: list[str] = []
    bar.show_notice("Demo cancelled.")
    bar.offer("Try again", lambda: done.append("again"))
    QTest.mouseClick(bar.action, Qt.MouseButton.LeftButton)
    assert done == ["again"]
    assert bar.isHidden()
    bar.show_notice("Something else.")
    assert bar.action.isHidden()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
def test_times_in_lists_are_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        assert local("2026-01-02T03:04:05+00:00") == "2026-01-02 12:04"
    time.tzset()


def test_counts_of_answers_are_shown_with_the_budget_and_none_is_said_of_choices(view: RunView) -> None:
    view.show_snapshot(_at("running"))
    assert view.answers.text() == "none capped at 256 tokens"
    view.show_snapshot(_snapshot(stored_run(), answers=Answers(256, capped=3, by_ceiling=1, empty=2, not_fitting=1)))
    assert view.answers.text() == "3 capped at 256 tokens (1 by the model's ceiling), 2 empty, 1 does not fit"
    assert "scored as cut" in view.answers.toolTip()
    view.show_snapshot(_snapshot(stored_run(), answers=Answers(), choices=True))
    assert view.answers.text() == ""


def test_all_counts_of_answers_can_be_read_whole_in_a_narrow_window(view: RunView) -> None:
    view.resize(640, 700)
    every = Answers(1_280, capped=123, by_ceiling=22, by_time=13, repeating=27, empty=14, not_fitting=12)
    view.show_snapshot(_at("running", missing=12))
    view.show_snapshot(replace(_at("running", missing=12), answers=every, memory_bytes=5_140_000_000))
    QApplication.processEvents()
    shown = view.answers
    assert shown.height() >= shown.heightForWidth(shown.width())
    assert shown.text().endswith("12 do not fit")
    for part in (view.chip, view.done, view.left, view.missing, view.memory):
        assert part.width() >= part.sizeHint().width(), part.text()


def test_empty_answers_can_be_looked_at_alone(view: RunView) -> None:
    items = (stored_item(0, 0.0, text=" \n"), stored_item(1, 1.0), stored_item(2, 0.0, text=None))
    view.show_snapshot(_snapshot(stored_run(), fresh=items, anew=True))
    view.filter.setCurrentText("Empty")
    assert [item.position for item in view.items.rows] == [0]
    assert verdict(items[0]) == ("wrong, empty", "bad")


def test_a_device_is_shown_with_the_state_of_its_proof_and_the_workers_memory(view: RunView) -> None:
    npu = {"device": "NPU (RyzenAI)", "device_proven": False, "device_proof": "not proven: xrt-smi is not there"}
    view.show_snapshot(_at("running"))
    assert not view.device.isVisible()
    view.show_snapshot(_snapshot(stored_run(conditions=npu), memory_bytes=5_140_000_000))
    assert view.device.isVisible()
    assert view.device.text() == "NPU (RyzenAI), not proven"
    assert "xrt-smi is not there" in view.device.toolTip()
    assert view.memory.text() == "memory 5.1 GB"
    view.show_snapshot(_snapshot(stored_run(conditions={**npu, "device_proven": True, "device_proof": "proven: seen"})))
    assert view.device.text() == "NPU (RyzenAI), proven"
    assert view.memory.text() == ""


def test_answers_that_repeat_or_were_cut_by_time_say_so_and_can_be_looked_at_alone(view: RunView) -> None:
    items = (
        stored_item(0, 1.0), stored_item(1, 0.0, repeats=4, capped=True, finish="budget"),
        stored_item(2, 0.0, capped=True, finish="time"),
    )  # fmt: skip
    view.show_snapshot(_snapshot(stored_run(done=3), fresh=items, anew=True))
    assert [verdict(item)[0] for item in items] == ["right", "wrong, cut, repeating", "wrong, cut"]
    view.filter.setCurrentText("Repeating")
    assert [item.position for item in view.items.rows] == [1]
    view.filter.setCurrentText("Capped")
    assert [item.position for item in view.items.rows] == [1, 2]
    tips = [ITEMS[-1].tip(item) for item in items if ITEMS[-1].tip is not None]
    assert "the same 4 tokens over and over" in tips[1]
    assert "the longest time an item may take" in tips[2]
