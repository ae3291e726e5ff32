"""Per metric: subset score, interval, drift against the own full run, total gap against anything else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report.bound import bound_of
from mince_gui.report.format import coverage, pp
from mince_gui.report.intervals import approximate_ratio_interval, finite_population_interval
from mince_gui.report.model import Coverage, Interval, MetricReport, Repeatability, Running, RunningPoint, Verdict
from mince_gui.report.types import NOT_RUN, Ratio, Reference, RunData

Basis = Literal["same run", "two runs"]
Rows = Mapping[str, Mapping[str, tuple[float, float]]]

LEVEL = 0.95
_RUNNING_POINTS = 60
_EDGE_PP = 1e-9
"""|drift| equal to the bound is inside it, whatever the last bit of the floats says."""


@dataclass(frozen=True)
class MetricFacts:
    """What is known of a metric beforehand; `ratio` = an item may have several trials or part of a pass."""

    name: str
    title: str
    ratio: bool


def metric_facts(run: RunData, references: Iterable[Reference | None]) -> tuple[MetricFacts, ...]:
    """The metrics of the run's rows: declared ones in their order, then the rest by name.

    What only a reference measures says nothing of this run; it counts where the run has no row at all.
    """
    found = {metric for row in run.rows.values() for metric in row}
    if not found:
        found = {metric for reference in references if reference is not None for metric in reference.metrics}
    declared = BENCHMARKS.get(run.benchmark.lower())
    facts = [
        MetricFacts(metric.name, metric.title, metric.ratio)
        for metric in (declared.metrics if declared is not None else ())
        if metric.name in found
    ]
    known = {fact.name for fact in facts}
    for name in sorted(found - known):
        cells = (row[name] for row in run.rows.values() if name in row)
        facts.append(MetricFacts(name, name, any(not is_pass_or_fail(cell) for cell in cells)))
    return tuple(facts)


def is_pass_or_fail(cell: tuple[float, float]) -> bool:
    """Whether an item has one trial that passed or failed, and no part of a pass."""
    return cell[1] == 1 and cell[0] in (0, 1)


def cells_of(rows: Rows, metric: str, keys: Iterable[str]) -> list[tuple[float, float]]:
    """(passed, trials) of the items among `keys` that have the metric, in their order."""
    return [rows[key][metric] for key in keys if key in rows and metric in rows[key]]


def ratio_of(cells: Sequence[tuple[float, float]]) -> Ratio | None:
    """The cells summed; None without any trial."""
    trials = sum(cell[1] for cell in cells)
    return Ratio(sum(cell[0] for cell in cells), trials, len(cells)) if trials > 0 else None


def projected_interval(
    cells: Sequence[tuple[float, float]], total: int, *, ratio: bool, uniform: bool = True
) -> Interval | None:
    """The 95 % interval of the full score, exact for pass/fail cells; None where there is no trial.

    `uniform` False: the items were not drawn uniformly, so that the exact interval is an approximation.
    """
    score = ratio_of(cells)
    if score is None:
        return None
    if not ratio and all(is_pass_or_fail(cell) for cell in cells):
        low, high = finite_population_interval(round(score.passed), score.items, total, level=LEVEL)
        exact = uniform or len(cells) == total
        return Interval(low, high, LEVEL, "exact hypergeometric" if exact else "approximate, as if drawn uniformly")
    low, high = approximate_ratio_interval([c[0] for c in cells], [c[1] for c in cells], total, level=LEVEL)
    return Interval(low, high, LEVEL, "approximate, linearised")


def coverage_of(run: RunData) -> Coverage:
    """Items done and missing. An item with neither a row nor a cause was not run (yet)."""
    done = [key for key in run.subset_keys if key in run.rows]
    missing = {key: run.missing.get(key) or NOT_RUN for key in run.subset_keys if key not in run.rows}
    return Coverage(len(done), len(run.subset_keys), run.total_items, missing)


def limit_of(run: RunData) -> int | None:
    """The `--limit` that the run was started with, if any."""
    value = run.conditions.get("limit")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def full_ratio(own: Reference, metric: str) -> Ratio | None:
    """The full score of the own full run: from its rows where it has them, else as stored."""
    if own.rows is not None:
        return ratio_of(cells_of(own.rows, metric, own.rows))
    stored = own.metrics.get(metric)
    return stored if stored is not None and stored.trials > 0 else None


def _drift(run: RunData, own: Reference, metric: str, subset: Ratio, full: Ratio) -> tuple[float, Basis, bool]:
    """Drift in pp, whose answers made it, and whether the full run covers every item that it needs."""
    if own.rows is None:
        return subset.percent - full.percent, "two runs", full.items == run.total_items
    done = [key for key in run.subset_keys if metric in run.rows.get(key, {})]
    cells = cells_of(own.rows, metric, done)
    same = ratio_of(cells)
    if same is None or len(cells) < len(done):
        return subset.percent - full.percent, "two runs", False
    return same.percent - full.percent, "same run", full.items == run.total_items


def metric_report(run: RunData, fact: MetricFacts, own: Reference | None, other: Reference | None) -> MetricReport:
    """Everything known of one metric, with its verdict."""
    wanted = len(run.subset_keys)
    cells = cells_of(run.rows, fact.name, run.subset_keys)
    subset = ratio_of(cells)
    full = None if own is None else full_ratio(own, fact.name)
    elsewhere = None if other is None else other.metrics.get(fact.name)
    if elsewhere is not None and elsewhere.trials <= 0:
        elsewhere = None
    gap = None if subset is None or elsewhere is None else subset.percent - elsewhere.percent
    drift: float | None = None
    basis: Basis | None = None
    difference: float | None = None
    covered = True
    if subset is not None and full is not None and own is not None:
        difference = subset.percent - full.percent
        if not run.is_full:
            drift, basis, covered = _drift(run, own, fact.name, subset, full)
    verdict, reason = _verdict(run, subset, drift, covered=covered, gap=gap, difference=difference)
    return MetricReport(
        name=fact.name, title=fact.title, ratio=fact.ratio, wanted=wanted, subset=subset,
        interval=projected_interval(cells, run.total_items, ratio=fact.ratio, uniform=run.drawn_uniformly), full=full,
        drift_pp=drift, drift_basis=basis, difference_pp=difference,
        bound_pp=None if run.is_full else run.bound_pp, verdict=verdict, reason=reason,
        other=elsewhere, total_gap_pp=gap,
    )  # fmt: skip


def _verdict(
    run: RunData,
    subset: Ratio | None,
    drift: float | None,
    *,
    covered: bool,
    gap: float | None,
    difference: float | None,
) -> tuple[Verdict, str]:
    wanted = len(run.subset_keys)
    if subset is None:
        return "no score", "no item of the subset has this metric"
    partial = subset.items < wanted
    have = coverage(subset.items, wanted)
    limit = limit_of(run)
    if run.is_full:
        return ("not judged", f"{have} done") if partial else ("full run", "the whole benchmark was run")
    if drift is None:
        part = f"; {have} done" if partial else ""
        if gap is not None:
            return "total gap only", f"no full run of this model is stored, so sampling drift cannot be told{part}"
        return "no full score", f"no full score of this metric is stored{part}"
    if limit is not None:
        return "not judged", f"run with --limit {limit}: these items are not the frozen subset"
    if partial:
        return "not judged", f"{have} done; drift is judged only when every item of the subset is there"
    if run.accepted:
        number = len(run.accepted)
        them = (
            "item differs from what was frozen and was" if number == 1 else "items differ from what was frozen and were"
        )
        return "not judged", f"{number:,} {them} accepted when the pack was made"
    if not covered:
        return "not judged", "the full run lacks items of the benchmark"
    bound = bound_of(run)
    if bound is None:
        return "no bound", "the subset carries no bound"
    named = f"the {bound.title} ({bound.name})"
    if abs(drift) > bound.pp + _EDGE_PP:
        return "outside", f"|drift| is beyond {named}"
    if difference is not None and abs(difference) > bound.pp + _EDGE_PP:
        return "not judged", (
            f"the full run's own answers drift by no more than {named}, but this run did not repeat them: its score is "
            f"{pp(difference)} from the full run's"
        )
    return "inside", f"|drift| is within {named}"


def repeatability(run: RunData, own: Reference | None) -> Repeatability | None:
    """Items of the subset that both runs ran and whose verdict differs in any metric; None without rows to compare."""
    if own is None or own.rows is None:
        return None
    common = [key for key in run.subset_keys if key in run.rows and key in own.rows]
    differing = [key for key in common if _differs(run.rows[key], own.rows[key])]
    return Repeatability(len(common), tuple(differing)) if common else None


def _differs(mine: Mapping[str, tuple[float, float]], theirs: Mapping[str, tuple[float, float]]) -> bool:
    """Whether a metric that both have came out differently; sequences of any kind are compared by value."""
    return any(tuple(cell) != tuple(theirs[metric]) for metric, cell in mine.items() if metric in theirs)


def running_score(run: RunData, fact: MetricFacts) -> Running | None:
    """The score after each of at most 60 evenly spread item counts, in the order in which the items were run.

    None for fewer than three items.
    """
    cells = cells_of(run.rows, fact.name, run.run_order or run.subset_keys)
    if len(cells) < 3:
        return None
    steps = min(_RUNNING_POINTS, len(cells))
    points = []
    for done in sorted({round(len(cells) * (i + 1) / steps) for i in range(steps)}):
        score = ratio_of(cells[:done])
        bounds = projected_interval(cells[:done], run.total_items, ratio=fact.ratio, uniform=run.drawn_uniformly)
        if score is not None and bounds is not None:
            points.append(RunningPoint(done, score.percent, bounds.low, bounds.high))
    return Running(fact.name, fact.title, tuple(points)) if len(points) >= 3 else None
