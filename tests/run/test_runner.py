"""The run loop with the real worker: order, commits, crashes, hangs, the user's wishes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mince_gui.base.errors import InputError, MinceError
from mince_gui.base.events import Event, ItemDone, Progress
from mince_gui.run import (
    Deadlines,
    Earlier,
    ItemResult,
    RunItem,
    Runtime,
    bundled_runtime,
    runner,
)
from mince_gui.run.guards.clock import JumpClock
from mince_gui.run.types import Control
from mince_gui.tasks.types import Answer, Request, Scored
from tests.run.sittings import Hours, ListSink, Sitting, plain_score, text_items, worker_process
from tests.run.stacks import LAST_ROW_ONLY, no_second_append

posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture
def sitting(model_dir: Path) -> Sitting:
    return Sitting(model_dir)


def _worker() -> psutil.Process:
    return worker_process(psutil.Process())


def _script(steps: Iterator[Control]) -> Callable[[], Control]:
    """The sink's control: one step each time it is asked, "run" after the last."""
    return lambda: next(steps, "run")


def test_items_are_committed_in_order_each_before_its_event(sitting: Sitting) -> None:
    committed: list[tuple[str, int]] = []

    def emit(event: Event) -> None:
        sitting.events.append(event)
        if isinstance(event, ItemDone):
            committed.append((event.item_key, len(sitting.sink.results)))

    end = sitting.run(text_items(3), emit=emit)
    assert (end.cause, end.done, end.missing, end.restarts) == ("done", 3, 0, 0)
    assert committed == [("k0", 1), ("k1", 2), ("k2", 3)]
    timings = [result.timing for result in sitting.sink.results if result.timing]
    assert all(elapsed >= timing.wall_seconds for elapsed, timing in zip(sitting.sink.elapsed, timings, strict=True))
    (conditions,) = sitting.sink.stored
    assert (conditions.place.device, conditions.model_sha256, conditions.max_new_tokens) == ("CPU", "sha", 8)
    assert conditions.oga_version
    assert conditions.cpu
    assert conditions.search_options["do_sample"] is False
    assert "max_length" not in conditions.search_options
    assert conditions.load_seconds
    assert conditions.precision == "int4"
    last = sitting.events[-1]
    assert isinstance(last, ItemDone)
    assert (last.done, last.total, last.seconds_left) == (3, 3, 0.0)
    assert last.running == {"acc": pytest.approx(100 / 3)}
    assert last.first_token_seconds is not None
    first = sitting.sink.results[0]
    assert first.text is not None
    assert first.timing is not None
    assert first.capped == (first.timing.output_tokens == 4)


