"""The answer of a sizing: figures, warnings, both plots and the curve as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabWidget, QWidget

from mince_gui.report import format as fmt
from mince_gui.sizing import at_tau, n_star
from mince_gui.sizing.types import SizingResult
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.logs import metric_title
from mince_gui.ui.pages.sizing_questions import Questions
from mince_gui.ui.plots_sizing import CurvePlot, GainPlot
from mince_gui.ui.states import ErrorBar, Figure
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, column, label, row


class Point(NamedTuple):
    """One candidate size with its numbers in pp."""

    n: int
    share: float
    p95_pp: float
    error_pp: float | None
    gain_pp: float | None
    smooth_pp: float | None
    worst: str
    mark: str


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


POINTS = (
    Column[Point](
        "n", lambda p: f"{p.mark}  {p.n:,}".strip(), key=lambda p: p.n, number=True, width=88,
        state=lambda p: "accent" if p.mark else "",
    ),
    Column[Point]("of N", lambda p: f"{p.share:.0f} %", key=lambda p: p.n, number=True, width=72),
    Column[Point]("P95 pp", lambda p: _number(p.p95_pp), key=lambda p: p.p95_pp, number=True, width=84),
    Column[Point]("± pp", lambda p: _number(p.error_pp), key=lambda p: p.error_pp, number=True, width=72,
                  help="Monte Carlo standard error of P95; none where it is exact"),
    Column[Point]("Gain pp", lambda p: _number(p.gain_pp), key=lambda p: p.gain_pp, number=True, width=84),
    Column[Point]("Smooth pp", lambda p: _number(p.smooth_pp), key=lambda p: p.smooth_pp, number=True, width=92,
                  help="P95 by the closed form, rule per model, without lumps"),
    Column[Point]("Worst model", lambda p: p.worst, width=0),
)  # fmt: skip


def points(result: SizingResult, star: int | None) -> list[Point]:
    """The curve's rows; `worst` names the model and metric that sets each P95."""
    rows = []
    for t, n in enumerate(result.plan.sizes):
        best, who = -1.0, ""
        for k, model in enumerate(result.models):
            for m, metric in enumerate(result.metrics):
                value = float(result.curves_pp[k, m, t])
                if value > best:
                    title = "" if len(result.metrics) == 1 else f" · {metric_title(result.benchmark, metric)}"
                    best, who = value, model.rpartition("/")[2] + title
        rows.append(
            Point(
                n, 100.0 * n / result.total_items, result.p95_pp[t], result.error_pp[t] or None, result.gain_pp[t],
                result.smooth_pp[t], who, "n*" if n == star else "",
            )
        )  # fmt: skip
    return rows


