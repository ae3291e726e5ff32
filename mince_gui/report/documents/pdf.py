"""A page as PDF: A4, numbered pages with the run's name, bookmarks, vectors; the same page gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    KeepTogether,
    PageTemplate,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Paragraph as Words
from reportlab.platypus import Table as Grid

import mince_gui
from mince_gui.report.documents.page import (
    Banner,
    Beside,
    Block,
    Facts,
    Figure,
    Heading,
    Page,
    Paragraph,
    Signing,
    Table,
    Terms,
    Texts,
)
from mince_gui.report.documents.pdf_drawing import INK, RULE, SOFT, Picture
from mince_gui.report.documents.pdf_fonts import FONT_FAULTS, REGULAR, Fonts
from mince_gui.report.documents.pdf_tables import (
    COLOURS,
    MOST_SIGNS,
    SHORT_SIGNS,
    facts_grid,
    grid,
    texts_grid,
    words_style,
)
from mince_gui.report.documents.visible import cut, flat, visible

_MARGIN = 18 * mm
_WIDTH = A4[0] - 2 * _MARGIN
_HIGHEST = 0.8 * A4[1]
"""Of a picture: a page has room for it, its caption and the heading before it."""
_PICTURE = 0.9
"""Share of the width that a picture takes."""
_TEXTS = 20
"""Rows of longer texts that are shown."""
_SIGNS = 500
"""Signs of each of them."""
_LINES = 12
"""Lines of each of them; what follows is written in one line, with signs for the breaks."""
_PANEL = HexColor("#f4f6f8")


def page_pdf(page: Page, *, font_folders: Sequence[Path] | None = None) -> bytes:
    """The page as a PDF file. `font_folders` are searched for signs that DejaVu Sans lacks, None = the system's."""
    fonts = Fonts(font_folders)
    try:
        return _written(page, fonts)
    except FONT_FAULTS:
        if not fonts.borrowed:
            raise
        return _written(page, Fonts(()))


def _written(page: Page, fonts: Fonts) -> bytes:
    story = [Words(fonts.markup(cut(page.head, SHORT_SIGNS), bold=True), words_style(9.5, SOFT)), Spacer(1, 4 * mm)]
    last: list[Flowable] = []
    for place, block in enumerate(page.blocks):
        made = _flowables(block, place, fonts)
        following = page.blocks[place + 1] if place + 1 < len(page.blocks) else None
        if isinstance(block, Heading) and isinstance(following, Figure):
            # A picture is not broken over pages: its heading goes where it goes.
            made.insert(0, CondPageBreak(_picture_height(following) + 30 * mm))
        if isinstance(block, Signing):
            last += made
        else:
            story += made
    foot = Words(fonts.markup(cut(page.foot, MOST_SIGNS)), words_style(7.5, SOFT))
    # Nobody signs an empty page.
    story.append(KeepTogether([Spacer(1, 6 * mm), foot, *_font_notes(fonts), *last]))
    buffer = io.BytesIO()
    _Document(buffer, page, fonts).build(story, canvasmaker=_Counted)
    return buffer.getvalue()


class _Document(BaseDocTemplate):
    """Draws what stands above and below every page."""

    def __init__(self, buffer: io.BytesIO, page: Page, fonts: Fonts) -> None:
        super().__init__(
            buffer, pagesize=A4, leftMargin=_MARGIN, rightMargin=_MARGIN, topMargin=22 * mm, bottomMargin=20 * mm,
            title=flat(cut(page.title, SHORT_SIGNS)), subject=flat(cut(page.mark, SHORT_SIGNS)), author="",
            creator=f"mince-gui {mince_gui.__version__}", producer="ReportLab", invariant=1, lang="en",
        )  # fmt: skip
        self.mark = _short_runs(page.mark or page.title, 0.8 * _WIDTH, fonts)
        self.mark_fonts = fonts
        frame = Frame(self.leftMargin, self.bottomMargin, _WIDTH, self.height, 0, 0, 0, 0)
        self.addPageTemplates(PageTemplate("all", [frame], onPage=self._around))

    def _around(self, canvas: Canvas, _: BaseDocTemplate) -> None:
        canvas.saveState()
        top, low = A4[1] - 14 * mm, 12 * mm
        line = canvas.beginText(_MARGIN, top)
        line.setFillColor(SOFT)
        for font, words in self.mark:
            line.setFont(font, 7.5)
            line.textOut(words)
        canvas.drawText(line)
        canvas.setStrokeColor(RULE)
        canvas.line(_MARGIN, top - 2 * mm, A4[0] - _MARGIN, top - 2 * mm)
        canvas.setFillColor(SOFT)
        canvas.setFont(REGULAR, 7.5)
        canvas.drawString(_MARGIN, low, f"mince-gui {mince_gui.__version__}")
        canvas.drawRightString(A4[0] - _MARGIN - 6 * mm, low, f"page {canvas.getPageNumber()} of")
        canvas.translate(A4[0] - _MARGIN - 5 * mm, low)
        canvas.doForm(_Counted.TOTAL)
        canvas.restoreState()


