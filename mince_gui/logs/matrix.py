"""Joins the logs of several models into the score matrix, and says what does not fit together."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark
from mince_gui.benchmarks.known_items import unknown_keys
from mince_gui.logs import pool_checks
from mince_gui.logs.checks import metric_faults, refusal_of
from mince_gui.logs.types import Check, PerItemLog, ScoreMatrix

_EXAMPLES = 5
_HANDFUL = 5


@dataclass(frozen=True)
class _Kept:
    """One run per model that covers every item, and what was left out on the way.

    `refused` has, by model, the metrics that take no part.
    """

    logs: tuple[PerItemLog, ...]
    keys: tuple[str, ...]
    checks: tuple[Check, ...]
    refused: Mapping[str, frozenset[str]]

    def metrics_of(self, log: PerItemLog) -> tuple[str, ...]:
        """The log's metrics that take part."""
        return tuple(metric for metric in log.metrics if metric not in self.refused.get(log.model, ()))


def build_matrix(benchmark: Benchmark, logs: Sequence[PerItemLog]) -> ScoreMatrix:
    """The calibration pool of `logs`: models in the order given, items in canonical order.

    The items are the benchmark's own; where their number is not known, those that most logs have, unless these are
    but the first items of a longer sound log. A model
    that lacks an item, has a foreign one, or was asked more than a handful of items in another wording than
    most, is left out with a "refusal" check. A metric that a model lacks for some items, or that cannot be sized,
    is left out for that model, also with a "refusal"; a model without any other is left out. Of several whole
    runs of one model the newest is taken, and said so. A pair that takes no part is NaN throughout.

    Raises InputError where no model is left.
    """
    if not logs:
        raise InputError(f"There are no logs of {benchmark.title}.", "Import per-item logs of it first.")
    kept = _without_dissenters(_keep(benchmark, logs))
    metrics = _metrics(benchmark, kept)
    shape = (len(kept.logs), len(metrics), len(kept.keys))
    passed, trials = np.full(shape, np.nan), np.full(shape, np.nan)
    for k, log in enumerate(kept.logs):
        order = _order(log, kept.keys)
        mine = kept.metrics_of(log)
        for m, metric in enumerate(metrics):
            if metric in mine:
                passed[k, m], trials[k, m] = log.passed[metric][order], log.trials[metric][order]
    categories = [_in_order(log, log.categories, kept.keys) for log in kept.logs]
    agreed, differing, dissenters = _contents(kept)
    checks = (
        *kept.checks,
        *_content_check(differing, dissenters),
        *pool_checks.trials_differ(kept.keys, metrics, trials),
        *pool_checks.identical(kept.logs, passed),
        *pool_checks.setup(kept.logs),
        *pool_checks.metrics_differ(kept.logs, metrics),
    )
    return ScoreMatrix(
        benchmark=benchmark,
        models=tuple(log.model for log in kept.logs),
        metrics=metrics,
        keys=kept.keys,
        categories=tuple(next((c for c in column if c is not None), None) for column in zip(*categories, strict=True)),
        hashes=agreed,
        passed=passed,
        trials=trials,
        checks=checks,
    )


def _order(log: PerItemLog, keys: tuple[str, ...]) -> npt.NDArray[np.intp]:
    if log.keys == keys:
        return np.arange(len(keys), dtype=np.intp)
    places = {key: i for i, key in enumerate(log.keys)}
    return np.array([places[key] for key in keys], dtype=np.intp)


def _in_order(log: PerItemLog, values: tuple[str | None, ...], keys: tuple[str, ...]) -> tuple[str | None, ...]:
    return values if log.keys == keys else tuple(values[i] for i in _order(log, keys))


def _items(benchmark: Benchmark, logs: Sequence[PerItemLog]) -> frozenset[str]:
    """The keys that make the benchmark, as far as logs can tell."""
    if benchmark.total_items is not None:
        own = [log for log in logs if not unknown_keys(benchmark, log.keys)]
        whole = Counter(frozenset(log.keys) for log in own if len(log.keys) == benchmark.total_items)
        # of equally many the first given wins: Counter keeps the order
        return whole.most_common(1)[0][0] if whole else frozenset()
    sound = [log for log in logs if refusal_of(log.checks) is None]
    # a run that has as many items as its results file says the task has is whole by its own word
    whole_ones = [log for log in sound if log.meta.get("items_meant") == len(log.keys)]
    sets = Counter(frozenset(log.keys) for log in whole_ones or sound or logs)
    most, votes = sets.most_common(1)[0]
    if votes == 1:
        return frozenset().union(*sets)
    longer = [] if whole_ones else [items for items in sets if _is_cut_from(benchmark, most, items)]
    return max(longer, key=len, default=most)


def _is_cut_from(benchmark: Benchmark, short: frozenset[str], whole: frozenset[str]) -> bool:
    """Whether these are the other's first items, in each subject: a limit or a break leaves them, however often."""
    if not short < whole:
        return False
    last: dict[str, int] = {}
    for subject, place in map(benchmark.sort_key, short):
        last[subject] = max(place, last.get(subject, place))
    return all(place > last.get(subject, -1) for subject, place in map(benchmark.sort_key, whole - short))


def _named(log: PerItemLog) -> str:
    return f"{log.model} ({log.timestamp})" if log.timestamp else log.model


