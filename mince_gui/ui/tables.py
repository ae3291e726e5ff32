"""One table model for every list in the window: rows are plain values, columns say how to show and sort them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QGuiApplication, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from mince_gui.ui import icons, theme

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")
SORT = int(Qt.ItemDataRole.UserRole)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """How one column reads a row.

    `key` sorts (None = by the text); None values sort last. `state` names a colour and an icon
    (good, warn, bad, muted...) that always stand beside a word, never alone. `width` in pixels; 0 = what is left.
    """

    title: str
    text: Callable[[Row], str]
    key: Callable[[Row], Any] | None = None
    number: bool = False
    width: int = 96
    tip: Callable[[Row], str] | None = None
    state: Callable[[Row], str] | None = None
    help: str = ""


class TableModel(QAbstractTableModel, Generic[Row]):
    """Rows of plain values. With `ident`, the first column has ticks that survive `set_rows`."""

    ticked = Signal()

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        parent: QWidget | None = None,
        *,
        ident: Callable[[Row], Hashable] | None = None,
    ) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: list[Row] = []
        self._ident = ident
        self._unticked: set[Hashable] = set()

    @property
    def rows(self) -> Sequence[Row]:
        """The rows in their own order."""
        return self._rows

    @property
    def columns(self) -> Sequence[Column[Row]]:
        """The columns."""
        return self._columns

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Put other rows in place."""
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Append rows."""
        if not rows:
            return
        at = len(self._rows)
        self.beginInsertRows(QModelIndex(), at, at + len(rows) - 1)
        self._rows.extend(rows)
        self.endInsertRows()

    def replace(self, place: int, row: Row) -> None:
        """Put another value at one place."""
        self._rows[place] = row
        self.dataChanged.emit(self.index(place, 0), self.index(place, len(self._columns) - 1))

    @property
    def has_ticks(self) -> bool:
        """Whether rows can be ticked."""
        return self._ident is not None

    def ticked_rows(self) -> list[Row]:
        """The rows whose tick is set."""
        assert self._ident is not None
        return [row for row in self._rows if self._ident(row) not in self._unticked]

    def set_ticks(self, wanted: Callable[[Row], bool]) -> None:
        """Tick the rows for which `wanted` holds, untick the others."""
        assert self._ident is not None
        self._unticked = {self._ident(row) for row in self._rows if not wanted(row)}
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0))
        self.ticked.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, D102, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, D102, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:  # noqa: D102, N802
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.help or None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_side(column) | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = 0) -> Any:  # noqa: D102 - Qt's
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], self._columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == SORT:
            return column.text(row) if column.key is None else column.key(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(_side(column) | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            return (column.tip(row) if column.tip else column.text(row)) or None
        if role == Qt.ItemDataRole.FontRole:
            return theme.tabular(QGuiApplication.font()) if column.number else None
        if role == Qt.ItemDataRole.CheckStateRole and self._ident is not None and index.column() == 0:
            ticked = self._ident(row) not in self._unticked
            return (Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked).value
        return self._state_data(column, row, role)

    def _state_data(self, column: Column[Row], row: Row, role: int) -> Any:
        if column.state is None or role not in (Qt.ItemDataRole.ForegroundRole, Qt.ItemDataRole.DecorationRole):
            return None
        name, _, shape = column.state(row).partition(":")
        if not name:
            return None
        colour = theme.current().role(name)
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(colour)
        return icons.pixmap(shape or name, colour, 14) if shape or name in ("good", "warn", "bad") else None

    def setData(self, index: Index, value: Any, role: int = 0) -> bool:  # noqa: D102, N802 - Qt's name
        if role != Qt.ItemDataRole.CheckStateRole or self._ident is None or index.column() != 0:
            return False
        ident = self._ident(self._rows[index.row()])
        if Qt.CheckState(value) == Qt.CheckState.Checked:
            self._unticked.discard(ident)
        else:
            self._unticked.add(ident)
        self.dataChanged.emit(index, index)
        self.ticked.emit()
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:  # noqa: D102 - Qt's
        flags = super().flags(index)
        if self._ident is not None and index.isValid() and index.column() == 0:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags


def _side(column: Column[Any]) -> Qt.AlignmentFlag:
    return Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft


class SortProxy(QSortFilterProxyModel):
    """Sorts by the column's key; what has no key comes last in either direction. Filters by text in any column."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSortRole(SORT)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setFilterKeyColumn(-1)

    def lessThan(self, left: Index, right: Index) -> bool:  # noqa: D102, N802 - Qt's name
        a, b = left.data(SORT), right.data(SORT)
        if a is None or b is None:
            descending = self.sortOrder() == Qt.SortOrder.DescendingOrder
            return (a is None and b is not None) if descending else (b is None and a is not None)
        return bool(a < b)