class _Counted(Canvas):
    """Knows at its end how many pages there are; every page shows that by name."""

    TOTAL = "total"

    def save(self) -> None:
        """Write the number of pages, then the file."""
        pages = self.getPageNumber() - 1
        self.beginForm(self.TOTAL, 0, -2, 6 * mm, 8)
        self.setFillColor(SOFT)
        self.setFont(REGULAR, 7.5)
        self.drawString(0, 0, str(pages))
        self.endForm()
        super().save()


class _Headline(Words):
    """A heading with a bookmark."""

    def __init__(self, text: str, key: str, markup: str) -> None:
        style = words_style(12.5)
        style.spaceBefore, style.spaceAfter = 7 * mm, 2 * mm
        super().__init__(markup, style)
        self.bookmark = (text, key)

    def draw(self) -> None:
        """Draw, and mark the place."""
        text, key = self.bookmark
        self.canv.bookmarkHorizontal(key, 0, self.height + 4 * mm)
        self.canv.addOutlineEntry(text, key, 0)
        super().draw()


def _flowables(block: Block, place: int, fonts: Fonts) -> list[Flowable]:
    match block:
        case Heading(text):
            shown = flat(cut(text, SHORT_SIGNS))
            return [CondPageBreak(45 * mm), _Headline(shown, f"h{place}", fonts.markup(shown, bold=True))]
        case Banner(text, state):
            markup = fonts.markup(cut(text, MOST_SIGNS), bold=True)
            return [*_framed(markup, 11.5, COLOURS[state], 4), Spacer(1, 2 * mm)]
        case Paragraph(text, lead, style):
            return _sentences(text, lead, style, fonts)
        case Table(fold=fold):
            title = [CondPageBreak(40 * mm), _small_title(fold, fonts)] if fold else []
            return [*title, grid(block, _WIDTH, fonts), Spacer(1, 2 * mm)]
        case Facts(rows):
            return [facts_grid(rows, _WIDTH, fonts), Spacer(1, 2 * mm)] if rows else []
        case Terms(rows):
            told = [
                (fonts.markup(f"{cut(term, SHORT_SIGNS)}:", bold=True), fonts.markup(cut(meaning, MOST_SIGNS)))
                for term, meaning in rows
            ]
            return [Words(f"{term} {meaning}", _spaced(8.5)) for term, meaning in told]
        case Texts(title, rows):
            return _texts(title, (), [(name, (text,)) for name, text in rows], fonts)
        case Beside(title, columns, rows):
            return _texts(title, columns, rows, fonts)
        case Signing(lines):
            return _signing(lines, fonts)
        case Figure(drawing, caption):
            words = Words(fonts.markup(cut(caption, MOST_SIGNS)), words_style(8, SOFT))
            picture = Picture(drawing, _PICTURE * _WIDTH, fonts, most=_HIGHEST)
            return [KeepTogether([Spacer(1, 3 * mm), picture, words, Spacer(1, 3 * mm)])]


def _picture_height(figure: Figure) -> float:
    return figure.drawing.height * _PICTURE * _WIDTH / figure.drawing.width


def _spaced(size: float, after: float = 1.5 * mm, colour: Any = INK) -> Any:
    style = words_style(size, colour)
    style.spaceAfter = after
    return style


