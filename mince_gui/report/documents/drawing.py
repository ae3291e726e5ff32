"""A picture as shapes, before it is SVG or PDF: lengths in pixels, y downwards; the looks are named by what they mean.

`svg.py` and `pdf_drawing.py` draw the shapes. Neither knows more looks than are listed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Look = Literal[
    "grid", "zero", "whisker", "reference", "dashed", "curve",
    "band", "cloud", "bar", "bar total", "bar up", "bar down",
    "stem good", "stem bad", "stem open",
    "dot good", "dot bad", "dot open", "mark full", "mark other",
    "line 1", "line 2", "line 3", "line 4", "line 5", "line 6",
    "dot 1", "dot 2", "dot 3", "dot 4", "dot 5", "dot 6",
]  # fmt: skip
"""How a shape looks: lines (grid .. curve, stems, "line 1" ..), areas (band .. bars), marks (dots, diamonds).

The numbered ones are for several series in one picture: they differ in colour and, as lines, in their dashes.
"""
TextLook = Literal["t", "t strong", "tick", "axis"]
"""Text of 13 pixels, the same in bold, and smaller, softer text at ticks and axes."""
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    look: Look


@dataclass(frozen=True)
class Rect:
    """A filled rectangle, `x` and `y` its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    look: Look


@dataclass(frozen=True)
class Circle:
    """A dot."""

    x: float
    y: float
    radius: float
    look: Look


@dataclass(frozen=True)
class Polygon:
    """A closed shape."""

    points: tuple[tuple[float, float], ...]
    look: Look


@dataclass(frozen=True)
class Polyline:
    """An open line through the points."""

    points: tuple[tuple[float, float], ...]
    look: Look


@dataclass(frozen=True)
class Text:
    """Words on a baseline at `y`."""

    x: float
    y: float
    words: str
    look: TextLook
    anchor: Anchor


Shape = Line | Rect | Circle | Polygon | Polyline | Text


@dataclass
class Drawing:
    """Shapes collected in drawing order; `title` is what a screen reader says."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, look: Look) -> None:
        """A straight line."""
        self.shapes.append(Line(x1, y1, x2, y2, look))

    def rect(self, x: float, y: float, width: float, height: float, look: Look) -> None:
        """A filled rectangle; a negative size is drawn as nothing."""
        self.shapes.append(Rect(x, y, max(0.0, width), max(0.0, height), look))

    def circle(self, x: float, y: float, radius: float, look: Look) -> None:
        """A dot."""
        self.shapes.append(Circle(x, y, radius, look))

    def diamond(self, x: float, y: float, radius: float, look: Look) -> None:
        """A square on its corner."""
        self.polygon([(x, y - radius), (x + radius, y), (x, y + radius), (x - radius, y)], look)

    def polygon(self, points: Sequence[tuple[float, float]], look: Look) -> None:
        """A closed shape."""
        self.shapes.append(Polygon(tuple(points), look))

    def polyline(self, points: Sequence[tuple[float, float]], look: Look) -> None:
        """An open line through the points."""
        self.shapes.append(Polyline(tuple(points), look))

    def text(self, x: float, y: float, words: str, look: TextLook = "t", anchor: Anchor = "start") -> None:
        """Words, plain; those who draw them escape them."""
        self.shapes.append(Text(x, y, words, look, anchor))


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
        """The pixel of a value; values outside are drawn at the edge, all at the start where the axis has no length."""
        if self.high <= self.low:
            return self.start
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int = 6) -> list[float]:
        """Round values inside the axis."""
        return ticks(self.low, self.high, about)
