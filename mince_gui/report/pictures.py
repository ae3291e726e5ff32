"""The pictures of a report as inline SVG: drift with bound, scores with intervals, P95 curve, running score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from mince_gui.report import format as fmt
from mince_gui.report.bound import quantile_name
from mince_gui.report.model import MetricReport, Report
from mince_gui.report.svg import Axis, Drawing

_WIDTH = 720.0
_LEFT = 170.0
_ROW = 38.0
_LABEL = 22
"""Signs that fit left of the rows."""
_TOP = 34.0


@dataclass(frozen=True)
class Picture:
    """An SVG with its caption. `place` is the part of the page that it belongs to."""

    place: Literal["scores", "course"]
    caption: str
    svg: Markup


def pictures(report: Report) -> list[Picture]:
    """Every picture that the report has the numbers for."""
    made = (_drift(report), _scores(report), _running(report), _curve(report))
    return [picture for picture in made if picture is not None]


def _number(value: float) -> str:
    return f"{value:g}"


def _label(title: str) -> str:
    """A metric's title, cut where it would run out of the picture."""
    return title if len(title) <= _LABEL else f"{title[: _LABEL - 1]}…"


def _x_axis(drawing: Drawing, axis: Axis, top: float, bottom: float, unit: str, *, signed: bool = False) -> None:
    for value in axis.ticks():
        x = axis.at(value)
        drawing.line(x, top, x, bottom, "zero" if signed and value == 0 else "grid")
        drawing.text(x, bottom + 16, f"{value:+g}" if signed and value else _number(value), "tick", "middle")
    drawing.text((axis.start + axis.end) / 2, bottom + 33, unit, "axis", "middle")


def _y_axis(drawing: Drawing, axis: Axis, left: float, right: float, unit: str) -> None:
    for value in axis.ticks(5):
        y = axis.at(value)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 6, y + 4, _number(value), "tick", "end")
    drawing.text(left - 40, axis.end - 14, unit, "axis")


def _state(metric: MetricReport) -> str:
    return {"inside": "good", "outside": "bad"}.get(metric.verdict, "open")


def _bound_title(report: Report) -> str:
    return "bound" if report.bound is None else report.bound.title


def _bound_name(report: Report) -> str:
    return "" if report.bound is None else f" ({report.bound.name})"


def _drift(report: Report) -> Picture | None:
    rows = [(metric, metric.drift_pp) for metric in report.metrics if metric.drift_pp is not None]
    if not rows:
        return None
    reach = 1.2 * max([abs(drift) for _, drift in rows] + [m.bound_pp or 0.0 for m, _ in rows] + [0.5])
    bottom = _TOP + _ROW * len(rows)
    drawing = Drawing(_WIDTH, bottom + 42, "Drift of each metric beside the bound")
    axis = Axis(-reach, reach, _LEFT, _WIDTH - 90)
    for place, (metric, _) in enumerate(rows):
        if metric.bound_pp is not None:
            x = axis.at(-metric.bound_pp)
            drawing.rect(x, _TOP + _ROW * place, axis.at(metric.bound_pp) - x, _ROW, "band")
    _x_axis(drawing, axis, _TOP, bottom, "drift, pp", signed=True)
    for place, (metric, drift) in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        drawing.text(_LEFT - 12, y + 4, _label(metric.title), "t", "end")
        drawing.line(axis.at(0), y, axis.at(drift), y, f"stem {_state(metric)}")
        drawing.circle(axis.at(drift), y, 6, f"dot {_state(metric)}")
        drawing.text(_WIDTH - 84, y + 4, fmt.pp(drift), "t strong")
    bound = next((m.bound_pp for m, _ in rows if m.bound_pp is not None), None)
    caption = "Drift of each metric: score on the subset minus score on the full benchmark, same model."
    if bound is not None:
        within = f"within the {_bound_title(report)}, {fmt.pp(bound, signed=False)}"
        drawing.text(axis.at(0), _TOP - 12, within, "axis", "middle")
        caption += f" The shaded band is the {_bound_title(report)}{_bound_name(report)}."
    if any(metric.verdict == "not judged" for metric, _ in rows):
        caption += " Hollow dots are not judged."
    return Picture("scores", caption, drawing.markup())


def _scores(report: Report) -> Picture | None:
    rows = [(metric, metric.score) for metric in report.metrics if metric.score is not None]
    if not rows:
        return None
    values = [score for _, score in rows]
    for metric, _ in rows:
        values += [r.percent for r in (metric.full, metric.other) if r is not None]
        values += [metric.interval.low, metric.interval.high] if metric.interval is not None else []
    margin = max(2.0, 0.08 * (max(values) - min(values)))
    axis = Axis(max(0.0, min(values) - margin), min(100.0, max(values) + margin), _LEFT, _WIDTH - 90)
    bottom = _TOP + _ROW * len(rows)
    drawing = Drawing(_WIDTH, bottom + 42, "Scores with the interval of the projected full score")
    _x_axis(drawing, axis, _TOP, bottom, "score, %")
    for place, (metric, score) in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        drawing.text(_LEFT - 12, y + 4, _label(metric.title), "t", "end")
        if metric.interval is not None:
            low, high = axis.at(metric.interval.low), axis.at(metric.interval.high)
            drawing.line(low, y, high, y, "whisker")
            drawing.line(low, y - 6, low, y + 6, "whisker")
            drawing.line(high, y - 6, high, y + 6, "whisker")
        if metric.other is not None:
            drawing.diamond(axis.at(metric.other.percent), y, 7, "mark other")
        if metric.full is not None:
            drawing.diamond(axis.at(metric.full.percent), y, 7, "mark full")
        drawing.circle(axis.at(score), y, 5, "dot open" if metric.partial else "dot good")
        drawing.text(_WIDTH - 84, y + 4, fmt.percent(score), "t strong")
    _legend(drawing, report, [metric for metric, _ in rows])
    return Picture(
        "scores",
        "Score on the subset with the 95 % interval in which the full score is expected"
        + ("; hollow: only a part of the subset." if any(m.partial for m, _ in rows) else "."),
        drawing.markup(),
    )