class SizingView(QWidget):
    """Shows a result (n* follows tau from the kept curve), a preview, or nothing."""

    def __init__(self, hub: Hub) -> None:
        super().__init__()
        self.questions = Questions(hub)
        self._size = Figure("n*", tip="The first size whose marginal gain is below tau")
        self._p95 = Figure(
            "P95 at n*", tip="In 95 of 100 draws the worst model's score lies within this of its full score"
        )
        self._gain = Figure("Gain at n*", tip="What the last step took off P95, with its Monte Carlo error")
        self._seeds = Figure("n* over 20 seeds", tip="How n* moves with the seed of the draws")
        self.smooth = Figure(
            "n* smooth", tip="n* by the closed form, rule per model, without lumps: it does not move with the seed"
        )
        self.line = label("", "muted", select=True)
        self.warnings = ErrorBar()
        self.curve = CurvePlot()
        self.gain = GainPlot()
        self.gain.setXLink(self.curve)
        self.model = TableModel[Point](POINTS)
        self._table = TableView(self.model, "P95 by number of items")
        self._table.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._result: SizingResult | None = None
        self._preview: tuple[tuple[int, ...], tuple[float, ...]] | None = None
        self.n_star: int | None = None

        figures = Card(margin=GRID + 4)
        box = row(self._size, self._p95, self._gain, self._seeds, self.smooth, gap=3 * GRID)
        for place in range(5):
            box.setStretch(place, 1)
        figures.body.addLayout(box)
        figures.body.addWidget(self.line)
        plots = QWidget()
        inside = column(self.curve, self.gain, gap=GRID, margin=GRID)
        inside.setStretch(0, 3)
        inside.setStretch(1, 2)
        plots.setLayout(inside)
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.addTab(plots, "Plots")
        tabs.addTab(self._table, "Table")
        card = Card(margin=GRID)
        card.body.addWidget(tabs)
        inside = column(figures, self.questions, self.warnings, card, gap=GRID)
        inside.setStretch(3, 1)
        self.setLayout(inside)
        self.clear()

    def clear(self) -> None:
        """Show nothing."""
        self._result = self._preview = self.n_star = None
        self.questions.show_for(None)
        self.curve.show_preview([], [])
        self.gain.show_preview([], [])
        self.model.set_rows([])
        self.warnings.hide()
        self._figures_off("")

    def show_preview(
        self, sizes: Sequence[int], p95_pp: Sequence[float], total: int, tau_pp: float, *, busy: bool
    ) -> None:
        """Show the closed form, with the n* that it gives at this tau, while nothing better is there."""
        self._result = self.n_star = None
        self.questions.show_for(None)
        self._preview = (tuple(sizes), tuple(p95_pp))
        self.curve.show_preview(sizes, p95_pp)
        self.gain.show_preview(sizes, p95_pp, tau_pp)
        share = [Point(n, 100.0 * n / total, v, None, None, None, "", "") for n, v in zip(sizes, p95_pp, strict=True)]
        self.model.set_rows(share)
        self.warnings.hide()
        self._figures_off(
            "Drawing; until then the closed form stands in." if busy else "Preview by the closed form. Draw for n*."
        )
        self._show_smooth(sizes, p95_pp, tau_pp)

    def move_tau(self, tau_pp: float) -> None:
        """Another tau for the preview."""
        self.gain.move_tau(tau_pp)
        if self._preview is not None:
            self._show_smooth(*self._preview, tau_pp)

    def show_result(self, result: SizingResult, tau_pp: float) -> None:
        """Show a sizing with n* for this tau: no drawing, the curve is kept."""
        star = n_star(result.plan.sizes, result.p95_pp, tau_pp)
        anew = result is not self._result
        self.questions.show_for(result)
        moved = star != self.n_star
        self._result, self._preview, self.n_star = result, None, star
        if anew or moved:
            self.curve.show_result(result, star)
            self.model.set_rows(points(result, star))
        self.gain.show_result(result, star, tau_pp)
        self._show_figures(result, star, tau_pp)

    def _figures_off(self, words: str) -> None:
        for figure in (self._size, self._p95, self._gain, self._seeds, self.smooth):
            figure.show_value("-")
        self.line.setText(words)

    def _show_figures(self, result: SizingResult, star: int | None, tau_pp: float) -> None:
        same_tau = abs(tau_pp - result.plan.tau_pp) < 1e-9
        total = result.total_items
        if star is None:
            self._size.show_value("none", f"of {total:,}", "warn")
            self._p95.show_value("-")
            self._gain.show_value("-")
        else:
            at = result.plan.sizes.index(star)
            self._size.show_value(f"{star:,}", f"of {total:,} ({100.0 * star / total - 100.0:+.0f} %)", "accent")
            self._p95.show_value(
                fmt.pp(result.p95_pp[at], signed=False), f"{'exact' if result.method == 'exact' else 'by draws'}"
            )
            gain = result.gain_pp[at]
            error = _gain_error(result, at)
            self._gain.show_value(
                "-" if gain is None else f"{gain:.2f} pp",
                f"± {error:.2f}, tau {tau_pp:.2f}" if error else f"tau {tau_pp:.2f}",
            )
        if result.n_star_by_seed and same_tau:
            counts: dict[int | None, int] = {}
            for n in result.n_star_by_seed.values():
                counts[n] = counts.get(n, 0) + 1
            shown = sorted(counts.items(), key=lambda pair: -pair[1])
            top = "none" if shown[0][0] is None else f"{shown[0][0]:,}"
            rest = ", ".join(f"{'none' if n is None else f'{n:,}'} × {times}" for n, times in shown)
            self._seeds.show_value(top, rest, "text" if len(shown) == 1 else "warn")
        else:
            self._seeds.show_value("-", "exact: no seed" if result.method == "exact" else "for the tau drawn with")
        self._show_smooth(result.plan.sizes, result.smooth_pp, tau_pp)
        self.line.setText(describe(result, star, tau_pp))
        self._warn(result, tau_pp)

    def _show_smooth(self, sizes: Sequence[int], p95_pp: Sequence[float], tau_pp: float) -> None:
        smooth = n_star(sizes, p95_pp, tau_pp)
        self.smooth.show_value("none" if smooth is None else f"{smooth:,}", f"per model, tau {tau_pp:.2f}")

    def _warn(self, result: SizingResult, tau_pp: float) -> None:
        warnings = at_tau(result, tau_pp).warnings
        if warnings:
            more = f" (and {len(warnings) - 2} more)" if len(warnings) > 2 else ""
            self.warnings.show_notice(warnings[0], " ".join(warnings[1:2]) + more)
            self.warnings.setToolTip("\n\n".join(warnings))
        else:
            self.warnings.hide()


def _gain_error(result: SizingResult, at: int) -> float:
    """Monte Carlo error of the gain in pp, 0 where it is exact."""
    return result.gain_error_pp[at] or 0.0


def describe(result: SizingResult, star: int | None, tau_pp: float) -> str:
    """The answer as one line of text."""
    rule = "per model" if result.plan.worst == "per-model" else "joint"
    how = "exact" if result.method == "exact" else f"{result.plan.draws:,} draws, seed {result.plan.seed}"
    tail = f"rule {rule}, {how}, {fmt.seconds(result.seconds)}"
    if star is None:
        return f"No n* at tau {tau_pp:.2f} pp   ({tail})"
    at = result.plan.sizes.index(star)
    gain, total = result.gain_pp[at], result.total_items
    error = _gain_error(result, at)
    spread = f" ± {error:.2f}" if error else ""
    return (
        f"n* {star:,} of {total:,} ({100.0 * star / total - 100.0:+.0f} %)   "
        f"P95 {fmt.pp(result.p95_pp[at], signed=False)}   gain {0.0 if gain is None else gain:.2f}{spread}   ({tail})"
    )
