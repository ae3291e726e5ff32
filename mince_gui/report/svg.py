"""A very small SVG writer: escaped text, short numbers, linear axes. Colours come from the page's style by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from markupsafe import Markup


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass
class Drawing:
    """Shapes collected in drawing order; `title` is what a screen reader says."""

    width: float
    height: float
    title: str
    shapes: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self.shapes.append(
            f'<line class="{style}" x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}"/>'
        )

    def rect(self, x: float, y: float, width: float, height: float, style: str) -> None:
        """A filled rectangle; a negative size is drawn as nothing."""
        self.shapes.append(
            f'<rect class="{style}" x="{_short(x)}" y="{_short(y)}" width="{_short(max(0.0, width))}" '
            f'height="{_short(max(0.0, height))}"/>'
        )

    def circle(self, x: float, y: float, radius: float, style: str) -> None:
        """A dot."""
        self.shapes.append(f'<circle class="{style}" cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"/>')

    def diamond(self, x: float, y: float, radius: float, style: str) -> None:
        """A square on its corner."""
        self.polygon([(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)], style)

    def polygon(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """A closed shape."""
        self.shapes.append(f'<polygon class="{style}" points="{_points(points)}"/>')

    def polyline(self, points: Sequence[tuple[float, float]], style: str) -> None:
        """An open line through the points."""
        self.shapes.append(f'<polyline class="{style}" points="{_points(points)}"/>')

    def text(self, x: float, y: float, words: str, style: str = "t", anchor: str = "start") -> None:
        """Words, escaped. `anchor` is start, middle or end."""
        self.shapes.append(
            f'<text class="{style}" x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def markup(self) -> Markup:
        """The whole picture; everything in it is escaped already."""
        body = "".join(self.shapes)
        return Markup(  # noqa: S704 - every text went through `escape`, every number through `_short`
            f'<svg viewBox="0 0 {_short(self.width)} {_short(self.height)}" role="img" '
            f'aria-label="{escape(self.title)}" xmlns="http://www.w3.org/2000/svg">{body}</svg>'
        )


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in points)


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers (1, 2, 2.5, 5 times a power of ten apart) within low..high."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


@dataclass(frozen=True)
class Axis:
    """Maps values `low`..`high` to pixels `start`..`end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value; values outside are drawn at the edge."""
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 6) -> list[float]:
        """Round values inside the axis."""
        return ticks(self.low, self.high, about)
