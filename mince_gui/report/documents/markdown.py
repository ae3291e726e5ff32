"""A page as Markdown for a ticket: without pictures, explanations and long texts from outside."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mince_gui.report.documents.page import Banner, Block, Cell, Facts, Heading, Page, Paragraph, Table
from mince_gui.report.documents.visible import cut, flat

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
_ROWS = 40
"""Rows of a table before it says how many more there are."""
_MOST_SIGNS = 2000
"""Signs of a text: what is longer is a fault or an attack, and stands whole in the JSON."""


def md_escape(text: str) -> str:
    """Text that Markdown shows as it is, inside a line: special signs escaped, no line breaks, no mentions."""
    return _SPECIAL.sub(r"\\\1", cut(flat(text), _MOST_SIGNS)).replace("@", "&#64;")


def page_markdown(page: Page) -> str:
    """What a ticket needs of the page: the sections that are brief, as sentences and tables."""
    lines: list[str] = []
    heading: list[str] = []
    kept = True
    for block in page.blocks:
        if isinstance(block, Heading):
            kept = block.brief
            heading = [f"### {md_escape(block.text)}", ""]
        elif kept and (made := _lines(block)):
            lines += [*heading, *made]
            heading = []
    return "\n".join([*lines, md_escape(page.foot), ""])


def _lines(block: Block) -> list[str]:
    match block:
        case Banner(text):
            return [f"**{md_escape(text)}**", ""]
        case Paragraph(text, lead, style):
            bold = f"**{md_escape(lead)}** " if lead else ""
            return [f"{'> ' if style == 'caution' else ''}{bold}{_begun(md_escape(text), bold)}", ""]
        case Table(header, rows, _, fold):
            return [] if fold else _table(header, [[_cell(cell) for cell in row] for row in rows])
        case Facts(rows):
            return _table(("", ""), [[md_escape(name), md_escape(value)] for name, value in rows])
    return []


def _begun(text: str, bold: str) -> str:
    """A line that begins as a list, a heading or a quotation would is none here."""
    return text if bold else re.sub(r"^([#+\->=]|\d+[.)])", r"\\\1", text)


def _cell(cell: Cell) -> str:
    flag = f" ({md_escape(cell.flag)})" if cell.flag else ""
    note = f", {md_escape(cell.note)}" if cell.note else ""
    return f"{md_escape(cell.text)}{note}{flag}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [[md_escape(name) for name in header], ["---"] * len(header), *rows[:_ROWS]]
    lines = [f"| {' | '.join(row)} |" for row in shown]
    left = len(rows) - _ROWS
    more = [f"and {left:,} more row{'' if left == 1 else 's'}; the HTML and JSON reports have them.", ""]
    return [*lines, "", *(more if left > 0 else [])]
