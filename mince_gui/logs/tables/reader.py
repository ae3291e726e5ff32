"""Which tables hold outcomes, of which models and benchmarks; and their rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark
from mince_gui.logs.assemble import Reading, Row, assemble, shown
from mince_gui.logs.collect import RowError
from mince_gui.logs.lm_eval.results import tidy_name
from mince_gui.logs.tables import arrays, cells
from mince_gui.logs.tables.layout import Layout, benchmark_of, file_name, layout_of, with_values
from mince_gui.logs.tables.sheets import Line, Sheet, opened
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "table"

_FIRST_ROWS = 50
_REMEDY = "Correct the table, or leave this file out."
_OTHER_SHEETS = (".xlsx", ".xls", ".ods")
UNNAMED_METRIC = "score"
"""The metric of a table that names none, where the benchmark has not just one."""


def claim(files: Sequence[Path]) -> Claim:
    """Tables with a key for every item; those that have one and no outcomes are refused with the reason."""
    found: list[Found] = []
    refused: dict[Path, str] = {}
    beside: set[Path] = set()
    for path in files:
        try:
            if path.name.removesuffix(".gz").endswith((".csv", ".tsv", ".parquet")):
                found += _of_sheet(path)
            elif path.suffix == ".npy":
                mine = _of_array(path)
                found += mine
                beside |= {arrays.sidecar(path, what) for what in ("keys", "models")} if mine else set()
            elif path.suffix in _OTHER_SHEETS and file_name(path.with_suffix(".csv")).benchmark.lower() in BENCHMARKS:
                refused[path] = "a spreadsheet, which is not read: save it as CSV (UTF-8)"
        except InputError as exc:
            refused[path] = exc.message.removeprefix(f"{path}: ")
    return Claim(tuple(found), refused, frozenset(beside & set(files)))


def _of_sheet(path: Path) -> list[Found]:
    with opened(path) as sheet:
        layout = layout_of(path, sheet.columns)
        if layout is None:
            return []
        layout, lines = _looked_at(layout, sheet)
        if layout.value is None and not layout.values:
            raise InputError(
                f"{path}: a table with the key '{sheet.columns[layout.key]}', but without a column of outcomes"
            )
        if layout.is_long:
            return _long(path, layout, lines)
        models = [sheet.columns[place] for place in layout.values]
        names = _benchmarks(path, layout, lines)
        why = f"a table with a column for each of {len(models)} models, keys in '{sheet.columns[layout.key]}'"
        return [_found(path, model, name, why) for name in names for model in models]


def _looked_at(layout: Layout, sheet: Sheet) -> tuple[Layout, Iterator[Line]]:
    """The layout after a look at the first lines, and all lines."""
    first = list(itertools.islice(sheet.lines, _FIRST_ROWS))
    return with_values(layout, first, comma=sheet.comma), itertools.chain(first, sheet.lines)


def _benchmarks(path: Path, layout: Layout, lines: Iterator[Line]) -> list[str]:
    if layout.benchmark is None:
        return [tidy_name(file_name(path).benchmark)]
    return list(dict.fromkeys(_cell_name(line, layout.benchmark) for line in lines))


def _long(path: Path, layout: Layout, lines: Iterator[Line]) -> list[Found]:
    own = file_name(path)
    named: dict[tuple[str, str], None] = {}
    for line in lines:
        model = _cell_name(line, layout.model) if layout.model is not None else own.model or path.absolute().parent.name
        name = _cell_name(line, layout.benchmark) if layout.benchmark is not None else tidy_name(own.benchmark)
        named[model, name] = None
    why = "a table with a row for each outcome"
    return [_found(path, model, name, why) for model, name in named]


def _cell_name(line: Line, place: int) -> str:
    name = cells.name(line.cells[place]) if place < len(line.cells) else None
    if name is None:
        cell = line.cells[place] if place < len(line.cells) else None
        raise InputError(f"{line.where}: {shown(cell)} names no model or benchmark.", _REMEDY)
    return name


def _found(path: Path, model: str, name: str, why: str) -> Found:
    return Found(
        format=FORMAT, model=tidy_name(model or path.absolute().parent.name) or "unnamed", benchmark=benchmark_of(name),
        task=name, files=(path,), results_file=None, timestamp="", why=why,
    )  # fmt: skip


def _of_array(path: Path) -> list[Found]:
    name = file_name(path).benchmark
    if name.lower() not in BENCHMARKS and not arrays.sidecar(path, "keys").is_file():
        return []
    names = arrays.names_of(path, benchmark_of(name))
    arrays.load(path, names)
    why = f"an array of outcomes of {len(names.keys)} items"
    return [_found(path, model, name, why) for model in names.models]


def metric_name(benchmark: Benchmark, named: str) -> str:
    """The metric as named; without a name the benchmark's only one."""
    if named:
        return named
    return benchmark.metrics[0].name if len(benchmark.metrics) == 1 else UNNAMED_METRIC


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """One model's outcomes on one benchmark. Raises InputError with file and line or row, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    path = found.files[0]
    own = file_name(path)
    metric = metric_name(found.benchmark, own.metric)
    if path.suffix == ".npy":
        names = arrays.names_of(path, found.benchmark if own.benchmark != found.task else benchmark_of(found.task))
        place = names.models.index(found.model) if found.model in names.models else 0
        column = arrays.load(path, names)[place].tolist()
        rows = [
            Row(f"{path}, item {key}", key, key, ((metric, value, value if value != value else 1.0),))
            for key, value in zip(names.keys, column, strict=True)
        ]
    else:
        rows = []
        try:
            rows.extend(_rows(reading, path, found, metric))
        except InputError as exc:
            if not salvage:
                raise
            reading.broken = exc.message
    reading.finished(path)
    return assemble(reading, rows, own_name=found.benchmark.name)


def _rows(reading: Reading, path: Path, found: Found, metric: str) -> Iterator[Row]:
    with opened(path, found.encoding) as sheet:
        layout = layout_of(path, sheet.columns)
        if layout is None:
            raise InputError(f"{path}: it has no column of item keys.", _REMEDY)
        layout, lines = _looked_at(layout, sheet)
        if layout.is_long:
            columns = {place: sheet.columns[place] for place in layout.values} or {layout.value or 0: metric}
        else:
            columns = {place: metric for place in layout.values if sheet.columns[place] == found.model}
        if not columns:
            raise InputError(f"{path}: it has no column '{found.model}'.", "Look for the logs again.")
        rows = _Rows(layout, columns, found, sheet)
        for line in lines:
            reading.step(path, 0)
            try:
                row = rows.row(line)
            except RowError as exc:
                raise InputError(f"{line.where}: {exc.message}.", _REMEDY) from exc
            if row is not None:
                yield row


@dataclass(frozen=True)
class _Rows:
    """Makes rows of lines; `columns` are those to read, with their metrics."""

    layout: Layout
    columns: Mapping[int, str]
    found: Found
    sheet: Sheet

    def row(self, line: Line) -> Row | None:
        """The line as a row; None where it is of another model or benchmark. Raises RowError."""
        layout, cell = self.layout, line.cells
        if len(cell) != len(self.sheet.columns):
            raise RowError(f"{len(cell)} cells, but {len(self.sheet.columns)} columns")
        if layout.model is not None and cells.name(cell[layout.model]) != self.found.model:
            return None
        if layout.benchmark is not None and cells.name(cell[layout.benchmark]) != self.found.task:
            return None
        key = layout.item_key(cell)
        if key is None:
            raise RowError(f"{shown(cell[layout.key])} is no item key")
        named = ""
        if layout.metric is not None:
            named = cells.name(cell[layout.metric]) or ""
            if not named:
                raise RowError(f"{shown(cell[layout.metric])} is no metric")
        outcomes = tuple((named or metric, *self._outcome(cell, place)) for place, metric in self.columns.items())
        category = cells.name(cell[layout.category]) if layout.category is not None else None
        return Row(line.where, key, key, outcomes, category, part=named or "none")

    def _outcome(self, cell: Sequence[Any], place: int) -> tuple[float, float]:
        if self.layout.trials is not None and self.layout.value is not None:
            return cells.counts(cell[place], cell[self.layout.trials], comma=self.sheet.comma)
        outcome = cells.outcome(cell[place], comma=self.sheet.comma)
        if outcome is None:
            raise RowError(f"{shown(cell[place])} is no outcome (0 to 1, true, false, or empty where missing)")
        return outcome
