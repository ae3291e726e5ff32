"""Bringing a worker up: started, its model loaded, and, once per sitting, looked at before the first item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import MinceError
from mince_gui.base.events import Cause, Emit, Warned
from mince_gui.run.checking.messages import explain
from mince_gui.run.deadlines import Deadlines
from mince_gui.run.devices import machine_state
from mince_gui.run.model_folder import ModelFolder
from mince_gui.run.protocol import Hello, LoadRequest, LoadResult, ProtocolError
from mince_gui.run.runtimes import Runtime
from mince_gui.run.smoke import Smoke, smoke_test
from mince_gui.run.supervisor import WorkerLostError, WorkerProcess, WorkerRefusedError
from mince_gui.run.token_check import TokenCheck, check_tokens
from mince_gui.run.types import Outcome

_BOS_REMEDY = (
    "Scores may differ from other tools'. A chat template that writes BOS and a tokenizer that adds it make two: "
    "give a template without it (--chat-template FILE), or mend tokenizer_config.json of the model folder."
)
_TOKENS_REMEDY = "The model reads other tokens than it was trained with: use a runtime of the folder's release."
_RELEASE_REMEDY = "Use a runtime whose OGA belongs to the release that the model folder was made for."
_RESTART = "What is done is saved. Restart the computer to free the device, then go on: mince run --resume RUN"


class OverError(MinceError):
    """The run cannot go on."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


@dataclass(frozen=True)
class Up:
    """A worker that holds the model, and what it said."""

    worker: WorkerProcess
    hello: Hello
    loaded: LoadResult


@dataclass(frozen=True)
class FirstLook:
    """What was seen before the first item of a sitting."""

    tokens: TokenCheck
    smoke: Smoke
    machine_state: Mapping[str, Any]


def outcome_of(exc: WorkerLostError | ProtocolError) -> Outcome:
    """How the worker ended, or that it broke the protocol."""
    return exc.outcome if isinstance(exc, WorkerLostError) else Outcome("crashed", exc.message)


