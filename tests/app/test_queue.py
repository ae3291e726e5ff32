"""The queue: every entry with its own end, whatever becomes of the one before it and of the runner itself."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest

from mince_gui.app import detached, queue, run
from mince_gui.app.demo import model_dir
from mince_gui.app.listings import list_runs, show_run
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Event, ItemDone, Progress
from mince_gui.base.paths import state_dir
from mince_gui.run.guards.lease import leases
from mince_gui.store import Workspace
from mince_gui.store import queue as stored_queue
from mince_gui.store import runs as stored_runs
from mince_gui.store.faults import WorkspaceError
from mince_gui.store.runs import StoredItem
from tests.app.processes import Mince, events, mince

ITEMS = 60


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path) -> Path:
    """A workspace of its own with the demo's packs and an empty queue."""
    own = tmp_path / "own"
    shutil.copytree(prepared, own)
    return own


def _order(subset: str = "demo-choice-full", limit: int = 3, model: Path | None = None) -> RunOrder:
    return RunOrder(model or model_dir(), subset, limit=limit)


def _runner(workspace: Path) -> AbstractContextManager[Mince]:
    return mince(workspace, "queue", "start")


def _until(process: Mince, run: int, items: int) -> None:
    """Until the run of that place in this sitting, from 1, has so many items."""
    started = 0
    for event in events(process):
        started += event["type"] == "Started"
        if event["type"] == "ItemDone" and started == run and event["done"] >= items:
            return
    raise AssertionError("the queue ended too early")


def _items(workspace: Path, run_id: str | None) -> dict[str, StoredItem]:
    assert run_id is not None
    return {item.item_key: item for item in show_run(workspace, run_id)[1]}


def _states(workspace: Path) -> list[tuple[str, str | None, int | None]]:
    return [(entry.state, entry.cause, entry.done) for entry in queue.listing(workspace).entries]


