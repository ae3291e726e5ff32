"""A drawing as inline SVG: escaped text, short numbers. Colours come from the page's style, by class."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from mince_gui.report.documents.drawing import Circle, Drawing, Line, Polygon, Polyline, Rect, Shape, Text
from mince_gui.report.documents.visible import visible


def svg(drawing: Drawing) -> Markup:
    """The whole picture; everything in it is escaped."""
    body = "".join(map(_element, drawing.shapes))
    return Markup(  # noqa: S704 - every text went through `escape`, every number through `_short`
        f'<svg viewBox="0 0 {_short(drawing.width)} {_short(drawing.height)}" role="img" '
        f'aria-label="{escape(visible(drawing.title))}" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def _element(shape: Shape) -> str:
    match shape:
        case Line(x1, y1, x2, y2, look):
            return f'<line{_named(look)} x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}"/>'
        case Rect(x, y, width, height, look):
            size = f'width="{_short(width)}" height="{_short(height)}"'
            return f'<rect{_named(look)} x="{_short(x)}" y="{_short(y)}" {size}/>'
        case Circle(x, y, radius, look):
            return f'<circle{_named(look)} cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"/>'
        case Polygon(points, look):
            return f'<polygon{_named(look)} points="{_points(points)}"/>'
        case Polyline(points, look):
            return f'<polyline{_named(look)} points="{_points(points)}"/>'
        case Text(x, y, words, look, anchor):
            place = f'x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}"'
            return f"<text{_named(look)} {place}>{escape(visible(words))}</text>"


def _named(look: str) -> str:
    """The classes of a look; "line 1" becomes `line n1`, as a class begins with no digit."""
    first, _, second = look.partition(" ")
    return f' class="{first} n{second}"' if second.isdigit() else f' class="{look}"'


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
