"""The PDF as a reader sees it: opened, read and measured with PDFium."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.paths import resources
from mince_gui.report import Reference, Report, RunData, build
from mince_gui.report.documents.drawing import Drawing
from mince_gui.report.documents.page import (
    Banner,
    Beside,
    Block,
    Cell,
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
from mince_gui.report.documents.pdf import page_pdf
from mince_gui.report.documents.report_page import report_page
from tests.report.made_reports import with_everything

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
MARGIN = 51.0
"""18 mm in points."""
A4_WIDTH, A4_HEIGHT = 595.3, 841.9


@contextmanager
def opened(data: bytes) -> Iterator[Any]:
    document = pypdfium2.PdfDocument(data)
    try:
        yield document
    finally:
        document.close()


def texts(data: bytes) -> list[str]:
    """The text of every page, line ends as blanks."""
    with opened(data) as document:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


def page_of(*blocks: Block) -> Page:
    return Page("a title", "a head", blocks, "a foot.", "run 7")


@pytest.fixture
def rich(make_run: MakeRun, make_own: MakeReference, make_other: MakeReference) -> Report:
    return with_everything(build(make_run(), own_full=make_own(), other=make_other()))


_WRITTEN: dict[str, bytes] = {}


def rich_pdf(rich: Report) -> bytes:
    """The PDF of the fixture, which is the same in every test, written once."""
    if rich.run_id not in _WRITTEN:
        _WRITTEN[rich.run_id] = page_pdf(report_page(rich))
    return _WRITTEN[rich.run_id]


def test_every_page_says_of_which_run_and_which_page_of_how_many_it_is(rich: Report) -> None:
    found = texts(rich_pdf(rich))
    assert len(found) > 5
    for number, text in enumerate(found, 1):
        assert f"run {rich.run_id}" in text
        assert f"page {number} of {len(found)}" in text
    assert rich.banner in found[0]
    assert "signature" in found[-1]


def test_headings_are_bookmarks_and_the_properties_name_the_report(rich: Report) -> None:
    page = report_page(rich)
    data = rich_pdf(rich)
    with opened(data) as document:
        marks = [(mark.get_title(), mark.get_dest().get_index()) for mark in document.get_toc()]
        meta = document.get_metadata_dict()
    assert [title for title, _ in marks] == [block.text for block in page.blocks if isinstance(block, Heading)]
    assert [place for _, place in marks] == sorted(place for _, place in marks)
    assert texts(data)[marks[-1][1]].count(marks[-1][0])
    assert (meta["Title"], meta["Subject"]) == (page.title, page.mark)
    assert b"/Lang" in data


def test_the_same_page_gives_the_same_bytes(rich: Report) -> None:
    assert page_pdf(report_page(rich)) == rich_pdf(rich)


def test_it_holds_no_links_scripts_or_pictures_of_dots_and_embeds_its_fonts(rich: Report) -> None:
    data = rich_pdf(rich)
    for name in (b"/URI", b"/JavaScript", b"/JS", b"/Launch", b"/Image", b"/EmbeddedFile"):
        assert not re.search(rb"%s\b" % re.escape(name), data.replace(b"/ImageB /ImageC /ImageI", b"")), name
    assert b"+DejaVuSans" in data
    assert b"/FontFile2" in data


@pytest.mark.parametrize("lines", range(26, 38, 2))
def test_a_heading_stands_on_the_page_of_its_picture(lines: int) -> None:
    drawing = Drawing(720, 294, "a drawing")
    drawing.text(10, 290, "in the picture")
    before = [Paragraph(f"line {n}") for n in range(lines)]
    found = texts(page_pdf(page_of(*before, Heading("the heading"), Figure(drawing, "a caption"))))
    assert ["the heading" in text for text in found] == ["in the picture" in text for text in found]


def test_a_picture_higher_than_a_page_is_made_smaller() -> None:
    drawing = Drawing(720, 5_000, "a tower")
    drawing.text(10, 10, "its top")
    drawing.text(10, 4_990, "its foot")
    data = page_pdf(page_of(Heading("the heading"), Figure(drawing, "a caption")))
    (shown,) = [text for text in texts(data) if "its top" in text]
    assert "its foot" in shown
    assert outside(data) == []


@pytest.mark.parametrize("lines", range(36, 46))
def test_the_page_that_is_signed_says_what_is_signed(lines: int) -> None:
    before = [Paragraph(f"line {n}") for n in range(lines)]
    last = texts(page_pdf(page_of(*before, Signing(("name", "date", "signature")))))[-1]
    assert "signature" in last
    assert "a foot." in last


def outside(data: bytes) -> list[tuple[int, str, tuple[float, float, float, float]]]:
    """Signs that stand in the margins (below and above only header and footer may)."""
    found = []
    with opened(data) as document:
        for number, page in enumerate(document):
            text = page.get_textpage()
            for place in range(text.count_chars()):
                sign = text.get_text_range(place, 1)
                if not sign.strip():
                    continue
                left, bottom, right, top = text.get_charbox(place)
                if left < MARGIN - 1 or right > A4_WIDTH - MARGIN + 1 or bottom < 20 or top > A4_HEIGHT - 20:
                    found.append((number, sign, (left, bottom, right, top)))
    return found


def test_nothing_runs_out_of_the_page(rich: Report) -> None:
    assert outside(rich_pdf(rich)) == []


def test_a_table_of_many_columns_stays_on_the_page_and_keeps_its_numbers_whole() -> None:
    rows = tuple(tuple(Cell(f"{c * r / 7:.1f} %", note="approximate") for c in range(10)) for r in range(30))
    data = page_pdf(page_of(Table(tuple(f"column {n}" for n in range(10)), rows, frozenset(range(10)))))
    assert outside(data) == []
    assert f"{9 * 29 / 7:.1f} %" in " ".join(texts(data))


def test_a_long_table_repeats_its_header_on_every_page() -> None:
    rows = tuple((Cell(f"item {n}"), Cell("worker crashed")) for n in range(200))
    found = texts(page_pdf(page_of(Heading("Missing"), Table(("item", "its cause"), rows))))
    assert len(found) > 3
    assert all("its cause" in text for text in found)
    assert all(f"item {n} " in " ".join(found) for n in range(200))


def every_block(text: str) -> Page:
    drawing = Drawing(720, 40, text)
    drawing.text(0, 20, text[:20])
    return Page(
        text, text,
        (
            Banner(text, "warn"), Heading(text), Paragraph(text, lead=text), Paragraph(text, style="caution"),
            Table((text, "b"), ((Cell(text, note=text, flag=text), Cell(text, state="bad")),), frozenset({1})),
            Facts(((text, text),)), Terms(((text, text),)), Texts(text, ((text, text),)),
            Beside(text, (text, "r"), ((text, (text, text)),)), Signing((text, "date")), Figure(drawing, text),
        ),
        text, text,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "</para><b>bold</b> &amp; <font size=99>", "<br/>" * 50, "a" * 100_000, "\n" * 5_000, "word " * 20_000,
        "\x00\x07\x1b[31m", "\ud800 half a pair", "\u202eturned\u202c",
        "שלום עולם, مرحبا بالعالم", "東京 한국어 🙂👩‍👩‍👧", "",
        " ", "{{ 7 * 7 }} %s %(x)s", "(unbalanced \\ ( parentheses", "e\u0301\u0327" * 50,
    ],
)  # fmt: skip
def test_any_text_may_stand_anywhere(text: str) -> None:
    assert outside(page_pdf(every_block(text), font_folders=())) == []


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=300))
def test_any_signs_may_stand_anywhere(text: str) -> None:
    with opened(page_pdf(every_block(text), font_folders=())) as document:
        assert len(document) >= 1


def test_markup_in_an_answer_shows_as_it_was_written() -> None:
    text = "<b>not bold</b> &amp; <a href='x'>no link</a>"
    assert text in texts(page_pdf(page_of(Paragraph(text))))[0]


def test_a_sign_without_a_font_is_named_and_a_note_says_so() -> None:
    found = texts(page_pdf(page_of(Paragraph("answer: 가 <")), font_folders=()))[0]
    assert "answer: [U+AC00] <" in found
    assert "1 different sign has no font" in found
    assert "no font" not in texts(page_pdf(page_of(Paragraph("Größe ≤ 3 ✓ Ω")), font_folders=()))[0]


def test_broken_fonts_of_the_system_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "msyh.ttc").write_bytes(b"ttcf" + bytes(40))
    (tmp_path / "symbola.ttf").write_bytes((resources() / "fonts" / "DejaVuSans.ttf").read_bytes()[:5_000])
    (tmp_path / "malgun.ttf").write_bytes(b"")
    found = texts(page_pdf(page_of(Paragraph("가")), font_folders=(tmp_path, tmp_path / "absent")))[0]
    assert "[U+AC00]" in found


def test_right_to_left_text_comes_with_a_note() -> None:
    assert "from right to left" in texts(page_pdf(page_of(Paragraph("שלום"))))[0]


def test_of_many_changed_items_the_first_are_shown_cut_and_the_rest_counted(rich: Report) -> None:
    pair = rich.paired[0]
    items = tuple(replace(item, my_answer="m" * 700) for item in pair.changed)
    report = replace(rich, paired=(replace(pair, changed=items),))
    text = " ".join(texts(page_pdf(report_page(report))))
    assert "1019 (keywords:existence)" in text
    assert "1020 (keywords:existence)" not in text
    assert "40 more are not shown here" in text
    assert text.count("cut here, 700 signs in all") == 20


def test_the_pdf_says_what_the_page_says(rich: Report) -> None:
    page = report_page(rich)
    whole = re.sub(r"\s", "", " ".join(texts(rich_pdf(rich))))
    for block in page.blocks:
        if isinstance(block, Paragraph):
            # Page breaks put header and footer between; the beginning of each sentence is enough.
            assert re.sub(r"\s", "", block.text[:60]) in whole, block.text
        if isinstance(block, Table):
            for row in block.rows:
                assert all(re.sub(r"\s", "", cell.text) in whole for cell in row)
