"""Follows a run from outside: the workspace's rows and the tail of its event file, never the process itself."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from mince_gui.app.own_full_run import own_full_run
from mince_gui.app.summary import budget_of
from mince_gui.base.draws import UNIFORM
from mince_gui.base.errors import MinceError
from mince_gui.base.events import Ended, Event, ItemDone, Progress, Started, Warned, from_json
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import runs as stored_runs
from mince_gui.store.faults import WorkspaceError
from mince_gui.store.runs import StoredRun
from mince_gui.ui.bridge import DefectError
from mince_gui.ui.snapshot import Snapshot, Trail

_POLL_SECONDS = 0.3
_REST_SECONDS = 2.0
_TAIL_BYTES = 64 * 1024
_NOTICES = 20
_TRIES = 5
"""How often in a row the database may refuse a look (locked, a disk that is slow to answer) before we give up."""


class Tail:
    """Reads whole new lines of the event file. Begins near its end: older events are rows by now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place: int | None = None
        self._rest = b""

    def new(self) -> list[Event]:
        """Events since the last call."""
        try:
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                skip = self._place is None and size > _TAIL_BYTES
                file.seek(max(0, size - _TAIL_BYTES) if self._place is None else self._place)
                data = self._rest + file.read()
                self._place = file.tell()
        except FileNotFoundError:
            return []
        lines = data.split(b"\n")
        # The last piece is a line that is still being written.
        self._rest = lines.pop()
        events = []
        for line in lines[1 if skip else 0 :]:
            try:
                events.append(from_json(line.decode("ascii")))
            except ValueError:
                # A line cut by a crash: what it said is in the workspace's rows, or lost with the item.
                continue
        return events


class _View:
    """What is known of one run, kept between two looks."""

    def __init__(self, ws: Workspace, run: StoredRun) -> None:
        self._ws = ws
        self._benchmark = stored_logs.benchmark_of(run.plan.benchmark)
        self._trail = Trail(run, self._benchmark)
        self._tail = Tail(ws.events_file(run.run_id))
        self._full: dict[str, float] | None = None
        self._left: float | None = None
        self._phase = ""
        self._notices: list[str] = []
        # A part of a subset is not the subset, and a bound is one of uniform draws: it does not hold for others.
        subset = stored_runs.subset_of(ws, run)
        own = run.plan.items == run.plan.subset_items and subset.sampler in UNIFORM
        self._bound = subset.p95_pp if own else None
        self._shown: tuple[object, ...] | None = None

    def look(self, run: StoredRun) -> Snapshot | None:
        """The run now; None where nothing changed since the last look."""
        heard = self._hear()
        anew = self._shown is None
        fresh = stored_runs.items(self._ws, run.run_id, after=self._trail.last)
        known = self._trail.count + len(fresh)
        done = self._trail.done + sum(item.state == "done" for item in fresh)
        if (known, done) != (run.done + run.missing, run.done):
            # A resumed run tries missing items again, at places that were passed already.
            self._trail = Trail(run, self._benchmark)
            fresh = stored_runs.items(self._ws, run.run_id)
            anew = True
        self._trail.add(fresh)
        now = (run.state, run.cause, run.detail, run.done, run.missing, self._left, self._phase)
        if not (fresh or heard or anew) and now == self._shown:
            return None
        self._shown = now
        if self._full is None and run.conditions is not None:
            own = own_full_run(self._ws, run)
            self._full = {name: ratio.percent for name, ratio in own.metrics.items() if ratio.trials} if own else {}
        return Snapshot(
            run=run,
            fresh=tuple(fresh),
            anew=anew,
            scores=self._trail.scores(self._full or {}),
            # The budget is known once the model is loaded.
            answers=replace(self._trail.answers, budget=budget_of(run)),
            seconds_left=self._left if run.state in ("running", "paused") else None,
            phase=self._phase if run.state in ("started", "running") else "",
            notices=tuple(self._notices),
            bound_pp=self._bound if run.done == run.plan.subset_items else None,
            **self._trail.facts(),
        )

    def _hear(self) -> bool:
        events = self._tail.new()
        for event in events:
            if isinstance(event, ItemDone):
                self._left, self._phase = event.seconds_left, ""
            elif isinstance(event, Progress):
                self._phase = event.note
            elif isinstance(event, Warned):
                self._notices.append(event.message)
                del self._notices[:-_NOTICES]
            elif isinstance(event, Started):
                self._notices.clear()
            elif isinstance(event, Ended):
                self._left, self._phase = None, ""
        return bool(events)


class RunFollower(QObject):
    """Looks at one run about three times a second in a thread of its own.

    `snapshot` carries a Snapshot, `failed` a MinceError; both arrive on the GUI thread. After `failed` nothing is
    followed any more. A run that is over is looked at more seldom, because somebody else may resume it.
    """

    snapshot = Signal(object)
    failed = Signal(object)
    _lost = Signal(object, object)

    def __init__(self, workspace: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        # A thread that was told to stop may still be busy for a moment; nobody waits for it but `close`.
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self.run_id: str | None = None
        self._lost.connect(self._give_up)

    def follow(self, run_id: str) -> None:
        """Follow this run in place of any other."""
        self._stop.set()
        self._stop = threading.Event()
        self.run_id = run_id
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._loop, args=(run_id, self._stop), name="mince-follow", daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Stop looking; the run itself goes on."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self.run_id = None

    def _give_up(self, stop: threading.Event, error: MinceError) -> None:
        if stop is self._stop and not stop.is_set():
            # A run that is not followed can be followed again.
            self.run_id = None
            self.failed.emit(error)

    def _loop(self, run_id: str, stop: threading.Event) -> None:
        failures = 0
        while not stop.is_set():
            try:
                with Workspace(self._workspace) as ws:
                    view: _View | None = None
                    while not stop.is_set():
                        # An item is never seen without its scores.
                        with ws.snapshot():
                            run = stored_runs.get(ws, run_id)
                            view = view or _View(ws, run)
                            found = view.look(run)
                        failures = 0
                        if found is not None and not stop.is_set():
                            self.snapshot.emit(found)
                        over = run.state in ("ended", "interrupted")
                        stop.wait(_REST_SECONDS if over else _POLL_SECONDS)
            except WorkspaceError as exc:
                failures += 1
                if exc.kind != "busy" or failures == _TRIES:
                    self._lost.emit(stop, exc)
                    return
                stop.wait(_POLL_SECONDS)
            except MinceError as exc:
                self._lost.emit(stop, exc)
                return
            except Exception as exc:  # noqa: BLE001 - a thread's boundary: what escapes here would be lost
                self._lost.emit(stop, DefectError(exc))
                return
