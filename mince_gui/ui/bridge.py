"""Long work off the GUI thread: the one place where base.events become Qt signals.

A `Job` calls one function in a worker thread with an `emit` and a cancel token. Events, the result and
the error travel through a queue that a timer on the GUI thread drains about ten times a second, so a
fast worker cannot flood the event loop; the end of a job drains at once.
"""

from __future__ import annotations

import queue
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, MinceError
from mince_gui.base.events import Emit, Event, Progress, Started, Warned

_DRAIN_MS = 100
_THREADS = 3
_READERS = 2
_PER_DRAIN = 2_000

Result = TypeVar("Result")
Call = Callable[[Emit, CancelToken], Result]


class DefectError(MinceError):
    """Something escaped that we cannot explain: a fault of ours, with the trace for whoever mends it."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(
            f"Something went wrong inside mince-gui: {type(cause).__name__}: {cause}",
            "This is a defect of the program. Copy the details and report it.",
        )
        self.trace = "".join(traceback.format_exception(cause)).rstrip()


class Job(QObject):
    """One piece of background work. All signals come on the GUI thread; exactly one of done and failed comes last.

    `progressed` carries done, total (-1 = not known) and a note.
    """

    progressed = Signal(int, int, str)
    warned = Signal(str, str)
    happened = Signal(list)
    done = Signal(object)
    failed = Signal(object)
    ended = Signal()

    def __init__(self, title: str, *, shown: bool, cancellable: bool, parent: QObject) -> None:
        super().__init__(parent)
        self.title = title
        self.shown = shown
        self.cancellable = cancellable
        self.token = CancelToken()
        self.warnings: list[tuple[str, str]] = []

    def cancel(self) -> None:
        """Ask for the end."""
        self.token.cancel()

    def deliver(self, events: Sequence[Event]) -> None:
        """Turn one batch of events into signals; of several progresses only the last is shown."""
        last: Progress | Started | None = None
        for event in events:
            if isinstance(event, Warned):
                self.warnings.append((event.message, event.detail))
                self.warned.emit(event.message, event.detail)
            elif isinstance(event, Progress | Started):
                last = event
        if isinstance(last, Started):
            self.progressed.emit(0, -1 if last.total is None else last.total, last.detail)
        elif isinstance(last, Progress):
            self.progressed.emit(last.done, -1 if last.total is None else last.total, last.note)
        if events:
            self.happened.emit(list(events))


class Jobs(QObject):
    """Starts jobs and delivers what they say. Belongs to the window; `close` ends everything.

    `job_started` lets the activity bar show each job that wants to be seen.
    """

    job_started = Signal(object)
    _wake = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: queue.SimpleQueue[tuple[Job, str, Any]] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="mince-job")
        # Reads have threads of their own: three long jobs must not keep a page from showing what is stored.
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="mince-job-read")
        self._live: set[Job] = set()
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setInterval(_DRAIN_MS)
        self._timer.timeout.connect(self._drain)
        self._wake.connect(self._drain, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        title: str,
        call: Call[Result],
        *,
        done: Callable[[Result], None] | None = None,
        failed: Callable[[MinceError], None] | None = None,
        shown: bool = True,
        cancellable: bool = True,
    ) -> Job:
        """Run `call` in a worker thread; `done` or `failed` is called on the GUI thread. Call from the GUI thread.

        After `close` nothing is run and nobody called: a timer of a page may still go off while its window closes.
        """
        job = Job(title, shown=shown, cancellable=cancellable, parent=self)
        if self._closed:
            return job
        if done is not None:
            job.done.connect(done)
        if failed is not None:
            job.failed.connect(failed)
        self._live.add(job)
        self._timer.start()
        (self._pool if shown else self._readers).submit(self._work, job, call)
        self.job_started.emit(job)
        return job

    def read(
        self,
        call: Callable[[], Result],
        done: Callable[[Result], None],
        failed: Callable[[MinceError], None] | None = None,
    ) -> Job:
        """A short read of the workspace: nothing is shown while it goes on."""
        return self.start("", lambda emit, cancel: call(), done=done, failed=failed, shown=False, cancellable=False)

    @property
    def busy(self) -> bool:
        """Whether any job is going on."""
        return bool(self._live)

    def close(self) -> None:
        """Cancel everything and wait for it; no signal comes any more."""
        self._closed = True
        self._timer.stop()
        for job in self._live:
            job.cancel()
        for pool in (self._pool, self._readers):
            pool.shutdown(wait=True, cancel_futures=True)
        self._live.clear()

    def _work(self, job: Job, call: Call[Any]) -> None:
        put = self._queue.put
        try:
            result = call(lambda event: put((job, "event", event)), job.token)
        except MinceError as exc:
            put((job, "failed", exc))
        except Exception as exc:  # noqa: BLE001 - a thread's boundary: what escapes here would be lost
            put((job, "failed", DefectError(exc)))
        else:
            put((job, "done", result))
        if not self._closed:
            self._wake.emit()

    def _drain(self) -> None:
        batches: dict[Job, list[Event]] = {}
        ends: list[tuple[Job, str, Any]] = []
        for _ in range(_PER_DRAIN):
            try:
                job, kind, value = self._queue.get_nowait()
            except queue.Empty:
                break
            if kind == "event":
                batches.setdefault(job, []).append(value)
            else:
                ends.append((job, kind, value))
        for job, events in batches.items():
            job.deliver(events)
        for job, kind, value in ends:
            self._end(job, kind, value)
        if not self._live:
            self._timer.stop()

    def _end(self, job: Job, kind: str, value: Any) -> None:
        self._live.discard(job)
        if kind == "done":
            job.done.emit(value)
        else:
            job.failed.emit(value)
        job.ended.emit()
        job.deleteLater()


def was_cancelled(error: MinceError) -> bool:
    """Whether the user asked for this end: nothing to complain about."""
    return isinstance(error, CancelledError)
