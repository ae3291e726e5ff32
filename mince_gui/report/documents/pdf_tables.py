"""Tables of a PDF: columns as wide as what they hold, smaller type where there are many, headers on every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reportlab.lib.colors import Color, HexColor
from reportlab.lib.enums import TA_LEFT, TA_RIGHT
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import LongTable, Paragraph, TableStyle

from mince_gui.report.documents.page import Cell, State, Table
from mince_gui.report.documents.pdf_drawing import INK, RULE, SOFT
from mince_gui.report.documents.pdf_fonts import REGULAR, Fonts
from mince_gui.report.documents.visible import cut, flat

SIGN_OF: dict[State, str] = {"good": "✓ ", "bad": "✕ ", "warn": "! "}
COLOURS: dict[State, Color] = {
    "plain": INK, "good": HexColor("#007a5a"), "bad": HexColor("#b84a00"), "warn": HexColor("#8a6100"), "soft": SOFT
}  # fmt: skip
MOST_SIGNS = 2000
"""Signs of a sentence or a fact: what is longer is a fault or an attack, and stands whole in the JSON."""
SHORT_SIGNS = 200
"""Signs of a name, a title or a note."""
_CELL_SIGNS = 600
_SIZES = (8.5, 7.5, 6.5)
_SMALLER = 0.85
_GAP = 4.0
_LONGEST = 96.0
"""Points up to which a column keeps its longest word in one piece."""


def words_style(size: float, colour: Color = INK, *, right: bool = False) -> ParagraphStyle:
    """A paragraph's style."""
    return ParagraphStyle(
        f"{size:g}{'r' if right else 'l'}", fontName=REGULAR, fontSize=size, leading=1.3 * size, textColor=colour,
        alignment=TA_RIGHT if right else TA_LEFT, splitLongWords=1,
    )  # fmt: skip


def grid(table: Table, width: float, fonts: Fonts) -> LongTable:
    """The table, `width` points wide."""
    size, least, most = _sized(table, width, fonts)
    columns = _fitted(least, most, width)
    head = [
        Paragraph(
            fonts.markup(cut(name, SHORT_SIGNS), bold=True), words_style(size * 0.95, SOFT, right=i in table.numbers)
        )
        for i, name in enumerate(table.header)
    ]
    rows = [[_cell(cell, size, i in table.numbers, fonts) for i, cell in enumerate(row)] for row in table.rows]
    return _long_table([head, *rows], columns, header=True)


def facts_grid(rows: Sequence[tuple[str, str]], width: float, fonts: Fonts) -> LongTable:
    """Names with their values."""
    made = [
        [
            Paragraph(fonts.markup(cut(name, SHORT_SIGNS)), words_style(8.5, SOFT)),
            Paragraph(fonts.markup(cut(value, MOST_SIGNS)), words_style(8.5)),
        ]
        for name, value in rows
    ]
    return _long_table(made, [0.27 * width, 0.73 * width], header=False)


def texts_grid(
    columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], width: float, fonts: Fonts
) -> LongTable:
    """Names with one or more longer texts beside each other, under the columns' titles where there are any."""
    titles = ("", *columns) if columns else ()
    head = [Paragraph(fonts.markup(cut(name, SHORT_SIGNS), bold=True), words_style(8, SOFT)) for name in titles]
    made = [
        [
            Paragraph(fonts.markup(cut(name, SHORT_SIGNS), bold=True, lines=True), words_style(7.5)),
            *(Paragraph(fonts.markup(text, lines=True), words_style(7.5)) for text in texts),
        ]
        for name, texts in rows
    ]
    texts = max((len(texts) for _, texts in rows), default=1)
    return _long_table(
        [*([head] if head else []), *made], [0.22 * width, *[0.78 * width / texts] * texts], header=bool(head)
    )


