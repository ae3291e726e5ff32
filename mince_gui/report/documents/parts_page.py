"""What a difference is made of, as blocks of a page: the split, paired comparisons, categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mince_gui.report import format as fmt
from mince_gui.report.documents.page import Beside, Block, Cell, Facts, Heading, Paragraph, Table
from mince_gui.report.documents.pictures_parts import paired_picture, split_picture
from mince_gui.report.model import (
    Categories,
    ChangedItem,
    Interval,
    PairedCategory,
    PairedMetric,
    PairedReport,
    Report,
    Role,
    SplitLine,
    SplitSum,
    SplitValue,
)

_WHOLE = "whole benchmark"
_SHORT_SIGNS = 24
_NO_ANSWER = "(no answer is kept)"
_ROLES: dict[Role, str] = {
    "quantisation": "The precision of the weights differs: the delta is that of quantisation.",
    "hardware": "The device differs: the delta is that of the hardware.",
    "quantisation and hardware": (
        "Both the precision of the weights and the device differ: the delta holds both effects together."
    ),
    "repeat": "Model, precision and device are the same: the delta is what a repetition alone makes.",
    "other": "The models differ, or too little is known of them: the delta has no one cause.",
}


def approximate(span: Interval) -> str:
    """What an interval is called beside it where it is not exact."""
    return "" if span.method == _WHOLE or span.method.startswith("exact") else "approximate"


def split_blocks(report: Report) -> Iterator[Block]:
    """Every part with its value on each metric, whether they add up, and why a part cannot be told."""
    split = report.split
    yield Heading("What the difference is made of")
    titles = {value.metric: value.title for line in split.lines for value in line.values}
    titles |= {found.metric: found.title for found in split.sums}
    if titles:
        rows = []
        for line in split.lines:
            known = {value.metric: value for value in line.values}
            cells = [_delta(known[name], report.coverage.wanted) if name in known else _untold(line) for name in titles]
            rows.append((Cell(line.part), *cells))
        yield Table(("part", *titles.values()), tuple(rows), frozenset(range(1, len(titles) + 1)))
    # Values stand in the table above; what was subtracted begins with a name as a rule, which stays as it is.
    yield Facts(tuple((line.part, f"{line.of}." if line.values else sentence(line.words)) for line in split.lines))
    yield from _intervals([value.interval for line in split.lines for value in line.values])
    yield from _sums(split.sums)
    picture = split_picture(split)
    if picture is not None:
        yield picture


def _intervals(spans: Iterable[Interval | None]) -> Iterator[Block]:
    """How the intervals of a table were made."""
    methods = sorted({span.method for span in spans if span is not None and span.method != _WHOLE})
    if methods:
        told = f"95 %, of the whole benchmark's value ({'; '.join(methods)})."
        yield Paragraph(told, lead="Intervals:", style="note")


def _untold(line: SplitLine) -> Cell:
    """Why there is no value, in two or three words: the beginning of the sentence that says it in full."""
    short = line.words.partition(":")[0]
    return Cell(short if not line.values and len(short) <= _SHORT_SIGNS else "cannot be told", state="soft")


def sentence(words: str) -> str:
    """The words with a capital and a full stop."""
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _sums(sums: Sequence[SplitSum]) -> Iterator[Block]:
    """The total gap as the sum of its parts. Its sampling drift is another model's than the one above: it says so."""
    if not sums:
        return
    parts = list(dict.fromkeys(part for found in sums for part, _ in found.parts))
    rows = [
        (
            Cell("sampling drift of the unquantised model" if part == "sampling drift" else part),
            *(Cell(fmt.pp(dict(found.parts).get(part))) for found in sums),
        )
        for part in parts
    ]
    total = (Cell("total gap", strong=True), *(Cell(fmt.pp(found.total_pp), strong=True) for found in sums))
    yield Paragraph(
        "The total gap to the unquantised model's full score is the sum of these parts, on the same items; each number "
        "is rounded for itself. The sampling drift in this sum is what the unquantised model's own score moves by from "
        "the full benchmark to the subset.",
        lead="How it adds up:",
        style="note",
    )
    yield Table(("part", *(found.title for found in sums)), (*rows, total), frozenset(range(1, len(sums) + 1)))


def _delta(value: SplitValue, wanted: int) -> Cell:
    pp, span = value.pp, value.interval
    flag = fmt.coverage(value.items, wanted) if value.items < wanted else ""
    if span is None:
        return Cell(fmt.pp(pp), note="no interval", flag=flag)
    if span.method == _WHOLE:
        return Cell(fmt.pp(pp), note="exact, no interval", flag=flag)
    return Cell(fmt.pp(pp), note=fmt.interval(span.low, span.high, unit="pp"), flag=flag)


