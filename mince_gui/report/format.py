"""Numbers as a reader sees them: the same in documents, on the command line and in the window. No Qt, no numpy.

A value that is not there (None or NaN) becomes `absent`, "-" by default; "missing" where a result was due.
Minus is the plain ASCII sign, so that every console can print it.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

MISSING = "missing"
ABSENT = "-"
_EPOCH = re.compile(r"\d{9,11}(\.\d+)?")
"""Seconds since 1970, as lm-eval writes its date."""
_FILE_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)(\.\d+)?")
"""ISO with dashes for colons, as lm-eval names its files."""


def percent(value: float | None, *, digits: int = 1, absent: str = ABSENT) -> str:
    """A score in percent: "75.9 %"."""
    return absent if value is None or math.isnan(value) else f"{value:.{digits}f} %"


def pp(value: float | None, *, signed: bool = True, digits: int = 1, absent: str = ABSENT) -> str:
    """A difference in percentage points, "+0.3 pp"; what rounds to nothing has no sign. `signed` False for bounds."""
    if value is None or math.isnan(value):
        return absent
    rounded = round(value, digits)
    if rounded == 0:
        return f"{0:.{digits}f} pp"
    return f"{rounded:+.{digits}f} pp" if signed else f"{rounded:.{digits}f} pp"


def interval(low: float | None, high: float | None, *, unit: str = "%", digits: int = 1, absent: str = ABSENT) -> str:
    """An interval in its unit: "71.2 to 80.1 %"; signs are shown for pp."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return absent
    sign = "+" if unit == "pp" else ""
    return f"{low:{sign}.{digits}f} to {high:{sign}.{digits}f} {unit}"


def seconds(value: float | None, *, absent: str = ABSENT) -> str:
    """A time: "7.4 ms", "0.82 s", "12.3 s", "4 min 10 s", "41 min", "1 h 12 min"."""
    if value is None or math.isnan(value):
        return absent
    if 0 < value < 0.0995:
        return f"{1000 * value:.1f} ms"
    if round(value, 2) < 10:
        return f"{value:.2f} s"
    if round(value, 1) < 60:
        return f"{value:.1f} s"
    if round(value) < 600:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    minutes = round(value / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def moment(value: str, *, absent: str = "not recorded") -> str:
    """A point in time from its ISO text, in UTC: "2026-11-29 20:00 UTC"; a date alone or other text stays as it is.

    What lm-eval writes is understood too: seconds since 1970, and the stamp in its file names (no time zone).
    """
    try:
        if _EPOCH.fullmatch(value):
            when = datetime.fromtimestamp(float(value), UTC)
        elif len(value) <= 10:
            return value or absent
        else:
            when = datetime.fromisoformat(_FILE_STAMP.sub(r"\1:\2:\3", value))
        # Years 1 and 9999 have no UTC in some time zones.
        return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if when.tzinfo is not None else f"{when:%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return value


def rate(value: float | None, *, absent: str = ABSENT) -> str:
    """Tokens per second: "18.4 tok/s", "1,240 tok/s"."""
    if value is None or math.isnan(value):
        return absent
    return f"{value:,.0f} tok/s" if round(value, 1) >= 100 else f"{value:.1f} tok/s"


def amount(value: float | None, unit: str, *, absent: str = ABSENT) -> str:
    """A quantity in its unit ("s", "tok/s", "tokens"), as `seconds`, `rate` or a number of tokens."""
    if unit == "s":
        return seconds(value, absent=absent)
    if unit == "tok/s":
        return rate(value, absent=absent)
    return absent if value is None or math.isnan(value) else f"{value:,.0f}"


def amounts(low: float, high: float, unit: str) -> str:
    """From `low` to `high`, the unit once where it is the same: "8.3 to 16.9 ms", "59.0 s to 4 min 10 s"."""
    first, last = amount(low, unit), amount(high, unit)
    number, blank, shown = first.partition(" ")
    if blank and last.endswith(f" {shown}") and last.count(" ") == 1:
        first = number
    return f"{first} to {last}"


def memory(value: float | None, *, absent: str = ABSENT) -> str:
    """Bytes as people read them: "850 MB", "5.1 GB" (of 1,000,000 and 1,000,000,000)."""
    if value is None or math.isnan(value):
        return absent
    return f"{value / 1e9:,.1f} GB" if value >= 0.9995e9 else f"{value / 1e6:,.0f} MB"


def factor(value: float | None, *, absent: str = ABSENT) -> str:
    """A speedup: "1.7x"."""
    return absent if value is None or math.isnan(value) else f"{value:.1f}x"


def count(value: int | None, *, absent: str = ABSENT) -> str:
    """A number of things: "14,042"."""
    return absent if value is None else f"{value:,}"


def coverage(done: int, wanted: int) -> str:
    """How much of what was wanted is there: "250 of 250 items"."""
    return f"{done:,} of {wanted:,} items"
