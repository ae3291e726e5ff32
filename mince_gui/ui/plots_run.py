"""The live plots of a run: the running score with its interval, and one timing per item.

Curves are made once and only given new data: they are drawn several times a second while a run goes on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from mince_gui.ui import theme
from mince_gui.ui.plots import Plot

_DOTS = 400
_MEDIANS = 60
"""Drawing more than so many dots or points of a median costs time and shows nothing more."""


class ScorePlot(Plot):
    """The running score with its closing interval, and the stored full score where there is one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Running score", "", "%", parent)
        self._low, self._high = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._band = pg.FillBetweenItem(self._low, self._high)
        self._curve = pg.PlotDataItem()
        self._full_line = pg.InfiniteLine(0.0, angle=0)
        self._full_text = self._text("", theme.current().worst, 0.0, 0.0, (1, 1))
        for item in (self._band, self._curve):
            self.addItem(item)
        self.addItem(self._full_line, ignoreBounds=True)
        self.redraw()
        self.show_points(np.zeros((0, 4)), 1)

    def show_points(self, points: Any, total: int, full: float | None = None) -> None:
        """`points` has rows (done, percent, low, high); `total` is the planned number of items."""
        total = max(1, total)
        self.setXRange(0, total, padding=0.02)
        self._full_line.setVisible(full is not None)
        self._full_text.setVisible(full is not None)
        if full is not None:
            self._full_line.setValue(full)
            self._full_text.setText(f"full {full:.1f} %")
            self._full_text.setPos(total, full)
        done, percent, low, high = np.asarray(points, dtype=np.float64).reshape(-1, 4).T
        self._low.setData(done, low)
        self._high.setData(done, high)
        self._curve.setData(done, percent)
        self.show_numbers(len(done) > 0)
        if len(done) == 0:
            self.setYRange(0, 100, padding=0.02)
            return
        # The first few items say next to nothing: the axis follows what came after them.
        late = slice(len(done) // 8, None)
        values = [*low[late], *high[late], *([] if full is None else [full])]
        self.setYRange(max(0.0, min(values) - 2), min(100.0, max(values) + 2), padding=0.02)

    def redraw(self) -> None:
        """Dress the curves."""
        dress = theme.current()
        ground = pg.mkColor(dress.accent)
        ground.setAlpha(50)
        self._band.setBrush(pg.mkBrush(ground))
        self._curve.setPen(pg.mkPen(dress.accent, width=2))
        self._full_line.setPen(pg.mkPen(dress.worst, width=1, style=Qt.PenStyle.DashLine))
        self._full_text.setColor(dress.worst)


class RatePlot(Plot):
    """One timing per item, as dots with a running median."""

    def __init__(self, name: str, y_title: str, parent: QWidget | None = None) -> None:
        super().__init__(name, "", y_title, parent)
        self._dots = pg.ScatterPlotItem(size=4, pen=None)
        self._median = pg.PlotDataItem()
        self.addItem(self._dots)
        self.addItem(self._median)
        self.redraw()

    def set_unit(self, unit: str) -> None:
        """Another unit at the left."""
        if unit != self._titles[1]:
            self._titles = (self._titles[0], unit)
            self._dress()

    def show_values(self, values: Any, total: int) -> None:
        """`values` has rows (item number, value)."""
        self.setXRange(0, max(1, total), padding=0.02)
        at, value = np.asarray(values, dtype=np.float64).reshape(-1, 2).T
        thin = slice(None, None, max(1, len(value) // _DOTS))
        self._dots.setData(at[thin], value[thin])
        window = max(5, len(value) // 20)
        if len(value) > window:
            ends = np.linspace(window, len(value), min(_MEDIANS, len(value) - window + 1), dtype=int)
            self._median.setData(at[ends - 1], [float(np.median(value[end - window : end])) for end in ends])
        else:
            self._median.setData([], [])
        self.show_numbers(len(value) > 0)
        if len(value):
            # A single stall must not press all others to the floor.
            self.setYRange(0, float(np.percentile(value, 99)) * 1.15 or 1.0, padding=0.0)

    def redraw(self) -> None:
        """Dress the curves."""
        dress = theme.current()
        dot = pg.mkColor(dress.series[1])
        dot.setAlpha(110)
        self._dots.setBrush(pg.mkBrush(dot))
        self._median.setPen(pg.mkPen(dress.series[1], width=2))
