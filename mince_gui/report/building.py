"""From runs and stored full scores to a report."""

from __future__ import annotations

from typing import Literal

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import words
from mince_gui.report.asking import asking_lines
from mince_gui.report.bound import bound_of, number_of, quantile_of, rule_of
from mince_gui.report.model import Content, Curve, Report, SourceLine
from mince_gui.report.paired import paired_report
from mince_gui.report.scores import coverage_of, metric_facts, metric_report, repeatability, running_score
from mince_gui.report.speed import latency, speedup
from mince_gui.report.types import Reference, RunData


def build(
    run: RunData, *, own_full: Reference | None, other: Reference | None, paired: RunData | None = None
) -> Report:
    """The report of one run.

    `own_full` is a full score of the very model of the run (same precision and runtime): the
    difference to it is drift. `other` is any other full score (another precision, an imported or typed-in
    one): the difference to it is the total gap, never drift. `paired` is another run on the same items.
    Raises UsageError where a reference or run belongs to another benchmark.
    """
    for what, given in (("full run", own_full), ("stored full score", other), ("paired run", paired)):
        if given is not None and given.benchmark.lower() != run.benchmark.lower():
            raise UsageError(
                f"The {what} is of benchmark '{given.benchmark}', the run of '{run.benchmark}'.",
                "Choose one of the same benchmark.",
            )
    declared = BENCHMARKS.get(run.benchmark.lower())
    title = declared.title if declared is not None else run.benchmark
    facts = metric_facts(run, (own_full, other))
    coverage = coverage_of(run)
    metrics = tuple(metric_report(run, fact, own_full, other) for fact in facts)
    head = words.headline(metrics)
    bound = bound_of(run)
    repeats = repeatability(run, own_full)
    speed = speedup(run, coverage, own_full)
    return Report(
        run_id=run.run_id, benchmark=run.benchmark, benchmark_title=title, model=run.model,
        subset_name=run.subset_name, created=run.created, ended=run.ended, verdict=words.overall(metrics),
        banner=words.banner(title, run, coverage, metrics, speed, other, bound),
        headline="" if head is None else head.name,
        coverage=coverage, metrics=metrics, sampler=run.sampler, bound=bound,
        content=Content(run.accepted, run.unverified, run.pack_sha256), sources=_sources(own_full, other),
        split=words.split_lines(run, metrics, own_full, paired), repeatability=repeats,
        paired=None if paired is None else paired_report(run, paired, facts),
        speedup=speed, latency=latency(run), answers=run.answers, methods=run.methods,
        asking=asking_lines(
            run.conditions, benchmark=run.benchmark, budget=run.answers.budget, methods=run.methods, keys=run.rows
        ),
        conditions=run.conditions,
        curve=_curve(run),
        running=next((running_score(run, fact) for fact in facts if head is not None and fact.name == head.name), None),
        warnings=words.warnings(run, coverage, metrics, own_full, repeats, bound),
    )  # fmt: skip


def _sources(own: Reference | None, other: Reference | None) -> tuple[SourceLine, ...]:
    uses: tuple[tuple[Literal["own full run", "total gap"], Reference | None], ...] = (
        ("own full run", own), ("total gap", other)
    )  # fmt: skip
    return tuple(
        SourceLine(
            use=use, reference_id=found.reference_id, kind=found.kind, model=found.model, precision=found.precision,
            named=words.name_of(found), source=found.source, date=found.date, note=found.note,
        )
        for use, found in uses
        if found is not None
    )  # fmt: skip


def _curve(run: RunData) -> Curve | None:
    """The P95 curve of a subset's evidence; None unless it holds at least two pairs of numbers.

    Subset files come from elsewhere, and older ones keep a single bound under `p95_pp`.
    """
    evidence = run.evidence
    sizes, bounds = evidence.get("sizes"), evidence.get("p95_pp")
    if not isinstance(sizes, list | tuple):
        return None
    if not isinstance(bounds, list | tuple):
        bounds = evidence.get("curve_pp", ())
    pairs = [(number_of(n), number_of(p)) for n, p in zip(sizes, bounds, strict=False)] if bounds else []
    known = sorted((round(n), p) for n, p in pairs if n is not None and p is not None and n > 0 and p >= 0)
    if len(known) < 2:
        return None
    star = number_of(evidence.get("n_star"))
    pool = evidence.get("pool") or evidence.get("models")
    return Curve(
        tuple(n for n, _ in known), tuple(p for _, p in known), None if star is None else round(star),
        number_of(evidence.get("tau_pp")), rule_of(run), len(pool) if isinstance(pool, list | tuple) else None,
        quantile_of(run),
    )  # fmt: skip
