"""Streams the samples files of one run into a checked log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress
from mince_gui.benchmarks import content_hash
from mince_gui.logs.checks import Observed, checks_of
from mince_gui.logs.collect import Collector, ContradictionError, RowError
from mince_gui.logs.lines import JsonLines
from mince_gui.logs.lm_eval import rows
from mince_gui.logs.lm_eval.files import samples_file, subject_of
from mince_gui.logs.lm_eval.results import NO_FILTERS, Results, load_results, storable, tidy_name
from mince_gui.logs.types import Found, PerItemLog

_ROWS_PER_STEP = 256


class _Reading:
    """The state of one reading: where the rows go and what is noticed on the way."""

    def __init__(self, found: Found, results: Results | None) -> None:
        self.benchmark = found.benchmark
        self.results = results
        self.collector = Collector(found.benchmark)
        self.observed = Observed()
        self._metrics = rows.MetricReader(found.benchmark)
        self._ifeval = found.benchmark.name == "ifeval"

    def take(self, row: Mapping[str, Any], subject: str | None, filters: tuple[str, ...]) -> None:
        """Hand one row on. Raises RowError."""
        key = rows.item_key(self.benchmark, row, subject)
        named = rows.filter_name(row)
        name = named
        if name is None:
            # before 0.4.7: the k-th row of an item belongs to the task's k-th filter
            times = self.collector.times(key, filters)
            name = filters[min(times, len(filters) - 1)]
        outcomes = self._metrics.outcomes(row, name)
        doc = row.get("doc")
        if doc is not None and not isinstance(doc, dict):
            raise RowError("doc is not an object")
        content = None
        if doc:
            try:
                content = content_hash(self.benchmark, doc)
            except (KeyError, TypeError, ValueError, RecursionError):
                content = None  # counted by `no_docs`: the item is then known by its key alone
        category = self.benchmark.category(doc or {}, key)
        if category is not None and not category.isprintable():
            category = tidy_name(category)
        try:
            self.collector.add(key, name, outcomes, category, content)
        except ContradictionError as exc:
            if named is not None or filters != NO_FILTERS:
                raise
            raise RowError(
                f"item {key} comes a second time with another outcome, and the rows name no filter",
                "Before lm-eval 0.4.7 only the results file lists the filters: put this run's results_*.json beside "
                "the samples file. If it is there, two runs are mixed in one file.",
            ) from exc
        self.observed.row(key, outcomes, content, rows.response_state(row))
        if self._ifeval and (count := rows.loose_below_strict(row)):
            self.observed.loose_below_strict(key, count)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as exc:
        raise InputError(f"{path}: cannot be opened ({exc.strerror}).", "Look for the logs again.") from exc


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read every file of the run, one row at a time. Raises InputError with file and line, CancelledError."""
    results = load_results(found.results_file) if found.results_file is not None else None
    if results is not None and results.fault:
        results = None
    total = sum(_size(path) for path in found.files)
    reading = _Reading(found, results)
    tasks: list[str] = []
    before = 0
    count = 0
    for path in found.files:
        named = samples_file(path)
        task = named.task if named is not None else found.task
        tasks.append(task)
        subject = subject_of(found.benchmark, path)
        filters = results.filters(task) if results is not None else NO_FILTERS
        with JsonLines(path) as lines:
            for number, row in lines:
                try:
                    reading.take(row, subject, filters)
                except RowError as exc:
                    raise InputError(f"{path}, line {number}: {exc.message}.", exc.remedy or _REMEDY) from exc
                count += 1
                if count % _ROWS_PER_STEP == 0:
                    if cancel is not None:
                        cancel.check()
                    emit(Progress(before + lines.position, total, f"{path.name}: {number} rows"))
        before += _size(path)
    if not len(reading.collector):
        raise InputError(f"{found.files[0]}: there are no rows in it.", "Evaluate again with --log_samples.")
    emit(Progress(total, total, f"{found.model}: {count} rows"))
    return _log(found, reading, results, tasks)


_REMEDY = "Evaluate again with --log_samples, or leave this file out."


def _log(found: Found, reading: _Reading, results: Results | None, tasks: list[str]) -> PerItemLog:
    keys, categories, hashes, passed, trials = reading.collector.arrays()
    meta = results.meta(tasks, found.task) if results is not None else {}
    log = PerItemLog(
        model=found.model,
        benchmark=found.benchmark,
        task=found.task,
        keys=keys,
        categories=categories,
        hashes=hashes,
        passed=passed,
        trials=trials,
        format=found.format,
        source=storable(str(found.files[0] if len(found.files) == 1 else found.files[0].parent)),
        timestamp=found.timestamp,
        meta=meta,
    )
    limit = results.limit if results is not None else None
    return checks_of(log, reading.collector, reading.observed, limit)
