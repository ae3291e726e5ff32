"""What a cell of a table says: an outcome, or a name."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

from mince_gui.logs.assemble import shown
from mince_gui.logs.collect import NAN, RowError

_MISSING = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "none", "-"})
_TRUTH = {"true": 1.0, "false": 0.0}
_PARTS = re.compile(r"(\d{1,9})\s*/\s*([1-9]\d{0,8})")
_LONGEST = 64
"""Characters that a cell with an outcome may have: the text of a prompt need not be looked through."""
_NAME_LIMIT = 200
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


def number(cell: Any, *, comma: bool) -> float | None:
    """The cell as a number, NaN where it is missing, None where it is none. `comma`: decimals may follow a comma."""
    if cell is None:
        return NAN
    if isinstance(cell, bool | int | float):
        try:
            value = float(cell)
        except OverflowError:
            return None
        return value if math.isfinite(value) else NAN
    if not isinstance(cell, str) or len(cell) > _LONGEST:
        return None
    text = cell.strip()
    low = text.lower()
    if low in _MISSING:
        return NAN
    if low in _TRUTH:
        return _TRUTH[low]
    if comma:
        text = text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) else None


def outcome(cell: Any, *, comma: bool) -> tuple[float, float] | None:
    """Passed and trials of one cell: NaN and NaN where missing, None where it is no outcome."""
    if isinstance(cell, str):
        return _text_outcome(cell, comma) if len(cell) <= _LONGEST else None
    return _share(number(cell, comma=comma))


@lru_cache(maxsize=1 << 12)
def _text_outcome(cell: str, comma: bool) -> tuple[float, float] | None:
    """The outcome of a text; most cells of a table say one of a few things."""
    if (parts := _PARTS.fullmatch(cell.strip())) is not None:
        passed, trials = float(parts[1]), float(parts[2])
        return (passed, trials) if passed <= trials else None
    return _share(number(cell, comma=comma))


def _share(value: float | None) -> tuple[float, float] | None:
    if value is None or value < 0 or value > 1:
        return None
    return (value, 1.0) if value == value else (NAN, NAN)


def counts(passed: Any, trials: Any, *, comma: bool) -> tuple[float, float]:
    """Passed and trials of two cells. Raises RowError."""
    p, t = number(passed, comma=comma), number(trials, comma=comma)
    if p is None or t is None:
        raise RowError(f"{shown(passed)} of {shown(trials)} are no counts")
    if p != p or t != t:
        return NAN, NAN
    if t < 1 or not 0 <= p <= t:
        raise RowError(f"{shown(passed)} of {shown(trials)} is no share")
    return p, t


def name(cell: Any) -> str | None:
    """The cell as a name; whole numbers without decimals, as sheets write 17 as 17.0. None where it is none."""
    if isinstance(cell, bool):
        return None
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else None
    if isinstance(cell, int):
        cell = str(cell)
    return _text_name(cell) if isinstance(cell, str) and len(cell) <= 2 * _NAME_LIMIT else None


@lru_cache(maxsize=1 << 15)
def _text_name(cell: str) -> str | None:
    """The name in a text; kept, as a long table has every item's key once per model."""
    text = cell.strip()
    if re.fullmatch(r"\d{1,15}\.0+", text):
        text = text.partition(".")[0]
    return text if 0 < len(text) <= _NAME_LIMIT and text.isprintable() else None