def _sentences(text: str, lead: str, style: str, fonts: Fonts) -> list[Flowable]:
    bold = f"{fonts.markup(cut(lead, SHORT_SIGNS), bold=True)} " if lead else ""
    markup = bold + fonts.markup(cut(text, MOST_SIGNS))
    if style == "caution":
        return [*_framed(markup, 8.5, COLOURS["warn"], 3), Spacer(1, 1.5 * mm)]
    return [Words(markup, _spaced(8, colour=SOFT) if style == "note" else _spaced(9.5))]


def _framed(markup: str, size: float, colour: Any, thick: float) -> list[Flowable]:
    box = Grid([[Words(markup, words_style(size))]], colWidths=[_WIDTH], splitInRow=1, hAlign="LEFT")
    box.setStyle(
        TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, -1), _PANEL), ("LINEBEFORE", (0, 0), (0, -1), thick, colour),
                ("LEFTPADDING", (0, 0), (-1, -1), 10), ("RIGHTPADDING", (0, 0), (-1, -1), 8),
                ("TOPPADDING", (0, 0), (-1, -1), size * 0.5), ("BOTTOMPADDING", (0, 0), (-1, -1), size * 0.7),
            ]
        )
    )  # fmt: skip
    return [box]


def _small_title(title: str, fonts: Fonts) -> Flowable:
    return Words(fonts.markup(cut(title, SHORT_SIGNS), bold=True), _spaced(9))


def _texts(
    title: str, columns: Sequence[str], rows: Sequence[tuple[str, tuple[str, ...]]], fonts: Fonts
) -> list[Flowable]:
    """The first of them, each cut, and how many more there are."""
    shown = [(name, [_flattened(cut(text, _SIGNS)) for text in told]) for name, told in rows[:_TEXTS]]
    made: list[Flowable] = [
        CondPageBreak(30 * mm),
        _small_title(title, fonts),
        texts_grid(columns, shown, _WIDTH, fonts),
    ]
    if len(rows) > _TEXTS:
        more = f"{len(rows) - _TEXTS:,} more are not shown here; the JSON report has them all."
        made.append(Words(fonts.markup(more), _spaced(8, colour=SOFT)))
    return made


def _flattened(text: str) -> str:
    lines = visible(text).split("\n")
    return "\n".join([*lines[: _LINES - 1], " ↵ ".join(lines[_LINES - 1 :])])


def _signing(lines: Sequence[str], fonts: Fonts) -> list[Flowable]:
    cells = [Words(fonts.markup(cut(line, SHORT_SIGNS)), words_style(8, SOFT)) for line in lines]
    gap = 8 * mm
    row: list[Any] = [cells[0]]
    widths = [(_WIDTH - gap * (len(cells) - 1)) / len(cells)]
    for cell in cells[1:]:
        row += ["", cell]
        widths += [gap, widths[0]]
    box = Grid([row], colWidths=widths, hAlign="LEFT")
    above = [("LINEABOVE", (i, 0), (i, 0), 0.7, INK) for i in range(0, len(row), 2)]
    box.setStyle(TableStyle([*above, ("LEFTPADDING", (0, 0), (-1, -1), 0)]))
    return [Spacer(1, 18 * mm), box]


def _font_notes(fonts: Fonts) -> list[Flowable]:
    """What the reader must know of signs that stand here otherwise than in the original."""
    notes = []
    if number := len(fonts.missing):
        signs = "sign has" if number == 1 else "signs have"
        notes.append(
            f"{number:,} different {signs} no font on the machine that wrote this document and stand "
            "here by number, such as [U+AC00]. The HTML and JSON reports have them as they are."
        )
    if fonts.turned:
        notes.append("Text that is written from right to left stands here in the order of its signs, left to right.")
    return [Words(fonts.markup(note), words_style(7.5, SOFT)) for note in notes]


def _short_runs(text: str, width: float, fonts: Fonts) -> list[tuple[str, str]]:
    """The text on one line of at most so many points, cut with an ellipsis."""
    shown = flat(cut(text, SHORT_SIGNS))
    if fonts.width(shown, 7.5) <= width:
        return fonts.runs(shown)
    while shown and fonts.width(f"{shown}…", 7.5) > width:
        shown = shown[:-1]
    return fonts.runs(f"{shown}…")
