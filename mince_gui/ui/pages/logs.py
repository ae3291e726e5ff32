"""Logs: per-item logs come in, and what was found wrong with each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QLineEdit, QMenu, QSplitter, QStackedWidget, QWidget

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import format as fmt
from mince_gui.store.logs import StoredLog
from mince_gui.ui import reads
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.import_panel import ImportPanel, worst_check
from mince_gui.ui.run_words import when
from mince_gui.ui.states import Chip, EmptyState
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Scroll, button, clear, column, label, row

_EXPLAIN = "Full-benchmark results, one row per item: they show how far a subset's score may lie from the full score."
_EMPTY = (
    "Drop lm-eval output folders here, or files named samples_*.jsonl (made with --log_samples). Three or more models "
    "of different strength make a good calibration pool."
)
_FILES = (
    "Per-item logs (*.jsonl *.json *.eval *.parquet *.csv *.npy *.gz *.zip *.tar *.tgz *.bz2 *.tbz2 *.xz *.txz);;"
    "All files (*)"
)


def title_of(benchmark: str) -> str:
    """A benchmark's title."""
    known = BENCHMARKS.get(benchmark)
    return known.title if known else benchmark


def metric_title(benchmark: str, metric: str) -> str:
    """A metric's title within its benchmark."""
    known = BENCHMARKS.get(benchmark)
    titles = {m.name: m.title for m in known.metrics} if known else {}
    return titles.get(metric, metric)


def _scores(log: StoredLog) -> str:
    known = (log.scores[metric] for metric in log.metrics)
    return "   ".join(fmt.MISSING if score is None else f"{score:.1f}" for score in known)


def _scores_tip(log: StoredLog) -> str:
    return "\n".join(f"{metric_title(log.benchmark, m)}: {fmt.percent(log.scores[m])}" for m in log.metrics)


def _first_score(log: StoredLog) -> float | None:
    return next(iter(log.scores.values()), None)


def _items(log: StoredLog) -> str:
    return f"{log.items:,} / {log.total_items:,}" if log.total_items is not None else f"{log.items:,} / ?"


def _checks(log: StoredLog) -> str:
    return "excluded" if log.excluded else worst_check(log.checks)[0]


def _checks_state(log: StoredLog) -> str:
    return "muted:none" if log.excluded else worst_check(log.checks)[1]


COLUMNS = (
    Column[StoredLog]("Model", lambda log: log.model, width=0),
    Column[StoredLog]("Benchmark", lambda log: title_of(log.benchmark), width=108),
    Column[StoredLog](
        "Scores (%)", _scores, key=_first_score, number=True, width=180, tip=_scores_tip,
        help="One score per metric, in the benchmark's order",
    ),
    Column[StoredLog](
        "Items", _items, key=lambda log: log.items, number=True, width=112,
        help="Items in the log / items of the benchmark",
    ),
    Column[StoredLog]("Checks", _checks, width=112, state=_checks_state),
)  # fmt: skip


