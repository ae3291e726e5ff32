"""What the run loop watches besides the answers: memory, sleep, broken output, time limits, fast mode, the place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mince_gui.base.events import ItemDone, Progress
from mince_gui.run import Place, RunItem, Runtime, runner
from mince_gui.tasks.types import Request
from tests.run.sittings import Hours, Sitting, text_items, worker_process

_EXAMPLES = "".join(
    f"Question: what is {n} plus {n}?\nred. {n}\ngreen. {2 * n}\nAnswer: green\n\n" for n in range(3, 9)
)


@pytest.fixture
def sitting(model_dir: Path) -> Sitting:
    return Sitting(model_dir)


def _choices(count: int, group: str = "") -> list[RunItem]:
    prefix = group + _EXAMPLES
    return [
        RunItem(
            n, f"c{n}", group or None, {},
            Request("choice", f"{prefix}Question: what is {n} plus one?\nred. {n}\ngreen. {n + 1}\nAnswer:",
                    (" red", " green"), prefix=prefix),
        )
        for n in range(count)
    ]  # fmt: skip


def _groups() -> list[RunItem]:
    items = [*_choices(3, "birds. "), *_choices(3, "fish. ")]
    return [RunItem(n, f"{item.category}{item.key}", item.category, {}, item.request) for n, item in enumerate(items)]


def test_every_item_tells_the_memory_of_its_worker(sitting: Sitting) -> None:
    sitting.run(text_items(2))
    told = [event.memory_bytes for event in sitting.events if isinstance(event, ItemDone)]
    assert told == [result.memory_bytes for result in sitting.sink.results]
    assert all(size and size > 10_000_000 for size in told)


@pytest.mark.parametrize(("items", "restarts"), [(12, 1), (10, 0)], ids=["items are left", "it was the last item"])
def test_a_worker_that_grows_past_its_limit_is_replaced_between_items_and_told(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime], items: int, restarts: int
) -> None:
    """Models that grow with every call (genai#590): a worker that keeps what it should not stands for them."""
    sitting.runtime = patched_runtime("""
kept = []
inner = w['Engine'].generate
def generate(self, prompt, *args, **more):
    if prompt == '1 2 3 9':
        kept.append(b'x' * 400_000_000)
    return inner(self, prompt, *args, **more)
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(items), settings={"worker_bytes": 400_000_000})
    assert (end.cause, end.done, end.missing, end.restarts) == ("done", items, 0, restarts)
    (warned,) = sitting.warnings
    assert "The worker is replaced" in warned.message
    assert "grew to" in warned.message
    assert {result.attempts for result in sitting.sink.results} == {1}
    sizes = [result.memory_bytes or 0 for result in sitting.sink.results]
    assert sizes[9] > 400_000_000 > max([0, *sizes[10:]])


class _Jumps:
    """Stands for the clock of a machine that sleeps, which no test can make: says what it is told to.

    The clock that items are timed by goes on in sleep, as it does on Windows.
    """

    def __init__(self, jumps: Iterator[float], hours: Hours | None = None) -> None:
        self._jumps = jumps
        self._hours = hours

    def jumped(self) -> float:
        jump = next(self._jumps, 0.0)
        if jump and self._hours is not None:
            self._hours.add()
        return jump


def test_an_item_in_which_the_machine_slept_is_done_again_and_committed_once(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before each item and after each try: the second item's first try is slept through, and the time before the third.
    jumps = _Jumps(iter([0.0, 0.0, 0.0, 3600.0, 0.0, 3600.0, 0.0]), Hours(monkeypatch))
    monkeypatch.setattr(runner, "JumpClock", lambda: jumps)
    end = sitting.run(text_items(3))
    assert (end.cause, end.done) == ("done", 3)
    assert sitting.sink.positions == [0, 1, 2]
    (warned,) = sitting.warnings
    assert "3600 s at item k1; it is done again" in warned.message
    assert max(sitting.sink.elapsed) < 3600


def test_a_clock_that_jumps_all_the_time_does_not_keep_a_run_from_ending(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "JumpClock", lambda: _Jumps(iter([9.0] * 1000)))
    end = sitting.run(text_items(2))
    assert (end.cause, end.done) == ("done", 2)
    assert len(sitting.warnings) == 4


def test_a_run_whose_answers_are_all_one_token_over_and_over_is_told_after_five_and_ended_after_twenty(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    """What NaN logits and broken kernels made of answers (RyzenAI-SW#368): a worker that says so stands for them."""
    sitting.runtime = patched_runtime("""
inner = w['Engine'].generate
def generate(self, prompt, *args, **more):
    result = inner(self, prompt, *args, **more)
    return {**result, 'ids': [5] * 70, 'text': '!' * 70} if prompt.startswith('1 2 3') else result
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(30, budget=20))
    assert (end.cause, end.done) == ("failed", 20)
    assert "one token over and over" in end.detail
    (warned,) = sitting.warnings
    assert "5 answers in succession" in warned.message
    assert {result.repeats for result in sitting.sink.results} == {1}


def test_an_answer_past_its_time_is_kept_as_far_as_it_went_and_counts_as_capped(sitting: Sitting) -> None:
    end = sitting.run(text_items(1, budget=400), settings={"max_item_seconds": 0.0})
    (result,) = sitting.sink.results
    assert (result.finish, result.capped, result.state) == ("time", True, "done")
    assert result.timing is not None
    assert result.timing.output_tokens < 400
    assert (end.done, end.capped) == (1, 1)


def test_a_prompt_that_only_the_devices_own_stack_finds_too_long_does_not_fit_and_ends_no_run(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    """Ryzen AI's limit of prompts (lemonade#34) is in no graph here: a worker that raises its message stands for it."""
    sitting.runtime = patched_runtime("""
inner = w['Engine'].generate
def generate(self, prompt, *args, **more):
    if prompt.startswith('1 2 3'):
        raise RuntimeError("Prompt tokens (2001) cannot be greater than the model's max prompt length (2000)")
    return inner(self, prompt, *args, **more)
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(7))
    assert (end.cause, end.missing) == ("incomplete", 7)
    assert all(result.cause.startswith("does_not_fit: ") for result in sitting.sink.results)


def test_the_smoke_test_and_the_machine_are_part_of_the_conditions(sitting: Sitting) -> None:
    sitting.run(text_items(1))
    (conditions,) = sitting.sink.stored
    assert conditions.smoke["repeated"] is True
    assert conditions.smoke["ids"]
    assert conditions.machine_state["total_memory_bytes"] > 1e9
    assert conditions.sleep
    assert conditions.place.proven
    assert conditions.place.device == "CPU"


def test_a_model_whose_logits_are_no_numbers_fails_in_the_smoke_test_and_runs_no_item(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("""
def generate(self, *args, **more):
    raise w['RefusedError']('non_finite', "the model's logits are not finite numbers")
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(2))
    assert (end.cause, end.done, end.missing) == ("failed", 0, 0)
    assert "smoke test" in end.detail
    assert not sitting.sink.results


def test_a_worker_that_dies_before_the_first_item_is_replaced_once(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime], tmp_path: Path
) -> None:
    died = tmp_path / "died"
    sitting.runtime = patched_runtime(f"""
inner = w['Engine'].generate
def generate(self, *args, **more):
    if not os.path.exists({str(died)!r}):
        open({str(died)!r}, 'w').close()
        os.abort()
    return inner(self, *args, **more)
w['Engine'].generate = generate
""")
    end = sitting.run(text_items(2))
    assert (end.cause, end.done, end.restarts) == ("done", 2, 1)
    (warned,) = sitting.warnings
    assert "lost before the first item" in warned.message
    assert "smoke test" in warned.detail


def test_a_worker_that_always_dies_before_the_first_item_ends_the_run_with_why(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("w['Engine'].generate = lambda self, *args, **more: os.abort()")
    end = sitting.run(text_items(2))
    assert (end.cause, end.done, end.restarts) == ("crashed", 0, 1)
    assert "smoke test" in end.detail


def test_the_time_a_run_will_take_is_told_before_its_first_item(sitting: Sitting) -> None:
    sitting.run(text_items(2))
    first = next(at for at, event in enumerate(sitting.events) if isinstance(event, ItemDone))
    notes = [event.note for event in sitting.events[:first] if isinstance(event, Progress)]
    assert notes[-1].startswith("2 items: about")


# -- fast mode -----------------------------------------------------------------------------------------


def test_fast_mode_reads_the_examples_once_and_gives_the_same_numbers(model_dir: Path) -> None:
    standard, fast = Sitting(model_dir), Sitting(model_dir)
    standard.run(_choices(6))
    end = fast.run(_choices(6), settings={"timing": "fast"})
    assert (end.cause, end.done) == ("done", 6)
    assert fast.sink.stored[0].timing == "fast"
    assert fast.sink.stored[0].fast_probe.startswith("on: bit-identical logits")
    assert [r.logprobs for r in fast.sink.results] == [r.logprobs for r in standard.sink.results]
    assert {r.method for r in fast.sink.results} == {"kept_prefix"}
    timings = [r.timing for r in fast.sink.results if r.timing is not None]
    assert all(timing.read_tokens < timing.prompt_tokens / 3 for timing in timings)


def test_fast_mode_is_off_with_the_reason_where_nothing_is_shared(sitting: Sitting) -> None:
    items = [RunItem(n, f"c{n}", None, {}, Request("choice", f"{n} + 1 =", (" 2", " 3"))) for n in range(2)]
    end = sitting.run(items, settings={"timing": "fast"})
    assert end.cause == "done"
    assert sitting.sink.stored[0].timing == "standard"
    assert "no two neighbouring items" in sitting.sink.stored[0].fast_probe
    assert any("Fast mode is off" in warned.message for warned in sitting.warnings)


def test_fast_mode_is_off_where_its_logits_are_not_those_of_whole_prompts(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    """A stack whose rewinding loses its place (genai#2140): a worker that says so stands for it."""
    sitting.runtime = patched_runtime("""
inner = w['Engine'].share
def share(self, *args, **more):
    return {**inner(self, *args, **more), 'identical': False}
w['Engine'].share = share
""")
    end = sitting.run(_choices(4), settings={"timing": "fast"})
    assert (end.cause, end.done) == ("done", 4)
    assert sitting.sink.stored[0].timing == "standard"
    assert "bit for bit" in sitting.sink.stored[0].fast_probe
    assert {r.method for r in sitting.sink.results} <= {"last_logits", "row_before"}


def test_fast_mode_goes_on_with_a_new_worker_after_a_kill(sitting: Sitting) -> None:
    killed: list[int] = []

    def emit(event: object) -> None:
        sitting.events.append(event)  # type: ignore[arg-type]  # run_items emits Events only
        if isinstance(event, ItemDone) and event.done == 2 and not killed:
            process = worker_process(psutil.Process())
            killed.append(process.pid)
            process.kill()

    end = sitting.run(_choices(5), settings={"timing": "fast"}, emit=emit)
    assert (end.cause, end.done, end.restarts) == ("done", 5, 1)
    assert sitting.sink.positions == [0, 1, 2, 3, 4]
    # Nobody kills itself with SIGKILL: the new worker may rewind. On Windows a kill looks like a crash.
    assert os.name == "nt" or {result.method for result in sitting.sink.results} == {"kept_prefix"}


def test_a_group_whose_beginning_is_refused_is_asked_in_the_standard_way_and_told_once(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("""
inner = w['Engine'].share
def share(self, prompts, choices, compare):
    if not compare:
        raise RuntimeError('a prompt of the group cannot be tokenised')
    return inner(self, prompts, choices, compare)
w['Engine'].share = share
""")
    end = sitting.run(_groups(), settings={"timing": "fast"})
    assert (end.cause, end.done, end.missing) == ("done", 6, 0)
    assert not {result.method for result in sitting.sink.results} & {"kept_prefix"}
    (warned,) = sitting.warnings
    assert "cannot be tokenised" in warned.message


def test_a_stack_that_crashes_in_fast_mode_goes_on_in_standard_mode_and_the_conditions_say_so(
    sitting: Sitting, patched_runtime: Callable[[str], Runtime]
) -> None:
    sitting.runtime = patched_runtime("""
inner = w['Engine'].choice
def choice(self, prompts, choices, fast):
    if fast and '4 plus one' in prompts[0]:
        os.abort()
    return inner(self, prompts, choices, fast)
w['Engine'].choice = choice
""")
    end = sitting.run(_choices(6), settings={"timing": "fast"})
    assert (end.cause, end.done, end.restarts) == ("done", 6, 1)
    first, then = sitting.sink.stored
    assert (first.timing, then.timing) == ("fast", "standard")
    assert "off from item c4 on" in then.fast_probe
    methods = [result.method for result in sitting.sink.results]
    assert methods[:4] == ["kept_prefix"] * 4
    assert "kept_prefix" not in methods[4:]


def test_each_group_keeps_its_own_beginning(sitting: Sitting) -> None:
    end = sitting.run(_groups(), settings={"timing": "fast"})
    assert (end.cause, end.done) == ("done", 6)
    assert {r.method for r in sitting.sink.results} == {"kept_prefix"}


# -- the place -----------------------------------------------------------------------------------------


def test_what_the_device_shows_while_it_computes_is_stored_with_the_run(
    sitting: Sitting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No NPU can be here: a watch that is told what the device shows stands for xrt-smi."""
    seen = Place("NPU (RyzenAI)", True, "xrt-smi shows our process")

    class Watch:
        def __init__(self, place: Place, pid: int) -> None:
            self.place = place

        def poll(self) -> bool:
            changed, self.place = self.place != seen, seen
            return changed

        def close(self) -> None: ...

    monkeypatch.setattr(runner, "PlaceWatch", Watch)
    sitting.run(text_items(2))
    assert sitting.sink.places == [seen]
