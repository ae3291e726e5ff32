"""The supervisor: starts a worker, reads it on threads, judges whether it lives, ends it by a ladder."""

from __future__ import annotations

import collections
import dataclasses
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

import psutil

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import MinceError
from mince_gui.run import outcome as ends
from mince_gui.run.child import Child
from mince_gui.run.deadlines import DOING, Deadlines
from mince_gui.run.guards.clock import awake_seconds
from mince_gui.run.protocol import (
    ChoiceRequest,
    ChoiceResult,
    DevicesRequest,
    DevicesResult,
    Empty,
    EncodeRequest,
    EncodeResult,
    GenerateRequest,
    GenerateResult,
    Hello,
    Line,
    LoadRequest,
    LoadResult,
    Note,
    NoteLine,
    PingRequest,
    ProtocolError,
    SchemaRequest,
    SchemaResult,
    ShareRequest,
    ShareResult,
    ShutdownRequest,
    WorkerRequest,
    WorkerResult,
    abort_line,
    parse_line,
    parse_result,
    request_line,
)
from mince_gui.run.runtimes import Runtime, clean_environment
from mince_gui.run.types import Outcome

OnNote = Callable[[Note], None]
ShouldAbort = Callable[[], bool]
R = TypeVar("R", bound=WorkerResult)

_POLL_SECONDS = 0.1
_STDERR_LINES = 40
_STDERR_CHARS = 400
_LINE_BYTES = 64 << 20
_BUSY_SHARE = 0.1


