"""The bar at the bottom: background work with progress, time left and cancel, seen from every page."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from mince_gui.ui.bridge import Job
from mince_gui.ui.run_words import about
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Elided, button, label, row

_WORD_MS = 6_000
_RESTING = "Nothing is running."


class _Line(QWidget):
    """One job."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job
        self._since = time.monotonic()
        self._text = Elided(job.title)
        self._text.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._text.setFixedWidth(320)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(160)
        self._bar.setRange(0, 0)
        self._left = label("", "caption")
        self._left.setMinimumWidth(72)
        self.setLayout(row(self._text, self._bar, self._left, gap=GRID))
        self._button: QPushButton | None = None
        if job.cancellable:
            cancel = button("Cancel", self._cancel, icon="close", flat=True, tip=f"Cancel: {job.title}")
            row_layout = self.layout()
            assert row_layout is not None
            row_layout.addWidget(cancel)
            self._button = cancel
        job.progressed.connect(self._progressed)

    def _progressed(self, done: int, total: int, note: str) -> None:
        self._text.set_text(f"{self._job.title}: {note}" if note else self._job.title)
        if total <= 0:
            self._bar.setRange(0, 0)
            return
        # Qt's bars count in 32 bits; draws times sizes may not fit.
        self._bar.setRange(0, 1000)
        self._bar.setValue(min(1000, 1000 * done // total))
        spent = time.monotonic() - self._since
        left = spent / done * (total - done) if done and spent > 1.0 else None
        self._left.setText("" if left is None else f"{about(left)} left")

    def _cancel(self) -> None:
        self._job.cancel()
        if self._button is not None:
            self._button.setEnabled(False)
            self._button.setText("Cancelling")


class ActivityBar(QFrame):
    """Jobs at the left, a short word or the followed run at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("activity")
        self.setFixedHeight(44)
        self._rest = label(_RESTING, "muted")
        self._word = label("", "muted")
        self._run = Elided("", "muted")
        self._run.setMinimumWidth(120)
        self._jobs: QHBoxLayout = row(gap=2 * GRID)
        line = row(self._rest, self._jobs, self._run, self._word, gap=2 * GRID)
        line.setContentsMargins(2 * GRID, 0, 2 * GRID, 0)
        line.setStretch(2, 1)
        self.setLayout(line)
        self._lines: list[_Line] = []
        self._hush = QTimer(self)
        self._hush.setSingleShot(True)
        self._hush.setInterval(_WORD_MS)
        self._hush.timeout.connect(lambda: self._word.setText(""))

    def add(self, job: Job) -> None:
        """Show a job until it ends."""
        if not job.shown:
            return
        line = _Line(job)
        self._lines.append(line)
        self._jobs.addWidget(line)
        job.ended.connect(lambda: self._remove(line))
        self._settle()

    def say(self, text: str) -> None:
        """A short word that goes away by itself."""
        self._word.setText(text)
        self._hush.start()

    def show_run(self, text: str) -> None:
        """Where the followed run stands; empty where none is going on."""
        self._run.set_text(text)
        self._settle()

    @property
    def text(self) -> str:
        """What stands in the bar beside the jobs."""
        return " ".join(part for part in (self._run.accessibleName(), self._word.text()) if part)

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        self._jobs.removeWidget(line)
        line.hide()
        line.deleteLater()
        self._settle()

    def _settle(self) -> None:
        self._rest.setVisible(not self._lines and not self._run.accessibleName())
