"""The part of a document that tells one model's runs over time, and two runs item by item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mince_gui.report import format as fmt
from mince_gui.report.comparison.model import Change, Comparison, History, Pairing, SubsetName
from mince_gui.report.comparison.pictures import release_words, trend_picture
from mince_gui.report.comparison.tables import kit_words, name_of, place_words, subset_words
from mince_gui.report.documents.page import Block, Cell, Heading, Paragraph, Table
from mince_gui.report.model import Interval
from mince_gui.report.types import Ratio

_TINY_P = 0.001


def p_words(value: float | None) -> str:
    """ "p = 0.031", "p < 0.001", "no test" for metrics that are not pass/fail."""
    if value is None:
        return "no test"
    return f"p < {_TINY_P}" if value < _TINY_P else f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"


def history_blocks(
    history: History, comparison: Comparison, numbers: Mapping[str, int], *, brief: bool
) -> Iterator[Block]:
    """Table, picture, and the two runs that are set side by side; `brief`: the table alone."""
    runs = [comparison.run(point.run_id) for point in history.points]
    yield Heading(f"{name_of(runs[-1])} on {history.device_kind} over time: {subset_words(history.subset)}")
    rows = []
    for point, run in zip(history.points, runs, strict=True):
        metric = point.metric(history.metric)
        score = None if metric is None or metric.score is None else metric.score
        span = None if metric is None else metric.interval
        rows.append(
            (
                Cell(f"{numbers[run.run_id]}"),
                Cell(fmt.moment(run.created), run.machine),
                Cell(
                    release_words(run) or "not recorded",
                    ", ".join(filter(None, (run.driver and f"driver {run.driver}", kit_words(run)))),
                ),
                Cell(
                    fmt.percent(None if score is None else score.percent, absent=fmt.MISSING),
                    _of(score, history.subset, span),
                    strong=True,
                    state="plain" if run.complete else "warn",
                ),
                _change(None if metric is None else metric.to_previous, numbers),
                _change(None if metric is None else metric.to_first, numbers),
                Cell(fmt.rate(run.pace.decode_rate)),
                Cell(fmt.seconds(run.pace.item_seconds)),
            )
        )
    header = (
        "run", "made", "made with", f"{history.metric_title}", "to the run before", "to the first run", "decode",
        "median per item",
    )  # fmt: skip
    yield Table(header, tuple(rows), frozenset({0, 3, 4, 5, 6, 7}))
    yield Paragraph("Differences are on the items that both runs have, p is the exact McNemar test's.", style="note")
    if brief:
        return
    figure = trend_picture(history, comparison, numbers)
    if figure is not None:
        yield figure
    # Where runs were named, this pair may stand among theirs already.
    if history.pairing is not None and _pair(history.pairing) not in map(_pair, comparison.pairings):
        yield from pairing_blocks(history.pairing, comparison, numbers)


def _pair(pairing: Pairing) -> tuple[str, str]:
    return pairing.run_id, pairing.paired.ident


def _of(score: Ratio | None, subset: SubsetName, span: Interval | None) -> str:
    done = 0 if score is None else score.items
    words = fmt.coverage(done, subset.wanted)
    return words if span is None or done == subset.total else f"{words}; {fmt.interval(span.low, span.high)}"


def _change(change: Change | None, numbers: Mapping[str, int]) -> Cell:
    if change is None:
        return Cell(fmt.ABSENT)
    return Cell(
        fmt.pp(change.pp),
        f"run {numbers[change.against]}; {change.items:,} items, {change.gained:,} gained, {change.lost:,} lost; "
        f"{p_words(change.p_value)}",
    )


def pairing_blocks(pairing: Pairing, comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    """Two runs item by item: one row per metric."""
    paired = pairing.paired
    mine, theirs = comparison.run(pairing.run_id), comparison.run(paired.ident)
    here, there = numbers[mine.run_id], numbers[theirs.run_id]
    yield Paragraph(
        f"{name_of(mine)} on {place_words(mine)}, less {name_of(theirs)} on {place_words(theirs)}, on "
        f"{fmt.coverage(paired.common, paired.wanted)} of {mine.subset.name} that both have. "
        f"The items themselves, with both answers: mince report {mine.run_id} --against {theirs.run_id}",
        lead=f"Run {here} minus run {there}.",
    )
    rows = tuple(
        (
            Cell(metric.title),
            Cell(fmt.percent(metric.mine.percent), fmt.coverage(metric.mine.items, paired.wanted)),
            Cell(fmt.percent(metric.theirs.percent), fmt.coverage(metric.theirs.items, paired.wanted)),
            Cell(fmt.pp(metric.delta_pp), strong=True),
            Cell(
                fmt.ABSENT
                if metric.interval is None
                else fmt.interval(metric.interval.low, metric.interval.high, unit="pp")
            ),
            Cell(f"+{metric.gained:,} -{metric.lost:,}"),
            Cell(p_words(metric.p_value)),
        )
        for metric in paired.metrics
    )
    header = (
        "metric", f"run {here}", f"run {there}", "difference", "95 % interval, whole benchmark", "items gained, lost",
        "McNemar",
    )  # fmt: skip
    yield Table(header, rows, frozenset({1, 2, 3, 4, 5, 6}))
    for warning in paired.warnings:
        yield Paragraph(warning, lead="Caution.", style="caution")
