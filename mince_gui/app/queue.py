"""A queue of runs: models x subsets, one after the other, each with its own end.

Entries wait in the workspace, so they outlive every process. One queue runner at a time goes through them in order and
makes each entry's run when its turn has come; an entry that fails does not stop the next. Whatever ends the runner
(Ctrl-C, `stop`, SIGKILL), the entry in hand stays, and its run is resumed first next time.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mince_gui.app import detached
from mince_gui.app.run import BUSY_SECONDS, RunOrder, create, execute
from mince_gui.app.run_sink import outliving
from mince_gui.app.runtimes import BUNDLED
from mince_gui.base import crash
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError, MinceError, UsageError
from mince_gui.base.events import Cause, Emit, Event, Started, Warned, ignore
from mince_gui.base.paths import expanded, state_dir
from mince_gui.run.guards.lease import DeviceBusyError, holder, leases
from mince_gui.store import Workspace
from mince_gui.store import queue as stored_queue
from mince_gui.store import runs as stored_runs
from mince_gui.store import runtimes as stored_runtimes
from mince_gui.store import subsets as stored_subsets
from mince_gui.store.faults import WorkspaceError
from mince_gui.store.queue import StoredEntry

_NAME = "queue"
_LIST = "`mince queue list` shows the entries."


@dataclass(frozen=True)
class QueueEntry:
    """An entry for a front end. `state` is interrupted where its runner is gone without having said so.

    `done` and `items` count the run's items, None before its turn; `cause` and `detail` say how it ended.
    """

    entry_id: int
    model_dir: Path
    subset: str | None
    task: str | None
    state: Literal["waiting", "running", "interrupted", "ended"]
    cause: Cause | None
    detail: str
    run_id: str | None
    done: int | None
    items: int | None

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {**dataclasses.asdict(self), "model_dir": str(self.model_dir)}


@dataclass(frozen=True)
class Queue:
    """The entries in order; `runner` names the process that goes through them, None if none does."""

    entries: tuple[QueueEntry, ...]
    runner: str | None


def add(workspace: Path, orders: Sequence[RunOrder]) -> list[int]:
    """Put runs at the end of the queue; returns the entries' numbers. Nothing is checked before an entry's turn."""
    with Workspace(workspace) as ws:
        packs = {"full", *(pack.name for pack in stored_subsets.packs(ws))}
        runtimes = {BUNDLED, *(runtime.name for runtime in stored_runtimes.listing(ws))}
        return stored_queue.add(ws, [_from_anywhere(order, packs, runtimes).to_json() for order in orders])


def _from_anywhere(order: RunOrder, packs: Collection[str], runtimes: Collection[str]) -> RunOrder:
    """The order with whole paths: the queue may be started from another folder. A name that is known stays a name."""

    def whole(named: str, known: Collection[str]) -> str:
        # Not Path.exists: a name that no file can have is none, and no error.
        is_file = named not in known and os.path.exists(named)  # noqa: PTH110
        return str(Path(named).absolute()) if is_file else named

    return dataclasses.replace(
        order,
        model_dir=expanded(order.model_dir).absolute(),
        subset=None if order.subset is None else whole(order.subset, packs),
        runtime=None if order.runtime is None else whole(order.runtime, runtimes),
        chat_template=whole(order.chat_template, ("auto", "none")),
    )


def listing(workspace: Path) -> Queue:
    """The queue as it stands."""
    with Workspace(workspace) as ws:
        runner = holder(ws.folder, _NAME)
        has_runner = runner is not None
        return Queue(tuple(_shown(ws, entry, has_runner=has_runner) for entry in stored_queue.entries(ws)), runner)


def _shown(ws: Workspace, entry: StoredEntry, *, has_runner: bool) -> QueueEntry:
    run = None if entry.run_id is None else stored_runs.get(ws, entry.run_id)
    return QueueEntry(
        entry_id=entry.entry_id,
        model_dir=Path(str(entry.order.get("model_dir"))),
        subset=entry.order.get("subset") if run is None else run.plan.subset,
        task=entry.order.get("task") if run is None else run.plan.task,
        state="interrupted" if entry.state == "running" and not has_runner else entry.state,
        cause=entry.cause,
        detail=entry.detail,
        run_id=entry.run_id,
        done=None if run is None else run.done,
        items=None if run is None else run.plan.items,
    )


def remove(workspace: Path, entry_id: int) -> None:
    """Take one entry out; its run stays. Raises UsageError for an unknown one, and for the one that is running."""
    with Workspace(workspace) as ws:
        if stored_queue.remove(ws, entry_id=entry_id, running=holder(ws.folder, _NAME) is None):
            return
        known = any(entry.entry_id == entry_id for entry in stored_queue.entries(ws))
    if known:
        raise UsageError(f"Entry {entry_id} is running.", "Stop the queue first: mince queue stop")
    raise UsageError(f"There is no entry {entry_id} in the queue.", _LIST)


def clear(workspace: Path, *, ended: bool = False) -> int:
    """Take all entries out, or those that have ended; the one that is running stays. Returns how many."""
    with Workspace(workspace) as ws:
        return len(stored_queue.remove(ws, ended=ended, running=holder(ws.folder, _NAME) is None))


def start_detached(workspace: Path) -> int:
    """Start a queue runner of its own that outlives us; returns its process id. Raises UsageError while one lives."""
    with Workspace(workspace) as ws:
        ws.require_writable()
        _refuse_second(ws.folder)
        words = ["queue", "start", "--workspace", str(ws.folder), "--events", "none"]
        return detached.spawn(words, queue_log(ws.folder)).pid


def queue_log(workspace: Path) -> Path:
    """What a detached queue runner wrote to stderr."""
    return workspace / "runs" / "queue.log"


def stop(workspace: Path) -> None:
    """Ask the queue runner to stop after the item in flight; the entry in hand stays. Raises UsageError without one."""
    with Workspace(workspace) as ws:
        if holder(ws.folder, _NAME) is None:
            raise UsageError("No queue runner is at work.", "Start one: mince queue start")
        _stop_file(ws.folder).touch()
        for entry in stored_queue.entries(ws):
            if entry.state == "running" and entry.run_id is not None:
                stored_runs.ask(ws, entry.run_id, "stop")


def _stop_file(folder: Path) -> Path:
    return folder / "queue.stop"


def _refuse_second(folder: Path) -> None:
    if (other := holder(folder, _NAME)) is not None:
        raise UsageError(f"The queue is being run by {other}.", "Follow it (mince queue list), or stop it first.")


@contextmanager
def _only_runner(folder: Path) -> Iterator[None]:
    """Be the only queue runner of the workspace while inside, until this process ends, however it ends."""
    _refuse_second(folder)
    try:
        with leases(folder, [_NAME], "a queue runner"):
            _stop_file(folder).unlink(missing_ok=True)
            yield
    except DeviceBusyError:
        _refuse_second(folder)
        raise


def run_queue(
    workspace: Path,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> list[QueueEntry]:
    """Run every entry that has not ended, in order; returns those that were in hand.

    An entry ends with its run's cause, or as failed with the reason why it could not be run; then comes the next. The
    queue itself ends early when `cancel` is set or `stop` asks (the entry in hand stays, for the next time), and raises
    WorkspaceError where the workspace cannot be used any more. `emit` gets one stream of events per run; a front end
    that goes away ends nothing.

    Raises UsageError while another process runs the queue.
    """
    cancel = cancel or CancelToken()
    emit = outliving(emit)
    ended: list[QueueEntry] = []
    with Workspace(workspace, busy_seconds=BUSY_SECONDS) as ws:
        ws.require_writable()
        with _only_runner(ws.folder):
            while not _is_over(ws.folder, cancel) and (entry := stored_queue.begin_next(ws)) is not None:
                try:
                    cause, detail = _run(ws, entry, emit, cancel)
                except CancelledError:
                    cause, detail = "stopped", ""
                if cause == "stopped" and _is_over(ws.folder, cancel):
                    closed = stored_queue.put_back(ws, entry.entry_id)
                else:
                    closed = stored_queue.end(ws, entry.entry_id, cause, detail)
                ended.append(_shown(ws, closed, has_runner=True))
    return ended


def _order_of(entry: StoredEntry) -> RunOrder:
    try:
        return RunOrder.from_json(entry.order)
    except (TypeError, KeyError) as exc:
        raise InputError(
            f"Entry {entry.entry_id} was added by another version of mince-gui: {exc}.", "Add it again."
        ) from exc


def _is_over(folder: Path, cancel: CancelToken) -> bool:
    return cancel.cancelled or _stop_file(folder).exists()


def _stopping(ws: Workspace, run_id: str, emit: Emit) -> Emit:
    """The same emit; a run whose queue was asked to stop while it was about to begin is asked, too.

    A run that begins forgets the wishes for its earlier runner, and with them one that `stop` wrote just before.
    """

    def tell(event: Event) -> None:
        if isinstance(event, Started) and _stop_file(ws.folder).exists():
            stored_runs.ask(ws, run_id, "stop")
        emit(event)

    return tell


def _run(ws: Workspace, entry: StoredEntry, emit: Emit, cancel: CancelToken) -> tuple[Cause, str]:
    """How the entry's run ended. Raises CancelledError, and WorkspaceError where no other entry can be run either."""
    try:
        run_id = entry.run_id
        if run_id is None:
            run_id = create(ws.folder, _order_of(entry), busy_seconds=BUSY_SECONDS)
            stored_queue.set_run(ws, entry.entry_id, run_id)
        if _is_over(ws.folder, cancel):
            return "stopped", ""
        execute(ws.folder, run_id, emit=_stopping(ws, run_id, emit), cancel=cancel, wait=True)
    except (WorkspaceError, CancelledError):
        raise
    except (MinceError, OSError) as exc:
        detail = str(exc)
    except Exception as exc:  # noqa: BLE001 - a defect in one run must not cost the others their night
        report = crash.write_report(exc, state_dir())
        detail = f"A defect of mince-gui: {type(exc).__name__}: {exc}\nPlease report it with {report}."
    else:
        run = stored_runs.get(ws, run_id)
        return run.cause or "failed", run.detail
    emit(Warned(f"Entry {entry.entry_id} of the queue failed.", detail))
    return "failed", detail
