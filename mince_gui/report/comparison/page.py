"""A comparison as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import mince_gui
from mince_gui.report import format as fmt
from mince_gui.report.comparison.fleet import by_subset
from mince_gui.report.comparison.history_page import history_blocks, pairing_blocks
from mince_gui.report.comparison.model import Comparison, FleetCell, FleetColumn, Ranking
from mince_gui.report.comparison.pictures import rank_picture, score_picture
from mince_gui.report.comparison.tables import (
    kit_table,
    name_of,
    place_words,
    ranking_table,
    score_table,
    speed_table,
    subset_words,
    verdict_state,
)
from mince_gui.report.documents.page import Banner, Block, Cell, Facts, Heading, Page, Paragraph, Table
from mince_gui.report.words import VERDICT_WORDS

_COLUMNS = 3
"""Benchmarks that one table of models has beside each other; more go into the next one, so that it fits on paper."""

_DRAWN_HISTORIES = 3
"""More histories than these are tables only."""


def comparison_page(comparison: Comparison) -> Page:
    """Everything that several runs show together, in reading order: the overview, then each part in full."""
    numbers = {run.run_id: number for number, run in enumerate(comparison.runs, 1)}
    title = _title(comparison)
    blocks = [
        Banner(_banner(comparison), "warn" if any(not run.complete for run in comparison.runs) else "plain"),
        *(Paragraph(caution.words, lead="Caution.", style="caution") for caution in comparison.cautions),
        *(() if comparison.history_of else _fleet(comparison, numbers)),
        *_pairings(comparison, numbers),
        *_histories(comparison, numbers),
        *_subsets(comparison, numbers),
        *_rankings(comparison, numbers),
        *_kit(comparison, numbers),
        *_left_out(comparison),
    ]
    foot = (
        f"mince-gui {mince_gui.__version__}, {comparison_size(comparison)}. Every score is of the items that it names; "
        "intervals are 95 % intervals of the score on the whole benchmark."
    )
    return Page(title, title, tuple(blocks), foot, mark=title)


def comparison_size(comparison: Comparison) -> str:
    """ "5 runs, 2 models, 3 devices, 1 benchmark": devices are machine, device and runtime together."""
    runs = comparison.runs
    counts = (
        (len(runs), "run"),
        (len({run.model_ident for run in runs}), "model"),
        (len({(run.device, run.machine, run.runtime) for run in runs}), "device"),
        (len({run.subset.benchmark.lower() for run in runs}), "benchmark"),
    )
    return ", ".join(f"{number:,} {what}{'' if number == 1 else 's'}" for number, what in counts)


def _title(comparison: Comparison) -> str:
    if comparison.history_of:
        run = comparison.run(comparison.history_of)
        return f"History of {name_of(run)} on {run.subset.name}"
    return f"Comparison: {comparison_size(comparison)}"


def _banner(comparison: Comparison) -> str:
    if not comparison.runs:
        return "There is nothing to compare: no run has a finished item."
    parts = [f"{comparison_size(comparison)} side by side"]
    part = sum(not run.complete for run in comparison.runs)
    if part:
        parts.append(f"{part:,} of them not complete")
    verdicts = [run.verdict for run in comparison.runs]
    told = [f"{VERDICT_WORDS[verdict].lower()} ({verdicts.count(verdict):,})" for verdict in sorted(set(verdicts))]
    return f"{', '.join(parts)}: {', '.join(told)}."


def _fleet(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    fleet = comparison.fleet
    if not fleet.rows:
        return
    yield Heading("Models and devices")
    for start in range(0, len(fleet.columns), _COLUMNS):
        columns = fleet.columns[start : start + _COLUMNS]
        rows = []
        for row in fleet.rows:
            cells = row.cells[start : start + _COLUMNS]
            if any(cell is not None for cell in cells):
                place = ", ".join(filter(None, (row.machine, f"runtime {row.runtime}" if row.runtime else "")))
                head = (Cell(row.model, row.precision), Cell(row.device, place))
                shown = (_cell(comparison, *pair, numbers) for pair in zip(columns, cells, strict=True))
                rows.append((*head, *shown))
        header = ("model", "ran on", *(f"{subset_words(c.subset)}: {c.metric_title}" for c in columns))
        yield Table(header, tuple(rows))
    yield Paragraph(
        "Each cell is the newest run, a complete one where there is one, of its model, device, machine and runtime: "
        "score, items, 95 % interval of the full score, verdict, speed, and the run's number in the tables below.",
        style="note",
    )


def _cell(comparison: Comparison, column: FleetColumn, cell: FleetCell | None, numbers: Mapping[str, int]) -> Cell:
    if cell is None:
        return Cell("-", "not run", state="soft")
    run = comparison.run(cell.run_id)
    metric = run.metric(column.metric)
    if metric is None or metric.score is None:
        return Cell(fmt.MISSING, f"run {numbers[run.run_id]}: no item has this metric", state="warn")
    parts = [fmt.coverage(metric.done, metric.wanted)]
    if metric.interval is not None and not column.subset.full:
        parts.append(fmt.interval(metric.interval.low, metric.interval.high))
    parts.append(VERDICT_WORDS[metric.verdict].lower())
    if metric.drift_pp is not None:
        parts.append(f"drift {fmt.pp(metric.drift_pp)}")
    if metric.total_gap_pp is not None:
        parts.append(f"total gap {fmt.pp(metric.total_gap_pp)}")
    if run.pace.item_seconds is not None:
        parts.append(f"{fmt.seconds(run.pace.item_seconds)} per item")
    if run.pace.decode_rate is not None:
        parts.append(fmt.rate(run.pace.decode_rate))
    if run.pace.wall_seconds is not None:
        parts.append(f"{fmt.seconds(run.pace.wall_seconds)} in all")
    parts.append(f"run {numbers[run.run_id]}" + (f", the newest of {cell.runs:,} runs" if cell.runs > 1 else ""))
    state = "warn" if metric.partial else verdict_state(metric.verdict)
    return Cell(fmt.percent(metric.score), "; ".join(parts), strong=True, state=state)


def _subsets(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    titles = {column.subset.ident: (column.metric, column.metric_title) for column in comparison.fleet.columns}
    for subset, runs in by_subset(comparison.runs).items():
        yield Heading(subset_words(subset))
        yield score_table(runs, numbers)
        figure = score_picture(runs, *titles[subset.ident], numbers)
        if figure is not None:
            yield figure
        yield speed_table(runs, numbers)


def _rankings(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    if len({run.model_ident for run in comparison.runs}) < 2:
        return
    yield Heading("Order of the models")
    if not comparison.rankings:
        yield Paragraph(
            "No two models have both a complete run on the same subset and a full score: whether the subset keeps "
            "their order cannot be told.",
        )
        return
    drawn: set[str] = set()
    for ranking in comparison.rankings:
        yield Paragraph(_ranking_words(ranking, numbers), lead=f"{ranking.subset.title}, {ranking.metric_title}.")
        # One table and one picture a subset; the other metrics have their sentence.
        if ranking.subset.ident not in drawn:
            drawn.add(ranking.subset.ident)
            yield ranking_table(ranking, numbers)
            if (figure := rank_picture(ranking, numbers)) is not None:
                yield figure


def _ranking_words(ranking: Ranking, numbers: Mapping[str, int]) -> str:
    count = len(ranking.models)
    if count < 3:
        words = f"{count} models have a full and a subset score: Spearman's rho needs at least 3."
    elif ranking.rho is None:
        words = f"All {count} models score the same, in full or on the subset: there is no order to keep."
    else:
        words = f"Spearman's rho is {ranking.rho:.3f} over {count} models."
    names = {model.run_id: f"{model.model} ({numbers[model.run_id]})" for model in ranking.models}
    swapped = "; ".join(f"{names[above]} and {names[below]}" for above, below in ranking.swapped)
    words += f" Neighbours in the other order on the subset: {swapped}." if swapped else " No neighbours are swapped."
    others = sum(model.use != "own full run" for model in ranking.models)
    if others:
        words += f" The full score of {others} of them is not of an own full run, but of a stored reference."
    return words


def _histories(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    # A document of a whole fleet keeps to tables: each history has a document of its own.
    brief = not comparison.history_of and len(comparison.histories) > _DRAWN_HISTORIES
    for history in comparison.histories:
        yield from history_blocks(history, comparison, numbers, brief=brief)
    if brief:
        yield Paragraph(
            "The picture of one of these, and its last two runs item by item: mince report --history RUN", style="note"
        )


def _pairings(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    if not comparison.baseline:
        return
    baseline = comparison.run(comparison.baseline)
    yield Heading(f"Each run minus run {numbers[baseline.run_id]} on the same items")
    number = numbers[baseline.run_id]
    yield Paragraph(f"Run {number} is {name_of(baseline)} on {place_words(baseline)}, {baseline.run_id}.")
    if not comparison.pairings:
        yield Paragraph("No other run shares an item with it.")
    for pairing in comparison.pairings:
        yield from pairing_blocks(pairing, comparison, numbers)


def _kit(comparison: Comparison, numbers: Mapping[str, int]) -> Iterator[Block]:
    if comparison.runs:
        yield Heading("The runs and what they were made with")
        yield kit_table(comparison.runs, numbers)


def _left_out(comparison: Comparison) -> Iterator[Block]:
    if comparison.left_out:
        yield Heading("Left out")
        yield Facts(tuple(comparison.left_out.items()))
