"""The table of models, devices and benchmarks, and whether models keep their order on a subset."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report.comparison.model import (
    ComparedRun,
    Fleet,
    FleetCell,
    FleetColumn,
    FleetRow,
    RankedModel,
    Ranking,
    SubsetName,
)
from mince_gui.report.ranks import spearman

_Place = tuple[str, str, str, str]


def metrics_of(runs: Iterable[ComparedRun]) -> dict[str, str]:
    """Name -> title of every metric that one of the runs has; the benchmark's declared ones first, in their order."""
    titles = {metric.name: metric.title for run in runs for metric in run.metrics}
    benchmarks = sorted({run.subset.benchmark.lower() for run in runs})
    declared = [metric.name for name in benchmarks if name in BENCHMARKS for metric in BENCHMARKS[name].metrics]
    order = {name: place for place, name in enumerate(declared)}
    names = sorted(titles, key=lambda name: (order.get(name, len(order)), name))
    return {name: titles[name] for name in names}


def by_subset(runs: Sequence[ComparedRun]) -> dict[SubsetName, list[ComparedRun]]:
    """The runs of each subset, benchmarks by title, a benchmark's smaller subsets first."""
    names: dict[str, SubsetName] = {}
    for run in runs:
        # One frozen subset may go by several names; the first of them in the alphabet is shown.
        known = names.get(run.subset.ident)
        if known is None or run.subset.name < known.name:
            names[run.subset.ident] = run.subset
    order = sorted(names.values(), key=lambda s: (s.title, s.wanted, s.name, s.ident))
    found: dict[SubsetName, list[ComparedRun]] = {subset: [] for subset in order}
    for run in runs:
        found[names[run.subset.ident]].append(run)
    return found


def newest_first(runs: Iterable[ComparedRun]) -> list[ComparedRun]:
    """Complete runs first, then those whose answers are their own, then by age; the first one stands for all."""
    return sorted(runs, key=lambda r: (r.complete, not r.rescored_of, r.created, r.run_id), reverse=True)


def fleet_of(runs: Sequence[ComparedRun]) -> Fleet:
    """The table: a row for each model on each device, machine and runtime; a column for each subset."""
    subsets = by_subset(runs)
    columns = []
    cells: dict[_Place, list[FleetCell | None]] = {}
    shown: dict[_Place, ComparedRun] = {}
    for place_of_column, (subset, theirs) in enumerate(subsets.items()):
        metric, title = next(iter(metrics_of(theirs).items()), ("", ""))
        columns.append(FleetColumn(subset, metric, title))
        groups: dict[_Place, list[ComparedRun]] = {}
        for run in theirs:
            groups.setdefault((run.model_ident, run.device, run.machine, run.runtime), []).append(run)
        for place, group in groups.items():
            first, *others = newest_first(group)
            row = cells.setdefault(place, [None] * len(subsets))
            row[place_of_column] = FleetCell(first.run_id, tuple(other.run_id for other in others))
            shown[place] = min((first, shown.get(place, first)), key=lambda run: (run.model, run.run_id))
    rows = [
        FleetRow(run.model, run.precision, run.device, run.machine, run.runtime, tuple(cells[place]))
        for place, run in shown.items()
    ]
    rows.sort(key=lambda row: (row.model.lower(), row.precision, row.device, row.machine, row.runtime, _ids(row)))
    return Fleet(tuple(columns), tuple(rows))


def _ids(row: FleetRow) -> tuple[str, ...]:
    return tuple("" if cell is None else cell.run_id for cell in row.cells)


def rankings_of(runs: Sequence[ComparedRun]) -> tuple[Ranking, ...]:
    """For each subset and metric the order of the models that have a full and a complete subset score.

    A model's newest complete run speaks for it. Subsets with one such model have no ranking.
    """
    found = []
    for subset, theirs in by_subset(runs).items():
        if subset.full:
            continue
        models: dict[str, ComparedRun] = {}
        for run in newest_first(theirs):
            if run.complete:
                models.setdefault(run.model_ident, run)
        for metric, title in metrics_of(theirs).items():
            points = [point for run in models.values() if (point := _point(run, metric)) is not None]
            if len(points) > 1:
                found.append(_ranking(subset, metric, title, points))
    return tuple(found)


def _point(run: ComparedRun, name: str) -> RankedModel | None:
    metric = run.metric(name)
    if metric is None or metric.score is None or metric.partial:
        return None
    ratio, source = metric.full, run.source("own full run")
    if ratio is None or source is None or ratio.items != run.subset.total:
        ratio, source = metric.other, run.source("total gap")
    if ratio is None or source is None:
        return None
    return RankedModel(
        run.run_id, run.model, run.precision, ratio.percent, metric.score, 0.0, 0.0, source.use,
        f"{source.named} ({source.kind})",
    )  # fmt: skip


def _ranking(subset: SubsetName, metric: str, title: str, points: Sequence[RankedModel]) -> Ranking:
    full = _places({point.run_id: point.full for point in points})
    part = _places({point.run_id: point.subset for point in points})
    ordered = sorted(points, key=lambda p: (-p.full, -p.subset, p.model.lower(), p.precision, p.run_id))
    models = tuple(
        RankedModel(
            p.run_id, p.model, p.precision, p.full, p.subset, full[p.run_id], part[p.run_id], p.use, p.full_of
        )
        for p in ordered
    )  # fmt: skip
    return Ranking(
        subset, metric, title, models,
        rho=spearman([p.full for p in models], [p.subset for p in models]),
        swapped=tuple(
            (above.run_id, below.run_id)
            for above, below in itertools.pairwise(models)
            if above.full > below.full and above.subset < below.subset
        ),
    )  # fmt: skip


def _places(scores: Mapping[str, float]) -> dict[str, float]:
    """Places from 1 (best); equal scores share the mean of their places."""
    values = sorted(scores.values(), reverse=True)
    return {key: values.index(score) + (values.count(score) + 1) / 2 for key, score in scores.items()}
