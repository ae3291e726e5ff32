"""Streams the samples files of one run into a checked log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress
from mince_gui.benchmarks import content_hash
from mince_gui.logs.assemble import SALVAGE, size_of
from mince_gui.logs.checks import Observed, checks_of, counted
from mince_gui.logs.collect import Collector, ContradictionError, RowError
from mince_gui.logs.lines import JsonLines, Piece
from mince_gui.logs.lm_eval import rows
from mince_gui.logs.lm_eval.common import columns_of
from mince_gui.logs.lm_eval.files import subject_of, task_of
from mince_gui.logs.lm_eval.results import NO_FILTERS, Results
from mince_gui.logs.naming import storable, tidy_name
from mince_gui.logs.types import Check, Found, PerItemLog

_ROWS_PER_STEP = 256
_REMEDY = "Evaluate again with --log_samples, or leave this file out."


@dataclass(frozen=True)
class _File:
    """One file that is being read: its rows, the subject they are of, and the filters of its task in order."""

    path: Path
    lines: JsonLines
    subject: str | None
    filters: tuple[str, ...]


class _Reading:
    """The state of one reading: where the rows go and what is noticed on the way."""

    def __init__(self, found: Found, results: Results | None) -> None:
        self.benchmark = found.benchmark
        self.results = results
        self.collector = Collector(found.benchmark)
        self.observed = Observed()
        self.metrics = rows.MetricReader(found.benchmark)
        self.broken: list[str] = []
        self.rows = 0
        self._ifeval = found.benchmark.name == "ifeval"
        self._may_hold_numbers = found.benchmark.name not in ("gsm8k", "mmlu")
        self._filter: str | None = None

    def take(self, file: _File, piece: Piece) -> None:
        """Hand rows on, all at once where they are of the common shape. Raises InputError with file and line."""
        if self._take_all(file, piece):
            self.rows += len(piece.lines)
            return
        for number, row in file.lines.each(piece):
            try:
                self._take(file, number, row)
            except RowError as exc:
                raise InputError(f"{file.path}, line {number}: {exc.message}.", exc.remedy or _REMEDY) from exc
            self.rows += 1

    def _take_all(self, file: _File, piece: Piece) -> bool:
        if file.subject is None or self._may_hold_numbers or not piece.lines:
            return False
        columns = columns_of(piece.lines, self.benchmark, file.subject, self.metrics)
        return columns is not None and self.collector.add_new(
            columns.keys, columns.filter_name, columns.passed, file.subject, columns.contents
        )

    def _take(self, file: _File, number: int, row: Mapping[str, Any]) -> None:
        subject, filters = file.subject, file.filters
        doc_id = row.get("doc_id")
        if subject is not None and type(doc_id) is int and doc_id >= 0:
            key = f"{subject}/{doc_id}"
        else:
            key = rows.item_key(self.benchmark, row, subject)
        named = row.get("filter")
        if named != self._filter:
            named = self._filter = rows.filter_name(row)
        name = named
        if name is None:
            # before 0.4.7: the k-th row of an item belongs to the task's k-th filter
            times = self.collector.times(key, filters)
            name = filters[min(times, len(filters) - 1)]
        outcomes = self.metrics.outcomes(row, name, file.path, number)
        doc = row.get("doc")
        if doc is not None and not isinstance(doc, dict):
            raise RowError("doc is not an object")
        content = self._content(doc, file.lines) if doc else None
        category = subject
        if category is None:
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
        state = rows.response_state(row)
        noteworthy = content is None or state != "given"
        for _, passed, _ in outcomes:
            noteworthy = noteworthy or passed != passed
        if noteworthy:
            self.observed.row(key, outcomes, content, state)
        if (answer := rows.answer_text(row)) is not None:
            self.observed.answer(key, answer)
        if self._ifeval and (count := rows.loose_below_strict(row)):
            self.observed.loose_below_strict(key, count)

    def _content(self, doc: Mapping[str, Any], lines: JsonLines) -> str | None:
        if self._may_hold_numbers and _has_float(doc):
            # the quick parser makes a float of a whole number beyond 64 bits
            doc = lines.exact()["doc"]
        try:
            return content_hash(self.benchmark, doc)
        except (KeyError, TypeError, ValueError, RecursionError):
            return None  # counted by `no_docs`: the item is then known by its key alone


def _has_float(value: Any) -> bool:
    kind = type(value)
    if kind is str:
        return False
    if kind is dict:
        return any(map(_has_float, value.values()))
    if kind is list:
        return any(map(_has_float, value))
    return kind is float


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read every file of the run, one row at a time. Raises InputError with file and line, CancelledError."""
    results = _results(found)
    total = sum(size_of(path) for path in found.files)
    reading = _Reading(found, results)
    tasks: list[str] = []
    before = said = 0
    for path in found.files:
        task = task_of(found, path)
        tasks.append(task)
        filters = results.filters(task) if results is not None else NO_FILTERS
        try:
            with JsonLines(path, found.encoding) as lines:
                file = _File(path, lines, subject_of(found.benchmark, task), filters)
                for piece in lines.pieces():
                    reading.take(file, piece)
                    if reading.rows - said >= _ROWS_PER_STEP:
                        said = reading.rows
                        if cancel is not None:
                            cancel.check()
                        emit(Progress(before + lines.position, total, f"{path.name}: {said} rows"))
        except InputError as exc:
            if not salvage:
                raise InputError(
                    exc.message, f"{exc.remedy} {SALVAGE}".strip() if reading.rows else exc.remedy
                ) from exc
            reading.broken.append(exc.message)
        before += size_of(path)
    if not len(reading.collector):
        raise InputError(
            reading.broken[0] if reading.broken else f"{found.files[0]}: there are no rows in it.",
            "Evaluate again with --log_samples.",
        )
    for name, left_out in reading.metrics.left_out.items():
        reading.collector.drop(name)
        if not reading.collector.has_metrics:
            raise InputError(f"{left_out.where}: {left_out.why}.", "None of the log's metrics can be sized.")
    emit(Progress(total, total, f"{found.model}: {reading.rows} rows"))
    return _log(found, reading, results, tasks)


def _results(found: Found) -> Results | None:
    """What the results file says; of an overwritten one, which names another model, no more than the filters."""
    results = Results.load(found.results_file) if found.results_file is not None else None
    if results is None or results.fault:
        return None
    return results if results.model_name in (None, found.model) else results.filters_only()


def _log(found: Found, reading: _Reading, results: Results | None, tasks: list[str]) -> PerItemLog:
    keys, categories, hashes, passed, trials = reading.collector.arrays()
    # a group's tasks that left no file are missing too
    meant = found.benchmark.subjects if found.benchmark.total_items is None and found.benchmark.subjects else tasks
    meta = results.meta(meant, found.task) if results is not None else {}
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
        source=storable(found.source),
        timestamp=found.timestamp,
        meta=meta,
    )
    limit = results.limit if results is not None else None
    return checks_of(log, reading.collector, reading.observed, limit, list(_own_checks(log, reading)))


def _own_checks(log: PerItemLog, reading: _Reading) -> Iterator[Check]:
    if reading.broken:
        more = f" {counted(len(reading.broken) - 1, 'file')} more likewise." if len(reading.broken) > 1 else ""
        yield Check(
            "salvaged", "warning", f"Only what is whole was read: {reading.broken[0]}{more}", len(reading.broken)
        )
    for name, left_out in reading.metrics.left_out.items():
        yield Check(
            "metric_left_out", "warning",
            f"{name} is left out, {counted(left_out.count, 'value')} cannot be sized: {left_out.why}.", left_out.count,
        )  # fmt: skip
