"""Reports: one for every run, with its verdict; exported as a document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from mince_gui.app import report as reporting
from mince_gui.app.report import Written
from mince_gui.report import VERDICT_WORDS
from mince_gui.store.runs import StoredRun
from mince_gui.ui import reads
from mince_gui.ui.entries import Entry, EntryList
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.report_view import VERDICT_STATES, ReportView
from mince_gui.ui.reads import Judged
from mince_gui.ui.run_words import entry, is_live
from mince_gui.ui.states import EmptyState
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import button, row

_EXPLAIN = "What a run says about the full benchmark: drift against its bound, the interval, the time saved."
_EMPTY = "Every run has a report. Start one with a model folder and a pack."
_KINDS = (("HTML", "html"), ("PDF", "pdf"), ("Markdown", "md"), ("CSV", "csv"), ("JSON", "json"))


class ReportsPage(Page):
    """The page: runs with their verdicts at the left, the chosen report at the right."""

    subjects = frozenset({"runs"})

    def __init__(self, hub: Hub) -> None:
        self.export_button = button("Export", self._menu, icon="export", primary=True, tip="Write the report (Ctrl+E)")
        super().__init__(hub, "Reports", _EXPLAIN, [self.export_button])
        self.list = EntryList("Reports")
        self.list.setFixedWidth(256)
        self.view = ReportView()
        self._judged: dict[str, tuple[tuple[object, ...], Judged]] = {}
        self._runs: list[StoredRun] = []
        self._wanted: str | None = None
        content = QWidget()
        inside = row(self.list, self.view, gap=2 * GRID)
        inside.setStretch(1, 1)
        content.setLayout(inside)
        empty = EmptyState(
            "reports", "Reports belong here", _EMPTY,
            button("Go to Run", lambda: hub.show("run"), icon="run", primary=True),
        )  # fmt: skip
        self.set_content(content, empty)
        self._exports = QMenu(self)
        for title, kind in _KINDS:
            action = self._exports.addAction(title)
            action.triggered.connect(lambda checked=False, k=kind: self._ask_path(k))
        self.list.chosen.connect(self._show_chosen)
        QShortcut(QKeySequence("Ctrl+E"), self, self._menu)
        self.export_button.setEnabled(False)

    def refresh(self) -> None:
        """Read the runs; each report is computed in the background, once for each state of its run."""
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.runs(workspace), self._show_runs, self.fail)

    def open_with(self, what: object) -> None:
        """Show the report of this run."""
        if isinstance(what, str):
            self._wanted = what
            self.refresh()

    def dress_again(self) -> None:
        """Show the report in the colours of the theme."""
        run_id = self.list.current_ident()
        if run_id is not None:
            self._show_chosen(run_id)

    def export(self, run_id: str, out: Path) -> None:
        """Write the report of a run; the suffix names the kind."""
        self.error.hide()
        workspace = self.hub.workspace
        self.hub.jobs.start(
            f"Writing {out.name}",
            lambda emit, cancel: reporting.report(workspace, run_id, out=out, emit=emit),
            done=self._written,
            failed=self.fail,
            cancellable=False,
        )

    def _show_runs(self, runs: list[StoredRun]) -> None:
        self._runs = runs
        self.show_empty(not runs)
        # A run's report changes with its items and with the ended runs that it can be held against.
        ended: dict[str, list[str]] = {}
        for run in runs:
            if run.done and not is_live(run):
                ended.setdefault(run.plan.benchmark, []).append(run.run_id)
        workspace = self.hub.workspace
        for run in runs:
            state = (run.state, run.done, run.missing, tuple(ended.get(run.plan.benchmark, ())))
            known = self._judged.get(run.run_id)
            if known is None or known[0] != state:
                self.hub.jobs.read(
                    lambda r=run, s=state: (s, reads.judge(workspace, r)),  # type: ignore[misc]
                    self._take,
                    self.fail,
                )
        self._fill()

    def _take(self, found: tuple[tuple[object, ...], Judged]) -> None:
        state, judged = found
        self._judged[judged.run.run_id] = (state, judged)
        self._fill()
        if judged.run.run_id == self.list.current_ident():
            self._show_chosen(judged.run.run_id)

    def _fill(self) -> None:
        self.list.show_entries([self._entry(run) for run in self._runs])
        if self._wanted is not None and self.list.choose(self._wanted):
            self._wanted = None
        elif self._runs and self.list.current_ident() is None:
            # Subset runs are what this page is about; a full run is what they are held against.
            first = next((r for r in self._runs if r.done and r.plan.items < r.plan.total_items), self._runs[0])
            self.list.choose(first.run_id)

    def _entry(self, run: StoredRun) -> Entry:
        known = self._judged.get(run.run_id)
        if known is None or known[1].report is None or is_live(run):
            return entry(run)
        report = known[1].report
        state, _, shape = VERDICT_STATES[report.verdict].partition(":")
        return replace(entry(run), word=VERDICT_WORDS[report.verdict], state=state, shape=shape or state)

    def _show_chosen(self, run_id: str) -> None:
        known = self._judged.get(run_id)
        report = known[1].report if known else None
        self.export_button.setEnabled(report is not None)
        if known is None:
            self.view.show_reason("It is being computed.")
        elif report is None:
            self.view.show_reason(known[1].why)
        else:
            self.view.show_report(report, known[1].run.elapsed_seconds)

    def _menu(self) -> None:
        if self.export_button.isEnabled():
            self._exports.popup(self.export_button.mapToGlobal(self.export_button.rect().bottomLeft()))

    def _ask_path(self, kind: str) -> None:
        run_id = self.list.current_ident()
        report = self.view.report
        if run_id is None or report is None:
            return
        dialog = QFileDialog(self, "Export the report", "", f"{kind.upper()} (*.{kind})")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{report.subset_name}-{report.model}.{kind}".replace("/", "_"))
        dialog.fileSelected.connect(lambda path: self.export(run_id, Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _written(self, written: Written) -> None:
        assert written.path is not None
        self.hub.say(f"{written.path.name} is written.")
        if written.path.suffix == ".html" and self.isVisible() and self.opens_documents:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(written.path)))

    opens_documents = True
    """Whether an exported HTML report is opened in the browser."""
