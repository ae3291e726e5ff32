"""One model on one subset over time: drivers, runtimes and releases come and go, the items stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mince_gui.report.comparison.fleet import by_subset, metrics_of
from mince_gui.report.comparison.model import Change, ComparedRun, History, HistoryMetric, HistoryPoint, Pairing
from mince_gui.report.model import MetricReport
from mince_gui.report.paired import mcnemar_p, paired_report
from mince_gui.report.scores import MetricFacts, ratio_of
from mince_gui.report.sides import side_of_run
from mince_gui.report.types import RunData

_NONE: Mapping[str, tuple[float, float]] = {}


def oldest_first(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """By the time they were made."""
    return sorted(runs, key=lambda run: (run.created, run.run_id))


def facts_of(run: ComparedRun) -> tuple[MetricFacts, ...]:
    """What is known of the run's metrics, as `report.paired` asks for it."""
    return tuple(MetricFacts(metric.name, metric.title, metric.ratio) for metric in run.metrics)


def histories_of(
    runs: Sequence[ComparedRun], data: Mapping[str, RunData], pair: tuple[str, str] | None = None
) -> tuple[History, ...]:
    """A history for every model, subset and kind of device that has several runs.

    `data` maps run ids to what the runs hold; `pair` names two runs to be set side by side in place of the last two:
    the second minus the first.
    """
    found = []
    for subset, theirs in by_subset(runs).items():
        groups: dict[tuple[str, str], list[ComparedRun]] = {}
        for run in oldest_first(theirs):
            groups.setdefault((run.model_ident, run.device_kind), []).append(run)
        for group in groups.values():
            if len(group) < 2:
                continue
            ids = [run.run_id for run in group]
            earlier, later = pair if pair is not None and set(pair) <= set(ids) else (ids[-2], ids[-1])
            newest = group[-1]
            metric, title = next(iter(metrics_of(group).items()), ("", ""))
            found.append(
                History(
                    newest.model, newest.precision, newest.device_kind, subset, metric, title,
                    tuple(_point(run, ids[:place], data) for place, run in enumerate(group)),
                    pairing_of(next(run for run in group if run.run_id == later), data[earlier], data[later]),
                )
            )  # fmt: skip
    found.sort(key=lambda h: (h.subset.title, h.subset.wanted, h.model.lower(), h.precision, h.device_kind))
    return tuple(found)


def _point(run: ComparedRun, before: Sequence[str], data: Mapping[str, RunData]) -> HistoryPoint:
    """`before` are the earlier runs, oldest first."""
    metrics = []
    for metric in run.metrics:
        previous = change_of(metric, data[run.run_id], data[before[-1]]) if before else None
        first = change_of(metric, data[run.run_id], data[before[0]]) if len(before) > 1 else previous
        metrics.append(HistoryMetric(metric.name, metric.title, metric.subset, metric.interval, previous, first))
    return HistoryPoint(run.run_id, tuple(metrics))


def change_of(metric: MetricReport, mine: RunData, theirs: RunData) -> Change | None:
    """One metric of `mine` minus that of `theirs` on the items that both have; None where there are none."""
    name = metric.name
    cells = [
        (here[name], there[name])
        for key in mine.subset_keys
        if name in (here := mine.rows.get(key, _NONE)) and name in (there := theirs.rows.get(key, _NONE))
    ]
    my_ratio, their_ratio = ratio_of([cell for cell, _ in cells]), ratio_of([cell for _, cell in cells])
    if my_ratio is None or their_ratio is None:
        return None
    # Products, not quotients: an item without trials neither gains nor loses.
    gained = sum(a[0] * b[1] > b[0] * a[1] for a, b in cells)
    lost = sum(a[0] * b[1] < b[0] * a[1] for a, b in cells)
    return Change(
        theirs.run_id, my_ratio, their_ratio, my_ratio.percent - their_ratio.percent, len(cells), gained, lost,
        None if metric.ratio else mcnemar_p(gained, lost),
    )  # fmt: skip


def pairing_of(run: ComparedRun, baseline: RunData, mine: RunData) -> Pairing | None:
    """The run minus `baseline`, item by item; None where they share no item of one benchmark."""
    if baseline.benchmark.lower() != mine.benchmark.lower():
        return None
    paired = paired_report(mine, side_of_run(baseline), facts_of(run))
    return Pairing(run.run_id, paired) if paired.common else None
