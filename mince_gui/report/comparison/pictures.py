"""The pictures of a comparison: scores of the runs with intervals, the order of models, the course over time."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from mince_gui.report import format as fmt
from mince_gui.report.comparison.model import ComparedRun, Comparison, History, HistoryMetric, Ranking
from mince_gui.report.documents.charts import TOP, WIDTH, fitted, row_chart, x_axis, y_axis
from mince_gui.report.documents.drawing import Axis, Drawing
from mince_gui.report.documents.page import Figure

_ROW = 26.0
_MOST_ROWS = 36
"""Rows of one picture: it must fit on a page of paper, and the tables have them all."""
_NAMES = 285.0
"""Pixels left and right of the lines between full and subset scores."""
_LABEL = 84.0
"""Pixels that the words below a run in a history need."""


def score_picture(runs: Sequence[ComparedRun], metric: str, title: str, numbers: Mapping[str, int]) -> Figure | None:
    """The runs' scores on one subset, each with the interval of the full score; None for fewer than two."""
    rows = [(run, found, found.score) for run in runs if (found := run.metric(metric)) is not None]
    shown = [(run, found, score) for run, found, score in rows if score is not None][:_MOST_ROWS]
    if len(shown) < 2:
        return None
    values = [score for _, _, score in shown]
    for _, found, _ in shown:
        values += [found.interval.low, found.interval.high] if found.interval is not None else []
    margin = max(2.0, 0.08 * (max(values) - min(values)))
    low, high = max(0.0, min(values) - margin), min(100.0, max(values) + margin)
    chart = row_chart(f"{title} of {len(shown)} runs", len(shown), low, high, row=_ROW)
    drawing = chart.drawing
    x_axis(drawing, chart.axis, TOP, chart.bottom, "score, %")
    for place, (run, found, score) in enumerate(shown):
        chart.name(place, f"{numbers[run.run_id]}. {run.model}")
        if found.interval is not None:
            chart.whisker(place, found.interval.low, found.interval.high)
        drawing.circle(chart.axis.at(score), chart.middle(place), 5, "dot open" if found.partial else "dot good")
        chart.value(place, fmt.percent(score))
    more = f" The first {_MOST_ROWS:,} of {len(rows):,} runs." if len(rows) > len(shown) else ""
    hollow = " Hollow: only a part of the items." if any(found.partial for _, found, _ in shown) else ""
    caption = (
        f"The {title} of every run with the 95 % interval in which its full score is expected; numbers as in the "
        f"tables.{hollow}{more} Intervals that overlap prove nothing equal: compare runs on the same items."
    )
    return Figure(drawing, caption)


def rank_picture(ranking: Ranking, numbers: Mapping[str, int]) -> Figure | None:
    """Every model's place by its full score on the left, by its subset score on the right; None for too many models."""
    count = len(ranking.models)
    if count > _MOST_ROWS:
        return None
    bottom = TOP + _ROW * count
    drawing = Drawing(WIDTH, bottom + 8, f"Order of {count} models by full score and by subset score")
    left, right = _NAMES, WIDTH - _NAMES
    drawing.text(left - 12, TOP - 14, "by full score", "axis", "end")
    drawing.text(right + 12, TOP - 14, "by subset score", "axis")
    # Models with the same score keep the order of the left side, each in a row of its own.
    on_subset = sorted(range(count), key=lambda place: (-ranking.models[place].subset, place))
    crossing = {run_id for pair in ranking.swapped for run_id in pair}
    for place, model in enumerate(ranking.models):
        there = on_subset.index(place)
        y1, y2 = TOP + _ROW * (place + 0.5), TOP + _ROW * (there + 0.5)
        name = f"{numbers[model.run_id]}. {model.model}"
        swapped = model.run_id in crossing
        drawing.line(left, y1, right, y2, "line 2" if swapped else "line 1")
        for x, y in ((left, y1), (right, y2)):
            drawing.circle(x, y, 4, "dot 2" if swapped else "dot 1")
        room = _NAMES - 74
        drawing.text(left - 12, y1 + 4, f"{fitted(name, room)} {model.full:.1f}", "t", "end")
        drawing.text(right + 12, y2 + 4, f"{model.subset:.1f} {fitted(name, room)}", "t")
    caption = f"The {ranking.metric_title} in percent: lines that cross are models whose order the subset turns round."
    return Figure(drawing, caption)