class TableView(QTableView, Generic[Row]):
    """A sortable table that copies as text (Ctrl+C) and says what belongs in it while it is empty.

    `chosen` carries the current row, None where there is none.
    """

    chosen = Signal(object)

    def __init__(self, model: TableModel[Row], name: str, parent: QWidget | None = None, *, empty: str = "") -> None:
        super().__init__(parent)
        self.table = model
        self._empty = empty
        self.proxy = SortProxy(self)
        self.proxy.setSourceModel(model)
        self.setModel(self.proxy)
        self.setAccessibleName(name)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSortingEnabled(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(32)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(48)
        for place, column in enumerate(model.columns):
            if column.width:
                self.setColumnWidth(place, column.width)
            else:
                header.setSectionResizeMode(place, QHeaderView.ResizeMode.Stretch)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.selectionModel().selectionChanged.connect(self._selection_changed)

    def say_when_empty(self, words: str) -> None:
        """Say something else while there is no row."""
        self._empty = words
        self.viewport().update()

    def current_row(self) -> Row | None:
        """The row that the details belong to."""
        rows = self.selected_rows()
        return rows[0] if rows else None

    def selected_rows(self) -> list[Row]:
        """Every selected row, from top to bottom."""
        places = sorted(index.row() for index in self.selectionModel().selectedRows())
        return [self.table.rows[self.proxy.mapToSource(self.proxy.index(place, 0)).row()] for place in places]

    def selectRow(self, row: int) -> None:  # noqa: N802 - Qt's name
        """Select that row alone. Qt's own adds it to the others while the user happens to hold Ctrl or Shift."""
        flags = QItemSelectionModel.SelectionFlag
        index = self.proxy.index(row, 0)
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def choose(self, wanted: Callable[[Row], bool]) -> bool:
        """Select the first row for which `wanted` holds; says whether there is one."""
        for place, row in enumerate(self.table.rows):
            if wanted(row):
                index = self.proxy.mapFromSource(self.table.index(place, 0))
                if index.isValid():
                    self.selectRow(index.row())
                    return True
        return False

    def as_text(self, separator: str = "\t") -> str:
        """The selected rows (all where none is) with their titles."""
        lines = io.StringIO()
        writer = csv.writer(lines, delimiter=separator, lineterminator="\n")
        writer.writerow([column.title for column in self.table.columns])
        places = sorted(index.row() for index in self.selectionModel().selectedRows()) or range(self.proxy.rowCount())
        for place in places:
            writer.writerow([str(self.proxy.index(place, c).data()) for c in range(len(self.table.columns))])
        return lines.getvalue()

    def keyPressEvent(self, event: Any) -> None:  # noqa: D102, N802 - Qt's name
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.as_text())
            return
        if event.key() == Qt.Key.Key_Space and not self.table.has_ticks:
            # Nothing to tick: the page may have a use for it.
            event.ignore()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102, N802 - Qt's name
        super().paintEvent(event)
        if self._empty and self.proxy.rowCount() == 0:
            painter = QPainter(self.viewport())
            painter.setPen(QColor(theme.current().muted))
            area = self.viewport().rect().adjusted(16, 16, -16, -16)
            painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), self._empty)
            painter.end()

    def _selection_changed(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        self.chosen.emit(self.current_row())