class WorkerLostError(MinceError):
    """The worker is gone or was killed as hung; `outcome` says how it ended."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.detail[:1].upper()}{outcome.detail[1:]}.")
        self.outcome = outcome


class WorkerRefusedError(MinceError):
    """The worker answered a request with an error and goes on; `kind` is of protocol.ERRORS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkerProcess:
    """One worker. Not thread-safe: one thread asks, and the same thread closes.

    Use it as a context manager or call `close()`: no child and no thread outlives that. `folder` is its current
    directory, None for the runtime's own: native code looks for libraries there, and the user may stand anywhere.
    """

    def __init__(self, runtime: Runtime, *, deadlines: Deadlines | None = None, folder: Path | None = None) -> None:
        self.runtime = runtime
        self._folder = folder or Path(runtime.command[0]).parent
        self.deadlines = deadlines or Deadlines()
        self.hello: Hello | None = None
        self.outcome: Outcome | None = None
        self._child: Child | None = None
        self._threads: list[threading.Thread] = []
        self._lines: queue.Queue[Line | ProtocolError | None] = queue.Queue()
        self._stderr: collections.deque[str] = collections.deque(maxlen=_STDERR_LINES)
        self._next_id = 1
        self._phase = "start"
        self._phase_tokens = 0

    def __enter__(self) -> WorkerProcess:
        """The started worker."""
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close it."""
        self.close()

    @property
    def pid(self) -> int | None:
        """The process that holds the model (not a launcher in front of it); None before the hello."""
        return self.hello.pid if self.hello is not None else None

    @property
    def unkillable(self) -> bool:
        """After its end: whether its process outlived even the kill, as one does whose driver hangs.

        Such a process keeps its device (and our pipes) until the computer is restarted.
        """
        return self._child is not None and self.outcome is not None and bool(self._child.survivors())

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines on stderr, where native code prints."""
        return tuple(self._stderr)

    # -- start ---------------------------------------------------------------------------------------

    def start(self, cancel: CancelToken | None = None) -> Hello:
        """Start the worker and wait for its hello. Raises WorkerLostError (not_started) and CancelledError.

        A hello without OGA (`error` set) is returned: the caller decides what that means.
        """
        # A session of its own: Ctrl-C in our terminal is for us to handle.
        try:
            process = subprocess.Popen(  # noqa: S603  # the command is a runtime that the user registered
                self.runtime.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=clean_environment(self.runtime),
                cwd=self._folder,
                creationflags=_creation_flags(),
                start_new_session=True,
            )
        except OSError as exc:
            raise self._lost(ends.not_started(f"{self.runtime.command[0]} could not be started: {exc}")) from exc
        self._child = Child(process)
        assert process.stdout is not None
        assert process.stderr is not None
        for target, pipe in ((self._read_stdout, process.stdout), (self._read_stderr, process.stderr)):
            thread = threading.Thread(target=target, args=(pipe,), name=f"worker-{process.pid}", daemon=True)
            thread.start()
            self._threads.append(thread)
        line = self._next_line(cancel)
        if not isinstance(line, Hello):
            raise self._give_up(ends.not_started("The worker's first line was not its hello"))
        self.hello = line
        self._child.named(line.pid)
        self._enter("idle")
        return line

    def _read_stdout(self, pipe: IO[bytes]) -> None:
        with pipe:
            while raw := pipe.readline(_LINE_BYTES):
                try:
                    self._lines.put(parse_line(raw))
                except ProtocolError as exc:
                    self._lines.put(exc)
        self._lines.put(None)

    def _read_stderr(self, pipe: IO[bytes]) -> None:
        with pipe:
            while raw := pipe.readline(1 << 16):
                text = raw.decode("utf-8", "backslashreplace").rstrip()
                if text:
                    self._stderr.append(text[:_STDERR_CHARS])

    # -- requests ------------------------------------------------------------------------------------

    def load(self, request: LoadRequest, *, cancel: CancelToken | None = None) -> LoadResult:
        """Load a model; see `request` for the errors."""
        return self._typed(request, LoadResult, cancel=cancel)

    def choice(
        self,
        request: ChoiceRequest,
        *,
        cancel: CancelToken | None = None,
        on_note: OnNote | None = None,
        should_abort: ShouldAbort | None = None,
    ) -> ChoiceResult:
        """Log-probabilities of choices; see `request` for the errors."""
        return self._typed(request, ChoiceResult, cancel=cancel, on_note=on_note, should_abort=should_abort)

    def generate(
        self,
        request: GenerateRequest,
        *,
        cancel: CancelToken | None = None,
        on_note: OnNote | None = None,
        should_abort: ShouldAbort | None = None,
    ) -> GenerateResult:
        """Greedy text; see `request` for the errors."""
        return self._typed(request, GenerateResult, cancel=cancel, on_note=on_note, should_abort=should_abort)

    def encode(self, text: str, *, cancel: CancelToken | None = None) -> EncodeResult:
        """Token ids of a text; see `request` for the errors."""
        return self._typed(EncodeRequest(text), EncodeResult, cancel=cancel)

    def share(self, request: ShareRequest, *, cancel: CancelToken | None = None) -> ShareResult:
        """Keep a shared prefix for fast mode; see `request` for the errors."""
        return self._typed(request, ShareResult, cancel=cancel)

    def devices(self, *, cancel: CancelToken | None = None) -> DevicesResult:
        """Providers and devices that the worker's onnxruntime tells of; see `request` for the errors."""
        return self._typed(DevicesRequest(), DevicesResult, cancel=cancel)

    def schema(self) -> SchemaResult:
        """The worker's own schema."""
        return self._typed(SchemaRequest(), SchemaResult)

    def ping(self) -> None:
        """A sign of life between two OGA calls; see `request` for the errors."""
        self._typed(PingRequest(), Empty)

    def _typed(
        self,
        request: WorkerRequest,
        result_type: type[R],
        *,
        cancel: CancelToken | None = None,
        on_note: OnNote | None = None,
        should_abort: ShouldAbort | None = None,
    ) -> R:
        result = self.request(request, cancel=cancel, on_note=on_note, should_abort=should_abort)
        assert isinstance(result, result_type)
        return result

    def request(
        self,
        request: WorkerRequest,
        *,
        cancel: CancelToken | None = None,
        on_note: OnNote | None = None,
        should_abort: ShouldAbort | None = None,
    ) -> WorkerResult:
        """Ask and wait for the reply.

        `on_note` is called from this thread for every note; `should_abort` about ten times a second: once
        it says yes, the worker is asked to leave the request, which then ends as WorkerRefusedError
        "aborted". Raises WorkerRefusedError for an error reply, WorkerLostError when the worker crashes or
        is silent beyond its deadline (it is killed first), ProtocolError for a bad line (likewise), and
        CancelledError once `cancel` is set (the worker is still busy then: close it).
        """
        request_id = self._next_id
        self._next_id += 1
        self._enter("idle")
        self._send(request_line(request_id, request))
        aborted = False

        def poll() -> None:
            nonlocal aborted
            if should_abort is not None and not aborted and should_abort():
                aborted = True
                self._send(abort_line(request_id))

        while True:
            line = self._next_line(cancel, poll)
            if isinstance(line, NoteLine) and line.id == request_id:
                self._enter(line.note.phase, line.note.tokens)
                if on_note is not None:
                    on_note(line.note)
                continue
            if isinstance(line, Hello | NoteLine) or line.id != request_id:
                self._end_now()
                raise ProtocolError(f"The worker answered out of turn: {line!r:.120}")
            self._enter("idle")
            if line.error is not None:
                raise WorkerRefusedError(line.error.type, line.error.message)
            try:
                return parse_result(request.op, line.result)
            except ProtocolError:
                self._end_now()
                raise

    def _enter(self, phase: str, tokens: int = 0) -> None:
        self._phase, self._phase_tokens = phase, tokens

    def _send(self, data: bytes) -> None:
        child = self._child
        if child is None or child.process.stdin is None or self.outcome is not None:
            raise self._lost(self.outcome or ends.not_started("The worker was not started"))
        try:
            child.process.stdin.write(data)
            child.process.stdin.flush()
        except OSError:
            # The pipe broke: the worker is gone or going; how, its exit code says.
            raise self._gone() from None

    def _next_line(self, cancel: CancelToken | None, poll: Callable[[], None] | None = None) -> Line:
        """The worker's next line; silence is measured from now, without the time that the machine sleeps."""
        begin = awake_seconds()
        limit = self.deadlines.limit(self._phase, self._phase_tokens)
        busy_at_begin = self._cpu_seconds()
        while True:
            try:
                line = self._lines.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if cancel is not None:
                    cancel.check()
                if poll is not None:
                    poll()
                silent = awake_seconds() - begin
                if silent > limit and self._is_hung(silent, limit, busy_at_begin):
                    doing = DOING[self._phase]
                    outcome = ends.hung(doing=doing, seconds=silent, limit=limit, stderr=self.stderr_tail)
                    if self._phase == "start":
                        outcome = ends.not_started(f"The worker said nothing for {silent:.0f} s after its start")
                    raise self._give_up(outcome) from None
                continue
            if line is None:
                raise self._gone()
            if isinstance(line, ProtocolError):
                self._end_now()
                raise line
            return line

    def _cpu_seconds(self) -> float | None:
        """CPU time of the process that holds the model; None where the system does not tell."""
        pid = self.pid or (self._child.process.pid if self._child is not None else None)
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            return None
        return float(times.user + times.system)

    def _is_hung(self, silent: float, limit: float, busy_at_begin: float | None) -> bool:
        """Whether a worker beyond its deadline is given up: at once if it idles, later if it computes."""
        now = self._cpu_seconds()
        if now is None or busy_at_begin is None:
            return True
        computes = now - busy_at_begin > _BUSY_SHARE * silent
        return not computes or silent > limit * self.deadlines.busy_factor

    # -- ends ----------------------------------------------------------------------------------------

    def _lost(self, outcome: Outcome) -> WorkerLostError:
        self.outcome = outcome
        return WorkerLostError(outcome)

    def _gone(self) -> WorkerLostError:
        """The worker closed its pipes: wait for its exit code and say what it means."""
        assert self._child is not None
        code = self._child.wait(self.deadlines.terminate)
        self._child.end(None, self.deadlines)
        self._join()
        doing = DOING[self._phase]
        if self._phase == "start":
            outcome = ends.not_started("The worker did not start", code=code, stderr=self.stderr_tail)
        elif code is None:
            detail = f"the worker closed its output {doing} and did not leave; it was ended"
            outcome = Outcome("crashed", detail, stderr=self.stderr_tail)
        else:
            outcome = ends.outcome_of_exit(code, doing=doing, stderr=self.stderr_tail)
        return self._lost(self._told(outcome))

    def _give_up(self, outcome: Outcome) -> WorkerLostError:
        self._end_now()
        return self._lost(self._told(outcome))

    def _end_now(self) -> None:
        """End a worker that cannot be talked to any more."""
        assert self._child is not None
        self._child.end(None, self.deadlines)
        self._join()
        self.outcome = self._told(Outcome("stopped", "ended for a broken conversation", stderr=self.stderr_tail))

    def _told(self, outcome: Outcome) -> Outcome:
        """`outcome`, with what to do about processes that could not be ended."""
        alive = self._child.survivors() if self._child is not None else []
        if not alive:
            return outcome
        words = f"process {' and '.join(map(str, alive))} could not be ended; restart the computer to free its device"
        return dataclasses.replace(outcome, cause="hung", detail=f"{outcome.detail}; {words}")

    def close(self) -> Outcome:
        """End the worker: ask, terminate, kill, each step bounded. Calling it again changes nothing.

        Returns how the worker ended; an end that was asked for is "stopped" whatever its exit code.
        A process that survives even a kill (a hung driver) is named in the outcome, not waited for.
        """
        child = self._child
        if child is None or self.outcome is not None:
            self.outcome = self.outcome or ends.not_started("The worker was not started")
            return self.outcome
        already = child.process.poll()
        child.end(request_line(self._next_id, ShutdownRequest()), self.deadlines)
        self._join()
        code = child.process.poll()
        if already is not None:
            doing = DOING[self._phase]
            self.outcome = ends.outcome_of_exit(already, doing=doing, stderr=self.stderr_tail)
        elif code is None:
            self.outcome = Outcome("hung", "asked to end, then killed", stderr=self.stderr_tail)
        else:
            self.outcome = ends.outcome_of_exit(code, doing="", asked=True, stderr=self.stderr_tail)
        self.outcome = self._told(self.outcome)
        return self.outcome

    def _join(self) -> None:
        """Wait for the reader threads: both end with the pipes, once no process holds them open."""
        if self._child is not None:
            self._child.close_stdin()
        for thread in self._threads:
            thread.join(self.deadlines.kill)


def _creation_flags() -> int:
    """No console window may flash up on Windows."""
    if sys.platform == "win32":
        return subprocess.CREATE_NO_WINDOW
    return 0
