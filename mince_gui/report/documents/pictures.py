"""The pictures of a report: drift with bound, scores with intervals, running score, P95 curve, latency."""

from __future__ import annotations

from mince_gui.report import format as fmt
from mince_gui.report.bound import quantile_name
from mince_gui.report.documents.charts import ROW, TOP, WIDTH, note_at, row_chart, x_axis, y_axis
from mince_gui.report.documents.drawing import Axis, Drawing, Look
from mince_gui.report.documents.page import Figure
from mince_gui.report.model import Histogram, Latency, MetricReport, Report

_MOST_PANELS = 3


def _looks(metric: MetricReport) -> tuple[Look, Look]:
    """Of the stem and the dot of its drift."""
    if metric.verdict == "inside":
        return "stem good", "dot good"
    return ("stem bad", "dot bad") if metric.verdict == "outside" else ("stem open", "dot open")


def _bound_title(report: Report) -> str:
    return "bound" if report.bound is None else report.bound.title


def _bound_name(report: Report) -> str:
    return "" if report.bound is None else f" ({report.bound.name})"


def drift_picture(report: Report) -> Figure | None:
    """Every metric's drift beside the bound; None where there is no drift."""
    rows = [(metric, metric.drift_pp) for metric in report.metrics if metric.drift_pp is not None]
    if not rows:
        return None
    reach = 1.2 * max([abs(drift) for _, drift in rows] + [m.bound_pp or 0.0 for m, _ in rows] + [0.5])
    chart = row_chart("Drift of each metric beside the bound", len(rows), -reach, reach)
    drawing, axis = chart.drawing, chart.axis
    for place, (metric, _) in enumerate(rows):
        if metric.bound_pp is not None:
            x = axis.at(-metric.bound_pp)
            drawing.rect(x, TOP + ROW * place, axis.at(metric.bound_pp) - x, ROW, "band")
    x_axis(drawing, axis, TOP, chart.bottom, "drift, pp", signed=True)
    for place, (metric, drift) in enumerate(rows):
        y = chart.middle(place)
        chart.name(place, metric.title)
        stem, dot = _looks(metric)
        drawing.line(axis.at(0), y, axis.at(drift), y, stem)
        drawing.circle(axis.at(drift), y, 6, dot)
        chart.value(place, fmt.pp(drift))
    bound = next((m.bound_pp for m, _ in rows if m.bound_pp is not None), None)
    caption = "Drift of each metric: score on the subset minus score on the full benchmark, same model."
    if bound is not None:
        within = f"within the {_bound_title(report)}, {fmt.pp(bound, signed=False)}"
        drawing.text(axis.at(0), TOP - 12, within, "axis", "middle")
        caption += f" The shaded band is the {_bound_title(report)}{_bound_name(report)}."
    if any(metric.verdict == "outside" for metric, _ in rows):
        caption += " Orange: outside the bound."
    if any(metric.verdict == "not judged" for metric, _ in rows):
        caption += " Hollow dots are not judged."
    return Figure(drawing, caption)


def scores_picture(report: Report) -> Figure | None:
    """Every metric's score with the interval of its projected full score; None where nothing has a score."""
    rows = [(metric, metric.score) for metric in report.metrics if metric.score is not None]
    if not rows:
        return None
    values = [score for _, score in rows]
    for metric, _ in rows:
        values += [r.percent for r in (metric.full, metric.other) if r is not None]
        values += [metric.interval.low, metric.interval.high] if metric.interval is not None else []
    margin = max(2.0, 0.08 * (max(values) - min(values)))
    title = "Scores with the interval of the projected full score"
    chart = row_chart(title, len(rows), max(0.0, min(values) - margin), min(100.0, max(values) + margin))
    drawing, axis = chart.drawing, chart.axis
    x_axis(drawing, axis, TOP, chart.bottom, "score, %")
    for place, (metric, score) in enumerate(rows):
        y = chart.middle(place)
        chart.name(place, metric.title)
        if metric.interval is not None:
            chart.whisker(place, metric.interval.low, metric.interval.high)
        if metric.other is not None:
            drawing.diamond(axis.at(metric.other.percent), y, 7, "mark other")
        if metric.full is not None:
            drawing.diamond(axis.at(metric.full.percent), y, 7, "mark full")
        drawing.circle(axis.at(score), y, 5, "dot open" if metric.partial else "dot good")
        chart.value(place, fmt.percent(score))
    _legend(drawing, report, axis.start)
    partial = any(metric.partial for metric, _ in rows)
    caption = "Score on the subset with the 95 % interval in which the full score is expected"
    return Figure(drawing, caption + ("; hollow: only a part of the subset." if partial else "."))


def _legend(drawing: Drawing, report: Report, x: float) -> None:
    y = TOP - 16
    drawing.circle(x + 6, y - 4, 5, "dot good" if report.coverage.complete else "dot open")
    drawing.text(x + 16, y, "this run", "axis")
    x += 90
    if any(metric.full is not None for metric in report.metrics):
        drawing.diamond(x, y - 4, 6, "mark full")
        drawing.text(x + 11, y, "own full run", "axis")
        x += 115
    if any(metric.other is not None for metric in report.metrics):
        drawing.diamond(x, y - 4, 6, "mark other")
        drawing.text(x + 11, y, "stored full score (total gap)", "axis")


