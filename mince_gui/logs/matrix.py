"""Joins the logs of several models into the score matrix, and says what does not fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark
from mince_gui.logs.checks import counted
from mince_gui.logs.types import Check, FloatArray, PerItemLog, ScoreMatrix

_EXAMPLES = 5
_HANDFUL = 5
_SETUP = (
    ("lm_eval_version", "lm-eval versions"),
    ("task_version", "task versions"),
    ("n_shot", "numbers of examples"),
    ("chat_template_sha", "chat templates"),
    ("system_instruction_sha", "system instructions"),
)


@dataclass(frozen=True)
class _Kept:
    """One run per model that covers every item, and what was left out on the way."""

    logs: tuple[PerItemLog, ...]
    keys: tuple[str, ...]
    checks: tuple[Check, ...]


def build_matrix(benchmark: Benchmark, logs: Sequence[PerItemLog]) -> ScoreMatrix:
    """The calibration pool of `logs`: models in the order given, items in canonical order.

    The items are the benchmark's own; where their number is not known, all that any log has. A model that
    lacks an item, or the value of a metric for some items, or was asked more than a handful of items in
    another wording than most, is left out with a "refusal" check; of several whole runs of one model the
    newest is taken, and said so. A metric that a model lacks altogether is NaN.

    Raises InputError where no model is left.
    """
    if not logs:
        raise InputError(f"There are no logs of {benchmark.title}.", "Import per-item logs of it first.")
    kept = _without_dissenters(_keep(benchmark, logs))
    metrics = _metrics(benchmark, kept.logs)
    shape = (len(kept.logs), len(metrics), len(kept.keys))
    passed, trials = np.full(shape, np.nan), np.full(shape, np.nan)
    for k, log in enumerate(kept.logs):
        order = _order(log, kept.keys)
        for m, metric in enumerate(metrics):
            if metric in log.passed:
                passed[k, m], trials[k, m] = log.passed[metric][order], log.trials[metric][order]
    categories = [_in_order(log, log.categories, kept.keys) for log in kept.logs]
    agreed, differing, dissenters = _contents(kept)
    checks = (
        *kept.checks,
        *_content_check(differing, dissenters),
        *_trials_differ(kept, metrics, trials),
        *_identical(kept.logs, passed),
        *_setup(kept.logs),
        *_metrics_differ(kept.logs, metrics),
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
    sets = [frozenset(log.keys) for log in logs]
    if benchmark.total_items is None:
        return frozenset().union(*sets)
    whole = Counter(keys for keys in sets if len(keys) == benchmark.total_items and not _foreign(benchmark, keys))
    # of equally many the first given wins: Counter keeps the order
    return whole.most_common(1)[0][0] if whole else frozenset()


def _foreign(benchmark: Benchmark, keys: Iterable[str]) -> list[str]:
    """The keys that no item of the benchmark can have."""
    return [key for key in keys if not benchmark.is_key(key)]


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
    foreign = _foreign(benchmark, keys)
    strange = sorted(foreign or keys - items, key=benchmark.sort_key)
    if strange:
        whose = f"no items of {benchmark.title}" if foreign else "not those of the other logs"
        return Check(
            "other_items", "refusal",
            f"{_named(log)} is left out: {len(strange)} of its items are {whose}.",
            len(strange), tuple(strange[:_EXAMPLES]),
        )  # fmt: skip
    for metric in log.metrics:
        absent = np.isnan(log.trials[metric])
        if absent.any() and not absent.all():
            places = np.flatnonzero(absent)
            return Check(
                "partial_coverage", "refusal",
                f"{_named(log)} is left out: {len(places)} items have no {metric}.",
                len(places), tuple(log.keys[i] for i in places[:_EXAMPLES]),
            )  # fmt: skip
    limited = next((check for check in log.checks if check.severity == "refusal"), None)
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
    for log in logs:
        unfit = _unfit(benchmark, log, items)
        if unfit is not None:
            checks.append(unfit)
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
            checks.append(
                Check(
                    "several_runs", "warning",
                    f"{model} has {len(runs)} whole runs; the newest is taken ({newest.timestamp or newest.source}).",
                    len(runs),
                )
            )  # fmt: skip
    return _Kept(tuple(taken), tuple(sorted(items, key=benchmark.sort_key)), tuple(checks))


def _metrics(benchmark: Benchmark, logs: Sequence[PerItemLog]) -> tuple[str, ...]:
    have = dict.fromkeys(metric for log in logs for metric in log.metrics)
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
        kept = _Kept(tuple(other for other in kept.logs if other is not log), kept.keys, (*kept.checks, check))


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


def _trials_differ(kept: _Kept, metrics: Sequence[str], trials: FloatArray) -> Iterator[Check]:
    for m, metric in enumerate(metrics):
        rows = trials[:, m][~np.isnan(trials[:, m]).any(axis=1)]
        if len(rows) < 2:
            continue
        places = np.flatnonzero((rows != rows[0]).any(axis=0))
        if len(places):
            yield Check(
                "trials_differ", "warning",
                f"{metric}: {len(places)} items were judged a different number of times in some logs.",
                len(places), tuple(kept.keys[i] for i in places[:_EXAMPLES]),
            )  # fmt: skip


def _identical(logs: Sequence[PerItemLog], passed: FloatArray) -> Iterator[Check]:
    if passed.shape[2] < 2:
        return
    groups: dict[bytes, list[str]] = {}
    for log, column in zip(logs, passed, strict=True):
        groups.setdefault(column.tobytes(), []).append(log.model)
    for models in groups.values():
        if len(models) > 1:
            yield Check(
                "identical_columns", "warning",
                f"{', '.join(models)} have the same outcome on every item: one log under two names, or a shared cache.",
                passed.shape[2],
            )  # fmt: skip


def _setup(logs: Sequence[PerItemLog]) -> Iterator[Check]:
    tasks = sorted({log.task for log in logs})
    if len(tasks) > 1:
        yield Check("mixed_setup", "warning", f"The logs are of different tasks: {', '.join(tasks)}.")
    for name, title in _SETUP:
        said: dict[str, list[str]] = {}
        for log in logs:
            value: Any = log.meta.get(name)
            if value is not None:
                said.setdefault(str(value)[:40], []).append(log.model)
        if len(said) > 1:
            parts = "; ".join(
                f"{value}: {counted(len(models), 'model')}, as {models[0]}" for value, models in sorted(said.items())
            )
            yield Check("mixed_setup", "warning", f"The logs have different {title} ({parts}).")


def _metrics_differ(logs: Sequence[PerItemLog], metrics: Sequence[str]) -> Iterator[Check]:
    for metric in metrics:
        without = [log.model for log in logs if metric not in log.passed or bool(np.isnan(log.trials[metric]).all())]
        if without:
            shown = ", ".join(without[:_EXAMPLES]) + (", ..." if len(without) > _EXAMPLES else "")
            yield Check(
                "metrics_differ",
                "info",
                f"{metric} is not in the logs of {counted(len(without), 'model')}: {shown}.",
                len(without),
            )
