"""Importing: what was found, with a tick per log, then what became of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from mince_gui.app import import_logs as importing
from mince_gui.app.import_logs import ImportSummary, Looked
from mince_gui.base.errors import MinceError
from mince_gui.logs.types import Check, Found
from mince_gui.ui.hub import Hub
from mince_gui.ui.run_words import when
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Elided, button, column, label, row


def counted(number: int, one: str, many: str = "") -> str:
    """ "1 log", "3 logs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


_ENCODINGS = (("UTF-8", ""), ("Windows western (cp1252)", "cp1252"), ("Chinese (GBK)", "gbk"), ("Japanese", "cp932"))
"""lm-eval 0.4.3 on Windows wrote logs in the system's own encoding."""


@dataclass(frozen=True)
class Line:
    """One log in the table of what was found; `result` and `state` once it was imported."""

    found: Found
    result: str = ""
    state: str = ""


@dataclass(frozen=True)
class Outcome:
    """One line of the summary."""

    what: str
    result: str
    why: str
    state: str


def _source(found: Found) -> str:
    source = Path(found.source)
    return source.parent.name if len(found.files) == 1 else f"{source.name} ({len(found.files)} files)"


def worst_check(checks: Sequence[Check]) -> tuple[str, str]:
    """The word and the state for a list of checks: icon and count, never colour alone."""
    refusals = sum(check.severity == "refusal" for check in checks)
    warnings = sum(check.severity == "warning" for check in checks)
    notes = len(checks) - refusals - warnings
    if refusals:
        return f"not usable ({counted(refusals, 'problem')})", "bad"
    if warnings:
        return counted(warnings, "warning"), "warn"
    if notes:
        return f"ok, {counted(notes, 'note')}", "good"
    return "ok", "good"


FOUND = (
    Column[Line]("Model", lambda line: line.found.model, width=0, tip=lambda line: line.found.why),
    Column[Line]("Benchmark", lambda line: line.found.benchmark.title, width=150),
    Column[Line]("Format", lambda line: line.found.format, width=150, tip=lambda line: line.found.why),
    Column[Line]("Evaluated", lambda line: when(line.found.timestamp), width=150),
    Column[Line]("Where", lambda line: _source(line.found), width=240, tip=lambda line: line.found.source),
)
OUTCOMES = (
    Column[Outcome]("Log", lambda line: line.what, width=320),
    Column[Outcome]("Result", lambda line: line.result, width=190, state=lambda line: line.state),
    Column[Outcome]("Reason", lambda line: line.why, width=0),
)


def outcomes(summary: ImportSummary) -> list[Outcome]:
    """The summary's lines: refused first, then what has warnings, then the rest."""
    lines = [Outcome(f"{f.model} · {f.benchmark.title}", "refused", why, "bad") for f, why in summary.refused]
    for log in summary.imported:
        word, state = worst_check(log.checks)
        if log.updated:
            word = "already there, details updated"
        elif not log.new:
            word, state = "already there", "muted:none"
        elif state == "good":
            word = "imported"
        else:
            word = f"imported, {word}"
        why = " ".join(check.message for check in log.checks)
        lines.append(Outcome(f"{log.model} · {log.title}", word, why, state))
    lines += [Outcome(str(path), "refused", why, "bad") for path, why in summary.refused_subsets]
    lines += [
        Outcome(subset.name, "imported" if subset.new else "already there", "frozen by amd-quark", "good")
        for subset in summary.subsets
    ]
    lines += [Outcome(str(path), "skipped", why, "muted:none") for path, why in summary.skipped]
    order = {"bad": 0, "warn": 1, "good": 2}
    return sorted(lines, key=lambda line: order.get(line.state, 3))