def test_what_is_wrong_at_the_beginning_of_prompts_is_told_once_and_kept(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime], tmp_path: Path
) -> None:
    """A copy of the folder that names a BOS, and a runtime that writes it twice before every prompt."""
    folder = shutil.copytree(sitting.model_dir, tmp_path / "model")
    config = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    config["model"]["bos_token_id"] = 0
    (folder / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
    sitting.model_dir = folder
    sitting.runtime = patched_runtime("""
inner = w['Engine']._encode
w['Engine']._encode = lambda self, text: w['np'].array([0, 0, *inner(self, text)], dtype='int32')
""")
    assert sitting.run(text_items(2, budget=1)).cause == "done"
    (conditions,) = sitting.sink.stored
    assert conditions.bos_check == "doubled: prompts begin with 2 BOS tokens (id 0)"
    assert conditions.token_check.startswith("differ from token 0 on")
    assert [warned.message.split()[0] for warned in sitting.warnings] == ["BOS", "Token"]
    assert all(warned.detail for warned in sitting.warnings)
    assert [result.leading_bos for result in sitting.sink.results] == [2, 2]


def test_how_an_item_was_answered_is_part_of_its_result(sitting: Sitting) -> None:
    requests = [
        Request("choice", "2 + 2 =", (" 3", " 4")),
        Request("choice", "2 + 2 =", (" 4", " 4"), contexts=("2 + 2 =", "1 + 2 =")),
        Request("generate", "1 2 3", (), (), 1),
    ]
    sitting.run([RunItem(n, f"k{n}", None, {}, request) for n, request in enumerate(requests)])
    shared, own, text = sitting.sink.results
    assert (shared.finish, own.finish, text.finish, text.method) == ("", "", "budget", "")
    assert {shared.method, own.method} <= {"last_logits", "all_rows"}
    assert [len(result.greedy) for result in (shared, own, text)] == [2, 2, 0]
    assert own.prompt_sha256 == requests[1].sha256 != shared.prompt_sha256
    assert own.logprobs[0] != own.logprobs[1]
    assert text.capped


def test_a_resumed_run_goes_on_from_earlier_counts_and_sums(sitting: Sitting) -> None:
    earlier = Earlier(done=5, missing=1, capped=0, sums={"acc": (4.0, 5.0)})
    end = sitting.run(text_items(8)[6:], total=8, earlier=earlier)
    assert (end.done, end.missing, end.cause) == (7, 1, "incomplete")
    running = [event.running["acc"] for event in sitting.events if isinstance(event, ItemDone)]
    assert running == [pytest.approx(100 * 4 / 6), pytest.approx(100 * 5 / 7)]


def test_nothing_left_to_do_starts_no_worker(sitting: Sitting) -> None:
    end = sitting.run([], total=2, earlier=Earlier(done=2))
    assert (end.cause, end.done) == ("done", 2)
    assert sitting.events == []


# -- workers that are lost -----------------------------------------------------------------------------


def _kill_in_mid_item(sitting: Sitting, hours: Hours) -> Callable[[], Control]:
    """A control that stops the worker (SIGSTOP) before the second item, and kills it when it is asked again.

    The second question comes a second into the item: its request is in the worker's pipe by then. Each takes an hour.
    """
    steps = iter([signal.SIGSTOP, signal.SIGKILL])

    def control() -> Control:
        if len(sitting.sink.results) == 1:
            number = next(steps, None)
            if number is not None:
                os.kill(_worker().pid, number)
                hours.add()
        return "run"

    return control


@posix
def test_a_worker_killed_in_mid_item_is_replaced_and_no_item_is_lost_or_repeated(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitting.sink.on_control = _kill_in_mid_item(sitting, Hours(monkeypatch))
    end = sitting.run(text_items(3))
    assert (end.cause, end.done, end.missing, end.restarts) == ("done", 3, 0, 1)
    assert sitting.sink.positions == [0, 1, 2]
    assert [r.attempts for r in sitting.sink.results] == [1, 2, 1]
    # What the lost attempt took is no part of it.
    assert max(sitting.sink.elapsed) < 3600
    (warned,) = sitting.warnings
    assert "SIGKILL" in warned.message
    assert "k1" in warned.message
    assert "tried again" in warned.message
    assert len(sitting.sink.stored) == 1


@posix
@pytest.mark.shared
def test_a_second_kill_on_the_same_item_makes_it_missing_with_the_cause_and_the_run_goes_on(
    shared_model: Path,
) -> None:
    """Killed while it really decodes: the second item is long enough to be seen at it."""
    sitting = Sitting(shared_model)
    items = text_items(3)
    items[1] = RunItem(1, "long", None, {}, Request("generate", "Once upon a time", (), (), 2000))

    def emit(event: Event) -> None:
        sitting.events.append(event)
        if isinstance(event, Progress) and "item long" in event.note and "written" in event.note:
            os.kill(_worker().pid, signal.SIGKILL)

    end = sitting.run(items, emit=emit)
    assert (end.cause, end.done, end.missing, end.restarts) == ("incomplete", 2, 1, 2)
    assert sitting.sink.positions == [0, 1, 2]
    lost = sitting.sink.results[1]
    assert (lost.state, lost.attempts, lost.scored, lost.timing) == ("missing", 2, None, None)
    assert "crashed twice" in lost.cause
    assert "SIGKILL" in lost.cause
    assert len(sitting.warnings) == 2


@posix
def test_a_worker_that_hangs_is_killed_and_the_item_tried_again(sitting: Sitting) -> None:
    sitting.deadlines = Deadlines(idle=1.5, terminate=0.2)
    stopped: list[int] = []

    def control() -> Control:
        if len(sitting.sink.results) == 1 and not stopped:
            stopped.append(_worker().pid)
            os.kill(stopped[0], signal.SIGSTOP)
        return "run"

    sitting.sink.on_control = control
    end = sitting.run(text_items(3))
    assert (end.cause, end.done, end.restarts) == ("done", 3, 1)
    assert [r.attempts for r in sitting.sink.results] == [1, 2, 1]
    assert "no sign of life" in sitting.warnings[0].message
    assert not psutil.pid_exists(stopped[0])


def test_a_worker_that_crashes_at_every_item_ends_the_run_after_five(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("""
def generate(self, prompt, *rest, **more):
    return inner(self, prompt, *rest, **more) if not prompt.startswith('1 2 3') else os.abort()
inner = w['Engine'].generate
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(9))
    assert (end.cause, end.done, end.missing) == ("crashed", 0, 5)
    assert "5 items in succession" in end.detail
    assert sitting.sink.positions == [0, 1, 2, 3, 4]


def test_errors_of_oga_make_items_missing_and_five_in_succession_end_the_run(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    source = """
def generate(self, prompt, *rest, **more):
    if not prompt.startswith('1 2 3') or prompt.endswith('1'): return inner(self, prompt, *rest, **more)
    raise RuntimeError('invalid unordered_map<K, T> key')
inner = w['Engine'].generate
w['Engine'].generate = generate
"""
    sitting.runtime = patched_runtime(source)
    end = sitting.run(text_items(9))
    assert (end.cause, end.done, end.missing, end.restarts) == ("failed", 1, 6, 0)
    assert sitting.sink.results[0].cause == "oga: RuntimeError: invalid unordered_map<K, T> key"
    assert sitting.sink.results[1].state == "done"


# -- runs that do not start ----------------------------------------------------------------------------


def test_a_runtime_without_oga_is_not_started_and_says_what_to_do(sitting: Sitting) -> None:
    path = bundled_runtime().command[-1]
    sitting.runtime = Runtime("bare", (sys.executable, "-S", "-I", path), "bundled")
    end = sitting.run(text_items(2))
    assert (end.cause, end.done, sitting.sink.results, sitting.sink.stored) == ("not_started", 0, [], [])
    assert "onnxruntime_genai" in end.detail
    assert "environment that has it" in end.detail


def test_a_worker_that_dies_at_the_first_prompt_ends_the_run_with_how_and_where(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("w['Engine'].encode = lambda self, text: os._exit(3)")
    end = sitting.run(text_items(2))
    assert (end.cause, end.done, sitting.sink.stored) == ("crashed", 0, [])
    assert "first prompt" in end.detail
    assert "exit code 3" in end.detail


def test_a_program_that_is_no_worker_is_not_started(sitting: Sitting, script_runtime: Callable[[str], Runtime]) -> None:
    sitting.runtime = script_runtime("import sys; sys.exit('wrong program')")
    end = sitting.run(text_items(2))
    assert end.cause == "not_started"
    assert "wrong program" in end.detail


def test_a_model_that_oga_cannot_load_fails_with_its_words(sitting: Sitting, tmp_path: Path) -> None:
    broken = tmp_path / "model"
    broken.mkdir()
    (broken / "genai_config.json").write_text(
        '{"model": {"type": "llama", "context_length": 64, "eos_token_id": 0}, "search": {}}', encoding="utf-8"
    )
    sitting.model_dir = broken
    end = sitting.run(text_items(2))
    assert end.cause == "failed"
    assert "could not be loaded" in end.detail
    assert "runtime" in end.detail


def test_a_missing_model_folder_is_refused_before_anything_starts(sitting: Sitting, tmp_path: Path) -> None:
    sitting.model_dir = tmp_path / "none"
    with pytest.raises(InputError):
        sitting.run(text_items(1))
    assert sitting.events == []


# -- items that cannot be run or scored ----------------------------------------------------------------


def test_what_does_not_fit_or_cannot_be_scored_is_missing_with_its_cause(sitting: Sitting) -> None:
    def score(item: RunItem, answer: Answer) -> Scored:
        if item.position == 2:
            raise MinceError("instruction type 'x' is not supported")
        return plain_score(item, answer)

    items = text_items(4)
    items[1] = RunItem(1, "long", None, {}, Request("generate", "one two three " * 9000, (), (), 5))
    end = sitting.run(items, score=score)
    assert (end.cause, end.done, end.missing) == ("incomplete", 2, 2)
    assert sitting.sink.results[1].cause.startswith("does_not_fit: ")
    unscored = sitting.sink.results[2]
    assert unscored.cause == "not scored: instruction type 'x' is not supported"
    assert (unscored.state, unscored.scored) == ("missing", None)
    # The answer is kept: a later version may score it.
    assert unscored.text is not None
    last = sitting.events[-1]
    assert isinstance(last, ItemDone)
    assert (last.done, last.missing, last.running) == (2, 2, {"acc": 50.0})


class FullDiskError(MinceError):
    """No room for another row."""


class FullSink(ListSink):
    """A sink that cannot commit."""

    def item(self, result: ItemResult, elapsed_seconds: float) -> None:
        raise FullDiskError(f"disk full at {result.key}")


def test_a_sink_that_cannot_commit_ends_the_run_with_its_error(sitting: Sitting) -> None:
    sitting.sink = FullSink()
    with pytest.raises(FullDiskError):
        sitting.run(text_items(2))
    assert not [event for event in sitting.events if isinstance(event, ItemDone)]


# -- the user's wishes ---------------------------------------------------------------------------------


def test_stop_ends_at_the_item_boundary(sitting: Sitting) -> None:
    sitting.sink.on_control = lambda: "stop" if len(sitting.sink.results) == 2 else "run"
    end = sitting.run(text_items(5))
    assert (end.cause, end.done) == ("stopped", 2)
    assert sitting.sink.taken == ["stop"]


def test_cancel_ends_without_committing_the_item_in_flight(sitting: Sitting) -> None:
    def control() -> Control:
        if len(sitting.sink.results) == 1:
            sitting.cancel.cancel()
        return "run"

    sitting.sink.on_control = control
    end = sitting.run(text_items(5))
    assert end.cause == "stopped"
    assert sitting.sink.positions in ([0], [0, 1])


def test_pause_stays_until_told_to_go_on_and_does_not_count_as_time(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = Hours(monkeypatch)
    steps: Iterator[Control] = iter(["run", "pause", "pause", "run"])

    def control() -> Control:
        wish: Control = next(steps, "run")
        if wish == "pause":
            hours.add()
        return wish

    sitting.sink.on_control = control
    end = sitting.run(text_items(3))
    assert (end.cause, end.done) == ("done", 3)
    assert sitting.sink.taken == ["pause", "run"]
    notes = [event.note for event in sitting.events if isinstance(event, Progress)]
    assert notes.index("paused") < notes.index("goes on")
    assert max(sitting.sink.elapsed) < 3600


def test_a_paused_run_can_be_cancelled(sitting: Sitting) -> None:
    def control() -> Control:
        return "pause"

    def emit(event: Event) -> None:
        if isinstance(event, Progress) and event.note == "paused":
            sitting.cancel.cancel()

    sitting.sink.on_control = control
    assert sitting.run(text_items(2), emit=emit).cause == "stopped"


def test_skip_leaves_the_next_item_out_and_says_who_wanted_it(sitting: Sitting) -> None:
    sitting.sink.on_control = _script(iter(["run", "skip"]))
    end = sitting.run(text_items(3))
    assert (end.cause, end.done, end.missing) == ("incomplete", 2, 1)
    assert sitting.sink.results[1].cause == "skipped by the user"
    assert sitting.sink.taken == ["skip"]


class _Slept:
    """Stands for the clock of a machine that sleeps in every item."""

    def jumped(self) -> float:
        return 3600.0


@pytest.mark.shared
@pytest.mark.parametrize("clock", [JumpClock, _Slept], ids=["awake", "asleep meanwhile"])
def test_skip_within_a_long_item_leaves_that_one_out(
    shared_model: Path, monkeypatch: pytest.MonkeyPatch, clock: type[Any]
) -> None:
    monkeypatch.setattr(runner, "JumpClock", clock)
    sitting = Sitting(shared_model)
    items = text_items(2)
    items[0] = RunItem(0, "long", None, {}, Request("generate", "Once upon a time", (), (), 2000))
    sitting.sink.on_control = _script(iter(["run", "skip"]))
    end = sitting.run(items)
    assert [(r.key, r.cause) for r in sitting.sink.results] == [("long", "skipped by the user"), ("k1", "")]
    assert (end.done, sitting.sink.taken) == (1, ["skip"])


def test_a_stack_that_dies_at_the_second_append_is_not_asked_again(
    patched_runtime: Callable[[str], Runtime], sitting: Sitting
) -> None:
    """The last rows alone, and a process that aborts where it should refuse: choices are then weighed afresh."""
    sitting.runtime = patched_runtime(LAST_ROW_ONLY + no_second_append("os.abort()"))
    request = Request("choice", "Which is more?", choices=(" two and two", " nine"))
    end = sitting.run([RunItem(n, f"k{n}", None, {}, request) for n in range(2)])
    assert (end.cause, end.done, end.missing, end.restarts) == ("done", 2, 0, 1)
    assert [result.method for result in sitting.sink.results] == ["fresh", "fresh"]
    assert [result.attempts for result in sitting.sink.results] == [2, 1]
