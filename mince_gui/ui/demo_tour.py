"""The demo in the window: prepared in the background, then each run followed live, then the report."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from mince_gui.app import demo, detached
from mince_gui.app.run import RunOrder
from mince_gui.base.errors import MinceError
from mince_gui.sizing.types import SizingResult
from mince_gui.store.runs import StoredRun
from mince_gui.subset.types import FrozenSubset
from mince_gui.ui.hub import Hub

_LAST = "demo-math"
"""Its report is shown: answers are generated, so it has every timing."""


class DemoTour(QObject):
    """Goes through the demo. `told` carries where it stands, `followed` a run that was started, `failed` an error.

    Whoever follows the runs calls `run_over` when one ends.
    """

    told = Signal(str)
    followed = Signal(str)
    failed = Signal(object)
    finished = Signal(str)

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._hub = hub
        self._waiting: list[tuple[str, str]] = []
        self._all = 0
        self.active = False
        self._current: str | None = None
        self._report: str | None = None

    def start(self) -> None:
        """Prepare, then run."""
        workspace = self._hub.workspace
        self.active = True
        self.told.emit("Demo: importing logs, sizing and freezing")

        self._hub.jobs.start(
            "Preparing the demo",
            lambda emit, cancel: demo.prepare(workspace, emit=emit, cancel=cancel),
            done=self._prepared,
            failed=self._fail,
        )

    def _prepared(self, prepared: list[tuple[SizingResult, FrozenSubset]]) -> None:
        self._hub.tell("logs", "sizings", "subsets", "packs")
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
            self.finished.emit(self._report or "")
            return
        subset, words = self._waiting.pop(0)
        self.told.emit(f"Demo, run {self._all - len(self._waiting)} of {self._all}: {subset} ({words})")
        workspace = self._hub.workspace

        def started(run_id: str) -> None:
            self._current = run_id
            if words == "the subset":
                self._report = run_id
            self.followed.emit(run_id)

        self._hub.jobs.start(
            "Starting the run",
            lambda emit, cancel: detached.start(workspace, RunOrder(demo.model_dir(), subset)),
            done=started,
            failed=self._fail,
            cancellable=False,
        )

    def run_over(self, run: StoredRun) -> None:
        """A followed run ended: the next one, unless the user stopped this one."""
        if run.run_id != self._current:
            return
        self._current = None
        if run.cause in ("done", "incomplete"):
            # Not from within the signal of the run's page, which is still at work on this run.
            QTimer.singleShot(0, self, self._next)
        else:
            self._over()

    def _fail(self, error: MinceError) -> None:
        self._over()
        self.failed.emit(error)

    def _over(self) -> None:
        self.active = False
        self._waiting = []
        self._current = None
        self.told.emit("")
