"""A list of two-line entries with a state at the right: runs and reports are chosen from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from mince_gui.ui import icons, theme

Index = QModelIndex | QPersistentModelIndex
_ENTRY = int(Qt.ItemDataRole.UserRole)
_HEIGHT = 68


@dataclass(frozen=True)
class Entry:
    """`word` says the state; `state` and `shape` are its colour and icon; `aside` stands at the title's right."""

    ident: str
    title: str
    aside: str
    subtitle: str
    word: str
    state: str
    shape: str


class EntryModel(QAbstractListModel):
    """Entries as a list model."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Put other entries in place; equal length and order keep the selection."""
        if [e.ident for e in entries] == [e.ident for e in self.entries]:
            old, self.entries = self.entries, list(entries)
            for place, (before, after) in enumerate(zip(old, entries, strict=True)):
                if before != after:
                    self.dataChanged.emit(self.index(place), self.index(place))
            return
        self.beginResetModel()
        self.entries = list(entries)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, D102, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: Index, role: int = 0) -> Any:  # noqa: D102 - Qt's
        if not index.isValid():
            return None
        entry = self.entries[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{entry.title}, {entry.subtitle}, {entry.word}, {entry.aside}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{entry.title}\n{entry.subtitle}\n{entry.word}\n{entry.aside}"
        return entry if role == _ENTRY else None


class _Delegate(QStyledItemDelegate):
    """Paints title, subtitle, and the state with its icon."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802 - Qt's name
        return QSize(120, _HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry = index.data(_ENTRY)
        if not isinstance(entry, Entry):
            return
        dress = theme.current()
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        area: QRect = option.rect
        painter.save()
        if chosen:
            painter.fillRect(area, QColor(dress.accent_soft))
            painter.fillRect(QRect(area.left(), area.top(), 3, area.height()), QColor(dress.accent))
        painter.setPen(QPen(QColor(dress.raised)))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        inside = area.adjusted(12, 8, -12, -8)
        small = theme.tabular(QGuiApplication.font(), scale=0.9)
        bold = QFont(QGuiApplication.font())
        bold.setWeight(QFont.Weight.DemiBold)
        line = inside.height() // 3
        lines = [QRect(inside.left(), inside.top() + i * line, inside.width(), line) for i in range(3)]
        aside = QFontMetrics(small).horizontalAdvance(entry.aside)
        right = QRect(lines[0].right() - aside, lines[0].top(), aside + 1, line)
        _text(painter, right, entry.aside, small, dress.muted)
        _text(painter, lines[0].adjusted(0, 0, -aside - 8, 0), entry.title, bold, dress.text)
        _text(painter, lines[1], entry.subtitle, small, dress.muted)
        colour = dress.role(entry.state)
        painter.drawPixmap(lines[2].left(), lines[2].center().y() - 6, icons.pixmap(entry.shape, colour, 14))
        _text(painter, lines[2].adjusted(20, 0, 0, 0), entry.word, small, colour)
        painter.restore()


def _text(painter: QPainter, area: QRect, words: str, font: QFont, colour: str) -> None:
    painter.setFont(font)
    painter.setPen(QColor(colour))
    shown = QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideMiddle, area.width())
    painter.drawText(area, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), shown)


class EntryList(QListView):
    """The list; `chosen` carries the ident of the entry that the user (or `choose`) picked."""

    chosen = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeping = False
        self.entries = EntryModel(self)
        self.setModel(self.entries)
        self.setItemDelegate(_Delegate(self))
        self.setAccessibleName(name)
        self.setUniformItemSizes(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.selectionModel().currentChanged.connect(self._current_changed)

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Show other entries; the chosen one stays chosen where it is still there."""
        kept = self.current_ident()
        self._keeping = True
        self.entries.set_entries(entries)
        if kept is not None and self.current_ident() != kept:
            self.choose(kept)
        self._keeping = False

    def update_entry(self, entry: Entry) -> None:
        """Show another state of one entry, where it is there."""
        self.show_entries([entry if known.ident == entry.ident else known for known in self.entries.entries])

    def choose(self, ident: str) -> bool:
        """Choose an entry; says whether it is there."""
        for place, entry in enumerate(self.entries.entries):
            if entry.ident == ident:
                self.setCurrentIndex(self.entries.index(place))
                return True
        return False

    def current_ident(self) -> str | None:
        """The chosen entry."""
        index = self.currentIndex()
        return self.entries.entries[index.row()].ident if index.isValid() else None

    def keyPressEvent(self, event: Any) -> None:  # noqa: D102, N802 - Qt's name
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(str(self.currentIndex().data() or ""))
            return
        if event.key() == Qt.Key.Key_Space:
            # Nothing to choose that is not chosen: the page may have a use for it.
            event.ignore()
            return
        super().keyPressEvent(event)

    def _current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        ident = self.current_ident()
        if ident is not None and not self._keeping:
            self.chosen.emit(ident)