class LogsPage(Page):
    """The page. Paths may be dropped anywhere on it."""

    subjects = frozenset({"logs"})

    def __init__(self, hub: Hub) -> None:
        self.import_button = button("Import", self._menu, icon="import", primary=True, tip="Import logs (Ctrl+I)")
        super().__init__(hub, "Logs", _EXPLAIN, [self.import_button])
        self.setAcceptDrops(True)
        self._menu_shown = QMenu(self)
        self._menu_shown.addAction("A folder of logs", self.choose_folder)
        self._menu_shown.addAction("Files", self.choose_files)
        QShortcut(QKeySequence("Ctrl+I"), self, self._menu)

        self.model = TableModel[StoredLog](COLUMNS)
        self.view = TableView(self.model, "Stored logs", empty="No log fits the filter.")
        self._benchmark = QComboBox()
        self._benchmark.setAccessibleName("Benchmark")
        self._benchmark.setMinimumWidth(176)
        self._filter = QLineEdit()
        self._filter.setPlaceholderText("Filter by model")
        self._filter.setClearButtonEnabled(True)
        self._filter.setMaximumWidth(240)
        self._count = label("", "muted")
        self._all: list[StoredLog] = []
        self.details = _Details(self._exclude)

        side = QSplitter()
        side.setChildrenCollapsible(False)
        side.setHandleWidth(2 * GRID)
        side.addWidget(self.view)
        side.addWidget(self.details)
        side.setStretchFactor(0, 1)
        side.setSizes([776, 256])
        table = QWidget()
        bar = row(self._benchmark, self._filter, None, self._count)
        inside = column(bar, side, gap=GRID)
        inside.setStretch(1, 1)
        table.setLayout(inside)

        self.panel = ImportPanel(hub)
        self.panel.closed.connect(self._leave_import)
        self.panel.failed.connect(self._import_failed)
        self._inside = QStackedWidget()
        self._inside.addWidget(table)
        self._inside.addWidget(self.panel)
        empty = EmptyState(
            "logs", "Logs belong here", _EMPTY,
            button("Import a folder of logs", self.choose_folder, icon="import", primary=True),
        )  # fmt: skip
        self.set_content(self._inside, empty)
        self._drop = QLabel("Drop to look for logs", self)
        self._drop.setObjectName("drop")
        self._drop.setMargin(3 * GRID)
        self._drop.hide()

        self.view.chosen.connect(self.details.show_log)
        self._filter.textChanged.connect(self.view.proxy.setFilterFixedString)
        self._benchmark.currentIndexChanged.connect(self._filter_benchmark)

    def refresh(self) -> None:
        """Read the stored logs."""
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.logs(workspace), self._show, self.fail)

    def open_with(self, what: object) -> None:
        """ "import" opens the folder dialog."""
        if what == "import":
            self.choose_folder()

    def choose_folder(self) -> None:
        """Ask for a folder."""
        dialog = QFileDialog(self, "Folder of logs")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda path: self.look([Path(path)]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def choose_files(self) -> None:
        """Ask for files."""
        dialog = QFileDialog(self, "Log files", "", _FILES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(lambda paths: self.look([Path(path) for path in paths]))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def look(self, paths: Sequence[Path]) -> None:
        """Look for logs and show what was found."""
        self.error.hide()
        self._inside.setCurrentWidget(self.panel)
        self.show_empty(False)
        self.panel.look(paths)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: D102, N802 - Qt's name
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self._drop.setGeometry(self.rect().adjusted(GRID, GRID, -GRID, -GRID))
            self._drop.raise_()
            self._drop.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: D102, N802 - Qt's name
        self._drop.hide()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: D102, N802 - Qt's name
        self._drop.hide()
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if paths:
            event.acceptProposedAction()
            self.look(paths)

    def _menu(self) -> None:
        below = self.import_button.rect().bottomLeft()
        self._menu_shown.popup(self.import_button.mapToGlobal(below))

    def _show(self, logs: list[StoredLog]) -> None:
        self._all = logs
        kept = self._benchmark.currentData()
        names = list(dict.fromkeys(log.benchmark for log in logs))
        self._benchmark.blockSignals(True)
        self._benchmark.clear()
        self._benchmark.addItem("All benchmarks", None)
        for name in names:
            self._benchmark.addItem(title_of(name), name)
        self._benchmark.setCurrentIndex(max(0, self._benchmark.findData(kept)))
        self._benchmark.blockSignals(False)
        self._filter_benchmark()
        self.show_empty(not logs and self._inside.currentWidget() is not self.panel)

    def _filter_benchmark(self) -> None:
        wanted = self._benchmark.currentData()
        chosen = self.view.current_row()
        shown = [log for log in self._all if wanted in (None, log.benchmark)]
        self.model.set_rows(shown)
        models = len({log.model for log in shown})
        self._count.setText(f"{len(shown):,} logs of {models:,} models" if shown else "")
        keep = chosen.log_id if chosen else None
        if not self.view.choose(lambda log: log.log_id == keep) and shown:
            self.view.selectRow(0)

    def _exclude(self) -> None:
        rows = self.view.selected_rows()
        if not rows:
            return
        excluded = not rows[0].excluded
        workspace, ids = self.hub.workspace, [log.log_id for log in rows]
        self.hub.jobs.read(
            lambda: reads.set_excluded(workspace, ids, excluded), lambda _: self.hub.tell("logs"), self.fail
        )

    def _leave_import(self) -> None:
        self._inside.setCurrentIndex(0)
        self.show_empty(not self._all)

    def _import_failed(self, error: object) -> None:
        self.fail(error)  # type: ignore[arg-type]  # signals carry objects; ImportPanel sends MinceErrors alone
        if not self.panel.found.rows:
            self._leave_import()


class _Details(Card):
    """The chosen log at the side: scores per metric, checks in full, exclude or include."""

    def __init__(self, toggle: object) -> None:
        super().__init__()
        self.setMinimumWidth(248)
        self._name = label("", "heading", wrap=True, select=True)
        self._facts = label("", "muted", wrap=True, select=True)
        self._scores = column(gap=2)
        self._list = Scroll(gap=GRID, margin=GRID // 2)
        self.toggle = button("Exclude from sizing", toggle)  # type: ignore[arg-type]
        self.body.addWidget(self._name)
        self.body.addWidget(self._facts)
        self.body.addLayout(self._scores)
        self.body.addWidget(label("Checks", "heading"))
        self.body.addWidget(self._list, 1)
        self.body.addWidget(self.toggle)
        self.show_log(None)

    def show_log(self, log: StoredLog | None) -> None:
        """Show one log, or that none is chosen."""
        clear(self._scores)
        clear(self._list.body)
        self.toggle.setEnabled(log is not None)
        if log is None:
            self._name.setText("No log chosen")
            self._facts.setText("")
            return
        self._name.setText(log.model)
        self._facts.setText(f"{title_of(log.benchmark)} · task {log.task}\nevaluated {when(log.timestamp)}")
        for metric in log.metrics:
            value = label(fmt.percent(log.scores[metric], absent=fmt.MISSING))
            name = label(metric_title(log.benchmark, metric), "muted")
            self._scores.addLayout(row(name, None, value))
        if not log.checks:
            self._list.body.addWidget(Chip("nothing to report", "good"))
        for check in log.checks:
            state = {"refusal": "bad", "warning": "warn"}.get(check.severity, "accent")
            word = {"refusal": "not usable", "warning": "warning"}.get(check.severity, "note")
            self._list.body.addWidget(Chip(f"{word} · {check.count:,}" if check.count else word, state))
            self._list.body.addWidget(label(check.message, "", wrap=True, select=True))
            if check.examples:
                examples = ", ".join(check.examples[:5])
                self._list.body.addWidget(label(f"e.g. {examples}", "caption", wrap=True, select=True))
        self._list.body.addStretch(1)
        self.toggle.setText("Include in sizing" if log.excluded else "Exclude from sizing")
