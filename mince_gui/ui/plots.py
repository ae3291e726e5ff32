"""The plots: pyqtgraph dressed in our theme, with units on every axis and labels at the curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QWidget

from mince_gui.ui import theme

pg.setConfigOptions(antialias=True)


class Plot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no stubs
    """A plot without menus or surprise zoom: it always shows all of its data. `redraw` puts everything on anew."""

    def __init__(self, name: str, x_title: str, y_title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self._titles = (x_title, y_title)
        self.setAccessibleName(name)
        self.setMenuEnabled(False)
        self.setMouseEnabled(x=False, y=False)
        self.hideButtons()
        self.setFrameShape(self.Shape.NoFrame)
        # There is nothing to do in it by key.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.getPlotItem().setContentsMargins(0, 4, 8, 0)
        self._dress()

    def show_numbers(self, shown: bool) -> None:
        """Numbers at the axes; without data they would be invented."""
        for side in ("bottom", "left"):
            self.getAxis(side).setStyle(showValues=shown)

    def redraw(self) -> None:
        """Draw again in the colours of the theme; subclasses put their curves here."""

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_titles"):
            self._dress()
            self.redraw()

    def _dress(self) -> None:
        dress = theme.current()
        self.setBackground(dress.surface)
        for side, title in (("bottom", self._titles[0]), ("left", self._titles[1])):
            axis = self.getAxis(side)
            axis.setPen(pg.mkPen(dress.border))
            axis.setTextPen(pg.mkPen(dress.muted))
            axis.setLabel(title or None, color=dress.muted)
            axis.showLabel(bool(title))
            # Off alone still leaves small values scaled by a prefix that the label does not show.
            axis.setSIPrefixEnableRanges(())
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickFont=theme.tabular(self.font(), scale=0.9), tickLength=-4)
        self.getAxis("left").setWidth(52)
        self.showGrid(x=False, y=True, alpha=0.18)

    def _text(self, words: str, colour: str, x: float, y: float, anchor: tuple[float, float]) -> Any:
        label = pg.TextItem(words, color=colour, anchor=anchor)
        label.setFont(theme.tabular(self.font(), scale=0.9, bold=True))
        label.setPos(x, y)
        self.addItem(label, ignoreBounds=True)
        return label


def finite(values: Sequence[float | None]) -> list[float]:
    """The values that are numbers."""
    return [float(v) for v in values if v is not None and math.isfinite(v)]
