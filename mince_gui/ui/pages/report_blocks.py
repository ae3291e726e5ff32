"""Parts of a report's page (`report.page`) in native widgets: a card for each heading, in the document's own words."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QLayout, QWidget

from mince_gui.report.documents.page import Beside, Block, Cell, Facts, Heading, Paragraph, Table
from mince_gui.ui import icons, theme
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, column, label, row

_NUMBER = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop
_TEXT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop


def cards_of(blocks: Iterable[Block]) -> list[Card]:
    """One card for each heading and what follows it; pictures and long answers are for the exported document."""
    cards: list[Card] = []
    for block in blocks:
        if isinstance(block, Heading):
            cards.append(Card(block.text))
            continue
        shown = _shown(block)
        if shown is not None:
            cards[-1].body.addLayout(shown) if isinstance(shown, QLayout) else cards[-1].body.addWidget(shown)
    return cards


def _shown(block: Block) -> QLayout | QWidget | None:
    match block:
        case Paragraph(style="caution"):
            return caution(block.text)
        case Paragraph():
            name = "caption" if block.style == "note" else ""
            return label(f"{block.lead} {block.text}".strip(), name, wrap=True, select=True)
        case Facts():
            return facts_grid((name[:1].upper() + name[1:], value) for name, value in block.rows)
        case Table():
            return _table(block)
        case Beside():
            return label(f"{block.title}: in the exported report.", "caption", wrap=True)
    return None


def caution(words: str) -> QLayout:
    """A warning with its sign."""
    sign = QLabel()
    sign.setPixmap(icons.pixmap("warn", theme.current().warn, 16))
    line = row(sign, label(words, "", wrap=True, select=True))
    line.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
    line.setStretch(1, 1)
    return line


def facts_grid(lines: Iterable[tuple[str, str]]) -> QGridLayout:
    """Names at the left, their values beside them."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(2 * GRID)
    grid.setVerticalSpacing(4)
    for place, (name, value) in enumerate(lines):
        grid.addWidget(label(name, "muted"), place, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(value, "", wrap=True, select=True), place, 1)
    grid.setColumnStretch(1, 1)
    grid.setColumnMinimumWidth(0, 152)
    return grid


def _table(table: Table) -> QGridLayout:
    """Cells of several lines, which a list's rows cannot hold: the value, what warns of it, its note."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(3 * GRID)
    grid.setVerticalSpacing(GRID)
    for place, title in enumerate(table.header):
        shown = label(title[:1].upper() + title[1:], "muted", wrap=True)
        shown.setAlignment(_side(table, place))
        grid.addWidget(shown, 0, place)
        grid.setColumnStretch(place, 0 if place in table.numbers else 1)
    for line, cells in enumerate(table.rows, start=1):
        for place, cell in enumerate(cells):
            grid.addWidget(_cell(cell, _side(table, place)), line, place, _side(table, place))
    return grid


def _side(table: Table, place: int) -> Qt.AlignmentFlag:
    return _NUMBER if place in table.numbers else _TEXT


def _cell(cell: Cell, side: Qt.AlignmentFlag) -> QWidget:
    text = label(cell.text, "muted" if cell.state == "soft" else "", select=True)
    text.setFont(theme.tabular(text.font(), bold=cell.strong))
    lines = [text, *(label(under, "caption", select=True) for under in (cell.flag, cell.note) if under)]
    for shown in lines:
        shown.setAlignment(side)
    made = QWidget()
    made.setLayout(column(*lines, gap=0))
    return made
