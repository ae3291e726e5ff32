"""One run at a time has a device; what a run is held to, and told, before and beside its items."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app import detached
from mince_gui.app.demo import model_dir
from mince_gui.app.listings import show_run
from mince_gui.app.prompting import prompting_of
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.run_sink import WorkspaceSink
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Event, ItemDone, Progress, Warned, ignore
from mince_gui.base.paths import state_dir
from mince_gui.run import Place, RunConditions
from mince_gui.run.guards.lease import DeviceBusyError, leases
from mince_gui.store import Workspace, runs


def _order(**more: object) -> RunOrder:
    return RunOrder(model_dir(), "demo-choice-full", limit=2, **more)  # type: ignore[arg-type]  # fields by name


def test_a_run_on_a_device_that_another_one_has_is_refused_and_ends_with_who_has_it(prepared: Path) -> None:
    run_id = create(prepared, _order())
    with leases(state_dir() / "leases", ["cpu"], "run 20260101-x"), pytest.raises(DeviceBusyError, match="20260101-x"):
        execute(prepared, run_id)
    run, items = show_run(prepared, run_id)
    assert (run.state, run.cause, items) == ("ended", "failed", [])
    assert "20260101-x" in run.detail
    assert execute(prepared, run_id).cause == "done"


def test_a_run_that_may_wait_starts_when_the_device_is_free(prepared: Path) -> None:
    run_id = create(prepared, _order())
    events: list[Event] = []
    waits, over = threading.Event(), threading.Event()

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, Progress) and event.note.startswith("waits"):
            waits.set()

    def hold() -> None:
        with leases(state_dir() / "leases", ["cpu"], "run 20260101-x"):
            over.set()
            waits.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert over.wait(60)
    assert execute(prepared, run_id, emit=emit, wait=True).cause == "done"
    holder.join()
    assert waits.is_set()


def test_waiting_for_a_device_can_be_cancelled(prepared: Path) -> None:
    run_id = create(prepared, _order())
    cancel = CancelToken()

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.note.startswith("waits"):
            cancel.cancel()

    with leases(state_dir() / "leases", ["cpu"], "run 20260101-x"):
        summary = execute(prepared, run_id, emit=emit, cancel=cancel, wait=True)
    assert (summary.cause, summary.done) == ("stopped", 0)


def test_a_run_that_waits_for_a_device_is_stopped_by_a_wish_from_elsewhere(prepared: Path) -> None:
    run_id = create(prepared, _order())

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.note.startswith("waits"):
            detached.ask(prepared, run_id, "stop")

    with leases(state_dir() / "leases", ["cpu"], "run 20260101-x"):
        summary = execute(prepared, run_id, emit=emit, wait=True)
    assert (summary.cause, summary.done) == ("stopped", 0)
    # The wish was for that sitting.
    assert execute(prepared, run_id).cause == "done"


def test_the_same_model_answers_the_smoke_test_alike_and_nothing_is_said(prepared: Path) -> None:
    events: list[Event] = []
    for _ in range(2):
        execute(prepared, create(prepared, _order()), emit=events.append)
    assert not [event for event in events if isinstance(event, Warned)]


def test_another_answer_to_the_smoke_test_is_told_with_what_differs(prepared: Path) -> None:
    first = create(prepared, _order())
    execute(prepared, first)
    with Workspace(prepared) as ws:
        before = dict(runs.get(ws, first).conditions or {})
        runs.set_conditions(
            ws, first, {**before, "device": "NPU (RyzenAI)", "smoke": {**before["smoke"], "ids": [1, 2, 3]}}
        )
    events: list[Event] = []
    execute(prepared, create(prepared, _order()), emit=events.append)
    (warned,) = [event for event in events if isinstance(event, Warned)]
    assert first in warned.message
    assert "device: NPU (RyzenAI) there, CPU here" in warned.detail


def test_limits_and_modes_that_mean_nothing_for_a_task_are_refused(prepared: Path) -> None:
    with pytest.raises(UsageError, match="--max-item-seconds has no meaning"):
        create(prepared, _order(max_item_seconds=5.0))
    with pytest.raises(UsageError, match="fast mode is for choices"):
        create(prepared, RunOrder(model_dir(), "demo-math-full", timing="fast"))


def test_an_order_comes_back_from_json_as_it_went(tmp_path: Path) -> None:
    order = RunOrder(
        tmp_path / "m", "s", timing="fast", threads=2, max_item_seconds=1.5, worker_bytes=10, limit=3, precision="int4"
    )
    assert RunOrder.from_json(order.to_json()) == order


def test_fast_mode_asks_the_same_items_group_by_group_and_a_resumed_run_in_the_same_order(prepared: Path) -> None:
    orders = {
        timing: create(prepared, RunOrder(model_dir(), "demo-choice-full", timing=timing, limit=40))
        for timing in ("standard", "fast")
    }
    with Workspace(prepared) as ws:
        asked = {timing: prompting_of(runs.get(ws, run_id)).items(40) for timing, run_id in orders.items()}
    assert Counter(item.key for item in asked["fast"]) == Counter(item.key for item in asked["standard"])
    prefixes = [item.request.prefix for item in asked["fast"]]
    changes = sum(a != b for a, b in pairwise(prefixes))
    assert changes == len(set(prefixes)) - 1
    assert [item.position for item in asked["fast"]] == list(range(40))
    cancel, told = CancelToken(), list[Event]()

    def stop_after_three(event: Event) -> None:
        told.append(event)
        if isinstance(event, ItemDone) and event.done == 3:
            cancel.cancel()

    execute(prepared, orders["fast"], emit=stop_after_three, cancel=cancel)
    execute(prepared, orders["fast"], emit=told.append)
    keys = [event.item_key for event in told if isinstance(event, ItemDone)]
    assert keys == [item.key for item in asked["fast"]]


def test_a_device_that_shows_itself_again_only_while_it_computes_is_no_change(prepared: Path) -> None:
    """Some stacks report the CPU until the NPU shows the process: what the watch says then is put in by hand here."""
    run_id = create(prepared, _order())
    execute(prepared, run_id)
    with Workspace(prepared) as ws:
        conditions = dict(runs.get(ws, run_id).conditions or {})
        loaded = _conditions(conditions, Place("CPU", False, "not proven"))
        sink = WorkspaceSink(ws, run_id, {**conditions, "device": "NPU (RyzenAI)"}, ignore, {})
        sink.conditions(loaded)
        assert (runs.get(ws, run_id).conditions or {})["changed"] == ["device"]
        sink.place(Place("NPU (RyzenAI)", True, "proven"))
        assert (runs.get(ws, run_id).conditions or {})["changed"] == []


def _conditions(stored: Mapping[str, Any], place: Place) -> RunConditions:
    names = {field.name for field in dataclasses.fields(RunConditions)}
    return RunConditions(place=place, **{name: value for name, value in stored.items() if name in names})