def _unfit(benchmark: Benchmark, log: PerItemLog, items: frozenset[str]) -> Check | None:
    """Why a log cannot take part; None where it can."""
    keys = set(log.keys)
    total = len(items) or benchmark.total_items or 0
    lacking = sorted(items - keys, key=benchmark.sort_key)
    if len(keys) < total or (items and lacking and not keys - items):
        return Check(
            "partial_coverage", "refusal",
            f"{_named(log)} is left out: it has {len(keys)} of {total} items.",
            total - len(keys), tuple(lacking[:_EXAMPLES]),
        )  # fmt: skip
    foreign = unknown_keys(benchmark, keys)
    strange = sorted(foreign or keys - items, key=benchmark.sort_key)
    if strange:
        whose = f"no items of {benchmark.title}" if foreign else "not those of the other logs"
        return Check(
            "other_items", "refusal",
            f"{_named(log)} is left out: {len(strange)} of its items are {whose}.",
            len(strange), tuple(strange[:_EXAMPLES]),
        )  # fmt: skip
    limited = refusal_of(log.checks)
    if limited is not None:
        return Check(
            "partial_coverage",
            "refusal",
            f"{_named(log)} is left out: {limited.message}",
            limited.count,
            limited.examples,
        )
    return None


def _keep(benchmark: Benchmark, logs: Sequence[PerItemLog]) -> _Kept:
    items = _items(benchmark, logs)
    checks: list[Check] = []
    whole: dict[str, list[PerItemLog]] = {}
    faults: dict[int, Mapping[str, Check]] = {}
    for log in logs:
        unfit = _unfit(benchmark, log, items)
        faults[id(log)] = mine = metric_faults(log) if unfit is None else {}
        if unfit is not None:
            checks.append(unfit)
        elif len(mine) == len(log.metrics):
            first = next(iter(mine.values()))
            checks.append(dataclasses.replace(first, message=f"{_named(log)} is left out: {first.message}"))
        else:
            whole.setdefault(log.model, []).append(log)
    if not whole:
        raise InputError(
            f"No model covers all of {benchmark.title}. {' '.join(check.message for check in checks[:_EXAMPLES])}",
            "Import logs of full runs, without --limit.",
        )
    taken: list[PerItemLog] = []
    for model, runs in whole.items():
        newest = max(runs, key=lambda log: log.timestamp)
        taken.append(newest)
        if len(runs) > 1:
            checks.append(_several(model, runs, newest))
        checks += [
            dataclasses.replace(fault, message=f"{metric} of {_named(newest)} is left out: {fault.message}")
            for metric, fault in faults[id(newest)].items()
        ]
    return _Kept(
        tuple(taken),
        tuple(sorted(items, key=benchmark.sort_key)),
        tuple(checks),
        {log.model: frozenset(faults[id(log)]) for log in taken},
    )


def _several(model: str, runs: Sequence[PerItemLog], taken: PerItemLog) -> Check:
    alike = sum(run.timestamp == taken.timestamp for run in runs)
    if not taken.timestamp:
        which = f"none has a time, so the first one is taken ({taken.source})"
    elif alike > 1:
        which = f"{alike} are of the same time, so the first one of these is taken ({taken.source})"
    else:
        which = f"the newest is taken ({taken.timestamp})"
    tasks = sorted({run.task for run in runs})
    of = f" of the tasks {', '.join(tasks)}" if len(tasks) > 1 else ""
    return Check(
        "several_runs", "warning",
        f"{model} has {len(runs)} whole runs{of}; {which}. Exclude that one to have another.", len(runs),
    )  # fmt: skip


def _metrics(benchmark: Benchmark, kept: _Kept) -> tuple[str, ...]:
    takes_part = {metric for log in kept.logs for metric in kept.metrics_of(log)}
    have = [metric for metric in dict.fromkeys(m for log in kept.logs for m in log.metrics) if metric in takes_part]
    known = [metric.name for metric in benchmark.metrics if metric.name in have]
    return tuple(dict.fromkeys([*known, *have]))


def _without_dissenters(kept: _Kept) -> _Kept:
    """Leaves out, worst first, the logs whose items are another copy of the benchmark: their scores are of other items.

    A few differing items (a corrected typing error) are let pass, with a warning.
    """
    while True:
        _, _, dissenters = _contents(kept)
        worst, count = max(dissenters.items(), key=lambda entry: entry[1], default=("", 0))
        if count <= _HANDFUL:
            return kept
        log = next(log for log in kept.logs if log.model == worst)
        check = Check(
            "content_differs", "refusal",
            f"{_named(log)} is left out: {count} of its items have another content than in the other logs. "
            "The run used another copy of the data.",
            count,
        )  # fmt: skip
        others = tuple(other for other in kept.logs if other is not log)
        kept = dataclasses.replace(kept, logs=others, checks=(*kept.checks, check))


def _contents(kept: _Kept) -> tuple[tuple[str | None, ...], list[str], Counter[str]]:
    """The hash that most models give each item, the items where some give another, and how often each does."""
    hashes = [_in_order(log, log.hashes, kept.keys) for log in kept.logs]
    agreed: list[str | None] = []
    differing: list[str] = []
    dissenters: Counter[str] = Counter()
    for key, column in zip(kept.keys, zip(*hashes, strict=True), strict=True):
        distinct = set(column) - {None}
        if len(distinct) <= 1:
            agreed.append(next(iter(distinct), None))
            continue
        most = Counter(value for value in column if value is not None).most_common(1)[0][0]
        agreed.append(most)
        differing.append(key)
        dissenters.update(log.model for log, value in zip(kept.logs, column, strict=True) if value not in (None, most))
    return tuple(agreed), differing, dissenters


def _content_check(differing: Sequence[str], dissenters: Counter[str]) -> Iterator[Check]:
    if differing:
        who = ", ".join(f"{model} ({count})" for model, count in dissenters.most_common(_EXAMPLES))
        yield Check(
            "content_differs", "warning",
            f"{len(differing)} items have another content in some logs: {who}. The runs used other copies of the data.",
            len(differing), tuple(differing[:_EXAMPLES]),
        )  # fmt: skip