def _long_table(rows: list[list[Any]], columns: list[float], *, header: bool) -> LongTable:
    made = LongTable(rows, colWidths=columns, repeatRows=1 if header else 0, splitInRow=1, hAlign="LEFT")
    made.setStyle(
        TableStyle(
            [
                ("LINEBELOW", (0, 0), (-1, -1), 0.5, RULE), ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LEFTPADDING", (0, 0), (-1, -1), _GAP), ("RIGHTPADDING", (0, 0), (-1, -1), _GAP),
                ("TOPPADDING", (0, 0), (-1, -1), 3), ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
            ]
        )
    )  # fmt: skip
    return made


def _cell(cell: Cell, size: float, right: bool, fonts: Fonts) -> Paragraph:
    text = cut(SIGN_OF.get(cell.state, "") + cell.text, _CELL_SIGNS)
    strong = cell.strong or cell.state in SIGN_OF
    parts = [_coloured(fonts.markup(text, bold=strong), COLOURS[cell.state])]
    small = f'<font size="{_SMALLER * size:.2f}">'
    if cell.note:
        parts.append(small + _coloured(fonts.markup(cut(cell.note, SHORT_SIGNS)), SOFT) + "</font>")
    if cell.flag:
        flag = fonts.markup(cut(cell.flag, SHORT_SIGNS), bold=True)
        parts.append(small + _coloured(flag, COLOURS["warn"]) + "</font>")
    return Paragraph("<br/>".join(parts), words_style(size, right=right))


def _coloured(markup: str, colour: Color) -> str:
    return f'<font color="{colour.hexval().replace("0x", "#")}">{markup}</font>'


def _sized(table: Table, width: float, fonts: Fonts) -> tuple[float, list[float], list[float]]:
    """The largest type in which no number is broken, else the smallest, with the widths of its columns."""
    *larger, smallest = _SIZES
    for size in larger:
        least, most = _measured(table, size, fonts)
        if sum(least) <= width:
            return size, least, most
    return smallest, *_measured(table, smallest, fonts)


def _measured(table: Table, size: float, fonts: Fonts) -> tuple[list[float], list[float]]:
    """Of every column the least width that breaks no number and no word of usual length, and the whole one."""
    least, most = [], []
    for i, name in enumerate(table.header):
        shortest = _longest_word(name, 0.95 * size, fonts, bold=True)
        whole = shortest
        for row in table.rows:
            cell = row[i]
            text = cut(SIGN_OF.get(cell.state, "") + cell.text, SHORT_SIGNS)
            strong = cell.strong or cell.state in SIGN_OF
            width = _line(text, size, fonts, bold=strong)
            whole = max(
                whole, width, _line(cut(cell.note, SHORT_SIGNS), _SMALLER * size, fonts, bold=False),
                _line(cut(cell.flag, SHORT_SIGNS), _SMALLER * size, fonts, bold=True),
            )  # fmt: skip
            unbroken = width if i in table.numbers else _longest_word(text, size, fonts, bold=strong)
            below = max(
                _longest_word(cell.note, _SMALLER * size, fonts, bold=False),
                _longest_word(cell.flag, _SMALLER * size, fonts, bold=True),
            )
            shortest = max(shortest, min(unbroken, _LONGEST), below)
        least.append(shortest + 2 * _GAP + 0.5)
        most.append(max(whole, shortest) + 2 * _GAP + 0.5)
    return least, most


def _line(text: str, size: float, fonts: Fonts, *, bold: bool) -> float:
    return fonts.width(flat(text), size, bold=bold)


def _longest_word(text: str, size: float, fonts: Fonts, *, bold: bool) -> float:
    found = max((fonts.width(word, size, bold=bold) for word in flat(text)[:SHORT_SIGNS].split()), default=0.0)
    return min(found, _LONGEST)


def _fitted(least: Sequence[float], most: Sequence[float], width: float) -> list[float]:
    """Widths that fill the page: what is left over goes to the columns that want more, in proportion."""
    if sum(least) >= width:
        return [part * width / sum(least) for part in least]
    wanted = [min(whole, width) - part for whole, part in zip(most, least, strict=True)]
    room = width - sum(least)
    if sum(wanted) > room:
        return [part + room * more / sum(wanted) for part, more in zip(least, wanted, strict=True)]
    spare = (room - sum(wanted)) / len(least)
    return [part + more + spare for part, more in zip(least, wanted, strict=True)]
