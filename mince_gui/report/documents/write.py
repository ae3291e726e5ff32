"""Writes a report, or any page, to a file; the suffix of its name picks the kind."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from mince_gui.base.errors import UsageError
from mince_gui.base.files import write_atomic
from mince_gui.report.documents.html import page_html
from mince_gui.report.documents.markdown import page_markdown
from mince_gui.report.documents.page import Page
from mince_gui.report.documents.report_page import report_page
from mince_gui.report.documents.tables import csv_text
from mince_gui.report.json_form import json_form
from mince_gui.report.model import Report

PAGES = (".html", ".htm", ".pdf", ".md")
"""What `write_page` writes, by the suffix."""


def json_text(report: Report) -> str:
    """The whole report as JSON: no time of writing, so that the same report gives the same bytes."""
    return json_form(report.to_json())


def html_text(report: Report) -> str:
    """The report as one self-contained HTML file."""
    return page_html(report_page(report))


def markdown_text(report: Report) -> str:
    """The report for a ticket."""
    return page_markdown(report_page(report))


def write(report: Report, path: Path) -> None:
    """Write the report to `path`, whole or not at all; the suffix picks the kind (html, pdf, json, csv, md).

    Raises UsageError for any other suffix.
    """
    suffix = path.suffix.lower()
    if suffix == ".json":
        write_atomic(path, json_text(report))
    elif suffix == ".csv":
        write_atomic(path, csv_text(report))
    elif suffix in PAGES:
        write_page(report_page(report), path)
    else:
        refuse(path, "report", (*PAGES, ".json", ".csv"))


def write_page(page: Page, path: Path) -> None:
    """Write the page to `path`, whole or not at all; the suffix picks the kind (html, pdf, md).

    Raises UsageError for any other suffix.
    """
    match path.suffix.lower():
        case ".html" | ".htm":
            write_atomic(path, page_html(page))
        case ".pdf":
            from mince_gui.report.documents.pdf import page_pdf  # reportlab takes long to load

            write_atomic(path, page_pdf(page))
        case ".md":
            write_atomic(path, page_markdown(page))
        case _:
            refuse(path, "page", PAGES)


def refuse(path: Path, what: str, suffixes: tuple[str, ...]) -> NoReturn:
    """Raise UsageError: no document can be written under that name, one of `suffixes` is needed."""
    *first, last = (suffix for suffix in suffixes if suffix != ".htm")
    raise UsageError(
        f"No {what} can be written as '{path.name}'.", f"Give a name that ends in {', '.join(first)} or {last}."
    )
