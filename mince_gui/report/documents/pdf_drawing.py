"""Draws a drawing into a PDF as vectors, in the light colours of the HTML page."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reportlab.lib.colors import Color, HexColor
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable

from mince_gui.report.documents.drawing import Circle, Drawing, Line, Look, Polygon, Polyline, Rect, Shape, Text
from mince_gui.report.documents.pdf_fonts import Fonts

INK, SOFT, RULE = HexColor("#1b1f24"), HexColor("#5b6470"), HexColor("#d9dde3")
_BLUE, _RED, _PURPLE = HexColor("#0072B2"), HexColor("#b84a00"), HexColor("#b05b8e")
_VERMILION, _GREEN, _ORANGE = HexColor("#D55E00"), HexColor("#009E73"), HexColor("#E69F00")
_PAPER = HexColor("#ffffff")
_SIZES = {"t": 12.0, "t strong": 12.0, "tick": 11.0, "axis": 11.0}
"""A little smaller than in the page: DejaVu Sans runs wide."""


@dataclass(frozen=True)
class _Pen:
    fill: Color | None = None
    stroke: Color | None = None
    width: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0


_PENS: dict[Look, _Pen] = {
    "grid": _Pen(stroke=RULE),
    "zero": _Pen(stroke=SOFT, width=1.5),
    "whisker": _Pen(stroke=SOFT, width=2),
    "reference": _Pen(stroke=INK, width=1.5),
    "dashed": _Pen(stroke=INK, dash=(4, 4)),
    "curve": _Pen(stroke=_BLUE, width=2),
    "band": _Pen(fill=HexColor("#cfe6f5")),
    "cloud": _Pen(fill=_BLUE, alpha=0.22),
    "bar": _Pen(fill=_BLUE),
    "bar up": _Pen(fill=_BLUE),
    "bar down": _Pen(fill=_VERMILION),
    "bar total": _Pen(fill=SOFT),
    "stem good": _Pen(stroke=_BLUE, width=3),
    "stem bad": _Pen(stroke=_RED, width=3),
    "stem open": _Pen(stroke=SOFT, width=3),
    "dot good": _Pen(_BLUE, _BLUE, 2),
    "dot bad": _Pen(_RED, _RED, 2),
    "dot open": _Pen(_PAPER, SOFT, 2),
    "mark full": _Pen(stroke=INK, width=2),
    "mark other": _Pen(stroke=_PURPLE, width=2),
    "line 1": _Pen(stroke=_BLUE, width=2),
    "line 2": _Pen(stroke=_VERMILION, width=2, dash=(8, 3)),
    "line 3": _Pen(stroke=_GREEN, width=2, dash=(2, 3)),
    "line 4": _Pen(stroke=_ORANGE, width=2, dash=(10, 3, 2, 3)),
    "line 5": _Pen(stroke=_PURPLE, width=2, dash=(5, 5)),
    "line 6": _Pen(stroke=SOFT, width=2, dash=(1, 4)),
    "dot 1": _Pen(_BLUE, _BLUE, 2),
    "dot 2": _Pen(_VERMILION, _VERMILION, 2),
    "dot 3": _Pen(_GREEN, _GREEN, 2),
    "dot 4": _Pen(_ORANGE, _ORANGE, 2),
    "dot 5": _Pen(_PURPLE, _PURPLE, 2),
    "dot 6": _Pen(SOFT, SOFT, 2),
}


class Picture(Flowable):
    """A drawing, scaled to `width` points; smaller where it would be higher than `most` points."""

    def __init__(self, drawing: Drawing, width: float, fonts: Fonts, *, most: float = math.inf) -> None:
        super().__init__()
        self.drawing = drawing
        self.width = width
        self.scale = min(width / drawing.width, most / drawing.height)
        self.height = drawing.height * self.scale
        # Found now, so that the document knows of signs without a font before it ends.
        self.words = {
            shape: fonts.runs(shape.words, bold=shape.look == "t strong")
            for shape in drawing.shapes
            if isinstance(shape, Text)
        }
        self.fonts = fonts

    def draw(self) -> None:
        """Called by reportlab with the origin at the lower left corner."""
        canvas: Canvas = self.canv
        canvas.saveState()
        canvas.translate(0, self.height)
        canvas.scale(self.scale, self.scale)
        for shape in self.drawing.shapes:
            if isinstance(shape, Text):
                self._text(canvas, shape)
            else:
                _draw(canvas, shape)
        canvas.restoreState()

    def _text(self, canvas: Canvas, shape: Text) -> None:
        size = _SIZES[shape.look]
        width = self.fonts.width(shape.words, size, bold=shape.look == "t strong")
        x = shape.x - {"start": 0.0, "middle": width / 2, "end": width}[shape.anchor]
        line = canvas.beginText(x, -shape.y)
        line.setFillColor(SOFT if shape.look in ("tick", "axis") else INK)
        for font, words in self.words[shape]:
            line.setFont(font, size)
            line.textOut(words.replace("\n", " "))
        canvas.drawText(line)


def _draw(canvas: Canvas, shape: Shape) -> None:
    """A shape; y turns round, as PDF counts upwards."""
    if isinstance(shape, Text):
        return
    pen = _PENS[shape.look]
    canvas.setLineWidth(pen.width)
    canvas.setDash(list(pen.dash))
    if pen.fill is not None:
        canvas.setFillColor(pen.fill, alpha=pen.alpha)
    if pen.stroke is not None:
        canvas.setStrokeColor(pen.stroke)
    fill, stroke = int(pen.fill is not None), int(pen.stroke is not None)
    match shape:
        case Line(x1, y1, x2, y2):
            canvas.line(x1, -y1, x2, -y2)
        case Rect(x, y, width, height):
            canvas.rect(x, -y - height, width, height, stroke=stroke, fill=fill)
        case Circle(x, y, radius):
            canvas.circle(x, -y, radius, stroke=stroke, fill=fill)
        case Polygon(points) | Polyline(points) if points:
            path = canvas.beginPath()
            path.moveTo(points[0][0], -points[0][1])
            for x, y in points[1:]:
                path.lineTo(x, -y)
            closed = isinstance(shape, Polygon)
            if closed:
                path.close()
            canvas.drawPath(path, stroke=stroke, fill=fill if closed else 0)
    if pen.alpha < 1:
        canvas.setFillAlpha(1)
