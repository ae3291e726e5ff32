"""Background work: events arrive in order and on the GUI thread, and every job ends exactly once."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, MinceError
from mince_gui.base.events import Emit, Ended, Event, Progress, Started, Warned
from mince_gui.ui.bridge import DefectError, Jobs, was_cancelled


@pytest.fixture
def jobs(qapp: QApplication) -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def test_events_arrive_complete_and_in_order_before_the_result(qtbot: QtBot, jobs: Jobs) -> None:
    def work(emit: Emit, cancel: CancelToken) -> int:
        emit(Started("count", 5_000, "things"))
        for i in range(5_000):
            emit(Progress(i + 1, 5_000))
        emit(Ended("done"))
        return 7

    heard: list[Event | int] = []
    threads = set()

    def happened(events: list[Event]) -> None:
        threads.add(threading.current_thread())
        heard.extend(events)

    job = jobs.start("Counting", work, done=heard.append)
    job.happened.connect(happened)
    qtbot.waitUntil(lambda: 7 in heard)
    assert [e.done for e in heard if isinstance(e, Progress)] == list(range(1, 5_001))
    assert isinstance(heard[0], Started)
    assert heard[-2:] == [Ended("done"), 7]
    assert threads == {threading.main_thread()}


def test_many_events_come_in_few_batches(qtbot: QtBot, jobs: Jobs) -> None:
    def work(emit: Emit, cancel: CancelToken) -> bool:
        for i in range(2_000):
            emit(Progress(i, 2_000))
        return True

    shown: list[int] = []
    ended: list[bool] = []
    job = jobs.start("Counting", work, done=ended.append)
    job.progressed.connect(lambda done, total, note: shown.append(done))
    qtbot.waitUntil(lambda: bool(ended))
    assert len(shown) < 100
    assert shown[-1] == 1_999


def test_an_error_is_delivered_as_it_was_raised(qtbot: QtBot, jobs: Jobs) -> None:
    error = InputError("x.jsonl line 3 is cut", "Copy it again.")

    def work(emit: Emit, cancel: CancelToken) -> None:
        emit(Warned("careful"))
        raise error

    caught: list[MinceError] = []
    job = jobs.start("Reading", work, failed=caught.append)
    with qtbot.waitSignal(job.ended):
        pass
    assert caught == [error]
    assert job.warnings == [("careful", "")]


def test_a_defect_is_told_with_its_trace_and_not_lost(qtbot: QtBot, jobs: Jobs) -> None:
    caught: list[MinceError] = []

    def work(emit: Emit, cancel: CancelToken) -> float:
        return 1 / 0

    job = jobs.start("Dividing", work, failed=caught.append)
    with qtbot.waitSignal(job.ended):
        pass
    assert isinstance(caught[0], DefectError)
    assert "ZeroDivisionError" in caught[0].message
    assert "in work" in caught[0].trace


def test_cancel_ends_the_work_and_is_no_error(qtbot: QtBot, jobs: Jobs) -> None:
    going = threading.Event()

    def work(emit: Emit, cancel: CancelToken) -> None:
        going.set()
        while True:
            cancel.check()

    caught: list[MinceError] = []
    job = jobs.start("Waiting", work, failed=caught.append)
    assert going.wait(10)
    job.cancel()
    qtbot.waitUntil(lambda: bool(caught))
    assert was_cancelled(caught[0])


def test_closing_ends_the_work_and_calls_nobody(qtbot: QtBot, jobs: Jobs) -> None:
    going = threading.Event()

    def work(emit: Emit, cancel: CancelToken) -> None:
        going.set()
        while True:
            cancel.check()

    called: list[object] = []
    jobs.start("Waiting", work, done=called.append, failed=called.append)
    assert going.wait(10)
    jobs.close()
    QApplication.processEvents()
    assert called == []
    assert not jobs.busy


def test_what_is_started_after_closing_is_not_run_and_no_error(qtbot: QtBot, jobs: Jobs) -> None:
    jobs.close()
    called: list[object] = []
    jobs.read(lambda: called.append("run"), called.append, called.append)
    QApplication.processEvents()
    assert called == []
    assert not jobs.busy