def paired_blocks(pair: PairedReport) -> Iterator[Block]:
    """This run minus another, on the items that both have: deltas, what changed, by category."""
    yield Heading(f"Paired with {pair.named}")
    yield Paragraph(
        f"This run minus the other ({pair.kind} {pair.ident}), on the {fmt.coverage(pair.common, pair.wanted)} that "
        f"both have. {_ROLES[pair.role]} {_prompts(pair)}".rstrip()
    )
    for warning in pair.warnings:
        yield Paragraph(warning, lead="Caution.", style="caution")
    if pair.metrics:
        yield Table(
            (
                "metric", "this run", "the other", "delta", "95 % interval", "gained", "lost", "McNemar p",
            ),
            tuple(_paired_row(pair, metric) for metric in pair.metrics),
            frozenset(range(1, 8)),
        )  # fmt: skip
        yield from _intervals([metric.interval for metric in pair.metrics])
        yield Paragraph(
            "Gained and lost count the items with a better and a worse outcome here. McNemar's exact test asks whether "
            "they are unlike by more than chance; it is for metrics that an item passes or fails.",
            style="note",
        )
    picture = paired_picture(pair)
    if picture is not None:
        yield picture
    if pair.categories:
        yield Table(
            ("category", "items", "delta", "gained", "lost", "McNemar p", "p, corrected for all categories (Holm)"),
            tuple(map(_category_row, pair.categories)), frozenset(range(1, 7)), fold="The delta by category",
        )  # fmt: skip
    if pair.changed:
        yield Beside(
            f"{len(pair.changed):,} items whose outcome differs, with both answers",
            ("this run", "the other"),
            tuple((_changed_name(item), _answers(item)) for item in pair.changed),
        )
    elif pair.metrics:
        yield Paragraph("No item has another outcome on the two sides.")


def _prompts(pair: PairedReport) -> str:
    if not pair.prompts_compared:
        return ""  # a caution of the pair says that
    if pair.prompts_equal == pair.prompts_compared == pair.common:
        return "The prompts were the very same."
    unknown = pair.common - pair.prompts_compared
    rest = f" ({unknown:,} more cannot be compared)" if unknown else ""
    return f"The prompts were the very same for {fmt.coverage(pair.prompts_equal, pair.prompts_compared)}{rest}."


def _paired_row(pair: PairedReport, metric: PairedMetric) -> tuple[Cell, ...]:
    span = metric.interval
    return (
        Cell(metric.title), Cell(fmt.percent(metric.mine.percent)), Cell(fmt.percent(metric.theirs.percent)),
        Cell(
            fmt.pp(metric.delta_pp), strong=True,
            flag=fmt.coverage(metric.mine.items, pair.wanted) if pair.common < pair.wanted else "",
        ),
        Cell("no interval") if span is None else Cell(fmt.interval(span.low, span.high, unit="pp")),
        Cell(f"{metric.gained:,}"), Cell(f"{metric.lost:,}"), Cell(_p(metric.p_value)),
    )  # fmt: skip


def _p(value: float | None) -> str:
    if value is None:
        return fmt.ABSENT
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _category_row(line: PairedCategory) -> tuple[Cell, ...]:
    return (
        Cell(line.category), Cell(f"{line.items:,}"), Cell(fmt.pp(line.delta_pp), strong=True),
        Cell(f"{line.gained:,}"), Cell(f"{line.lost:,}"), Cell(_p(line.p_value)), Cell(_p(line.p_holm)),
    )  # fmt: skip


def _changed_name(item: ChangedItem) -> str:
    of = f" ({item.category})" if item.category else ""
    change = {"gained": "gained", "lost": "lost", "both": "gained and lost"}[item.change]
    expected = f"\nexpected: {item.expected}" if (item.expected or "").strip() else ""
    return f"{item.key}{of}: {change}{expected}"


def _answers(item: ChangedItem) -> tuple[str, str]:
    return (
        _NO_ANSWER if item.my_answer is None else item.my_answer,
        _NO_ANSWER if item.their_answer is None else item.their_answer,
    )


def category_blocks(report: Report) -> Iterator[Block]:
    """The headline metric by category, with the caution that belongs to many intervals."""
    found = report.categories
    if found is None or not found.lines:
        return
    yield Heading(f"{found.title[:1].upper()}{found.title[1:]} by category", brief=False)
    yield Paragraph(found.caution, lead="Caution.", style="caution")
    yield _category_table(found)
    if found.small:
        yield Paragraph(f"Left out, as too few of their items were run: {', '.join(found.small)}.", style="note")


def _category_table(found: Categories) -> Table:
    full = any(line.full is not None for line in found.lines)
    rows = []
    for line in found.lines:
        span = line.interval
        of = f"of {line.total:,}" if line.total is not None else ""
        cells = [
            Cell(line.category), Cell(f"{line.subset.items:,}", note=of),
            Cell(fmt.percent(line.subset.percent), strong=True),
            Cell(fmt.ABSENT) if span is None else Cell(fmt.interval(span.low, span.high), note=approximate(span)),
        ]  # fmt: skip
        if full:
            cells.append(Cell(fmt.percent(None if line.full is None else line.full.percent)))
        rows.append(tuple(cells))
    header = ["category", "items run", "subset score", "projected full score (95 % interval)"]
    return Table((*header, *(["own full run"] if full else [])), tuple(rows), frozenset(range(1, 5 if full else 4)))
