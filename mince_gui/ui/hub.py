"""What every page shares: the workspace, the background jobs, and word that something changed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from mince_gui.ui.bridge import Jobs

Subject = Literal["logs", "sizings", "subsets", "packs", "runs"]
PageName = Literal["logs", "sizing", "subsets", "run", "reports"]
PAGES: tuple[PageName, ...] = ("logs", "sizing", "subsets", "run", "reports")


class Hub(QObject):
    """Passed to every page in place of globals.

    `changed(subject)` says that something stored changed; `go(page, what)` asks for a page and, with
    `what`, for a thing on it (a benchmark, a run id); `said(text)` shows a short word in the activity bar.
    """

    changed = Signal(str)
    go = Signal(str, object)
    said = Signal(str)

    def __init__(self, workspace: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.jobs = Jobs(self)

    def tell(self, *subjects: Subject) -> None:
        """Say that these changed."""
        for subject in subjects:
            self.changed.emit(subject)

    def show(self, page: PageName, what: object = None) -> None:
        """Ask for a page."""
        self.go.emit(page, what)

    def say(self, text: str) -> None:
        """A short word, no question."""
        self.said.emit(text)