class Crew:
    """Brings workers up for one runtime and one model folder; at most one lives at a time."""

    def __init__(
        self,
        runtime: Runtime,
        folder: ModelFolder,
        *,
        threads: int | None,
        deadlines: Deadlines,
        emit: Emit,
        cancel: CancelToken,
        progress: Callable[[str], None],
    ) -> None:
        self._runtime = runtime
        self._folder = folder
        self._threads = threads
        self._deadlines = deadlines
        self._emit = emit
        self._cancel = cancel
        self._progress = progress
        self._worker: WorkerProcess | None = None
        self.starts = 0
        # Some stacks do not survive a second append or a rewind: set once a worker was lost at one.
        self.fresh_only = False

    def bring_up(self) -> Up:
        """Start a worker and have it load the model. Raises OverError where that fails."""
        again = self.starts > 0
        self.starts += 1
        library = self._folder.custom_ops_library
        # A bare name is looked for in the current directory.
        own = library is not None and (self._folder.path / library).is_file()
        worker = self._worker = WorkerProcess(
            self._runtime, deadlines=self._deadlines, folder=self._folder.path if own else None
        )
        self._progress("starting the worker")
        folder = self._folder
        try:
            hello = worker.start(self._cancel)
            self._require_oga(hello)
            self._progress("loading the model")
            request = LoadRequest(
                model_dir=str(folder.path.absolute()),
                threads=self._threads,
                search={},
                ceiling=folder.ceiling,
                kv_length=folder.kv_length,
                eos_ids=folder.eos_ids,
                bos_id=folder.bos_id,
                fresh_only=self.fresh_only,
            )
            return Up(worker, hello, worker.load(request, cancel=self._cancel))
        except WorkerRefusedError as exc:
            detail = f"The model {folder.name} could not be loaded: {exc.message}"
            raise OverError("failed", _explained(detail, exc.message, otherwise=_RELEASE_REMEDY)) from exc
        except (WorkerLostError, ProtocolError) as exc:
            outcome = outcome_of(exc)
            words = "The worker could not be started again" if again else "The worker could not be made ready"
            detail = "\n".join([f"{words}: {outcome.detail}", *outcome.stderr[-5:]])
            text = "\n".join(outcome.stderr)
            raise OverError("crashed" if again else outcome.cause, _explained(detail, text, code=outcome.code)) from exc

    def first_look(self, up: Up, prompt: str) -> FirstLook:
        """Token ids of the first prompt, the smoke test, the machine's state. Raises OverError for a broken model."""
        with ThreadPoolExecutor(1, thread_name_prefix="machine-state") as pool:
            # System tools may take seconds, in which the model can be looked at.
            state: Future[dict[str, Any]] = pool.submit(machine_state)
            doing = "The first prompt could not be encoded"
            try:
                tokens = self._token_check(up.worker, prompt)
                doing = "The smoke test failed"
                self._progress("smoke test")
                smoke = smoke_test(up.worker, self._cancel)
            except WorkerRefusedError as exc:
                raise OverError(
                    "failed",
                    _explained(f"{doing}: {exc.message}.", exc.message, otherwise=_RELEASE_REMEDY),
                ) from exc
            except (WorkerLostError, ProtocolError) as exc:
                outcome = outcome_of(exc)
                detail = "\n".join([f"{doing}: {outcome.detail}", *outcome.stderr[-5:]])
                raise OverError(
                    outcome.cause, _explained(detail, "\n".join(outcome.stderr), code=outcome.code)
                ) from exc
        state_now = state.result()
        if "npu" in self._folder.devices:
            for remark in state_now["remarks"]:
                self._emit(Warned(remark))
        if not smoke.repeated:
            self._emit(
                Warned(
                    "The smoke test's prompt gave other tokens the second time.",
                    "Runtime and device do not compute the same thing twice: scores will differ from run to run.",
                )
            )
        self._deadlines = self._deadlines.scaled(smoke.prefill_seconds_per_token, smoke.decode_seconds_per_token)
        up.worker.deadlines = self._deadlines
        return FirstLook(tokens, smoke, state_now)

    def drop(self) -> None:
        """End the worker, if there is one. Raises OverError for one that cannot be ended."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()
            if worker.unkillable:
                raise OverError("hung", f"Process {worker.pid} of the worker could not be ended.\n{_RESTART}")

    def _token_check(self, worker: WorkerProcess, prompt: str) -> TokenCheck:
        """How the runtime tokenises the first prompt; what is wrong is told at once."""
        try:
            ids = worker.encode(prompt, cancel=self._cancel).ids
        except WorkerRefusedError as exc:
            return TokenCheck("", f"not compared: {exc.message}")
        found = check_tokens(self._folder.path, self._folder.bos_id, prompt, ids)
        if found.bos:
            self._emit(Warned(f"BOS is {found.bos}.", _BOS_REMEDY))
        if found.differs:
            self._emit(Warned(f"Token ids of the first prompt {found.tokens}.", _TOKENS_REMEDY))
        return found

    def _require_oga(self, hello: Hello) -> None:
        if hello.error is not None:
            who = f"The runtime '{self._runtime.name}' ({hello.executable})"
            detail = f"{who} cannot import onnxruntime-genai: {hello.error}"
            remedy = "Install onnxruntime-genai there, or choose another runtime."
            raise OverError("not_started", _explained(detail, hello.error, otherwise=remedy))


def _explained(detail: str, text: str, *, code: int | None = None, otherwise: str = "") -> str:
    """`detail` with what is known of the native message in `text` or of the exit code, else with `otherwise`."""
    known = explain(text, code=code)
    rest: Sequence[str] = (known.cause, known.remedy) if known is not None else (otherwise,)
    return "\n".join(part for part in (detail, *rest) if part)
