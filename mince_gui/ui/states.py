"""How a state, a number or an error is shown: always a word, with colour and icon beside it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QSizePolicy, QWidget

from mince_gui.base.errors import MinceError
from mince_gui.ui import icons, theme
from mince_gui.ui.bridge import DefectError, was_cancelled
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import button, column, label, paragraph, row


class Chip(QLabel):
    """A state: icon, word and colour together."""

    def __init__(self, word: str = "", state: str = "muted", icon: str = "") -> None:
        super().__init__()
        self._shown = ("", "", "")
        self.setFixedHeight(22)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.show_state(word, state, icon)

    def show_state(self, word: str, state: str, icon: str = "") -> None:
        """Show another state (good, warn, bad, accent, muted)."""
        if self._shown == (word, state, theme.current().name):
            return
        self._shown = (word, state, theme.current().name)
        self._asked = (word, state, icon)
        dress = theme.current()
        shape = icon or (state if state in ("good", "warn", "bad") else "info")
        picture = icons.pixmap(shape, dress.role(state), 14)
        self.setText(word)
        self.setAccessibleName(word)
        self._picture = picture
        self.setStyleSheet(
            f"background: {dress.soft(state)}; color: {dress.role(state)};"
            "border-radius: 11px; padding: 0 12px 0 28px; font-weight: 600;"
        )
        self.setVisible(bool(word))

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_asked"):
            self.show_state(*self._asked)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.drawPixmap(9, (self.height() - 14) // 2, self._picture)
        painter.end()


class Figure(QWidget):
    """One number that matters: caption above, the number, a word below."""

    def __init__(self, caption: str, *, tip: str = "") -> None:
        super().__init__()
        self._value = label("-", "figure")
        self._note = label("", "caption")
        self._caption = label(caption, "caption")
        self._state = "text"
        self._dressed = ""
        self.setLayout(column(self._caption, self._value, self._note, gap=0))
        self.setToolTip(tip)

    def show_value(self, value: str, note: str = "", state: str = "text") -> None:
        """Show another value."""
        self._value.setText(value)
        self._state = state
        self._dress()
        self._note.setText(note or " ")
        self.setAccessibleName(f"{self._caption.text()}: {value} {note}".strip())

    def set_caption(self, caption: str) -> None:
        """Another caption."""
        self._caption.setText(caption)

    @property
    def value(self) -> str:
        """The number as shown."""
        return self._value.text()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_dressed"):
            self._dress()

    def _dress(self) -> None:
        wanted = "" if self._state == "text" else f"color: {theme.current().role(self._state)};"
        # Setting a style sheet is itself a change of style.
        if wanted != self._dressed:
            self._dressed = wanted
            self._value.setStyleSheet(wanted)


class ErrorBar(QFrame):
    """An error in place: what happened, what to do, details to copy. Hidden until there is one."""

    def __init__(self) -> None:
        super().__init__()
        self._sign = QLabel()
        self._sign.setFixedSize(20, 20)
        self._message = label("", "", wrap=True, select=True)
        self._remedy = label("", "", wrap=True, select=True)
        self._details = ""
        self._state = ""
        self.copy = button("Copy", self._copy, icon="copy", flat=True, tip="Copy the message with its details")
        close = button("Close", self.hide, flat=True)
        self.action = button("", self._act)
        # Made without a text, it would be as narrow as a button that is only an icon.
        self.action.setMaximumWidth(320)
        self._offer: Callable[[], object] | None = None
        words = column(self._message, self._remedy, gap=2)
        line = row(self._sign, words, self.action, self.copy, close, margin=GRID)
        line.setStretch(1, 1)
        line.setAlignment(self._sign, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        self.setObjectName("errorBar")
        self.hide()

    def show_error(self, error: MinceError) -> None:
        """Show it; a cancelled job is no error. A defect's trace goes to who copies the details."""
        if was_cancelled(error):
            self.hide()
            return
        self._show(error.message, error.remedy, "bad")
        self._message.setFont(theme.tabular(self.font(), bold=True))
        self._details = f"{error}\n{error.trace}" if isinstance(error, DefectError) else str(error)

    def show_notice(self, message: str, remedy: str = "", *, state: str = "warn") -> None:
        """Show something less than an error; `state` is its colour and icon."""
        self._show(message, remedy, state)
        self._message.setFont(theme.tabular(self.font()))
        self._details = f"{message}\n{remedy}".strip()

    def offer(self, words: str, act: Callable[[], object]) -> None:
        """Offer one thing to do about what is shown; the next message takes it away."""
        self._offer = act
        self.action.setText(words)
        self.action.setAccessibleName(words)
        self.action.show()

    @property
    def text(self) -> str:
        """What is shown."""
        return f"{self._message.text()}\n{self._remedy.text()}".strip()

    @property
    def state(self) -> str:
        """How it is meant: bad or warn."""
        return self._state

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_state"):
            self._dress()

    def _dress(self) -> None:
        dress = theme.current()
        wanted = f"#errorBar {{ background: {dress.soft(self._state)}; border-radius: 8px; }}"
        if self._state and wanted != self.styleSheet():
            self.setStyleSheet(wanted)
            self._sign.setPixmap(icons.pixmap(self._state, dress.role(self._state), 18))

    def _show(self, message: str, remedy: str, state: str) -> None:
        self._state = state
        self._offer = None
        self.action.hide()
        self._dress()
        self._message.setText(message)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))
        self.setAccessibleName(f"{message} {remedy}")
        self.show()

    def _act(self) -> None:
        act = self._offer
        self.hide()
        if act is not None:
            act()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._details)


class EmptyState(QWidget):
    """A page with nothing in it: what belongs here, and the one action that fills it."""

    def __init__(self, icon: str, title: str, text: str, action: QPushButton) -> None:
        super().__init__()
        self._icon = icon
        self._sign = QLabel()
        head = label(title, "title")
        head.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        words = paragraph(text, 480)
        middle = Qt.AlignmentFlag.AlignHCenter
        box = column(None, gap=GRID)
        for part, gap in ((self._sign, 2 * GRID), (head, GRID), (words, 2 * GRID), (action, 0)):
            box.addWidget(part, 0, middle)
            box.addSpacing(gap)
        box.addStretch(2)
        self.setLayout(box)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._dress()

    def _dress(self) -> None:
        self._sign.setPixmap(icons.pixmap(self._icon, theme.current().muted, 48))