def test_entries_are_run_in_order_and_each_has_its_own_end(workspace: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(model_dir(), broken)
    (broken / "model.onnx").write_bytes(b"x")
    orders = [
        _order(model=broken),
        _order("no-such-subset"),
        _order(model=tmp_path / "nowhere"),
        RunOrder(model_dir(), "demo-math-full", limit=2, system_prompt="Think of it. " * 400),
        _order("demo-math-full"),
    ]
    assert queue.add(workspace, orders) == [1, 2, 3, 4, 5]
    events: list[Event] = []
    ended = queue.run_queue(workspace, emit=events.append)
    assert [entry.cause for entry in ended] == ["failed", "failed", "failed", "incomplete", "done"]
    assert [entry.run_id is None for entry in ended] == [False, True, True, False, False]
    assert [entry.done for entry in ended] == [0, None, None, 0, 3]
    assert "no-such-subset" in ended[1].detail
    assert str(tmp_path / "nowhere") in ended[2].detail
    assert list(queue.listing(workspace).entries) == ended
    told = [event for event in events if isinstance(event, ItemDone) and event.state == "done"]
    assert {event.run_id for event in told} == {ended[4].run_id}
    assert queue.run_queue(workspace) == []


def test_a_killed_queue_goes_on_behind_the_last_item_of_the_run_in_hand(workspace: Path) -> None:
    queue.add(workspace, [_order(limit=5), _order(limit=ITEMS), _order("demo-math-full", limit=2)])
    with _runner(workspace) as process:
        _until(process, run=2, items=7)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        process.wait(timeout=60)
    assert psutil.wait_procs(children, timeout=60)[1] == []
    (first, second, _) = queue.listing(workspace).entries
    assert [state for state, _, _ in _states(workspace)] == ["ended", "interrupted", "waiting"]
    before = _items(workspace, second.run_id)
    assert 7 <= len(before) < ITEMS
    done_first = _items(workspace, first.run_id)
    with _runner(workspace) as process:
        told = [event for event in events(process) if event["type"] == "ItemDone"]
        assert process.wait(timeout=60) == 0
    assert _states(workspace) == [("ended", "done", 5), ("ended", "done", ITEMS), ("ended", "done", 2)]
    assert _items(workspace, first.run_id) == done_first
    after = _items(workspace, second.run_id)
    assert {key: after[key] for key in before} == before
    assert {event["item_key"] for event in told if event["run_id"] == second.run_id} == set(after) - set(before)
    assert len(list_runs(workspace)) == 3


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C of another process cannot be sent on Windows")
def test_an_interrupt_stops_the_run_in_hand_and_the_queue_and_both_go_on(workspace: Path) -> None:
    queue.add(workspace, [_order(limit=ITEMS), _order(limit=2)])
    with _runner(workspace) as process:
        _until(process, run=1, items=4)
        process.send_signal(signal.SIGINT)
        list(events(process))
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        assert "mince queue start" in process.stderr.read()
    (first, second) = queue.listing(workspace).entries
    assert (first.state, second.state, second.run_id) == ("waiting", "waiting", None)
    before = _items(workspace, first.run_id)
    ended = queue.run_queue(workspace)
    assert [(entry.entry_id, entry.cause) for entry in ended] == [(1, "done"), (2, "done")]
    assert ended[0].run_id == first.run_id
    after = _items(workspace, first.run_id)
    assert {key: after[key] for key in before} == before


def test_a_stop_that_was_asked_for_ends_the_queue_and_one_for_a_run_only_that_run(workspace: Path) -> None:
    queue.add(workspace, [_order(limit=ITEMS), _order(limit=ITEMS), _order(limit=2)])
    with _runner(workspace) as process:
        _until(process, run=1, items=3)
        run_id = queue.listing(workspace).entries[0].run_id
        assert run_id is not None
        detached.ask(workspace, run_id, "stop")
        _until(process, run=1, items=1)
        with pytest.raises(UsageError, match="Entry 2 is running"):
            queue.remove(workspace, 2)
        assert queue.listing(workspace).runner is not None
        queue.stop(workspace)
        list(events(process))
        assert process.wait(timeout=60) == 1
    (first, second, third) = queue.listing(workspace).entries
    assert (first.cause, second.state, third.state) == ("stopped", "waiting", "waiting")
    assert second.done is not None
    assert 1 <= second.done < ITEMS
    assert queue.listing(workspace).runner is None


def test_a_queue_that_waits_for_a_device_stops_when_it_is_asked(workspace: Path) -> None:
    queue.add(workspace, [_order(), _order()])

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.note.startswith("waits"):
            queue.stop(workspace)

    with leases(state_dir() / "leases", ["cpu"], "run 20260101-x"):
        (entry,) = queue.run_queue(workspace, emit=emit)
    assert (entry.state, entry.done) == ("waiting", 0)
    assert [state for state, _, _ in _states(workspace)] == ["waiting", "waiting"]


def test_a_stop_just_before_a_run_is_resumed_is_not_lost(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = create(workspace, _order(limit=ITEMS))
    with Workspace(workspace) as ws:
        # As an interrupted sitting leaves them: the run's own runner is gone, and wishes for it are not for the next.
        stored_runs.end(ws, run_id, "stopped", "")
    queue.add(workspace, [_order(limit=ITEMS), _order()])
    with Workspace(workspace) as ws:
        stored_queue.set_run(ws, 1, run_id)

    def at_the_last_moment(folder: Path, run_id: str, **rest: Any) -> Any:
        queue.stop(workspace)
        return execute(folder, run_id, **rest)

    monkeypatch.setattr(queue, "execute", at_the_last_moment)
    (entry,) = queue.run_queue(workspace)
    assert entry.state == "waiting"
    assert entry.done is not None
    assert entry.done < ITEMS


def test_a_front_end_that_goes_away_ends_no_entry(workspace: Path) -> None:
    def gone(event: Event) -> None:
        raise BrokenPipeError

    queue.add(workspace, [_order("no-such-subset"), _order()])
    assert [entry.cause for entry in queue.run_queue(workspace, emit=gone)] == ["failed", "done"]


def test_whatever_holds_the_workspace_at_night_is_waited_for(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []

    class Noting(Workspace):
        def __init__(self, folder: Path, *, busy_seconds: float = 15.0) -> None:
            patience.append(busy_seconds)
            super().__init__(folder, busy_seconds=busy_seconds)

    queue.add(workspace, [_order("no-such-subset"), _order(limit=1)])
    for module in (queue, run):
        monkeypatch.setattr(module, "Workspace", Noting)
    queue.run_queue(workspace)
    assert len(patience) == 4
    assert min(patience) >= 600


def test_only_one_process_runs_the_queue(workspace: Path) -> None:
    queue.add(workspace, [_order(limit=ITEMS)])
    with _runner(workspace) as process:
        _until(process, run=1, items=1)
        for second in (queue.run_queue, queue.start_detached):
            with pytest.raises(UsageError, match=rf"a queue runner \(process {process.pid}"):
                second(workspace)


def test_a_detached_queue_does_its_entries_in_a_process_of_its_own(workspace: Path) -> None:
    queue.add(workspace, [_order(), _order("demo-math-full", limit=2)])
    psutil.Process(queue.start_detached(workspace)).wait(timeout=120)
    assert _states(workspace) == [("ended", "done", 3), ("ended", "done", 2)]
    assert queue.queue_log(workspace).is_file()


def test_a_run_that_was_done_when_the_runner_was_killed_is_not_run_again(workspace: Path) -> None:
    queue.add(workspace, [_order()])
    (entry,) = queue.run_queue(workspace)
    with Workspace(workspace) as ws, ws.writing() as db:
        # Killed between the run's end and the entry's.
        db.execute("UPDATE queue SET state = 'running', cause = NULL, ended_at = NULL")
    events: list[Event] = []
    assert queue.run_queue(workspace, emit=events.append) == [entry]
    assert not any(isinstance(event, ItemDone) for event in events)


def test_a_defect_in_one_run_does_not_cost_the_next(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def once(folder: Path, run_id: str, **rest: Any) -> Any:
        calls.append(run_id)
        if len(calls) == 1:
            raise KeyError("x")
        return execute(folder, run_id, **rest)

    monkeypatch.setattr(queue, "execute", once)
    queue.add(workspace, [_order(), _order()])
    first, second = queue.run_queue(workspace)
    assert (first.cause, second.cause) == ("failed", "done")
    assert first.detail.startswith("A defect of mince-gui: KeyError")


def test_a_workspace_that_fails_ends_the_queue_and_no_entry_is_blamed(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **rest: Any) -> Any:
        raise WorkspaceError("full", "The workspace cannot be written.", "Free some space.")

    queue.add(workspace, [_order(), _order()])
    with monkeypatch.context() as patched:
        patched.setattr(queue, "execute", full)
        with pytest.raises(WorkspaceError):
            queue.run_queue(workspace)
    assert [state for state, _, _ in _states(workspace)] == ["interrupted", "waiting"]
    assert [entry.cause for entry in queue.run_queue(workspace)] == ["done", "done"]


def test_a_cancelled_queue_keeps_its_entry_with_its_run(workspace: Path) -> None:
    cancel = CancelToken()

    class Stopping(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            if isinstance(event, ItemDone):
                cancel.cancel()

    queue.add(workspace, [_order(limit=ITEMS), _order()])
    (entry,) = queue.run_queue(workspace, emit=Stopping().append, cancel=cancel)
    assert (entry.state, entry.cause) == ("waiting", None)
    assert entry.run_id is not None


def test_an_order_is_kept_whole_and_with_paths_that_hold_from_anywhere(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("model", "mine.json", "demo-choice-full", "python", "template.jinja"):
        (tmp_path / name).touch()
    order = RunOrder(
        Path("model"), "mine.json", "gsm8k_cot", "python", "fast", 3, "template.jinja", 7, 9, True, "Be brief.", 2.5, 8
    )
    # The name of a pack stays a name, even where a file is called so too.
    queue.add(workspace, [order, _order("demo-choice-full")])
    with Workspace(workspace) as ws:
        kept, named = (RunOrder.from_json(entry.order) for entry in stored_queue.entries(ws))
    assert kept == RunOrder(
        tmp_path / "model", str(tmp_path / "mine.json"), "gsm8k_cot", str(tmp_path / "python"), "fast", 3,
        str(tmp_path / "template.jinja"), 7, 9, True, "Be brief.", 2.5, 8,
    )  # fmt: skip
    assert named == _order("demo-choice-full")


def test_a_name_that_is_known_stays_a_name_whatever_lies_in_the_folder(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("full", "bundled", "none", "auto"):
        (tmp_path / name).mkdir()
    orders = [
        RunOrder(tmp_path, "full", runtime="bundled", chat_template="none"),
        RunOrder(tmp_path, "a" * 300, runtime="b" * 300),
    ]
    queue.add(workspace, orders)
    with Workspace(workspace) as ws:
        assert [RunOrder.from_json(entry.order) for entry in stored_queue.entries(ws)] == orders


def test_a_name_that_no_file_can_have_fails_its_entry_and_is_no_defect(workspace: Path) -> None:
    queue.add(workspace, [_order("a" * 300)])
    (entry,) = queue.run_queue(workspace)
    assert entry.cause == "failed"
    assert "defect" not in entry.detail


def test_an_order_of_another_version_ends_its_entry_only(workspace: Path) -> None:
    with Workspace(workspace) as ws:
        stored_queue.add(ws, [{**_order().to_json(), "of_the_future": 1}, _order().to_json()])
    first, second = queue.run_queue(workspace)
    assert (first.cause, second.cause) == ("failed", "done")
    assert "another version" in first.detail


def test_entries_are_removed_and_their_runs_stay(workspace: Path) -> None:
    queue.add(workspace, [_order(limit=1), _order(), _order(), _order()])
    with Workspace(workspace) as ws:
        stored_queue.end(ws, 1, "done", "")
        stored_queue.set_run(ws, 1, create(workspace, _order(limit=1)))
    queue.remove(workspace, 3)
    with pytest.raises(UsageError, match="no entry 3"):
        queue.remove(workspace, 3)
    assert queue.clear(workspace, ended=True) == 1
    assert [entry.entry_id for entry in queue.listing(workspace).entries] == [2, 4]
    assert queue.clear(workspace) == 2
    assert queue.listing(workspace).entries == ()
    assert len(list_runs(workspace)) == 1
    with pytest.raises(UsageError, match="No queue runner"):
        queue.stop(workspace)
