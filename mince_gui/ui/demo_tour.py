"""The demo in the window: prepared in the background, then run after run, then the report.

The tour looks after its own runs: what the pages show meanwhile is the user's affair.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from mince_gui.app import demo, detached
from mince_gui.app.run import RunOrder
from mince_gui.base.errors import MinceError
from mince_gui.sizing.types import SizingResult
from mince_gui.store.runs import StoredRun
from mince_gui.subset.types import FrozenSubset
from mince_gui.ui import reads
from mince_gui.ui.bridge import Job
from mince_gui.ui.hub import Hub

_LAST = "demo-math"
"""Its report is shown: answers are generated, so it has every timing."""
_LOOK_MS = 500
_TRIES = 5
"""How often in a row the run's row may not be readable before the tour gives up."""


class DemoTour(QObject):
    """Goes through the demo.

    `told` carries where it stands (empty = over), `followed` a run that was started and the tour's run before it
    (or ""), `failed` an error, `stopped` why it ended early, `finished` the run whose report is worth showing.
    """

    told = Signal(str)
    followed = Signal(str, str)
    failed = Signal(object)
    stopped = Signal(str)
    finished = Signal(str)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._hub = hub
        self._waiting: list[tuple[str, str]] = []
        self._all = 0
        self.active = False
        self._job: Job | None = None
        self._current = ""
        self._report = ""
        self._failures = 0
        self._look = QTimer(self)
        self._look.setSingleShot(True)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._read)

    def start(self) -> None:
        """Prepare, then run."""
        workspace = self._hub.workspace
        self.active = True
        self.told.emit("Demo: importing logs, sizing and freezing")
        self._job = self._hub.jobs.start(
            "Preparing the demo",
            lambda emit, cancel: demo.prepare(workspace, emit=emit, cancel=cancel),
            done=self._prepared,
            failed=self._fail,
        )

    def end(self) -> None:
        """Start no further run. One that is going on goes on."""
        self._over()

    def close(self) -> None:
        """Stop looking; nothing is said any more."""
        self.active = False
        self._look.stop()

    def _prepared(self, prepared: list[tuple[SizingResult, FrozenSubset]]) -> None:
        self._job = None
        self._hub.tell("logs", "sizings", "subsets", "packs")
        if not self.active:
            return
        ordered = sorted(prepared, key=lambda pair: pair[1].benchmark == _LAST)
        self._waiting = []
        for _, frozen in ordered:
            self._waiting += [
                (frozen.name, "the subset"),
                (f"{frozen.benchmark}-full", "the full benchmark, to compare"),
            ]
        self._all = len(self._waiting)
        self._next()

    def _next(self) -> None:
        if not self._waiting:
            self._over()
            self.finished.emit(self._report)
            return
        subset, words = self._waiting.pop(0)
        self.told.emit(f"Demo, run {self._all - len(self._waiting)} of {self._all}: {subset} ({words})")
        workspace = self._hub.workspace

        def started(run_id: str) -> None:
            before, self._current = self._current, run_id
            self._hub.tell("runs")
            if not self.active:
                return
            if words == "the subset":
                self._report = run_id
            self.followed.emit(run_id, before)
            self._look.start()

        self._hub.jobs.start(
            "Starting the run",
            lambda emit, cancel: detached.start(workspace, RunOrder(demo.model_dir(), subset)),
            done=started,
            failed=self._fail,
            cancellable=False,
        )

    def _read(self) -> None:
        workspace, run_id = self._hub.workspace, self._current
        self._hub.jobs.read(lambda: reads.run(workspace, run_id), self._looked, self._not_looked)

    def _looked(self, run: StoredRun) -> None:
        self._failures = 0
        if not self.active:
            return
        if run.state not in ("ended", "interrupted"):
            self._look.start()
            return
        self._hub.tell("runs")
        if run.cause in ("done", "incomplete"):
            self._next()
            return
        self._over()
        how = "was interrupted" if run.state == "interrupted" else f"ended early ({run.cause})"
        self.stopped.emit(f"The demo ended: its run on {run.plan.subset} {how}.")

    def _not_looked(self, error: MinceError) -> None:
        self._failures += 1
        if self._failures < _TRIES and self.active:
            self._look.start()
        else:
            self._fail(error)

    def _fail(self, error: MinceError) -> None:
        if self.active:
            self._over()
            self.failed.emit(error)

    def _over(self) -> None:
        self.active = False
        self._waiting = []
        self._look.stop()
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self.told.emit("")
