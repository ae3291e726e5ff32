"""The plots of a sizing: P95 and marginal gain by n, with tau as a line to drag."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from mince_gui.sizing import gains
from mince_gui.sizing.types import SizingResult
from mince_gui.ui import theme
from mince_gui.ui.plots import Plot, finite

_LEAST_TAU = 0.01
_THIN = 48
"""Alpha of the Monte Carlo band."""


class CurvePlot(Plot):
    """P95 |drift| by n: models thin, the worst bold, the smooth curve dashed, Monte Carlo band, n* marked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("P95 drift by number of items", "", "P95 |drift| (pp)", parent)
        self._result: SizingResult | None = None
        self._preview: tuple[Sequence[int], Sequence[float]] | None = None
        self._n_star: int | None = None

    def show_result(self, result: SizingResult | None, n_star: int | None) -> None:
        """Show a sizing (None clears) with n* marked."""
        self._result, self._n_star = result, n_star
        self.redraw()

    def show_preview(self, sizes: Sequence[int], p95_pp: Sequence[float]) -> None:
        """Show the closed form alone, dashed; a result takes its place."""
        self._preview = (sizes, p95_pp) if sizes else None
        self._result = None
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew."""
        self.clear()
        dress = theme.current()
        dashed = pg.mkPen(dress.muted, width=1.5, style=Qt.PenStyle.DashLine)
        if self._result is None:
            if self._preview is not None and finite(self._preview[1]):
                sizes, values = self._preview
                self.plot(list(sizes), list(values), pen=dashed)
                self._text(
                    "closed form (preview)", dress.muted, sizes[len(sizes) // 6], values[len(sizes) // 6], (-0.04, 0.9)
                )
                self._fit(sizes, values)
            return
        self._draw(self._result, dashed)

    def _draw(self, result: SizingResult, dashed: Any) -> None:
        dress = theme.current()
        sizes = np.asarray(result.plan.sizes, dtype=np.float64)
        worst = np.asarray(result.p95_pp)
        for place, table in enumerate(result.curves_pp):
            colour = pg.mkColor(dress.series[place % len(dress.series)])
            colour.setAlpha(90)
            # One line a model: its worst metric at each size.
            if not np.isnan(table).all():
                self.plot(sizes, np.nanmax(table, axis=0), pen=pg.mkPen(colour, width=1))
        error = 1.96 * np.asarray(result.error_pp)
        if error.any():
            ground = pg.mkColor(dress.worst)
            ground.setAlpha(_THIN)
            low, high = (pg.PlotCurveItem(sizes, worst + sign * error) for sign in (-1, 1))
            self.addItem(pg.FillBetweenItem(low, high, brush=pg.mkBrush(ground)))
        self.plot(sizes, result.smooth_pp, pen=dashed)
        self.plot(
            sizes, worst, pen=pg.mkPen(dress.worst, width=2.5), symbol="o", symbolSize=5,
            symbolBrush=dress.worst, symbolPen=None,
        )  # fmt: skip
        self._fit(result.plan.sizes, [*result.p95_pp, *result.smooth_pp])
        marked = result.plan.sizes.index(self._n_star) if self._n_star in result.plan.sizes else -1
        at = len(sizes) * 7 // 10
        # Beside the mark of n*, not under it.
        at = len(sizes) * 4 // 10 if abs(at - marked) <= len(sizes) // 5 else at
        self._text("worst case", dress.worst, float(sizes[at]), float(worst[at]), (0, 1))
        if self._n_star is not None and self._n_star in result.plan.sizes:
            at = result.plan.sizes.index(self._n_star)
            line = pg.InfiniteLine(self._n_star, angle=90, pen=pg.mkPen(dress.accent, width=1.5))
            self.addItem(line, ignoreBounds=True)
            self.plot(
                [self._n_star], [worst[at]], pen=None, symbol="o", symbolSize=11,
                symbolBrush=dress.accent, symbolPen=pg.mkPen(dress.surface, width=2),
            )  # fmt: skip
            words = f"n* {self._n_star:,}: {worst[at]:.1f} pp"
            anchor = (1.06, 0) if self._n_star > 0.75 * sizes[-1] else (-0.06, 0)
            self._text(words, dress.accent, self._n_star, float(np.nanmax(worst)), anchor)

    def _fit(self, sizes: Sequence[int], values: Sequence[float]) -> None:
        self.setXRange(0, max(sizes), padding=0.02)
        self.setYRange(0, max(finite(values) or [1.0]), padding=0.08)


class GainPlot(Plot):
    """Marginal gain per step by n, with the tau line that can be dragged. `tau_moved` carries tau in pp."""

    tau_moved = Signal(float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Marginal gain by number of items", "items n", "gain (pp)", parent)
        self._result: SizingResult | None = None
        self._n_star: int | None = None
        self._tau = 1.0
        self._floor = 0.0
        self._typed = False
        self._preview: tuple[Sequence[int], Sequence[float | None]] | None = None
        self.tau_line: Any = None

    def show_result(self, result: SizingResult | None, n_star: int | None, tau_pp: float) -> None:
        """Show a sizing's gains, n* and tau."""
        same = result is self._result and self.tau_line is not None
        self._result, self._tau = result, tau_pp
        if same and n_star == self._n_star:
            self.move_tau(tau_pp)
            return
        moving = bool(same and self.tau_line.moving)
        self._n_star = n_star
        if moving:
            self._mark()
        else:
            self.redraw()

    def show_preview(self, sizes: Sequence[int], p95_pp: Sequence[float], tau_pp: float = 1.0) -> None:
        """Show the gains of the closed form, dashed, with tau; a result takes their place."""
        self._result = self._n_star = None
        self._tau = tau_pp
        self._preview = (sizes, gains(p95_pp)) if sizes else None
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew."""
        self.clear()
        self.tau_line = None
        if self._result is None:
            if self._preview is not None:
                sizes, steps = self._preview
                known = [math.nan if step is None else step for step in steps]
                self.plot(
                    list(sizes), known, pen=pg.mkPen(theme.current().muted, width=1.5, style=Qt.PenStyle.DashLine)
                )
                self.setXRange(0, max(sizes), padding=0.02)
                top = max([*finite(known), self._tau * 1.4, 0.1])
                self.setYRange(0, top, padding=0.06)
                self._add_tau(top)
            return
        dress = theme.current()
        sizes = list(self._result.plan.sizes)[1:]
        values = [g if g is not None else math.nan for g in self._result.gain_pp][1:]
        error = [1.96 * (e or 0.0) for e in self._result.gain_error_pp][1:]
        grey = pg.mkPen(dress.muted, width=1)
        if any(error):
            bars = pg.ErrorBarItem(
                x=np.asarray(sizes, dtype=np.float64), y=np.asarray(values), height=2 * np.asarray(error),
                beam=0.15 * (sizes[1] - sizes[0] if len(sizes) > 1 else 1), pen=grey,
            )  # fmt: skip
            self.addItem(bars)
        self.plot(
            sizes, values, pen=pg.mkPen(dress.worst, width=1.5), symbol="o", symbolSize=6,
            symbolBrush=dress.worst, symbolPen=None,
        )  # fmt: skip
        self._star = self.plot(
            [], [], pen=None, symbol="o", symbolSize=11, symbolBrush=dress.accent,
            symbolPen=pg.mkPen(dress.surface, width=2),
        )  # fmt: skip
        self.setXRange(0, self._result.plan.sizes[-1], padding=0.02)
        top = max([*(g + e for g, e in zip(values, error, strict=True) if math.isfinite(g)), self._tau * 1.4, 0.1])
        self._floor = min([0.0, *finite(values)])
        self.setYRange(self._floor, top, padding=0.06)
        self._add_tau(top)
        self._mark()

    def _add_tau(self, top: float) -> None:
        colour = theme.current().series[2]
        self.tau_line = pg.InfiniteLine(
            self._tau, angle=0, movable=True, bounds=(_LEAST_TAU, top),
            pen=pg.mkPen(colour, width=2), hoverPen=pg.mkPen(colour, width=4),
            label="tau {value:.2f} pp - drag",
            labelOpts={"position": 0.01, "color": colour, "anchors": [(0, 1), (0, 1)]},
        )  # fmt: skip
        self.tau_line.label.setFont(theme.tabular(self.font(), scale=0.9, bold=True))
        self.tau_line.setCursor(Qt.CursorShape.SizeVerCursor)
        self.tau_line.sigPositionChanged.connect(self._tau_line_moved)
        self.addItem(self.tau_line, ignoreBounds=True)

    def _tau_line_moved(self, line: Any) -> None:
        if not self._typed:
            self.tau_moved.emit(float(line.value()))

    def move_tau(self, tau_pp: float) -> None:
        """Put the line where tau was typed: the plot grows where it has no room, and nothing is emitted."""
        self._tau = tau_pp
        if self.tau_line is None or abs(self.tau_line.value() - tau_pp) < 1e-9:
            return
        self._typed = True
        if tau_pp > self.tau_line.maxRange[1]:
            top = tau_pp * 1.4
            self.tau_line.setBounds((_LEAST_TAU, top))
            self.setYRange(self._floor, top, padding=0.06)
        self.tau_line.setValue(tau_pp)
        self._typed = False

    def _mark(self) -> None:
        if self._result is None or self._n_star is None or self._n_star not in self._result.plan.sizes:
            self._star.setData([], [])
            return
        at = self._result.plan.sizes.index(self._n_star)
        gain = self._result.gain_pp[at]
        self._star.setData([self._n_star], [math.nan if gain is None else gain])