class ImportPanel(QWidget):
    """From dropped paths to a summary. `closed` when the user is done with it, `failed` carries a MinceError."""

    closed = Signal()
    failed = Signal(object)

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self._hub = hub
        self._paths: tuple[Path, ...] = ()
        self._detection: Looked | None = None
        self.found = TableModel[Line](FOUND, ident=lambda line: (line.found.model, line.found.task, line.found.files))
        self.found_view = TableView(self.found, "Logs that were found", empty="No per-item logs were found here.")
        self.result = TableModel[Outcome](OUTCOMES)
        self.result_view = TableView(self.result, "What became of the logs")
        self.result_view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._head = label("", "heading")
        self._note = Elided("", "muted")
        self.go = button("Import", self.start, icon="import", primary=True)
        self._cancel = button("Cancel", self.closed.emit)
        self._done = button("Done", self.closed.emit, primary=True)
        self.salvage = QCheckBox("Take the whole rows of broken files")
        self.salvage.setToolTip("What is missing stays missing: such a log is kept, and sizing leaves it out")
        self.encoding = QComboBox()
        self.encoding.setAccessibleName("Text encoding")
        self.encoding.setToolTip("How the logs' text was written; anything but UTF-8 is rare")
        for words, encoding in _ENCODINGS:
            self.encoding.addItem(words, encoding)
        self._options = QWidget()
        self._options.setLayout(row(self.salvage, None, label("Text encoding", "muted"), self.encoding, gap=GRID))
        card = Card()
        head = row(column(self._head, self._note, gap=2), self._cancel, self.go, self._done, gap=GRID)
        head.setStretch(0, 1)
        card.body.addLayout(head)
        card.body.addWidget(self._options)
        card.body.addWidget(self.found_view, 1)
        card.body.addWidget(self.result_view, 1)
        self.setLayout(column(card))
        self.found.ticked.connect(self._count)
        self.closed.connect(self._drop)
        # What an archive holds, and how a table reads, hangs on both.
        self.salvage.toggled.connect(self._look_again)
        self.encoding.currentIndexChanged.connect(self._look_again)
        self._show_stage(found=True)

    def look(self, paths: Sequence[Path]) -> None:
        """Look at the paths in the background, then show what was found."""
        encoding, salvage = self.encoding.currentData(), self.salvage.isChecked()
        self._head.setText("Looking for logs")
        self._note.set_text(", ".join(str(path) for path in paths[:3]) + (" ..." if len(paths) > 3 else ""))
        self._drop()
        self._paths = tuple(paths)
        self.found.set_rows([])
        self.go.setEnabled(False)
        self._options.setEnabled(False)
        self._show_stage(found=True)
        self._hub.jobs.start(
            "Looking for logs",
            lambda emit, cancel: importing.look(paths, encoding=encoding, salvage=salvage, emit=emit, cancel=cancel),
            done=self._looked,
            failed=self._failed,
        )

    def _look_again(self) -> None:
        if self._paths:
            self.look(self._paths)

    def start(self) -> None:
        """Import what is ticked."""
        assert self._detection is not None
        salvage = self.salvage.isChecked()
        ticked = tuple(line.found for line in self.found.ticked_rows())
        chosen = dataclasses.replace(self._detection, found=ticked)
        self.go.setEnabled(False)
        self._options.setEnabled(False)
        self._cancel.setEnabled(False)
        workspace = self._hub.workspace
        self._hub.jobs.start(
            f"Importing {counted(len(chosen.found), 'log')}",
            lambda emit, cancel: importing.import_logs(workspace, chosen, salvage=salvage, emit=emit, cancel=cancel),
            done=self._imported,
            failed=self._failed,
        )

    def _drop(self) -> None:
        """Let go of what was found, and of what was unpacked for it."""
        if self._detection is not None:
            self._detection.close()
        self._detection = None
        self._paths = ()

    def _looked(self, detection: Looked) -> None:
        self._detection = detection
        self._options.setEnabled(True)
        self.found.set_rows([Line(found) for found in detection.found])
        self._note.set_text(
            "Untick what you do not want. Nothing is stored yet."
            + (f" {counted(len(detection.skipped), 'file')} left aside." if detection.skipped else "")
        )
        self._cancel.setEnabled(True)
        self._count()

    def _count(self) -> None:
        ticked = len(self.found.ticked_rows())
        all_of = len(self.found.rows)
        subsets = len(self._detection.artifacts) if self._detection is not None else 0
        there = [counted(all_of, "log")] * bool(all_of) + [counted(subsets, "frozen subset")] * bool(subsets)
        self._head.setText(f"Found {' and '.join(there)}" if there else "No per-item logs found")
        if self._detection is not None and not there and self._detection.skipped:
            path, why = self._detection.skipped[0]
            self._note.set_text(f"{path.name}: {why}")
        self.go.setText(f"Import {counted(ticked, 'log')}" if ticked else "Import")
        self.go.setEnabled(bool(ticked or subsets))

    def _imported(self, summary: ImportSummary) -> None:
        self._drop()
        self._cancel.setEnabled(True)
        self._options.setEnabled(True)
        new = sum(log.new for log in summary.imported)
        parts = [f"{new:,} imported"]
        parts += [f"{len(summary.imported) - new:,} already there"] if len(summary.imported) > new else []
        parts += [counted(len(summary.subsets), "frozen subset")] if summary.subsets else []
        parts += [f"{len(summary.refused):,} refused"] if summary.refused else []
        parts += [f"{len(summary.skipped):,} skipped"] if summary.skipped else []
        self._head.setText(", ".join(parts))
        self._note.set_text("Refused logs changed nothing. Warnings stay with each log, in its details.")
        self.result.set_rows(outcomes(summary))
        self._show_stage(found=False)
        self._hub.tell("logs")
        if summary.subsets:
            self._hub.tell("subsets")

    def _failed(self, error: MinceError) -> None:
        self._cancel.setEnabled(True)
        self._options.setEnabled(True)
        self._count()
        self._hub.tell("logs")
        self.failed.emit(error)

    def _show_stage(self, *, found: bool) -> None:
        self._options.setVisible(found)
        self.found_view.setVisible(found)
        self.result_view.setVisible(not found)
        self.go.setVisible(found)
        self._cancel.setVisible(found)
        self._done.setVisible(not found)
