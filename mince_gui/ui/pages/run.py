"""Run: start a run as a process of its own and follow it; runs of the workspace, interrupted ones too."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from mince_gui.app import detached
from mince_gui.app.run import RunOrder
from mince_gui.base.errors import MinceError, UsageError
from mince_gui.run import read_model_folder
from mince_gui.run.types import Control
from mince_gui.store.runs import StoredRun
from mince_gui.ui import reads
from mince_gui.ui.entries import EntryList
from mince_gui.ui.follower import RunFollower
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.run_form import RunForm
from mince_gui.ui.pages.run_view import RunView
from mince_gui.ui.run_words import about, entry, is_live, state_of
from mince_gui.ui.snapshot import Snapshot
from mince_gui.ui.states import EmptyState
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import button, column, label, row

_EXPLAIN = "A run is a process of its own: it goes on when this window is closed, and every finished item is kept."
_EMPTY = "A run needs a model folder and a pack. What is running can be paused, stopped and resumed."
_LOOK_MS = 3_000


class NativeCodeError(UsageError):
    """The model folder wants a library of its own to be loaded, and nobody said that it is trusted."""

    def __init__(self, order: RunOrder, library: str) -> None:
        self.library = Path(library).name
        super().__init__(
            f"{order.model_dir} loads native code: {self.library}.",
            "Such code can do whatever you can do on this machine. Go on only if you trust the folder's source.",
        )
        self.order = order


def _start(workspace: Path, order: RunOrder) -> str:
    library = read_model_folder(order.model_dir).custom_ops_library
    if library is not None and not order.trust_native_code:
        raise NativeCodeError(order, library)
    return detached.start(workspace, order)


class RunPage(Page):
    """The page.

    `status` carries a line for the activity bar (empty = nothing runs), `over` a run that ended, `live_count` how
    many runs are going on; `demo_ended` says that the user has had enough of the demo.
    """

    subjects = frozenset({"runs", "packs"})
    status = Signal(str)
    live_count = Signal(int)
    over = Signal(object)
    demo_ended = Signal()

    def __init__(self, hub: Hub) -> None:
        self._report = button("Report", self._show_report, icon="reports", tip="Show this run's report")
        super().__init__(hub, "Run", _EXPLAIN, [self._report])
        self._live_before: str | None = None
        self._live = 0
        self._wanted: str | None = None
        self.form = RunForm()
        self.list = EntryList("Runs")
        self.list.setFixedWidth(224)
        self.view = RunView()
        self.follower = RunFollower(hub.workspace, self)
        self._banner_words = label("", "heading", wrap=True)
        self.end_demo = button(
            "End the demo", self.demo_ended.emit, icon="close", tip="No further run is started; one going on goes on"
        )
        self.banner = QWidget()
        line = row(self._banner_words, self.end_demo, gap=GRID)
        line.setStretch(0, 1)
        self.banner.setLayout(line)
        self.banner.hide()
        empty = EmptyState(
            "run", "Runs belong here", _EMPTY, button("Go to Subsets", lambda: hub.show("subsets"), icon="subsets")
        )
        self.set_content(self._with_list(), empty)
        layout = self.layout()
        assert layout is not None
        layout.removeWidget(self.stack)
        layout.addWidget(self.banner)
        layout.addWidget(self.form)
        layout.addWidget(self.stack)
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._look_again)

        self.form.wanted.connect(self.start)
        self.form.unsure.connect(self._read_forecast)
        self.list.chosen.connect(self._follow)
        # A click on the chosen run: it may have been lost.
        self.list.clicked.connect(lambda _: self._follow(self.list.current_ident() or ""))
        self.follower.snapshot.connect(self._show_snapshot)
        self.follower.failed.connect(self._lost)
        self.view.wish.connect(self._ask)
        self.view.resume.connect(self._resume)
        view = self.view
        order: tuple[QWidget, ...] = (
            self.form.start, self.list, view.pause, view.go_on, view.skip, view.stop, view.filter, view.scores_view,
            view.items_view,
        )  # fmt: skip
        for before, after in pairwise(order):
            QWidget.setTabOrder(before, after)
        QShortcut(QKeySequence("Ctrl+Return"), self, lambda: self.form.start.click())

    def _with_list(self) -> QWidget:
        holder = QWidget()
        inside = row(self.list, self.view, gap=2 * GRID)
        inside.setStretch(1, 1)
        holder.setLayout(column(inside))
        return holder

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102, N802 - Qt's name
        # Space belongs to the control that has the focus; only what none of them wanted comes here.
        if event.key() == Qt.Key.Key_Space and not event.modifiers():
            self.view.toggle_pause()
            return
        super().keyPressEvent(event)

    # -- reading ---------------------------------------------------------------------------------------

    def enter(self) -> None:
        """The page comes to the front."""
        self._stale = True
        super().enter()
        self._look.start()

    def refresh(self) -> None:
        """Read runs, and what a run can be asked for."""
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.run_choices(workspace), self.form.show_choices, self.fail)
        self._read_runs()

    def open_with(self, what: object) -> None:
        """Choose ("pack", name), follow ("follow", run id), offer ("unfinished", run) again, or leave all as it is."""
        if isinstance(what, tuple) and what[0] == "follow":
            self._wanted = str(what[1])
            self._follow(self._wanted)
            # Its end must be noticed even where the first look comes after it.
            self._live_before = self._wanted
            self._read_runs()
        elif isinstance(what, tuple) and what[0] == "unfinished":
            run: StoredRun = what[1]
            self._wanted = run.run_id
            self._follow(run.run_id)
            self._read_runs()
            self.error.show_notice(
                f"The run of {run.plan.subset} on {run.plan.model} was {state_of(run)[0]}: its process is gone.",
                "Every item that was finished is kept.",
            )
            self.error.offer("Resume", lambda: self._resume(run.run_id))
        elif isinstance(what, tuple) and what[0] == "pack":
            name = str(what[1])
            workspace = self.hub.workspace

            def chosen(choices: reads.RunChoices) -> None:
                self.form.show_choices(choices)
                self.form.choose_pack(name)

            self.hub.jobs.read(lambda: reads.run_choices(workspace), chosen, self.fail)

    def close_page(self) -> None:
        """Stop following; runs go on."""
        self._look.stop()
        self.follower.close()

    def show_banner(self, text: str) -> None:
        """Say where the demo stands; empty hides it."""
        self._banner_words.setText(text)
        self.banner.setVisible(bool(text))
        self.form.setVisible(not text)

    @property
    def running(self) -> bool:
        """Whether the followed run is going on."""
        shown = self.view.snapshot
        return shown is not None and shown.run.run_id == self.follower.run_id and is_live(shown.run)

    def _look_again(self) -> None:
        """Others may start runs too. In the back only the number of runs is seen: until none is going on."""
        if self.isVisible() or self._live:
            self._read_runs()
        else:
            self._look.stop()

    def _read_runs(self) -> None:
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.runs(workspace), self._show_runs, self.fail)

    def _show_runs(self, runs: list[StoredRun]) -> None:
        self.show_empty(not runs)
        self._report.setEnabled(bool(runs))
        self.list.show_entries([entry(run) for run in runs])
        self._live = sum(is_live(run) for run in runs)
        self.live_count.emit(self._live)
        if self._live and not self._look.isActive():
            self._look.start()
        if self._wanted is not None:
            if self.list.choose(self._wanted):
                self._wanted = None
        elif runs and self.list.current_ident() is None:
            live = next((run for run in runs if is_live(run)), runs[0])
            self.list.choose(live.run_id)

    def _read_forecast(self, order: RunOrder) -> None:
        workspace = self.hub.workspace
        self.hub.jobs.read(
            lambda: reads.forecast(workspace, order), lambda words: self.form.show_forecast(order, words), self.fail
        )

    # -- following -------------------------------------------------------------------------------------

    def _follow(self, run_id: str) -> None:
        if run_id and self.follower.run_id != run_id:
            self._live_before = None
            self.follower.follow(run_id)

    def _lost(self, error: MinceError) -> None:
        self.status.emit("")
        self.view.lost()
        self.fail(error)
        run_id = self.list.current_ident()
        if run_id is not None:
            self.error.offer("Look again", lambda: self._follow(run_id))

    def _show_snapshot(self, snapshot: Snapshot) -> None:
        run = snapshot.run
        if run.run_id != self.follower.run_id:
            return
        self.view.show_snapshot(snapshot)
        self.list.update_entry(entry(run))
        if is_live(run):
            self._live_before = run.run_id
            left = "" if snapshot.seconds_left is None else f"   {about(snapshot.seconds_left)} left"
            paused = "   paused" if run.state == "paused" else ""
            self.status.emit(
                f"{run.plan.subset} on {run.plan.model}   {run.done + run.missing:,}/{run.plan.items:,}{left}{paused}"
            )
            return
        self.status.emit("")
        if self._live_before == run.run_id:
            self._live_before = None
            self.hub.tell("runs")
            if not self.isVisible():
                # The number beside the page's name is seen from everywhere.
                self._read_runs()
            self.over.emit(run)

    # -- acting ----------------------------------------------------------------------------------------

    def start(self, order: RunOrder) -> None:
        """Create the run and its runner in the background, then follow it."""
        self.error.hide()
        workspace = self.hub.workspace
        self.hub.jobs.start(
            "Starting the run",
            lambda emit, cancel: _start(workspace, order),
            done=self._started,
            failed=self._not_started,
            cancellable=False,
        )

    def _started(self, run_id: str) -> None:
        self.form.started()
        self.open_with(("follow", run_id))

    def _not_started(self, error: MinceError) -> None:
        self.form.started()
        self.fail(error)
        if isinstance(error, NativeCodeError):
            order = replace(error.order, trust_native_code=True)
            self.error.offer(f"Trust {error.library} and start", lambda: self.start(order))

    def _ask(self, control: Control) -> None:
        run_id, workspace = self.follower.run_id, self.hub.workspace
        if run_id is not None:
            self.hub.jobs.read(lambda: detached.ask(workspace, run_id, control), lambda _: None, self._not_asked)

    def _not_asked(self, error: MinceError) -> None:
        self.view.take_back()
        self.fail(error)

    def _resume(self, run_id: str | None = None) -> None:
        run_id, workspace = run_id or self.follower.run_id, self.hub.workspace
        if run_id is None:
            return
        self.error.hide()
        self.hub.jobs.start(
            "Resuming the run",
            lambda emit, cancel: detached.resume(workspace, run_id),
            done=lambda _: self._started(run_id),
            failed=self._not_asked,
            cancellable=False,
        )

    def _show_report(self) -> None:
        self.hub.show("reports", self.follower.run_id)
