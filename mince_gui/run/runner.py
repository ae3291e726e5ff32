"""The run loop: one item at a time through the worker, each committed before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, MinceError, UsageError
from mince_gui.base.events import Cause, Emit, Progress, Warned
from mince_gui.run import results
from mince_gui.run.deadlines import Deadlines
from mince_gui.run.machine import cpu_name
from mince_gui.run.model_folder import ModelFolder, read_model_folder
from mince_gui.run.protocol import (
    ChoiceRequest,
    ChoiceResult,
    GenerateRequest,
    GenerateResult,
    Hello,
    LoadRequest,
    LoadResult,
    Note,
    ProtocolError,
)
from mince_gui.run.runtimes import Runtime
from mince_gui.run.supervisor import WorkerLostError, WorkerProcess, WorkerRefusedError
from mince_gui.run.tally import Earlier, Tally
from mince_gui.run.token_check import TokenCheck, check_tokens
from mince_gui.run.types import ItemResult, Outcome, RunConditions, RunItem, Sink, TimingMode
from mince_gui.tasks.types import Answer, Scored

Score = Callable[[RunItem, Answer], Scored]
Wish = Literal["run", "stop", "skip"]

_SKIPPED = "skipped by the user"
_FAILURES_IN_A_ROW = 5
_CONTROL_SECONDS = 1.0
_PAUSE_POLL_SECONDS = 0.3
# Error replies that say something of the item; any other counts towards giving the run up.
_ITEM_ERRORS = frozenset({"does_not_fit", "bad_prompt"})
_BOS_REMEDY = (
    "Scores may differ from other tools'. A chat template that writes BOS and a tokenizer that adds it make two: "
    "give a template without it (--chat-template FILE), or mend tokenizer_config.json of the model folder."
)
_TOKENS_REMEDY = "The model reads other tokens than it was trained with: use a runtime of the folder's release."
_RELEASE_REMEDY = "Use a runtime whose OGA belongs to the release that the model folder was made for."


@dataclass(frozen=True)
class RunnerSettings:
    """How to run, and what the caller knows of the conditions.

    `threads` None leaves the number to ONNX Runtime; `model_sha256` is `folder_sha256` of the model;
    `chat_template` says which template made the prompts ("none" if none), with the hash of its text.
    """

    model_sha256: str
    threads: int | None = None
    timing: TimingMode = "standard"
    deadlines: Deadlines = field(default_factory=Deadlines)
    chat_template: str = "none"
    chat_template_sha256: str = ""
    max_new_tokens: int | None = None


@dataclass(frozen=True)
class RunEnd:
    """How a run ended. Counts include earlier sittings.

    `wall_seconds` runs from the first item of this sitting to the last commit, pauses and loading left
    out; `restarts` counts workers that had to be replaced.
    """

    cause: Cause
    detail: str
    done: int
    missing: int
    capped: int
    wall_seconds: float
    restarts: int


class _OverError(MinceError):
    """The run cannot go on."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


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
    the item is missing, with the cause. Five such items in succession end the run. `cancel` ends it at
    once (the item in flight is not committed); the sink's control "stop" ends it after the item in flight.

    Raises InputError for a model folder that cannot be read, UsageError for a timing mode that is not
    there, and whatever the sink raises (a full disk): nothing goes on uncommitted.
    """
    if settings.timing != "standard":
        raise UsageError(f"There is no timing mode '{settings.timing}' for a run yet.", "Use standard timing.")
    folder = read_model_folder(model_dir)
    run = _Run(run_id, runtime, folder, score, sink, emit, cancel, settings, Tally(total, earlier or Earlier()))
    return run.run(items)


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
        self._worker: WorkerProcess | None = None
        self._starts = 0
        self._failures = 0
        self._fresh_only = False
        self._begin: float | None = None
        self._paused_seconds = 0.0
        self._control_asked = 0.0
        self._noted = 0.0

    def run(self, items: Sequence[RunItem]) -> RunEnd:
        cause: Cause
        try:
            cause, detail = self._all(items)
        except CancelledError:
            cause, detail = "stopped", "cancelled by the user"
        except _OverError as exc:
            cause, detail = exc.cause, exc.message
        finally:
            wall = 0.0 if self._begin is None else time.monotonic() - self._begin - self._paused_seconds
            # Everything is committed by now: a worker that crashes at its teardown takes nothing along.
            self._drop_worker()
        tally = self._tally
        return RunEnd(cause, detail, tally.done, tally.missing, tally.capped, wall, max(0, self._starts - 1))

    def _all(self, items: Sequence[RunItem]) -> tuple[Cause, str]:
        if items:
            self._ready(items[0])
        self._begin = time.monotonic()
        for item in items:
            wish = self._obey()
            if wish == "stop":
                return "stopped", "stopped by the user"
            if wish == "skip":
                self._commit(results.missing(item, _SKIPPED), 0.0)
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
            begin = time.monotonic()
            self._sink.took_control("pause")
            self._progress("paused")
            control = self._wait_for_change()
            self._paused_seconds += time.monotonic() - begin
            if control != "stop":
                self._sink.took_control("run")
                self._progress("goes on")
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

    def _progress(self, note: str) -> None:
        self._noted = time.monotonic()
        self._emit(Progress(self._tally.done + self._tally.missing, self._tally.total, note))

    # -- the worker ----------------------------------------------------------------------------------

    def _ready(self, item: RunItem) -> WorkerProcess:
        """The worker with its model loaded, started if there is none. Raises _OverError where that fails.

        The first time, how `item`'s prompt is tokenised is looked at, and the conditions go to the sink.
        """
        if self._worker is not None:
            return self._worker
        again = self._starts > 0
        self._starts += 1
        worker = self._worker = WorkerProcess(self._runtime, deadlines=self._settings.deadlines)
        self._progress("starting the worker")
        folder = self._folder
        try:
            hello = worker.start(self._cancel)
            self._require_oga(hello)
            self._progress("loading the model")
            request = LoadRequest(
                str(folder.path), self._settings.threads, {}, folder.ceiling, folder.kv_length, folder.eos_ids,
                folder.bos_id, self._fresh_only,
            )  # fmt: skip
            loaded = worker.load(request, cancel=self._cancel)
            tokens = None if again else self._token_check(worker, item)
        except WorkerRefusedError as exc:
            detail = f"The model {folder.name} could not be loaded: {exc.message}\n{_RELEASE_REMEDY}"
            raise _OverError("failed", detail) from exc
        except (WorkerLostError, ProtocolError) as exc:
            outcome = _outcome(exc)
            words = "The worker could not be started again" if again else "The worker could not be made ready"
            detail = "\n".join([f"{words}: {outcome.detail}", *outcome.stderr[-5:]])
            raise _OverError("crashed" if again else outcome.cause, detail) from exc
        if tokens is not None:
            self._sink.conditions(self._conditions(hello, loaded, tokens))
        return worker

    def _token_check(self, worker: WorkerProcess, item: RunItem) -> TokenCheck:
        """How the runtime tokenises the first prompt; what is wrong is told at once."""
        try:
            ids = worker.encode(item.request.prompt).ids
        except WorkerRefusedError as exc:
            return TokenCheck("", f"not compared: {exc.message}")
        found = check_tokens(self._folder.path, self._folder.bos_id, item.request.prompt, ids)
        if found.bos:
            self._emit(Warned(f"BOS is {found.bos}.", _BOS_REMEDY))
        if found.differs:
            self._emit(Warned(f"Token ids of the first prompt {found.tokens}.", _TOKENS_REMEDY))
        return found

    def _conditions(self, hello: Hello, loaded: LoadResult, tokens: TokenCheck) -> RunConditions:
        folder, settings = self._folder, self._settings
        said = f"OGA reports device type {loaded.device_type}" if loaded.device_type else "OGA reports no device type"
        return RunConditions(
            runtime=self._runtime.name,
            device=folder.device,
            device_proof=f"declared by genai_config.json; {said}",
            oga_version=hello.oga_version or "",
            python_version=hello.python,
            platform=hello.platform,
            cpu=cpu_name(),
            threads=loaded.threads,
            timing=settings.timing,
            model_name=folder.name,
            model_sha256=settings.model_sha256,
            chat_template=settings.chat_template,
            chat_template_sha256=settings.chat_template_sha256,
            max_new_tokens=settings.max_new_tokens,
            # OGA before 0.12 does not tell what it uses: then it is what the folder says and we set.
            search_options={**{k: v for k, v in folder.search.items() if k != "max_length"}, **loaded.search},
            load_seconds=loaded.load_seconds,
            warmup_seconds=loaded.warmup_seconds,
            bos_check=tokens.bos,
            token_check=tokens.tokens,
        )

    def _require_oga(self, hello: Hello) -> None:
        if hello.error is not None:
            raise _OverError(
                "not_started",
                f"The runtime '{self._runtime.name}' ({hello.executable}) cannot import onnxruntime-genai: "
                f"{hello.error}\nInstall onnxruntime-genai there, or choose another runtime.",
            )

    def _drop_worker(self) -> None:
        if self._worker is not None:
            outcome = self._worker.close()
            self._worker = None
            if outcome.cause == "hung" and "could not be ended" in outcome.detail:
                self._emit(Warned("A worker could not be ended.", outcome.detail))

    # -- one item ------------------------------------------------------------------------------------

    def _one(self, item: RunItem) -> None:
        """Run one item to its commit: done, or missing with a cause."""
        begin = time.monotonic()
        lost: Outcome | None = None
        for attempt in (1, 2):
            worker = self._ready(item)
            try:
                result = self._ask(worker, item, attempt)
                break
            except (WorkerLostError, ProtocolError) as exc:
                lost = _outcome(exc)
                self._drop_worker()
                self._cancel.check()
                # Some stacks do not survive a second append or a rewind, which choices of several tokens try.
                self._fresh_only = self._fresh_only or item.request.kind == "choice"
                then = "it is left out" if attempt == 2 else "it is tried again with a new worker"
                message = f"{lost.detail[:1].upper()}{lost.detail[1:]}, at item {item.key}; {then}."
                self._emit(Warned(message, "\n".join(lost.stderr)))
        else:
            assert lost is not None
            self._failures += 1
            result = results.missing(item, f"{lost.cause} twice on this item: {lost.detail}", attempts=2)
        self._commit(result, time.monotonic() - begin)
        if self._failures >= _FAILURES_IN_A_ROW:
            raise _OverError(
                lost.cause if lost is not None else "failed",
                f"{self._failures} items in succession failed, the last: {result.cause}",
            )

    def _ask(self, worker: WorkerProcess, item: RunItem, attempt: int) -> ItemResult:
        """One attempt. Raises WorkerLostError, ProtocolError and CancelledError; any refusal is a result."""
        request = item.request
        self._control_asked = time.monotonic()
        skip_asked = False

        def on_note(note: Note) -> None:
            if note.phase in ("prefill", "decode") and time.monotonic() - self._noted >= _CONTROL_SECONDS:
                what = f"{note.tokens} tokens written" if note.phase == "decode" else f"{note.tokens} tokens to read"
                self._progress(f"item {item.key}: {what}")

        def should_abort() -> bool:
            nonlocal skip_asked
            skip_asked = skip_asked or self._wants_skip()
            return skip_asked

        reply: ChoiceResult | GenerateResult
        try:
            if request.kind == "choice":
                reply = worker.choice(
                    ChoiceRequest(request.contexts or (request.prompt,), request.choices),
                    cancel=self._cancel,
                    on_note=on_note,
                    should_abort=should_abort,
                )
            else:
                reply = worker.generate(
                    GenerateRequest(request.prompt, request.until, request.max_new_tokens),
                    cancel=self._cancel,
                    on_note=on_note,
                    should_abort=should_abort,
                )
        except WorkerRefusedError as exc:
            if exc.kind == "aborted":
                result = results.missing(item, _SKIPPED, attempts=attempt)
            else:
                self._failures = 0 if exc.kind in _ITEM_ERRORS else self._failures + 1
                result = results.missing(item, f"{exc.kind}: {exc.message}", attempts=attempt)
        else:
            self._failures = 0
            result = self._scored(item, reply, attempt)
        if skip_asked:
            self._sink.took_control("skip")
        return result

    def _scored(self, item: RunItem, reply: ChoiceResult | GenerateResult, attempt: int) -> ItemResult:
        answer = results.answer(reply)
        try:
            return results.answered(item, reply, answer, self._score(item, answer), attempts=attempt)
        except MinceError as exc:
            return results.answered(item, reply, answer, None, attempts=attempt, cause=f"not scored: {exc.message}")

    def _commit(self, result: ItemResult, seconds: float) -> None:
        self._sink.item(result)
        if result.state == "missing":
            self._tally.add_missing()
        else:
            scores = result.scored.scores if result.scored is not None else {}
            self._tally.add_done(scores, capped=result.capped, seconds=seconds)
        self._noted = time.monotonic()
        self._emit(results.item_event(self._run_id, result, self._tally, seconds))


def _outcome(exc: WorkerLostError | ProtocolError) -> Outcome:
    return exc.outcome if isinstance(exc, WorkerLostError) else Outcome("crashed", exc.message)
