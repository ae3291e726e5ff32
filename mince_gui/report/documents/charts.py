"""What the pictures have in common: rows with a name and a value, axes, names that fit."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from mince_gui.report.documents.drawing import Axis, Drawing

WIDTH = 720.0
"""Of every picture, in pixels; the page scales it."""
ROW = 38.0
"""Height of a row of `RowChart`."""
TOP = 34.0
"""Room above the rows, for a legend."""
_LEFT = 170.0
_VALUES = 90.0
_BELOW = 42.0
_NARROW = frozenset("iIjlftr.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%&")


def width_of(words: str) -> float:
    """About how many pixels text of 13 pixels takes, rather too many: the fonts of readers differ."""
    return sum(map(_sign_width, words))


def _sign_width(sign: str) -> float:
    if unicodedata.east_asian_width(sign) in "WF":
        return 14.0
    if sign in _NARROW:
        return 5.2
    if sign in _WIDE:
        return 12.6
    return 9.6 if sign.isupper() else 8.2


def fitted(words: str, pixels: float) -> str:
    """The words, cut with an ellipsis where they would take more than so many pixels."""
    if width_of(words) <= pixels:
        return words
    kept = words[:200]
    while kept and width_of(kept) + 13 > pixels:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


@dataclass(frozen=True)
class RowChart:
    """A drawing with one row a line: its name on the left, its value on the right, an axis below."""

    drawing: Drawing
    axis: Axis
    bottom: float
    row: float

    def middle(self, place: int) -> float:
        """The pixel of the middle of a row."""
        return TOP + self.row * (place + 0.5)

    def name(self, place: int, words: str) -> None:
        """Write the name of a row."""
        self.drawing.text(_LEFT - 12, self.middle(place) + 4, fitted(words, _LEFT - 16), "t", "end")

    def value(self, place: int, words: str) -> None:
        """Write the value of a row."""
        self.drawing.text(WIDTH - _VALUES + 6, self.middle(place) + 4, words, "t strong")

    def whisker(self, place: int, low: float, high: float) -> None:
        """Draw an interval."""
        y, left, right = self.middle(place), self.axis.at(low), self.axis.at(high)
        self.drawing.line(left, y, right, y, "whisker")
        for x in (left, right):
            self.drawing.line(x, y - 6, x, y + 6, "whisker")


def row_chart(title: str, rows: int, low: float, high: float, *, row: float = ROW) -> RowChart:
    """Room for so many rows over `low`..`high`; the caller draws what lies behind the axis, then `x_axis`."""
    bottom = TOP + row * rows
    return RowChart(Drawing(WIDTH, bottom + _BELOW, title), Axis(low, high, _LEFT, WIDTH - _VALUES), bottom, row)


def x_axis(
    drawing: Drawing, axis: Axis, top: float, bottom: float, unit: str, *, signed: bool = False, about: int = 6
) -> None:
    """Ticks with lines from `top` to `bottom`, numbers and the unit below; `signed` for differences, zero marked."""
    for value in axis.ticks(about):
        x = axis.at(value)
        drawing.line(x, top, x, bottom, "zero" if signed and value == 0 else "grid")
        drawing.text(x, bottom + 16, tick_words(value, signed=signed), "tick", "middle")
    drawing.text((axis.start + axis.end) / 2, bottom + 33, unit, "axis", "middle")


def y_axis(
    drawing: Drawing, axis: Axis, left: float, right: float, unit: str,
    *, signed: bool = False, about: int = 5, above: float = 14,
) -> None:  # fmt: skip
    """Ticks with lines from `left` to `right`, numbers left of them and the unit so many pixels above the axis."""
    for value in axis.ticks(about):
        y = axis.at(value)
        drawing.line(left, y, right, y, "zero" if signed and value == 0 else "grid")
        drawing.text(left - 6, y + 4, tick_words(value, signed=signed), "tick", "end")
    drawing.text(left - 40, axis.end - above, unit, "axis")


def tick_words(value: float, *, signed: bool = False) -> str:
    """A round number as an axis shows it: "1,500", "0.25", "+2"."""
    if value == 0:
        return "0"
    sign = "+" if signed else ""
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}g}"


def note_at(drawing: Drawing, x: float, y: float, words: str, *, strong: bool = False) -> None:
    """Words beside a vertical line at `x`, on the side where there is room for them."""
    left = x + 6 + width_of(words) > drawing.width
    drawing.text(x - 6 if left else x + 6, y, words, "t strong" if strong else "t", "end" if left else "start")
