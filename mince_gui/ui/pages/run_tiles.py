"""Three tiles of a run: score, time to first token, decode rate; each a figure above its plot."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from mince_gui.report import format as fmt
from mince_gui.ui.plots import Plot
from mince_gui.ui.plots_run import RatePlot, ScorePlot
from mince_gui.ui.snapshot import Score, Snapshot
from mince_gui.ui.states import Figure
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, row

_MILLI = 1_000.0
_INTERVAL = "95 % interval: items run in a shuffled order, so those done so far are a random draw of the benchmark's."


class _Tile(Card):
    """A figure and its plot."""

    def __init__(self, figure: Figure, plot: Plot) -> None:
        super().__init__(margin=GRID + 2, gap=4)
        self.body.addWidget(figure)
        self.body.addWidget(plot, 1)
        plot.setMinimumHeight(96)


class Tiles(QWidget):
    """Choices have no first token: their tiles show prompt rate and time per item instead."""

    def __init__(self) -> None:
        super().__init__()
        self.score = Figure("Running score")
        self.first = Figure("Time to first token", tip="Median over the items: prompt read plus first token")
        self.rate = Figure("Decode rate", tip="Median over the items: tokens per second after the first")
        self.prompt = Figure("Prompt rate", tip="Median over the items: prompt tokens read per second")
        self.score_plot = ScorePlot()
        self.first_plot = RatePlot("Time to first token", "ms")
        self.rate_plot = RatePlot("Decode rate", "tok/s")
        self.prompt_plot = RatePlot("Prompt rate", "tok/s")
        self._generation = (_Tile(self.first, self.first_plot), _Tile(self.rate, self.rate_plot))
        self._choice = _Tile(self.prompt, self.prompt_plot)
        box = row(_Tile(self.score, self.score_plot), *self._generation, self._choice, gap=GRID)
        for place, stretch in enumerate((6, 5, 5, 10)):
            box.setStretch(place, stretch)
        self.setLayout(box)
        self._choice.hide()

    def show_snapshot(self, snapshot: Snapshot, score: Score | None) -> None:
        """Show a run's numbers, and the running score of one metric."""
        self._show_score(snapshot, score)
        self._choice.setVisible(snapshot.choices)
        for tile in self._generation:
            tile.setVisible(not snapshot.choices)
        items = snapshot.run.plan.items
        if snapshot.choices:
            fast = (snapshot.run.conditions or {}).get("timing") == "fast"
            why = "median, of what is read behind the kept examples" if fast else "median"
            if snapshot.prefill_rate is None:
                why = "choices of several tokens read the prompt in several passes"
            if snapshot.prefill_seconds is not None:
                # Choices have no first token.
                why += f"; prefill time {fmt.seconds(snapshot.prefill_seconds)}"
            self.prompt.show_value(fmt.rate(snapshot.prefill_rate), why)
            self.prompt_plot.show_values(snapshot.prefills, items)
            return
        prompt = "" if snapshot.prefill_rate is None else f", prompt {fmt.rate(snapshot.prefill_rate)}"
        self.first.show_value(fmt.seconds(snapshot.first_token_seconds), f"median{prompt}")
        self.rate.show_value(fmt.rate(snapshot.decode_rate), "median")
        # The axis has the unit of the figure above it.
        in_ms = self.first.value.endswith(" ms")
        self.first_plot.set_unit("ms" if in_ms else "s")
        self.first_plot.show_values(snapshot.first_tokens * ((1.0, _MILLI) if in_ms else (1.0, 1.0)), items)
        self.rate_plot.show_values(snapshot.decode_rates, items)

    def _show_score(self, snapshot: Snapshot, score: Score | None) -> None:
        items = snapshot.run.plan.items
        if score is None:
            self.score.show_value("-", "no item is done yet")
            self.score_plot.show_points([], items)
            return
        whole = items == snapshot.run.plan.total_items == snapshot.run.done
        interval = fmt.interval(score.low, score.high)
        over = snapshot.run.done == snapshot.run.plan.subset_items
        projected = "the full score" if whole else f"full {interval}{'' if over else ' so far'}"
        drift = ""
        if score.full is not None and not whole:
            bound = "" if snapshot.bound_pp is None else f", bound {fmt.pp(snapshot.bound_pp, signed=False)}"
            drift = f"{fmt.pp(score.percent - score.full)} to the full run{bound if over else ' so far'}"
        self.score.setToolTip(projected if whole else f"{projected}. {_INTERVAL} {drift}".strip())
        self.score.set_caption(f"Running score, {score.title}")
        self.score.show_value(fmt.percent(score.percent), drift or projected, "accent")
        self.score_plot.show_points(snapshot.points.get(score.metric, []), items, score.full)
