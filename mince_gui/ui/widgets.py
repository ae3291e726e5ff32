"""Small parts that several pages are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mince_gui.ui import icons, theme
from mince_gui.ui.theme import GRID

Box = TypeVar("Box", bound=QBoxLayout)


def column(*parts: QWidget | QLayout | int | None, gap: int = GRID, margin: int = 0) -> QVBoxLayout:
    """Parts below each other; a number is a gap, None takes the rest."""
    return _fill(QVBoxLayout(), parts, gap, margin)


def row(*parts: QWidget | QLayout | int | None, gap: int = GRID, margin: int = 0) -> QHBoxLayout:
    """Parts beside each other; a number is a gap, None takes the rest."""
    return _fill(QHBoxLayout(), parts, gap, margin)


def _fill(box: Box, parts: Sequence[QWidget | QLayout | int | None], gap: int, margin: int) -> Box:
    box.setContentsMargins(margin, margin, margin, margin)
    box.setSpacing(gap)
    for part in parts:
        if part is None:
            box.addStretch(1)
        elif isinstance(part, int):
            box.addSpacing(part)
        elif isinstance(part, QLayout):
            box.addLayout(part)
        else:
            box.addWidget(part)
    return box


def clear(layout: QLayout) -> None:
    """Take everything out of a layout; its widgets are deleted."""
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        inner = item.layout()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
        elif inner is not None:
            clear(inner)


def label(text: str = "", name: str = "", *, wrap: bool = False, select: bool = False) -> QLabel:
    """A plain-text label; `name` picks its look (title, heading, muted, caption, figure)."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setObjectName(name)
    made.setWordWrap(wrap)
    if name == "title":
        made.setFont(theme.tabular(made.font(), scale=1.45, bold=True))
    elif name == "figure":
        made.setFont(theme.tabular(made.font(), scale=1.6, bold=True))
    elif name == "caption":
        made.setFont(theme.tabular(made.font(), scale=0.9))
    if select:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return made


def paragraph(text: str, width: int) -> QLabel:
    """A muted, centred text of a fixed width; boxes that align their widgets would cut a wrapped label."""
    made = label(text, "muted", wrap=True)
    made.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    made.setFixedSize(width, made.heightForWidth(width))
    return made


class Button(QPushButton):
    """A button with an icon in the colour of its text, in either theme."""

    def __init__(self, text: str, icon: str, *, primary: bool, flat: bool) -> None:
        super().__init__(text)
        self._icon_name = icon
        self.setProperty("primary", primary)
        self.setProperty("flat", flat)
        self.setIconSize(QSize(16, 16))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._dress()

    def changeEvent(self, event: QEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.EnabledChange) and hasattr(self, "_icon_name"):
            self._dress()

    def _dress(self) -> None:
        if not self._icon_name:
            return
        dress = theme.current()
        colour = dress.on_accent if self.property("primary") else dress.accent if self.property("flat") else dress.text
        self.setIcon(icons.icon(self._icon_name, colour if self.isEnabled() else dress.muted))


def button(
    text: str, act: Callable[[], object], *, icon: str = "", primary: bool = False, flat: bool = False, tip: str = ""
) -> Button:
    """A button whose text is a verb."""
    made = Button(text, icon, primary=primary, flat=flat)
    if not text:
        made.setFixedWidth(36)
    made.setAccessibleName(text)
    if tip:
        made.setToolTip(tip)
    made.clicked.connect(lambda: act())
    return made


Spin = TypeVar("Spin", bound=QAbstractSpinBox)


def roomy(spin: Spin) -> Spin:
    """A number field whose number does not touch its left border: a style sheet's padding does not reach it."""
    spin.lineEdit().setTextMargins(GRID - 2, 0, 0, 0)
    return spin


class Elided(QLabel):
    """A label of one line that cuts its text in the middle rather than widening the window."""

    def __init__(self, text: str = "", name: str = "") -> None:
        super().__init__()
        self._full = ""
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._full = text
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setText(text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102, N802 - Qt's name
        painter = QPainter(self)
        inside = self.contentsRect()
        text = QFontMetrics(self.font()).elidedText(self._full, Qt.TextElideMode.ElideMiddle, inside.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(inside, int(self.alignment()), text)
        painter.end()


class Card(QFrame):
    """A panel with a border; `body` takes the contents."""

    def __init__(self, title: str = "", *, margin: int = 2 * GRID, gap: int = GRID) -> None:
        super().__init__()
        self.setObjectName("card")
        self.body = column(gap=gap, margin=margin)
        self.setLayout(self.body)
        if title:
            self.body.addWidget(label(title, "heading"))


class Scroll(QScrollArea):
    """A vertical scroll area around `body`."""

    def __init__(self, *, margin: int = 0, gap: int = 2 * GRID) -> None:
        super().__init__()
        self.setObjectName("scroll")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        inside = QWidget()
        inside.setObjectName("scrollBody")
        self.body = column(gap=gap)
        # Room at the right, so that the scroll bar does not touch numbers.
        self.body.setContentsMargins(0, margin, 2 * margin, margin)
        inside.setLayout(self.body)
        self.setWidget(inside)


class Debounce(QTimer):
    """Calls once, a little after the last of several requests."""

    def __init__(self, act: Callable[[], object], parent: QWidget, *, milliseconds: int = 150) -> None:
        super().__init__(parent)
        self.setSingleShot(True)
        self.setInterval(milliseconds)
        self.timeout.connect(lambda: act())
