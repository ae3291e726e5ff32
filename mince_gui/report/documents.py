"""Writes a report as HTML, JSON, CSV or Markdown, by the suffix of the path."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import mince_gui
from mince_gui.base.errors import UsageError
from mince_gui.base.files import write_atomic
from mince_gui.report import format as fmt
from mince_gui.report.glossary import glossary
from mince_gui.report.model import Report
from mince_gui.report.pictures import pictures
from mince_gui.report.tables import condition_lines, csv_text, markdown_text
from mince_gui.report.words import VERDICT_WORDS

_LISTED_ITEMS = 200
"""Item keys that the HTML lists by name before it says how many more there are; the JSON has them all."""


def json_text(report: Report) -> str:
    """The whole report as JSON: sorted keys, no time of writing, so that the same report gives the same bytes."""
    return json.dumps(report.to_json(), sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _reasons(report: Report) -> dict[str, list[str]]:
    """Each verdict's reason with the titles of its metrics."""
    found: dict[str, list[str]] = {}
    for metric in report.metrics:
        found.setdefault(metric.reason, []).append(metric.title)
    return found


def html_text(report: Report) -> str:
    """One self-contained page: no network, no script; every text escaped."""
    import jinja2  # the command line imports this room for its number formats alone

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(fmt=fmt, words=VERDICT_WORDS)
    source = files("mince_gui.report").joinpath("templates", "report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        r=report, pictures=pictures(report), conditions=condition_lines(report.conditions), glossary=glossary(report),
        missing=list(report.coverage.missing.items())[:_LISTED_ITEMS],
        more_missing=max(0, len(report.coverage.missing) - _LISTED_ITEMS),
        reasons=_reasons(report),
        has_other=any(metric.other is not None for metric in report.metrics), version=mince_gui.__version__,
    )  # fmt: skip


_WRITERS: dict[str, Callable[[Report], str]] = {
    ".html": html_text, ".htm": html_text, ".json": json_text, ".csv": csv_text, ".md": markdown_text
}  # fmt: skip


def write(report: Report, path: Path) -> None:
    """Write the report to `path`, whole or not at all; the suffix picks the kind (html, json, csv, md).

    Raises UsageError for any other suffix.
    """
    suffix = path.suffix.lower()
    if suffix == ".pdf":
        raise UsageError("PDF comes with a later version.", "Write HTML and print it to PDF from the browser.")
    writer = _WRITERS.get(suffix)
    if writer is None:
        raise UsageError(
            f"No report can be written as '{path.name}'.", "Give a name that ends in .html, .json, .csv or .md."
        )
    write_atomic(path, writer(report))
