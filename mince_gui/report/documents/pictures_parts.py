"""The pictures of what a difference is made of: the parts as a waterfall, paired deltas with their intervals."""

from __future__ import annotations

from mince_gui.report import format as fmt
from mince_gui.report.documents.charts import TOP, row_chart, x_axis
from mince_gui.report.documents.page import Figure
from mince_gui.report.model import PairedMetric, PairedReport, Split

_ROW = 26.0
_SHORT = {
    "sampling drift": "sampling",
    "quantisation delta": "quantisation",
    "hardware delta": "hardware",
    "quantisation and hardware together": "quant. + hardware",
}


def split_picture(split: Split) -> Figure | None:
    """Every metric's parts, each beginning where the one before ended, then the total; None where none adds up."""
    if not split.sums:
        return None
    reach = [0.0]
    for found in split.sums:
        at = 0.0
        for _, value in found.parts:
            at += value
            reach.append(at)
        reach.append(found.total_pp)
    margin = 0.08 * max(max(reach) - min(reach), 0.5)
    rows = sum(len(found.parts) + 2 for found in split.sums)
    title = "What the total gap is made of"
    chart = row_chart(title, rows, min(reach) - margin, max(reach) + margin, row=_ROW)
    drawing, axis = chart.drawing, chart.axis
    x_axis(drawing, axis, TOP, chart.bottom, "pp", signed=True)
    place = 0
    for found in split.sums:
        drawing.text(8, chart.middle(place) + 6, found.title, "t strong")
        at, place = 0.0, place + 1
        for part, value in found.parts:
            y, start, end = chart.middle(place), axis.at(at), axis.at(at + value)
            chart.name(place, _SHORT[part])
            drawing.rect(min(start, end), y - 8, abs(end - start), 16, "bar up" if value >= 0 else "bar down")
            drawing.line(end, y - 8, end, y + _ROW - 8, "whisker")
            chart.value(place, fmt.pp(value))
            at, place = at + value, place + 1
        y, end = chart.middle(place), axis.at(found.total_pp)
        chart.name(place, "total gap")
        drawing.rect(min(axis.at(0), end), y - 8, abs(end - axis.at(0)), 16, "bar total")
        chart.value(place, fmt.pp(found.total_pp))
        place += 1
    return Figure(
        drawing,
        "What the total gap is made of: every part begins where the one before ended, and the last bar is their sum. "
        "Blue raises the score, orange lowers it.",
    )


def paired_picture(pair: PairedReport) -> Figure | None:
    """Every metric's paired delta with its interval; None where there is no metric."""
    if not pair.metrics:
        return None
    values = [0.5, -0.5]
    for metric in pair.metrics:
        values += [metric.delta_pp, *((metric.interval.low, metric.interval.high) if metric.interval else ())]
    reach = 1.15 * max(map(abs, values))
    chart = row_chart(f"Paired deltas to {pair.named}", len(pair.metrics), -reach, reach)
    drawing, axis = chart.drawing, chart.axis
    x_axis(drawing, axis, TOP, chart.bottom, "this run minus the other, pp", signed=True)
    for place, metric in enumerate(pair.metrics):
        chart.name(place, metric.title)
        if metric.interval is not None:
            chart.whisker(place, metric.interval.low, metric.interval.high)
        apart = _leaves_zero_out(metric)
        drawing.circle(axis.at(metric.delta_pp), chart.middle(place), 6, "dot good" if apart else "dot open")
        chart.value(place, fmt.pp(metric.delta_pp))
    drawing.text(axis.at(0) - 8, TOP - 12, "worse here", "axis", "end")
    drawing.text(axis.at(0) + 8, TOP - 12, "better here", "axis")
    return Figure(
        drawing,
        f"Difference on the {pair.common:,} items that both have, with its 95 % interval over the whole benchmark. "
        "Hollow: the interval holds zero, so no difference is shown.",
    )


def _leaves_zero_out(metric: PairedMetric) -> bool:
    return metric.interval is not None and not metric.interval.low <= 0 <= metric.interval.high
