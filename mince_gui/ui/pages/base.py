"""What every page is: a title line, an error bar in place, and content or an empty state."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtWidgets import QLabel, QPushButton, QStackedWidget, QWidget

from mince_gui.base.errors import MinceError
from mince_gui.ui.hub import Hub
from mince_gui.ui.states import EmptyState, ErrorBar
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import column, label, row


class Page(QWidget):
    """Subclasses fill `stack` (`content` and perhaps an empty state) and read anew in `refresh`."""

    subjects: frozenset[str] = frozenset()
    """What this page shows: it is refreshed when one of these changed."""

    def __init__(self, hub: Hub, title: str, explain: str, actions: list[QPushButton]) -> None:
        super().__init__()
        self.setObjectName("page")
        self.hub = hub
        self.error = ErrorBar()
        self.stack = QStackedWidget()
        self._explain: QLabel = label(explain, "muted")
        self._stale = True
        head = row(column(label(title, "title"), self._explain, gap=2), None, *actions, gap=GRID)
        box = column(head, self.error, self.stack, gap=2 * GRID - 4)
        box.setContentsMargins(3 * GRID, 2 * GRID, 3 * GRID, 2 * GRID)
        box.setStretch(2, 1)
        self.setLayout(box)
        hub.changed.connect(self._changed)

    def set_content(self, content: QWidget, empty: EmptyState | None) -> None:
        """The page's content and, where it can be empty, what stands there instead."""
        self.content = content
        self.empty = empty
        self.stack.addWidget(content)
        if empty is not None:
            self.stack.addWidget(empty)

    def show_empty(self, is_empty: bool) -> None:
        """Switch between content and empty state."""
        self.stack.setCurrentWidget(self.empty if is_empty and self.empty is not None else self.content)

    def refresh(self) -> None:
        """Read anew what the page shows."""

    def open_with(self, what: object) -> None:
        """Show a particular thing (a benchmark, a run id)."""

    def close_page(self) -> None:
        """Stop what the page itself keeps going."""

    def enter(self) -> None:
        """The page comes to the front."""
        if self._stale:
            self._stale = False
            self.refresh()

    def dress_again(self) -> None:
        """Make anew what was dressed by hand; the theme changed."""

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            # Not now: Qt is walking over the very widgets that would be replaced.
            QTimer.singleShot(0, self, self.dress_again)

    def fail(self, error: MinceError) -> None:
        """Show an error in place."""
        self.error.show_error(error)

    def _changed(self, subject: str) -> None:
        if subject not in self.subjects:
            return
        if self.isVisible():
            self.refresh()
        else:
            self._stale = True
