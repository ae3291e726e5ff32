"""Real processes, really killed: no finished item is lost or repeated."""

from __future__ import annotations

import os
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from mince_gui.app import detached
from mince_gui.app.demo import model_dir
from mince_gui.app.listings import list_runs, show_run
from mince_gui.app.run import RunOrder, create
from mince_gui.store.runs import StoredItem
from tests.app.processes import Mince, events, mince
from tests.run.sittings import worker_process

ITEMS = 80


def _runner(workspace: Path, run_id: str) -> AbstractContextManager[Mince]:
    return mince(workspace, "run", "--resume", run_id)


def _until_done(process: Mince, items: int) -> None:
    for event in events(process):
        if event["type"] == "ItemDone" and event["done"] >= items:
            return
    raise AssertionError("the runner ended too early")


def _worker(process: Mince) -> psutil.Process:
    return worker_process(psutil.Process(process.pid))


def _items(workspace: Path, run_id: str) -> dict[str, StoredItem]:
    return {item.item_key: item for item in show_run(workspace, run_id)[1]}


@pytest.fixture
def run_id(prepared: Path) -> str:
    return create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=ITEMS))


def test_a_killed_worker_is_replaced_and_every_item_is_done_once(prepared: Path, run_id: str) -> None:
    with _runner(prepared, run_id) as process:
        _until_done(process, 5)
        worker = _worker(process)
        worker.kill()
        told = list(events(process))
        assert process.wait(timeout=60) == 0
    warned = [event for event in told if event["type"] == "Warned"]
    assert any("SIGKILL" in event["message"] + event["detail"] for event in warned)
    items = _items(prepared, run_id)
    assert len(items) == ITEMS
    assert {item.state for item in items.values()} == {"done"}


def test_a_killed_runner_takes_its_worker_along_and_is_resumed_behind_the_last_item(
    prepared: Path, run_id: str
) -> None:
    with _runner(prepared, run_id) as process:
        _until_done(process, 7)
        worker = _worker(process)
        process.kill()
        process.wait(timeout=60)
    worker.wait(timeout=60)
    before = _items(prepared, run_id)
    assert 7 <= len(before) < ITEMS
    state = next(run for run in list_runs(prepared) if run.run_id == run_id).state
    assert state == "interrupted"
    with _runner(prepared, run_id) as process:
        told = [event["item_key"] for event in events(process) if event["type"] == "ItemDone"]
        assert process.wait(timeout=60) == 0
    after = _items(prepared, run_id)
    assert len(after) == ITEMS
    assert {key: after[key] for key in before} == before
    assert set(told) == set(after) - set(before)


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C of another process cannot be sent on Windows")
def test_an_interrupt_stops_after_what_is_done_and_says_how_to_go_on(prepared: Path, run_id: str) -> None:
    with _runner(prepared, run_id) as process:
        _until_done(process, 4)
        worker = _worker(process)
        process.send_signal(signal.SIGINT)
        told = list(events(process))
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        assert f"mince run --resume {run_id}" in process.stderr.read()
    worker.wait(timeout=60)
    assert told[-1]["type"] == "Ended"
    assert told[-1]["cause"] == "stopped"
    before = _items(prepared, run_id)
    with _runner(prepared, run_id) as process:
        list(events(process))
        assert process.wait(timeout=60) == 0
    after = _items(prepared, run_id)
    assert len(after) == ITEMS
    assert {key: after[key] for key in before} == before


def test_a_paused_run_keeps_its_runner_and_goes_on_when_asked(prepared: Path, run_id: str) -> None:
    with _runner(prepared, run_id) as process:
        _until_done(process, 3)
        detached.ask(prepared, run_id, "pause")
        assert any(event.get("note") == "paused" for event in events(process))
        at_pause = len(_items(prepared, run_id))
        assert next(run for run in list_runs(prepared) if run.run_id == run_id).state == "paused"
        with _runner(prepared, run_id) as second:
            assert second.wait(timeout=60) == 2
            assert second.stderr is not None
            assert "is going on" in second.stderr.read()
        assert len(_items(prepared, run_id)) == at_pause
        detached.ask(prepared, run_id, "run")
        list(events(process))
        assert process.wait(timeout=60) == 0
    assert len(_items(prepared, run_id)) == ITEMS