def _legend(drawing: Drawing, report: Report, metrics: list[MetricReport]) -> None:
    y = _TOP - 16
    drawing.circle(_LEFT + 6, y - 4, 5, "dot open" if not report.coverage.complete else "dot good")
    drawing.text(_LEFT + 16, y, "this run", "axis")
    x = _LEFT + 90
    if any(metric.full is not None for metric in metrics):
        drawing.diamond(x, y - 4, 6, "mark full")
        drawing.text(x + 11, y, "own full run", "axis")
        x += 115
    if any(metric.other is not None for metric in metrics):
        drawing.diamond(x, y - 4, 6, "mark other")
        drawing.text(x + 11, y, "stored full score (total gap)", "axis")


def _running(report: Report) -> Picture | None:
    running = report.running
    if running is None:
        return None
    metric = report.metric(running.metric)
    points = running.points
    # The first few intervals reach from 0 to 100 and would flatten everything else.
    shown = points[len(points) // 10 :]
    low, high = min(p.low for p in shown), max(p.high for p in shown)
    drawing = Drawing(_WIDTH, 270, f"Running score of {running.title}")
    x = Axis(0, points[-1].done, 60, _WIDTH - 110)
    y = Axis(max(0.0, low - 2), min(100.0, high + 2), 225, 30)
    _y_axis(drawing, y, x.start, x.end, "score, %")
    _x_axis(drawing, x, y.start, y.start, "items done")
    full = None if metric.full is None else metric.full.percent
    if full is not None and metric.bound_pp is not None:
        top = y.at(full + metric.bound_pp)
        drawing.rect(x.start, top, x.end - x.start, y.at(full - metric.bound_pp) - top, "band")
    edge = [(x.at(p.done), y.at(p.high)) for p in points] + [(x.at(p.done), y.at(p.low)) for p in reversed(points)]
    drawing.polygon(edge, "cloud")
    if full is not None:
        drawing.line(x.start, y.at(full), x.end, y.at(full), "reference")
    drawing.polyline([(x.at(p.done), y.at(p.percent)) for p in points], "curve")
    last = points[-1].percent
    drawing.circle(x.at(points[-1].done), y.at(last), 4, "dot good")
    apart = full is None or abs(y.at(full) - y.at(last)) >= 14
    above = full is None or last >= full
    drawing.text(x.end + 10, y.at(last) + (4 if apart else (-3 if above else 13)), fmt.percent(last), "t strong")
    if full is not None:
        drawing.text(x.end + 10, y.at(full) + (4 if apart else (13 if above else -3)), f"full {fmt.percent(full)}", "t")
    band = ""
    if full is not None:
        band = f" Shaded across: the own full score and the {_bound_title(report)} around it{_bound_name(report)}."
    return Picture(
        "course",
        f"Running score of {running.title} with its 95 % interval, in the order of the run.{band} Before the last item "
        "the interval takes the items so far for a random draw.",
        drawing.markup(),
    )


def _curve(report: Report) -> Picture | None:
    curve = report.curve
    if curve is None:
        return None
    name = quantile_name(curve.quantile)
    drawing = Drawing(_WIDTH, 270, f"{name} curve of the sizing")
    wanted = report.coverage.wanted
    x = Axis(0, max(*curve.sizes, wanted) * 1.04, 60, _WIDTH - 30)
    y = Axis(0, max(curve.p95_pp) * 1.1 or 1.0, 225, 30)
    _y_axis(drawing, y, x.start, x.end, f"{name} of |drift|, pp")
    _x_axis(drawing, x, y.start, y.start, "items in the subset, n")
    drawing.polyline([(x.at(n), y.at(p)) for n, p in zip(curve.sizes, curve.p95_pp, strict=True)], "curve")
    for n, p in zip(curve.sizes, curve.p95_pp, strict=True):
        drawing.circle(x.at(n), y.at(p), 3.5, "dot good")
    if curve.n_star is not None:
        at = x.at(curve.n_star)
        drawing.line(at, y.end, at, y.start, "reference")
        drawing.text(at + 6, y.end + 10, f"n* = {curve.n_star}", "t strong")
    if curve.n_star != wanted:
        at = x.at(wanted)
        drawing.line(at, y.end, at, y.start, "dashed")
        drawing.text(at + 6, y.end + 26, f"this subset: {wanted}", "t")
    rule = f", rule {curve.rule or 'not recorded'}"
    pool = f", pool of {curve.pool} models" if curve.pool else ""
    tau = ""
    if curve.n_star is not None and curve.tau_pp is not None:
        tau = f"; n* is the first size whose gain is below {fmt.pp(curve.tau_pp, signed=False)} per step"
    caption = f"Why this many items: worst-case {name} of |drift| by size of a uniform draw{rule}{pool}{tau}."
    return Picture("course", caption, drawing.markup())
