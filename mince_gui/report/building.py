"""From runs and stored full scores to a report."""

from __future__ import annotations

from collections.abc import Sequence

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import words
from mince_gui.report.asking import asking_lines
from mince_gui.report.bound import bound_of, number_of, quantile_of, rule_of
from mince_gui.report.categories import categories_of
from mince_gui.report.model import Categories, Content, Curve, Report
from mince_gui.report.paired import paired_report
from mince_gui.report.scores import MetricFacts, coverage_of, metric_facts, metric_report, repeatability, running_score
from mince_gui.report.sources import sources_of
from mince_gui.report.speed import histograms, latency, speedup
from mince_gui.report.split import split_of
from mince_gui.report.types import Reference, RunData, Side


def build(
    run: RunData, *, own_full: Reference | None, other: Reference | None, sides: Sequence[Side] = (),
    of_parts: Sequence[Side] = (),
) -> Report:  # fmt: skip
    """The report of one run.

    `own_full` is a full score of the very model of the run (same precision and runtime): the
    difference to it is drift. `other` is any other full score (another precision, an imported or typed-in
    one): the difference to it is the total gap, never drift. `sides` are what this run is compared with item by item;
    they and `of_parts` are what the parts of the gap are told by.
    Raises UsageError where a reference or run belongs to another benchmark.
    """
    against: list[tuple[str, Reference | Side | None]] = [("full run", own_full), ("stored full score", other)]
    for what, given in (*against, *(("paired run", side) for side in (*sides, *of_parts))):
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
        precision=run.precision, subset_name=run.subset_name, created=run.created, ended=run.ended,
        rescored_of=run.rescored_of, origin=run.origin, verdict=words.overall(metrics),
        banner=words.banner(title, run, coverage, metrics, speed, other, bound),
        headline="" if head is None else head.name,
        coverage=coverage, metrics=metrics, sampler=run.sampler, bound=bound,
        content=Content(run.accepted, run.unverified, run.pack_sha256, run.subset_sha256),
        sources=sources_of(own_full, other),
        split=split_of(run, metrics, facts, own_full, (*sides, *of_parts)), repeatability=repeats,
        paired=tuple(paired_report(run, side, facts) for side in sides),
        categories=None if head is None else _categories(run, head.name, facts, own_full),
        speedup=speed, latency=latency(run), histograms=histograms(run), answers=run.answers, methods=run.methods,
        asking=asking_lines(
            run.conditions, benchmark=run.benchmark, budget=run.answers.budget, methods=run.methods, keys=run.rows
        ),
        conditions=run.conditions,
        curve=_curve(run),
        running=next((running_score(run, fact) for fact in facts if head is not None and fact.name == head.name), None),
        warnings=words.warnings(run, coverage, metrics, own_full, repeats, bound),
    )  # fmt: skip


def _categories(run: RunData, named: str, facts: Sequence[MetricFacts], own: Reference | None) -> Categories | None:
    return next((categories_of(run, fact, own) for fact in facts if fact.name == named), None)


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
