"""The window: pages at the left, background work at the bottom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QButtonGroup, QFrame, QMainWindow, QStackedWidget, QToolButton, QWidget

from mince_gui.base.errors import MinceError
from mince_gui.store.runs import StoredRun
from mince_gui.ui import icons, reads, theme
from mince_gui.ui.activity import ActivityBar
from mince_gui.ui.bridge import was_cancelled
from mince_gui.ui.hub import PAGES, Hub, PageName
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.logs import LogsPage
from mince_gui.ui.pages.start import StartPage
from mince_gui.ui.run_words import is_live
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Elided, column, label, row

if TYPE_CHECKING:
    from mince_gui.ui.demo_tour import DemoTour

_TITLES: dict[PageName, str] = {
    "logs": "Logs",
    "sizing": "Sizing",
    "subsets": "Subsets",
    "run": "Run",
    "reports": "Reports",
}
_LEAVING = "The run goes on without the window. Open mince-gui again to follow it."
_GOODBYE_MS = 1_500


def _sizing(hub: Hub) -> Page:
    from mince_gui.ui.pages.sizing import SizingPage

    return SizingPage(hub)


def _subsets(hub: Hub) -> Page:
    from mince_gui.ui.pages.subsets import SubsetsPage

    return SubsetsPage(hub)


def _run(hub: Hub) -> Page:
    from mince_gui.ui.pages.run import RunPage

    return RunPage(hub)


def _reports(hub: Hub) -> Page:
    from mince_gui.ui.pages.reports import ReportsPage

    return ReportsPage(hub)


# Pages are made when they are first shown: plots and statistics take a second to load, the first window must not.
_MAKERS: dict[PageName, Callable[[Hub], Page]] = {
    "logs": LogsPage,
    "sizing": _sizing,
    "subsets": _subsets,
    "run": _run,
    "reports": _reports,
}


class Window(QMainWindow):
    """The one window. Closing it ends its own background work and never a run."""

    def __init__(self, workspace: Path, *, first_page: PageName | None = None, follow_system: bool = True) -> None:
        super().__init__()
        self.setWindowTitle("mince-gui")
        self.resize(1280, 800)
        self.setMinimumSize(1120, 680)
        self.hub = Hub(workspace, self)
        self.pages: dict[PageName, Page] = {}
        self.start_page: StartPage | None = None
        self.tour: DemoTour | None = None
        self._first_page = first_page
        self._buttons: dict[PageName, QToolButton] = {}
        self.start_button = _nav_button("Start", "Start: the demo and other ways to begin (Ctrl+0)")
        self._said_goodbye = False
        self._stack = QStackedWidget()
        self._stack.setObjectName("page")
        self.activity = ActivityBar()
        right = QWidget()
        line = row(self._sidebar(), self._stack, gap=0)
        line.setStretch(1, 1)
        right.setLayout(line)
        whole = QWidget()
        whole.setLayout(column(right, self.activity, gap=0))
        self.setCentralWidget(whole)
        self.hub.go.connect(self._go)
        self.hub.said.connect(self.activity.say)
        self.hub.jobs.job_started.connect(self.activity.add)
        if follow_system:
            QGuiApplication.styleHints().colorSchemeChanged.connect(self._dress)
        for number, name in enumerate(PAGES, start=1):
            QShortcut(QKeySequence(f"Ctrl+{number}"), self, lambda n=name: self.show_page(n))
        QShortcut(QKeySequence("Ctrl+0"), self, self.show_start)
        self.hub.jobs.read(lambda: _opening(workspace), self._opened, self._not_opened)

    # -- pages -----------------------------------------------------------------------------------------

    def page(self, name: PageName) -> Page:
        """The page, made if it is not there yet."""
        if name not in self.pages:
            made = self.pages[name] = _MAKERS[name](self.hub)
            self._stack.addWidget(made)
            if name == "run":
                self._wire_run(made)
        return self.pages[name]

    def show_page(self, name: PageName) -> None:
        """Bring a page to the front."""
        page = self.page(name)
        self._buttons[name].setChecked(True)
        self._stack.setCurrentWidget(page)
        page.enter()

    @property
    def current(self) -> QWidget | None:
        """The page at the front."""
        return self._stack.currentWidget()

    def _go(self, name: PageName, what: object) -> None:
        self.show_page(name)
        self.page(name).open_with(what)

    def show_start(self) -> None:
        """Bring the doors to the front: the demo, logs, a model and a pack."""
        self.start_button.setChecked(True)
        if self.start_page is None:
            self.start_page = StartPage(self.hub)
            self.start_page.demo_wanted.connect(self.start_demo)
            self._stack.addWidget(self.start_page)
        self._stack.setCurrentWidget(self.start_page)
        self.start_page.enter()

    def _opened(self, found: _Opening) -> None:
        if found.live is not None:
            self.page("run").open_with(("follow", found.live))
        elif found.unfinished is not None:
            self.page("run").open_with(("unfinished", found.unfinished))
        if self._first_page is not None or found.live is not None or found.unfinished is not None:
            self.show_page(self._first_page or "run")
        elif found.has_logs:
            self.show_page("logs")
        else:
            self.show_start()

    def _not_opened(self, error: MinceError) -> None:
        self.show_page("logs")
        self.page("logs").fail(error)

    # -- the demo --------------------------------------------------------------------------------------

    def start_demo(self) -> None:
        """Run the demo live."""
        from mince_gui.ui.demo_tour import DemoTour

        if self.tour is not None and self.tour.active:
            return
        self.tour = DemoTour(self.hub)
        self.tour.told.connect(self._demo_told)
        self.tour.followed.connect(self._demo_follows)
        self.tour.failed.connect(self._demo_failed)
        self.tour.stopped.connect(self._demo_stopped)
        self.tour.finished.connect(self._demo_finished)
        self.show_page("run")
        self.tour.start()

    def _demo_told(self, text: str) -> None:
        from mince_gui.ui.pages.run import RunPage

        page = self.page("run")
        assert isinstance(page, RunPage)
        page.show_banner(text)

    def _demo_follows(self, run_id: str, before: str) -> None:
        """Show the demo's run where its last one was shown; somebody who looks at another run goes on looking."""
        from mince_gui.ui.pages.run import RunPage

        page = self.page("run")
        assert isinstance(page, RunPage)
        if not before or page.follower.run_id in (None, before):
            page.open_with(("follow", run_id))

    def _demo_failed(self, error: MinceError) -> None:
        if was_cancelled(error):
            self._demo_stopped("Demo cancelled.")
        else:
            self.page("run").fail(error)

    def _demo_stopped(self, why: str) -> None:
        page = self.page("run")
        page.error.show_notice(why, "What it had made so far is kept.")
        page.error.offer("Try again", self.start_demo)

    def _demo_finished(self, run_id: str) -> None:
        if self.current is self.page("run"):
            self._go("reports", run_id)
        else:
            self.hub.say("The demo is done: its report is on Reports.")

    def _end_demo(self) -> None:
        if self.tour is not None and self.tour.active:
            self.tour.end()
            self._demo_stopped("Demo ended.")

    def _wire_run(self, made: Page) -> None:
        from mince_gui.ui.pages.run import RunPage

        assert isinstance(made, RunPage)
        made.status.connect(self.activity.show_run)
        made.live_count.connect(self._count_live)
        made.demo_ended.connect(self._end_demo)

    def _count_live(self, number: int) -> None:
        self._buttons["run"].setText(f"  Run  ({number})" if number else "  Run")

    def _run_goes_on(self) -> bool:
        from mince_gui.ui.pages.run import RunPage

        page = self.pages.get("run")
        return isinstance(page, RunPage) and page.running

    # -- frame -----------------------------------------------------------------------------------------

    def _sidebar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("sidebar")
        bar.setFixedWidth(176)
        brand = label("mince-gui", "brand")
        brand.setFont(theme.tabular(brand.font(), scale=1.2, bold=True))
        where = Elided(self.hub.workspace.name, "workspace")
        where.setContentsMargins(12, 0, 8, 0)
        where.setToolTip(f"Workspace: {self.hub.workspace}")
        group = QButtonGroup(self)
        box = column(brand, where, GRID, gap=4, margin=GRID)
        box.setContentsMargins(GRID, 2 * GRID, GRID, GRID)
        for number, name in enumerate(PAGES, start=1):
            made = _nav_button(_TITLES[name], f"{_TITLES[name]} (Ctrl+{number})")
            made.clicked.connect(lambda checked=False, n=name: self.show_page(n))
            group.addButton(made)
            box.addWidget(made)
            self._buttons[name] = made
        box.addStretch(1)
        self.start_button.clicked.connect(lambda checked=False: self.show_start())
        group.addButton(self.start_button)
        box.addWidget(self.start_button)
        bar.setLayout(box)
        self._nav_icons()
        return bar

    def _nav_icons(self) -> None:
        for name, made in self._buttons.items():
            made.setIcon(icons.icon(name, theme.current().muted, 18))
        self.start_button.setIcon(icons.icon("demo", theme.current().muted, 18))

    def _dress(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme.apply(app)

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and self._buttons:
            self._nav_icons()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: D102, N802 - Qt's name
        if self._run_goes_on() and not self._said_goodbye:
            # Long enough to be read, short enough not to be in the way.
            self._said_goodbye = True
            self.activity.say(_LEAVING)
            QTimer.singleShot(_GOODBYE_MS, self, self.close)
            event.ignore()
            return
        self.hide()
        if self.tour is not None:
            self.tour.close()
        for page in self.pages.values():
            page.close_page()
        self.hub.jobs.close()
        event.accept()


@dataclass(frozen=True)
class _Opening:
    """Whether there is anything yet, the run that is going on, and one that waits to be resumed."""

    has_logs: bool
    live: str | None
    unfinished: StoredRun | None


def _opening(workspace: Path) -> _Opening:
    runs = reads.runs(workspace)
    live = next((run.run_id for run in runs if is_live(run)), None)
    return _Opening(reads.has_logs(workspace), live, reads.unfinished(runs))


def _nav_button(title: str, tip: str) -> QToolButton:
    made = QToolButton()
    made.setObjectName("nav")
    made.setText(f"  {title}")
    made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    made.setIconSize(QSize(18, 18))
    made.setCheckable(True)
    made.setFixedSize(160, 40)
    made.setToolTip(tip)
    made.setAccessibleName(title)
    return made
