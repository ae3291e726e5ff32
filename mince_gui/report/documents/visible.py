"""Text from outside, made fit for a document: signs that nothing can show, or that would turn the text, are named."""

from __future__ import annotations

import re

_UNSHOWN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of what follows
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"  # no characters at all
)
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029]")


def named(sign: str) -> str:
    """A sign by its number: "[U+202E]"."""
    return f"[U+{ord(sign):04X}]"


def visible(text: str) -> str:
    """The text with such signs by their number, and every line break as a newline."""
    return _UNSHOWN.sub(lambda found: named(found[0]), _BREAKS.sub("\n", text))


def flat(text: str) -> str:
    """The text on one line, blanks one at a time."""
    return " ".join(visible(text).split())


def cut(text: str, most: int) -> str:
    """At most that many signs of a text, saying so where it was longer."""
    return text if len(text) <= most else f"{text[:most]} [... cut here, {len(text):,} signs in all]"
