"""The run loop: one item at a time through the worker, each committed before the next begins."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, MinceError
from mince_gui.base.events import Cause, Emit, Progress, Warned
from mince_gui.run import results
from mince_gui.run.bring_up import Crew, FirstLook, OverError, Up, outcome_of
from mince_gui.run.checking.precision import precision_word
from mince_gui.run.deadlines import Deadlines
from mince_gui.run.devices import PlaceWatch, place_at_load
from mince_gui.run.estimate import estimate
from mince_gui.run.fast import FastMode, Probe
from mince_gui.run.guards.awake import awake
from mince_gui.run.guards.clock import JumpClock
from mince_gui.run.guards.memory import MemoryWatch, resident_bytes
from mince_gui.run.guards.repetition import one_token_only
from mince_gui.run.machine import cpu_name
from mince_gui.run.model_folder import ModelFolder, read_model_folder
from mince_gui.run.protocol import ChoiceRequest, ChoiceResult, GenerateRequest, GenerateResult, Note, ProtocolError
from mince_gui.run.runtimes import Runtime
from mince_gui.run.supervisor import WorkerLostError, WorkerRefusedError
from mince_gui.run.tally import Earlier, Tally
from mince_gui.run.types import ItemResult, Outcome, RunConditions, RunItem, Sink, TimingMode
from mince_gui.tasks.types import Answer, Scored

Score = Callable[[RunItem, Answer], Scored]
Wish = Literal["run", "stop", "skip"]

_SKIPPED = "skipped by the user"
_FAILURES_IN_A_ROW = 5
_BROKEN_FROM_THE_START = 20
_BROKEN_REMEDY = "The model, the runtime or the device may be broken: run the same items on the CPU to tell which."
_REPEATS_AFTER_JUMP = 2
_CONTROL_SECONDS = 1.0
_PAUSE_POLL_SECONDS = 0.3
# Error replies that say something of the item; any other counts towards giving the run up.
_ITEM_ERRORS = frozenset({"does_not_fit", "bad_prompt"})
# Of Ryzen AI (lemonade#34) and of OGA (genai#550).
_TOO_LONG = re.compile(r"cannot be greater than the model's max prompt length|exceeds max length")


@dataclass(frozen=True)
class RunnerSettings:
    """How to run, and what the caller knows of the conditions.

    `threads` None leaves the number to ONNX Runtime; `model_sha256` is `folder_sha256` of the model;
    `chat_template` says which template made the prompts ("none" if none), with the hash of its text.
    `max_item_seconds` ends an answer between two tokens; `worker_bytes` is the most memory that a worker may have
    before it is replaced (None = as much as it had at first and half as much again).
    """

    model_sha256: str
    threads: int | None = None
    timing: TimingMode = "standard"
    deadlines: Deadlines = field(default_factory=Deadlines)
    chat_template: str = "none"
    chat_template_sha256: str = ""
    max_new_tokens: int | None = None
    max_item_seconds: float | None = None
    worker_bytes: int | None = None


@dataclass(frozen=True)
class RunEnd:
    """How a run ended. Counts include earlier sittings; `restarts` counts workers that had to be replaced."""

    cause: Cause
    detail: str
    done: int
    missing: int
    capped: int
    restarts: int


def run_items(
    items: Sequence[RunItem],
    *,
    run_id: str,
    runtime: Runtime,
    model_dir: Path,
    score: Score,
    sink: Sink,
    emit: Emit,
    cancel: CancelToken,
    settings: RunnerSettings,
    total: int,
    earlier: Earlier | None = None,
) -> RunEnd:
    """Run `items` (those still to do) in order and return how it ended; every committed item stays.

    `total` counts the whole run's items and `earlier` what former sittings committed, for scores and
    counts. Emits Progress, ItemDone and Warned. **It emits neither Started nor Ended: the caller owns the
    stream and closes it, once, with an Ended made from the returned cause and detail.**

    A worker that crashes or hangs in mid-item is replaced and the item tried once more; the second time
    the item is missing, with the cause. Five such items in succession end the run, and so do the first twenty answers
    where all of them are one token over and over. An item in which the machine slept is done again. `cancel` ends
    the run at once (the item in flight is not committed); the sink's control "stop" ends it after the item in flight.

    Raises InputError for a model folder that cannot be read, and whatever the sink raises (a full disk): nothing
    goes on uncommitted.
    """
    folder = read_model_folder(model_dir)
    with awake() as sleep:
        run = _Run(run_id, runtime, folder, score, sink, emit, cancel, settings, Tally(total, earlier or Earlier()))
        return run.run(items, sleep)


class _Run:
    """State of one sitting."""

    def __init__(
        self,
        run_id: str,
        runtime: Runtime,
        folder: ModelFolder,
        score: Score,
        sink: Sink,
        emit: Emit,
        cancel: CancelToken,
        settings: RunnerSettings,
        tally: Tally,
    ) -> None:
        self._run_id = run_id
        self._runtime = runtime
        self._folder = folder
        self._score = score
        self._sink = sink
        self._emit = emit
        self._cancel = cancel
        self._settings = settings
        self._tally = tally
        self._crew = Crew(
            runtime, folder, threads=settings.threads, deadlines=settings.deadlines, emit=emit, cancel=cancel,
            progress=self._progress,
        )  # fmt: skip
        self._up: Up | None = None
        self._fast = FastMode(())
        self._clock = JumpClock()
        self._memory = MemoryWatch(settings.worker_bytes)
        self._watch: PlaceWatch | None = None
        self._told: RunConditions | None = None
        self._failures = 0
        self._broken = 0
        self._answered = 0
        self._told_slow: set[str] = set()
        self._since = time.perf_counter()
        self._control_asked = 0.0
        self._noted = 0.0

    def run(self, items: Sequence[RunItem], sleep: str) -> RunEnd:
        cause: Cause
        try:
            cause, detail = self._all(items, sleep)
        except CancelledError:
            cause, detail = "stopped", "cancelled by the user"
        except OverError as exc:
            cause, detail = exc.cause, exc.message
        finally:
            self._finish()
        tally = self._tally
        return RunEnd(cause, detail, tally.done, tally.missing, tally.capped, max(0, self._crew.starts - 1))

    def _all(self, items: Sequence[RunItem], sleep: str) -> tuple[Cause, str]:
        if items:
            self._look(items, sleep)
        for item in items:
            wish = self._obey()
            if wish == "stop":
                return "stopped", "stopped by the user"
            if wish == "skip":
                self._commit(results.missing(item, _SKIPPED))
                self._sink.took_control("skip")
            else:
                self._one(item)
        missing = self._tally.missing
        return ("incomplete", f"{missing} items are missing") if missing else ("done", "")

    # -- what the user wants -------------------------------------------------------------------------

    def _obey(self) -> Wish:
        """Read the control at an item boundary; stays here while paused."""
        self._cancel.check()
        control = self._sink.control()
        if control == "pause":
            self._sink.took_control("pause")
            self._progress("paused")
            control = self._wait_for_change()
            if control != "stop":
                self._sink.took_control("run")
                self._progress("goes on")
            self._since = time.perf_counter()
        if control == "stop":
            self._sink.took_control("stop")
        return control

    def _wait_for_change(self) -> Wish:
        """Stay until the control is no longer "pause"; the sink is asked about once a second."""
        while True:
            until = time.monotonic() + _CONTROL_SECONDS
            while time.monotonic() < until:
                time.sleep(_PAUSE_POLL_SECONDS)
                self._cancel.check()
            control = self._sink.control()
            if control != "pause":
                return control

    def _wants_skip(self) -> bool:
        """Whether the item in flight is to be left out; the sink is asked about once a second."""
        now = time.monotonic()
        if now - self._control_asked < _CONTROL_SECONDS:
            return False
        self._control_asked = now
        return self._sink.control() == "skip"

    def _progress(self, note: str, *, lasting: bool = False) -> None:
        self._noted = time.monotonic()
        self._emit(Progress(self._tally.done + self._tally.missing, self._tally.total, note, lasting))

    # -- the worker ----------------------------------------------------------------------------------

    def _ready(self) -> Up:
        """The worker with its model loaded, started if there is none. Raises OverError where that fails."""
        if self._up is None:
            self._up = self._crew.bring_up()
            self._fast.forget()
            self._memory = MemoryWatch(self._settings.worker_bytes)
            if self._watch is not None:
                self._watch = self._watch.for_worker(self._up.hello.pid)
            self._since = time.perf_counter()
        return self._up

    def _look(self, items: Sequence[RunItem], sleep: str) -> None:
        """What has to be known before the first item: told to the user, and stored with the run."""
        up, look = self._looked(items[0].request.prompt)
        fast = Probe(False, "")
        if self._settings.timing == "fast":
            self._progress("probing fast mode")
            self._fast = FastMode(items)
            try:
                fast = self._fast.probe(up.worker, self._folder, self._cancel)
            except (WorkerLostError, ProtocolError) as exc:
                fast = Probe(False, f"off: {outcome_of(exc).detail}")
                self._drop_worker()
                self._crew.fresh_only = True
            if not fast.on:
                self._emit(Warned(f"Fast mode is {fast.words}.", "The run goes on in standard mode."))
        conditions = self._told = self._conditions(up, look, fast, sleep)
        self._watch = PlaceWatch(conditions.place, up.hello.pid)
        self._sink.conditions(conditions)
        left = estimate([item.request for item in items], look.smoke, timing=conditions.timing)
        self._progress(f"{len(items):,} items: {left.words}", lasting=True)
        self._since = time.perf_counter()

    def _looked(self, prompt: str) -> tuple[Up, FirstLook]:
        """A worker that was looked at; once more with a new one where the first died of it, as with an item."""
        try:
            up = self._ready()
            return up, self._crew.first_look(up, prompt)
        except OverError as exc:
            if exc.cause not in ("crashed", "hung"):
                raise
            self._drop_worker()
            self._emit(Warned("The worker was lost before the first item; it is tried again.", exc.message))
        up = self._ready()
        return up, self._crew.first_look(up, prompt)

    def _leave_fast_mode(self, item: RunItem, lost: Outcome) -> None:
        """The rest in standard mode: the conditions say so, since times of two modes make no speedup."""
        if self._told is None or not self._fast.on:
            return
        self._fast.on = False
        place = self._told.place if self._watch is None else self._watch.place
        words = f"{self._told.fast_probe}; off from item {item.key} on: {lost.detail}"
        self._told = replace(self._told, place=place, timing="standard", fast_probe=words)
        self._sink.conditions(self._told)

    def _conditions(self, up: Up, look: FirstLook, fast: Probe, sleep: str) -> RunConditions:
        folder, settings, hello, loaded = self._folder, self._settings, up.hello, up.loaded
        return RunConditions(
            runtime=self._runtime.name,
            place=place_at_load(folder, loaded.device_type),
            oga_version=hello.oga_version or "",
            ort_version=hello.ort_version or "",
            distribution=hello.distribution or "",
            python_version=hello.python,
            platform=hello.platform,
            cpu=cpu_name(),
            threads=loaded.threads,
            timing="fast" if fast.on else "standard",
            model_name=folder.name,
            model_sha256=settings.model_sha256,
            chat_template=settings.chat_template,
            chat_template_sha256=settings.chat_template_sha256,
            max_new_tokens=settings.max_new_tokens,
            # OGA before 0.12 does not tell what it uses: then it is what the folder says and we set.
            search_options={**{k: v for k, v in folder.search.items() if k != "max_length"}, **loaded.search},
            load_seconds=loaded.load_seconds,
            warmup_seconds=loaded.warmup_seconds,
            bos_check=look.tokens.bos,
            token_check=look.tokens.tokens,
            fast_probe=fast.words,
            smoke=look.smoke.to_json(),
            machine_state=look.machine_state,
            sleep=sleep,
            precision=precision_word(folder),
        )

    def _look_at_device(self) -> None:
        """Store what the device shows by now of the worker."""
        if self._watch is not None and self._watch.poll():
            self._sink.place(self._watch.place)

    def _drop_worker(self) -> None:
        """End the worker. Raises OverError for one that cannot be ended."""
        if self._watch is not None:
            self._watch.close()
        self._up = None
        self._crew.drop()

    def _finish(self) -> None:
        """End the worker. Everything is committed by now: one that crashes at its teardown takes nothing along."""
        try:
            self._drop_worker()
        except OverError as exc:
            self._emit(Warned("The worker could not be ended.", exc.message))

    # -- one item ------------------------------------------------------------------------------------

    def _one(self, item: RunItem) -> None:
        """Run one item to its commit: done, or missing with a cause; again where the machine slept meanwhile."""
        repeats = 0
        if self._clock.jumped():  # between two items
            self._since = time.perf_counter()
        while True:
            result, lost = self._tried(item)
            jump = self._clock.jumped()
            if not jump or repeats == _REPEATS_AFTER_JUMP or result.cause == _SKIPPED:
                break
            repeats += 1
            self._emit(
                Warned(
                    f"The machine slept, or its clock jumped, for {jump:.0f} s at item {item.key}; it is done again."
                )
            )
            self._since = time.perf_counter()
        self._commit(result)
        self._give_up_where_hopeless(result, lost)
        if self._up is not None:
            self._recycle()

    def _tried(self, item: RunItem) -> tuple[ItemResult, Outcome | None]:
        """The item's result, after one more try with a new worker where the first was lost; and how that was."""
        lost: Outcome | None = None
        for attempt in (1, 2):
            up = self._ready()
            try:
                return self._ask(up, item, attempt), lost
            except (WorkerLostError, ProtocolError) as exc:
                lost = outcome_of(exc)
                self._drop_worker()
                self._cancel.check()
                # Some stacks do not survive a second append or a rewind, which choices try. A SIGKILL comes from
                # outside: unless it comes again at the same item, fast mode goes on.
                if item.request.kind == "choice" and (lost.signal != "SIGKILL" or attempt == 2):
                    self._crew.fresh_only = True
                    self._leave_fast_mode(item, lost)
                then = "it is left out" if attempt == 2 else "it is tried again with a new worker"
                message = f"{lost.detail[:1].upper()}{lost.detail[1:]}, at item {item.key}; {then}."
                self._emit(Warned(message, "\n".join(lost.stderr)))
        assert lost is not None
        self._failures += 1
        return results.missing(item, f"{lost.cause} twice on this item: {lost.detail}", attempts=2), lost

    def _give_up_where_hopeless(self, result: ItemResult, lost: Outcome | None) -> None:
        if self._failures >= _FAILURES_IN_A_ROW:
            raise OverError(
                lost.cause if lost is not None else "failed",
                f"{self._failures} items in succession failed, the last: {result.cause}",
            )
        if self._broken == _FAILURES_IN_A_ROW:
            self._emit(Warned(f"{self._broken} answers in succession are one token over and over.", _BROKEN_REMEDY))
        if self._broken >= _BROKEN_FROM_THE_START and self._broken == self._answered:
            raise OverError(
                "failed",
                f"All of the first {self._broken} answers are one token over and over.\n{_BROKEN_REMEDY}",
            )

    def _recycle(self) -> None:
        """End a worker that has grown too large, between two items; the next item starts a new one."""
        up = self._up
        assert up is not None
        why = self._memory.look(resident_bytes(up.hello.pid))
        if why is not None:
            self._emit(Warned(f"The worker is replaced: {why}."))
            self._drop_worker()

    def _ask(self, up: Up, item: RunItem, attempt: int) -> ItemResult:
        """One attempt. Raises WorkerLostError, ProtocolError and CancelledError; any refusal is a result."""
        request, worker = item.request, up.worker
        self._control_asked = time.monotonic()
        skip_asked = False

        def on_note(note: Note) -> None:
            if note.phase in ("prefill", "decode"):
                self._look_at_device()
                if time.monotonic() - self._noted >= _CONTROL_SECONDS:
                    what = (
                        f"{note.tokens} tokens written" if note.phase == "decode" else f"{note.tokens} tokens to read"
                    )
                    self._progress(f"item {item.key}: {what}")

        def should_abort() -> bool:
            nonlocal skip_asked
            self._look_at_device()
            skip_asked = skip_asked or self._wants_skip()
            return skip_asked

        reply: ChoiceResult | GenerateResult
        try:
            if request.kind == "choice":
                fast = self._fast.ready(worker, item, self._cancel, self._not_fast)
                reply = worker.choice(
                    ChoiceRequest(request.contexts or (request.prompt,), request.choices, fast),
                    cancel=self._cancel,
                    on_note=on_note,
                    should_abort=should_abort,
                )
            else:
                reply = worker.generate(
                    GenerateRequest(
                        request.prompt, request.until, request.max_new_tokens, self._settings.max_item_seconds
                    ),
                    cancel=self._cancel,
                    on_note=on_note,
                    should_abort=should_abort,
                )
        except WorkerRefusedError as exc:
            if exc.kind == "aborted":
                result = results.missing(item, _SKIPPED, attempts=attempt)
            else:
                # Limits that only the device's own stack knows are found out by asking.
                kind = "does_not_fit" if _TOO_LONG.search(exc.message) else exc.kind
                self._failures = 0 if kind in _ITEM_ERRORS else self._failures + 1
                result = results.missing(item, f"{kind}: {exc.message}", attempts=attempt)
        else:
            self._failures = 0
            if isinstance(reply, GenerateResult):
                self._answered += 1
                self._broken = self._broken + 1 if one_token_only(reply.ids) else 0
            result = self._scored(item, reply, attempt, resident_bytes(up.hello.pid))
        if skip_asked:
            self._sink.took_control("skip")
        return result

    def _not_fast(self, why: str) -> None:
        if why not in self._told_slow:
            self._told_slow.add(why)
            self._emit(Warned(f"Some items are read in the standard way in spite of fast mode: {why}."))

    def _scored(
        self, item: RunItem, reply: ChoiceResult | GenerateResult, attempt: int, memory_bytes: int | None
    ) -> ItemResult:
        answer = results.answer(reply)
        scored, cause = None, ""
        try:
            scored = self._score(item, answer)
        except MinceError as exc:
            cause = f"not scored: {exc.message}"
        return results.answered(item, reply, answer, scored, attempts=attempt, cause=cause, memory_bytes=memory_bytes)

    def _commit(self, result: ItemResult) -> None:
        now = time.perf_counter()
        seconds, self._since = now - self._since, now
        self._sink.item(result, seconds)
        if result.state == "missing":
            self._tally.add_missing()
        else:
            scores = result.scored.scores if result.scored is not None else {}
            self._tally.add_done(scores, capped=result.capped, seconds=seconds)
        self._noted = time.monotonic()
        self._emit(results.item_event(self._run_id, result, self._tally, seconds))
