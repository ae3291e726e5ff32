"""A page as one self-contained HTML file: no network, no script, every text escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from mince_gui.report.documents.page import Beside, Block, Page, Texts
from mince_gui.report.documents.svg import svg
from mince_gui.report.documents.visible import cut, visible

if TYPE_CHECKING:
    import jinja2

_TEXTS = 50
"""Rows of longer texts that are shown."""
_SIGNS = 1500
"""Signs of each of them."""
_MOST_SIGNS = 20_000
"""Signs of any other text: what is longer is a fault or an attack."""
_SIGN_OF = {"good": "✓ ", "bad": "✕ ", "warn": "! "}
_OPEN_ROWS = 30
"""A table that can be folded begins open up to here."""


def page_html(page: Page) -> str:
    """The page as HTML, the same bytes for the same page."""
    return _template().render(page=page, texts=_TEXTS, signs=_SIGNS, open_rows=_OPEN_ROWS)


@cache
def _template() -> jinja2.Template:
    import jinja2  # the command line imports this room for its number formats alone

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )  # fmt: skip
    environment.filters.update(kind=_kind, svg=svg, cut=cut, sign=lambda state: _SIGN_OF.get(state, ""), left=_left)
    source = files("mince_gui.report.documents").joinpath("templates", "page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def _shown(value: object) -> object:
    """Every text that the template writes goes through here, but for markup that was made here."""
    return cut(visible(value), _MOST_SIGNS) if type(value) is str else value


def _kind(block: Block) -> str:
    return type(block).__name__


def _left(block: Texts | Beside) -> int:
    return max(0, len(block.rows) - _TEXTS)
