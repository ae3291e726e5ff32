"""A document before it is HTML, PDF or Markdown: headings, sentences, tables, pictures, in reading order.

What a report or a comparison says is said once, here; the renderers (html, pdf, markdown) decide how it looks. All
texts are plain: each renderer escapes them in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mince_gui.report.documents.drawing import Drawing

State = Literal["plain", "good", "bad", "warn", "soft"]
"""What a word's colour and sign say; never the colour alone."""


@dataclass(frozen=True)
class Heading:
    """A section's title. Where `brief` is not set, the section is left out of what goes into a ticket."""

    text: str
    brief: bool = True


@dataclass(frozen=True)
class Banner:
    """The first sentence of a document."""

    text: str
    state: State


@dataclass(frozen=True)
class Paragraph:
    """Sentences. `lead` is set in bold before them ("Verdict:"); notes are small, cautions framed."""

    text: str
    lead: str = ""
    style: Literal["plain", "note", "caution"] = "plain"


@dataclass(frozen=True)
class Cell:
    """One cell of a table. `note` is a small second line ("approximate"), `flag` one that warns ("4 of 5 items")."""

    text: str
    note: str = ""
    flag: str = ""
    strong: bool = False
    state: State = "plain"


@dataclass(frozen=True)
class Table:
    """`numbers` are the columns (from 0) that are set to the right. Every row has as many cells as the header.

    A table with the title `fold` can be folded away where the document allows it, and begins so where it is long.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[int] = frozenset()
    fold: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values, one below the other."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Terms:
    """Terms with their explanations."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Texts:
    """Longer texts from outside, such as answers: (name, text) under a title; line breaks are kept."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Beside:
    """Longer texts from outside beside each other, such as two answers to the same question.

    Each row has a name and one text a column. A document shows the first rows and the beginning of each text, as many
    as it has room for, and says so.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Signing:
    """Lines to sign on, where the document is printed: what stands under each."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Figure:
    """A picture with its caption."""

    drawing: Drawing
    caption: str


Block = Heading | Banner | Paragraph | Table | Facts | Terms | Texts | Beside | Signing | Figure


@dataclass(frozen=True)
class Page:
    """A whole document. `title` names it in a browser's tab and a PDF's properties, `head` stands above everything.

    `mark` is what every printed page carries: the run, as a rule.
    """

    title: str
    head: str
    blocks: tuple[Block, ...]
    foot: str
    mark: str = ""
