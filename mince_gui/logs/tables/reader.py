"""Which tables hold outcomes, of which models and benchmarks; and their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark
from mince_gui.logs.assemble import SALVAGE, Reading, Row, assemble
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.tables import arrays
from mince_gui.logs.tables.layout import benchmark_of, file_name
from mince_gui.logs.tables.sheets import REMEDY
from mince_gui.logs.tables.survey import survey
from mince_gui.logs.tables.table import Table
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "table"

_OTHER_SHEETS = (".xlsx", ".xls", ".ods")
UNNAMED_METRIC = "score"
"""The metric of a table that names none, where the benchmark has not just one."""


def claim(files: Sequence[Path], *, encoding: str = "", cancel: CancelToken | None = None) -> Claim:
    """Tables with a key for every item; those that have one and no outcomes are refused with the reason.

    They are read through, in the `encoding` that the user named: only so is it known whose outcomes they hold.
    """
    found: list[Found] = []
    refused: dict[Path, str] = {}
    beside: set[Path] = set()
    for path in files:
        try:
            if path.name.removesuffix(".gz").endswith((".csv", ".tsv", ".parquet")):
                found += _of_sheet(path, encoding, cancel)
            elif path.suffix == ".npy":
                mine = _of_array(path)
                found += mine
                beside |= {arrays.sidecar(path, what) for what in ("keys", "models")} if mine else set()
            elif path.suffix in _OTHER_SHEETS and file_name(path.with_suffix(".csv")).benchmark.lower() in BENCHMARKS:
                refused[path] = "a spreadsheet, which is not read: save it as CSV (UTF-8)"
        except InputError as exc:
            refused[path] = f"{exc.message.removeprefix(str(path)).lstrip(':, ')} {exc.remedy}".rstrip()
    return Claim(tuple(found), refused, frozenset(beside & set(files)))


def _of_sheet(path: Path, encoding: str, cancel: CancelToken | None) -> list[Found]:
    seen = survey(path, encoding, cancel)
    if seen is None:
        return []
    table = Table(path, seen)
    return [dataclasses.replace(_found(path, *run, seen.why), shared=table) for run in seen.runs]


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
        reading.finished(path)
        return assemble(reading, rows, own_name=found.benchmark.name)
    table = _table(found, cancel)
    part = table.take(reading, (found.model, found.task))
    if part.fault is not None:
        if not salvage:
            raise InputError(part.fault.message, f"{part.fault.remedy} {SALVAGE}".lstrip())
        reading.broken = part.fault.message
    reading.finished(path)
    layout = table.survey.layout
    metrics = [table.survey.columns[place] for place in layout.values] if layout.is_long else []
    log = assemble(reading, list(part.rows(path, metrics or [metric])), own_name=found.benchmark.name)
    return dataclasses.replace(log, checks=(*log.checks, *table.survey.checks()))


def _table(found: Found, cancel: CancelToken | None) -> Table:
    """The file's table, which all its runs have together since they were found."""
    if isinstance(found.shared, Table):
        return found.shared
    path = found.files[0]
    seen = survey(path, found.encoding, cancel)
    if seen is None:
        raise InputError(f"{path}: it has no column of item keys.", REMEDY)
    return Table(path, seen)