def running_picture(report: Report) -> Figure | None:
    """The running score with its narrowing interval; None where it was not kept."""
    running = report.running
    if running is None:
        return None
    metric = report.metric(running.metric)
    points = running.points
    # The first few intervals reach from 0 to 100 and would flatten everything else.
    shown = points[len(points) // 10 :]
    low, high = min(p.low for p in shown), max(p.high for p in shown)
    drawing = Drawing(WIDTH, 270, f"Running score of {running.title}")
    x = Axis(0, points[-1].done, 60, WIDTH - 110)
    y = Axis(max(0.0, low - 2), min(100.0, high + 2), 225, 30)
    y_axis(drawing, y, x.start, x.end, "score, %")
    x_axis(drawing, x, y.start, y.start, "items done")
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
    apart = full is None or abs(y.at(full) - y.at(last)) >= 15
    above = full is None or last >= full
    drawing.text(x.end + 10, y.at(last) + (4 if apart else (-3 if above else 14)), fmt.percent(last), "t strong")
    band = ""
    if full is not None:
        drawing.text(x.end + 10, y.at(full) + (4 if apart else (14 if above else -3)), f"full {fmt.percent(full)}", "t")
        band = f" Shaded across: the own full score and the {_bound_title(report)} around it{_bound_name(report)}."
        if metric.bound_pp is None:
            band = " The line across is the own full score."
    return Figure(
        drawing,
        f"Running score of {running.title} with its 95 % interval, in the order of the run.{band} Before the last item "
        "the interval takes the items so far for a random draw.",
    )


def curve_picture(report: Report) -> Figure | None:
    """The curve that justified the subset, with n*; None where the subset keeps none."""
    curve = report.curve
    if curve is None:
        return None
    name = quantile_name(curve.quantile)
    drawing = Drawing(WIDTH, 294, f"{name} curve of the sizing")
    wanted = report.coverage.wanted
    x = Axis(0, max(*curve.sizes, wanted) * 1.04, 60, WIDTH - 30)
    y = Axis(0, max(curve.p95_pp) * 1.1 or 1.0, 249, 54)
    y_axis(drawing, y, x.start, x.end, f"{name} of |drift|, pp", above=40)
    x_axis(drawing, x, y.start, y.start, "items in the subset, n")
    drawing.polyline([(x.at(n), y.at(p)) for n, p in zip(curve.sizes, curve.p95_pp, strict=True)], "curve")
    for n, p in zip(curve.sizes, curve.p95_pp, strict=True):
        drawing.circle(x.at(n), y.at(p), 3.5, "dot good")
    if curve.n_star is not None:
        at = x.at(curve.n_star)
        drawing.line(at, y.end - 14, at, y.start, "reference")
        note_at(drawing, at, y.end - 6, f"n* = {curve.n_star:,}", strong=True)
    if curve.n_star != wanted:
        at = x.at(wanted)
        drawing.line(at, y.end - 30, at, y.start, "dashed")
        note_at(drawing, at, y.end - 22, f"this subset: {wanted:,}")
    rule = f", rule {curve.rule or 'not recorded'}"
    pool = f", pool of {curve.pool} models" if curve.pool else ""
    tau = ""
    if curve.n_star is not None and curve.tau_pp is not None:
        tau = f"; n* is the first size whose gain is below {fmt.pp(curve.tau_pp, signed=False)} per step"
    why = "Why this many items" if curve.n_star == wanted else "What more items would gain"
    caption = f"{why}: worst-case {name} of |drift| by size of a uniform draw{rule}{pool}{tau}."
    return Figure(drawing, caption)


def latency_picture(report: Report) -> Figure | None:
    """How times and rates are spread over the items, one panel each; None where nothing was timed."""
    shown = [found for found in report.histograms if sum(found.counts)][:_MOST_PANELS]
    if not shown:
        return None
    drawing = Drawing(WIDTH, 232, "How times and rates are spread over the items")
    across = (WIDTH - 60) / _MOST_PANELS
    medians = {line.name: line for line in report.latency}
    for place, found in enumerate(shown):
        left = 54 + place * (across + 12)
        _panel(drawing, found, medians.get(found.name), left, left + across - 42)
    lines = "the line is the median" if any(found.name in medians for found in shown) else ""
    return Figure(drawing, f"Items by {_listed([found.name for found in shown])}{lines and f'; {lines}'}.")


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _panel(drawing: Drawing, found: Histogram, line: Latency | None, left: float, right: float) -> None:
    scale, unit = _scaled(found)
    x = Axis(found.edges[0] * scale, found.edges[-1] * scale, left, right)
    y = Axis(0, max(found.counts) * 1.05, 180, 52)
    drawing.text(left - 30, 16, found.name, "t strong")
    y_axis(drawing, y, left, right, "items", about=4)
    for low, high, number in zip(found.edges, found.edges[1:], found.counts, strict=False):
        at = x.at(low * scale)
        drawing.rect(at, y.at(number), max(0.6, x.at(high * scale) - at - 1), y.start - y.at(number), "bar")
    x_axis(drawing, x, y.start, y.start, unit, about=3)
    if line is not None:
        at = x.at(line.median * scale)
        drawing.line(at, y.end, at, y.start, "reference")


def _scaled(found: Histogram) -> tuple[float, str]:
    """What to multiply by, and the unit that results, so that the axis has short numbers."""
    if found.unit != "s":
        return 1.0, found.unit
    if found.edges[-1] < 1.0:
        return 1000.0, "ms"
    return (1 / 60, "min") if found.edges[-1] >= 600 else (1.0, "s")
