"""A report as a page: what a reader must know first stands first, every number beside what it is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import mince_gui
from mince_gui.report import format as fmt
from mince_gui.report.documents.conditions import condition_lines
from mince_gui.report.documents.glossary import glossary
from mince_gui.report.documents.measured import measured
from mince_gui.report.documents.page import (
    Banner,
    Block,
    Cell,
    Facts,
    Figure,
    Heading,
    Page,
    Paragraph,
    Signing,
    State,
    Table,
    Terms,
)
from mince_gui.report.documents.parts_page import approximate, category_blocks, paired_blocks, sentence, split_blocks
from mince_gui.report.documents.pictures import (
    curve_picture,
    drift_picture,
    latency_picture,
    running_picture,
    scores_picture,
)
from mince_gui.report.documents.trust import TRUST_HEADER, trust_rows
from mince_gui.report.model import Gate, GateOutcome, MetricReport, Report, SourceLine, Verdict
from mince_gui.report.place import is_proven, place_words
from mince_gui.report.words import VERDICT_WORDS

_LISTED_ITEMS = 200
"""Missing items that are listed by name before it says how many more there are; the JSON has them all."""
_NAMED_ITEMS = 20
_STATES: dict[Verdict, State] = {
    "inside": "good",
    "outside": "bad",
    "full run": "plain",
    "total gap only": "plain",
    "no full score": "plain",
}
"""Every other verdict is a warning."""


def report_page(report: Report) -> Page:
    """The page of a report; the same report gives the same page."""
    blocks: tuple[Iterable[Block], ...] = (
        [Banner(report.banner, _state(report.verdict))],
        _limits(report.gate),
        [Paragraph(warning, lead="Caution.", style="caution") for warning in report.warnings],
        _summary(report), _scores(report), _total_gap(report), split_blocks(report),
        *(paired_blocks(pair) for pair in report.paired),
        category_blocks(report), _speed(report), _course(report),
        [Heading("How it was asked and scored"), Facts(report.asking)],
        _conditions(report), _missing(report),
        [Heading("How it was computed", brief=False), Terms(tuple(glossary(report)))],
        [Signing(("name", "date", "signature"))],
    )  # fmt: skip
    return Page(
        title=f"{report.benchmark_title}, {report.model}: {VERDICT_WORDS[report.verdict]}",
        head=f"{report.benchmark_title} · {report.model} · {report.subset_name}",
        blocks=tuple(block for part in blocks for block in part),
        foot=_foot(report),
        mark=f"run {report.run_id} · {report.benchmark_title} · {report.model}",
    )


def _state(verdict: Verdict) -> State:
    return _STATES.get(verdict, "warn")


def _foot(report: Report) -> str:
    return (
        f"Made by mince-gui {mince_gui.__version__} from run {report.run_id}. To verify: the JSON report of the same "
        "run has every number and item that is shown or left out here, and is the same byte for byte whenever it is "
        "written; model folder and pack are told by their SHA-256."
    )


_OUTCOMES: dict[GateOutcome, State] = {"within": "good", "beyond": "bad", "not judged": "warn"}


def _limits(gate: Gate | None) -> Iterator[Block]:
    """How each limit that was set was kept."""
    if gate is not None:
        rows = (
            (
                Cell(f"|{check.subject}| at most {fmt.pp(check.limit_pp, signed=False, digits=2)}"),
                Cell(check.outcome, state=_OUTCOMES[check.outcome]),
                Cell(check.reason),
            )
            for check in gate.checks
        )
        yield Table(("limit set", "outcome", "why"), tuple(rows))


def _summary(report: Report) -> Iterator[Block]:
    coverage = report.coverage
    model = report.model
    if report.precision and report.precision.lower() not in model.lower():
        model += f" ({report.precision} weights)"
    missing = "" if coverage.complete else f", {len(coverage.missing):,} missing"
    if coverage.wanted == coverage.total:
        what = f"the whole benchmark {report.benchmark_title}: {fmt.coverage(coverage.done, coverage.wanted)} are done"
    else:
        done = "all of them are" if coverage.complete else f"{fmt.coverage(coverage.done, coverage.wanted)} are"
        what = (
            f"the frozen subset {report.subset_name}, {coverage.wanted:,} of the {coverage.total:,} items of "
            f"{report.benchmark_title}; {done} done"
        )
    yield Paragraph(f"The model {model} was run on {what}{missing}. {_where(report)}")
    if what := measured(report.benchmark):
        yield Paragraph(what, lead="What it measures:")
    if report.rescored_of:
        yield Paragraph(
            f"The stored answers of run {report.rescored_of} were scored again; nothing was asked anew.",
            lead="Rescored.",
        )
    if report.origin:
        machine = report.origin.get("machine") or "a machine that is not named"
        when = fmt.moment(str(report.origin.get("imported_at") or ""))
        yield Paragraph(f"This run was made on {machine} and came here as a bundle ({when}).", lead="Origin.")
    yield Heading("Can it be trusted?")
    yield Table(TRUST_HEADER, tuple(trust_rows(report)))


def _where(report: Report) -> str:
    """One sentence: where, with which software, and when."""
    given = report.conditions
    if not given.get("device"):
        place = "Where it ran is not known"
    elif is_proven(given):
        place = f"It {place_words(given)}"
    else:
        place = f"Where it ran is not proven ({place_words(given)})"
    machine = given.get("machine_state") or {}
    parts = [f"onnxruntime-genai {given['oga_version']}"] if given.get("oga_version") else []
    parts += [f"{given['runtime']} runtime"] if given.get("runtime") else []
    driver = given.get("driver") or machine.get("npu_driver")
    if driver or given.get("device") != "CPU":
        parts.append(f"driver {driver or 'not recorded'}")  # a CPU has none
    power = [str(machine[name]) for name in ("power_source", "power_mode") if machine.get(name)]
    parts.append(f"power {', '.join(power)}" if power else f"power mode {given.get('power_mode') or 'not recorded'}")
    parts += [f"{given['timing']} timing"] if given.get("timing") else []
    return f"{place}; {', '.join(parts)}; from {fmt.moment(report.created)} to {fmt.moment(report.ended)}."


def _flag(metric: MetricReport, *, shown: bool = True) -> str:
    return fmt.coverage(metric.done, metric.wanted) if shown and metric.partial else ""


def _scores(report: Report) -> Iterator[Block]:
    yield Heading("Scores")
    if not report.metrics:
        yield Paragraph("No item of the subset has a score.")
        return
    header = (
        "metric", "subset score", "projected full score (95 % interval)", "own full run", "drift", "bound", "verdict"
    )  # fmt: skip
    yield Table(header, tuple(_score_row(report, metric) for metric in report.metrics), frozenset(range(1, 6)))
    if report.bound is not None:
        title = report.bound.title
        yield Paragraph(
            f"{report.bound.name}. {report.bound.meaning}", lead=f"{title[:1].upper()}{title[1:]}:", style="note"
        )
    reasons: dict[str, list[str]] = {}
    for metric in report.metrics:
        reasons.setdefault(metric.reason, []).append(metric.title)
    for reason, titles in reasons.items():
        of = f" on {', '.join(titles)}" if len(reasons) > 1 else ""
        yield Paragraph(f"{reason}.", lead=f"Verdict{of}:", style="note")
    for source in report.sources:
        if source.use == "own full run":
            yield Paragraph(_source_words(source), lead="Full run of this model:", style="note")
            yield from _source_cautions(source)
    if report.repeatability is not None:
        differing = report.repeatability.differing
        named = f": {', '.join(differing[:_NAMED_ITEMS])}" if differing else ""
        more = " and more" if len(differing) > _NAMED_ITEMS else ""
        yield Paragraph(
            f"{len(differing):,} of {report.repeatability.common:,} items that both runs ran got another verdict"
            f"{named}{more}.",
            lead="Repeatability:", style="note",
        )  # fmt: skip
    yield from _figures(drift_picture(report), scores_picture(report))


def _figures(*made: Figure | None) -> Iterator[Block]:
    return (figure for figure in made if figure is not None)


def _score_row(report: Report, metric: MetricReport) -> tuple[Cell, ...]:
    span, full = metric.interval, metric.full
    part = full is not None and full.items != report.coverage.total
    return (
        Cell(metric.title),
        Cell(fmt.percent(metric.score, absent=fmt.MISSING), strong=True, flag=_flag(metric)),
        Cell(fmt.ABSENT)
        if span is None
        else Cell(fmt.interval(span.low, span.high), note=approximate(span), flag=_flag(metric)),
        Cell(
            fmt.percent(None if full is None else full.percent),
            flag=fmt.coverage(full.items, report.coverage.total) if full is not None and part else "",
        ),
        Cell(fmt.pp(metric.drift_pp), flag=_flag(metric, shown=metric.drift_pp is not None)),
        Cell(fmt.pp(metric.bound_pp, signed=False)),
        Cell(VERDICT_WORDS[metric.verdict], state=_state(metric.verdict)),
    )


def _source_words(source: SourceLine) -> str:
    note = f"; {source.note}" if source.note else ""
    return f"{source.named}, {source.kind}, {fmt.moment(source.date)}; {source.source}{note}."


def _source_cautions(source: SourceLine) -> Iterator[Block]:
    return (Paragraph(sentence(warning), lead="Caution.", style="caution") for warning in source.warnings)


def _total_gap(report: Report) -> Iterator[Block]:
    rows = [(metric, metric.other) for metric in report.metrics if metric.other is not None]
    if not rows:
        return
    yield Heading("Total gap to a stored full score")
    for source in report.sources:
        if source.use == "total gap":
            yield Paragraph(
                f"The stored full score is of {_source_words(source)} The gap holds sampling, quantisation and "
                "hardware effects together; no bound applies to it."
            )
            yield from _source_cautions(source)
    yield Table(
        ("metric", "subset score", "stored full score", "total gap"),
        tuple(
            (
                Cell(metric.title),
                Cell(fmt.percent(metric.score, absent=fmt.MISSING), flag=_flag(metric)),
                Cell(fmt.percent(other.percent)),
                Cell(
                    fmt.pp(metric.total_gap_pp), strong=True,
                    flag=_flag(metric, shown=metric.total_gap_pp is not None),
                ),
            )
            for metric, other in rows
        ),
        frozenset({1, 2, 3}),
    )  # fmt: skip


def _speed(report: Report) -> Iterator[Block]:
    yield Heading("Speed")
    yield Paragraph(report.speedup.words)
    if report.latency:
        yield Table(
            ("per item", "median", "25 % to 75 % of items", "5 % to 95 % of items", "lowest to highest", "items"),
            tuple(
                (
                    Cell(line.name), Cell(fmt.amount(line.median, line.unit), strong=True),
                    Cell(fmt.amounts(line.p25, line.p75, line.unit)), Cell(fmt.amounts(line.p05, line.p95, line.unit)),
                    Cell(fmt.amounts(line.lowest, line.highest, line.unit)), Cell(f"{line.items:,}"),
                )
                for line in report.latency
            ),
            frozenset(range(1, 6)),
        )  # fmt: skip
    yield from _figures(latency_picture(report))


def _course(report: Report) -> Iterator[Block]:
    figures = list(_figures(running_picture(report), curve_picture(report)))
    if figures:
        yield Heading("How the score came about", brief=False)
        yield from figures


def _conditions(report: Report) -> Iterator[Block]:
    yield Heading("What was run on what")
    facts = [
        ("run", report.run_id),
        ("began", fmt.moment(report.created)),
        ("ended", fmt.moment(report.ended)),
        ("sampler of the subset", report.sampler),
    ]
    if report.content.subset_sha256:
        facts.append(("frozen subset, SHA-256", report.content.subset_sha256))
    if report.content.pack_sha256:
        facts.append(("pack, SHA-256", report.content.pack_sha256))
    yield Facts((*facts, *condition_lines(report.conditions)))


def _missing(report: Report) -> Iterator[Block]:
    coverage = report.coverage
    yield Heading("Missing items")
    if coverage.complete:
        yield Paragraph(f"None: {fmt.coverage(coverage.done, coverage.wanted)} are done.")
        return
    causes = "; ".join(f"{cause} ({number:,})" for cause, number in coverage.causes().items())
    yield Paragraph(
        f"{len(coverage.missing):,} of {coverage.wanted:,} items have no result and are left out of every score: "
        f"{causes}."
    )
    listed = list(coverage.missing.items())[:_LISTED_ITEMS]
    yield Table(("item", "cause"), tuple((Cell(key), Cell(cause)) for key, cause in listed), fold="Items by name")
    if len(coverage.missing) > _LISTED_ITEMS:
        more = len(coverage.missing) - _LISTED_ITEMS
        yield Paragraph(f"And {more:,} more; the JSON report has them all.", style="note")