def trend_picture(history: History, comparison: Comparison, numbers: Mapping[str, int]) -> Figure | None:
    """The score with its interval, and below it the speed, run by run; None for fewer than two scores."""
    scores = [
        (place, metric)
        for place, point in enumerate(history.points)
        if (metric := point.metric(history.metric)) is not None and metric.score is not None
    ]
    if len(scores) < 2:
        return None
    runs = [comparison.run(point.run_id) for point in history.points]
    unit, words = "decode, tok/s", "decode rate"
    timed = [(place, run.pace.decode_rate) for place, run in enumerate(runs) if run.pace.decode_rate is not None]
    if not timed:
        unit, words = "s per item", "median time per item"
        timed = [(place, run.pace.item_seconds) for place, run in enumerate(runs) if run.pace.item_seconds is not None]
    bottom = 330.0 if timed else 190.0
    drawing = Drawing(WIDTH, bottom + 52, f"{history.metric_title} and speed over {len(runs)} runs")
    x = Axis(-0.5, len(runs) - 0.5, 60, WIDTH - 20)
    wanted = history.subset.wanted
    partial = {place for place, metric in scores if metric.score is not None and metric.score.items < wanted}
    _score_panel(drawing, x, Axis(*_range(scores), 190, 30), scores, partial)
    if timed:
        _speed_panel(drawing, x, Axis(0, max(value for _, value in timed) * 1.15 or 1, bottom, 246), unit, timed)
    _labels(drawing, x, bottom, runs, numbers)
    hollow = " Hollow: only a part of the items." if partial else ""
    return Figure(
        drawing,
        f"The {history.metric_title} of {history.model} run by run, oldest first, with the 95 % interval in which the "
        f"full score is expected{f'; below it the {words}' if timed else ''}.{hollow} Under a run: its number and "
        "date, its NPU driver where one is known, its runtime.",
    )


def _range(scores: Sequence[tuple[int, HistoryMetric]]) -> tuple[float, float]:
    values = [metric.score.percent for _, metric in scores if metric.score is not None]
    for _, metric in scores:
        values += [metric.interval.low, metric.interval.high] if metric.interval is not None else []
    margin = max(1.0, 0.08 * (max(values) - min(values)))
    return max(0.0, min(values) - margin), min(100.0, max(values) + margin)


def _score_panel(
    drawing: Drawing, x: Axis, y: Axis, scores: Sequence[tuple[int, HistoryMetric]], partial: Collection[int]
) -> None:
    y_axis(drawing, y, x.start, x.end, "score, %")
    line = [(x.at(place), y.at(metric.score.percent)) for place, metric in scores if metric.score is not None]
    for (_, metric), (at, _) in zip(scores, line, strict=True):
        if metric.interval is not None:
            low, high = y.at(metric.interval.low), y.at(metric.interval.high)
            drawing.line(at, low, at, high, "whisker")
            for end in (low, high):
                drawing.line(at - 4, end, at + 4, end, "whisker")
    drawing.polyline(line, "curve")
    for (place, _), (at, height) in zip(scores, line, strict=True):
        drawing.circle(at, height, 4, "dot open" if place in partial else "dot good")


def _speed_panel(drawing: Drawing, x: Axis, y: Axis, unit: str, timed: Sequence[tuple[int, float]]) -> None:
    y_axis(drawing, y, x.start, x.end, unit, about=3)
    drawing.polyline([(x.at(place), y.at(value)) for place, value in timed], "line 2")
    for place, value in timed:
        drawing.circle(x.at(place), y.at(value), 4, "dot 2")


def _labels(drawing: Drawing, x: Axis, bottom: float, runs: Sequence[ComparedRun], numbers: Mapping[str, int]) -> None:
    """Number, date, driver and runtime under the runs; under every second, third ... where there is no room for all."""
    pitch = x.at(1) - x.at(0)
    step = max(1, math.ceil(_LABEL / pitch))
    room = step * pitch - 6
    for place in range(0, len(runs), step):
        run = runs[place]
        name = f"{numbers[run.run_id]}. {run.created[:10]}"
        lines = [name, f"driver {run.driver}" if run.driver else "", release_words(run)]
        for line, words in enumerate(filter(None, lines)):
            drawing.text(x.at(place), bottom + 16 + 15 * line, fitted(words, room), "tick", "middle")


def release_words(run: ComparedRun) -> str:
    """The release that the run's runtime belongs to, or its OGA: "Ryzen AI 1.7", "OGA 0.11.2"."""
    if run.release:
        return f"Ryzen AI {run.release}"
    return f"OGA {run.oga_version}" if run.oga_version else ""
