"""Rows out of CSV and Parquet files, one after the other."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.lines import open_plain

_CELLS = 500_000_000
"""More cells than this no table of outcomes has."""
_BATCH = 4096
_LINE_LIMIT = 4 << 20
_TEXT_LIMIT = 1 << 30
"""Characters of one row, and of a whole table: a bomb of compressed blanks must not hold the reader for hours."""
_LINES_LIMIT = 20_000_000
_BLANKS = 100_000
REMEDY = "Correct the table, or leave this file out."
_AGAIN = "Save the table again as CSV (UTF-8), or leave this file out."
_WRONG_ENCODING = "Name its encoding with --encoding (such as cp1252), or save the table again as CSV (UTF-8)."


@dataclass(frozen=True)
class Line:
    """One row: its line in a CSV file or its number in a Parquet file, and a cell per column."""

    number: int
    cells: Sequence[Any]


@dataclass(frozen=True)
class Sheet:
    """A table that can be read through, once.

    `unit` is what a row's number counts ("line", "row"), `position` how many bytes of the file were read for a row.
    `comma`: decimals may be written with one.
    """

    columns: tuple[str, ...]
    lines: Iterator[Line]
    unit: str
    position: Callable[[Line], int]
    comma: bool = False


@contextlib.contextmanager
def opened(path: Path, encoding: str = "") -> Iterator[Sheet]:
    """The table in the file. Raises InputError, also while its lines are read."""
    if path.suffix == ".parquet":
        with _parquet(path) as sheet:
            yield sheet
    else:
        with _csv(path, encoding) as sheet:
            yield sheet


def _tidy(columns: Sequence[Any], path: Path) -> tuple[str, ...]:
    names = tuple(str(column).strip() for column in columns)
    twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twice is not None:
        raise InputError(f"{path}: the column '{twice[:60]}' is there twice.", "Give every column a name of its own.")
    return names


@contextlib.contextmanager
def _csv(path: Path, encoding: str) -> Iterator[Sheet]:
    number = 1
    try:
        with open_plain(path) as data:
            head = data.read(4)
            data.seek(0)
            encoding = encoding or _encoding(head)
            text = io.TextIOWrapper(data, encoding=encoding, newline="")
            lines = _bounded(text)
            header = next(lines, "")
            separator = ""
            if header.lower().startswith("sep="):
                separator = header[4:5]
                header, number = next(lines, ""), 2
            separator = separator or max((",", ";", "\t"), key=header.count)
            columns = next(csv.reader([header], delimiter=separator), [])
            rows = _csv_lines(path, lines, separator, number, encoding)
            yield Sheet(
                _tidy(columns, path), _squared(path, rows, len(columns)), "line",
                # of the file as it lies on the disk, also where it is gzipped
                lambda _: os.lseek(data.fileno(), 0, os.SEEK_CUR), comma=separator == ";",
            )  # fmt: skip
    except UnicodeError as exc:
        raise _undecodable(path, encoding, number, exc) from exc
    except (OSError, EOFError, zlib.error, csv.Error, LookupError) as exc:
        raise InputError(f"{path}: cannot be read as a table ({exc}).", _AGAIN) from exc


def _bounded(text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of the text; csv.Error where one, or all together, are longer than a table's can be."""
    left, blank = _TEXT_LIMIT, 0
    for _ in range(_LINES_LIMIT):
        line = text.readline(_LINE_LIMIT)
        if not line:
            return
        left -= len(line)
        blank = blank + 1 if line.isspace() else 0
        if len(line) == _LINE_LIMIT or blank > _BLANKS or left < 0:
            raise csv.Error("there is no end of the " + ("line" if len(line) == _LINE_LIMIT else "text"))
        yield line
    raise csv.Error(f"more than {_LINES_LIMIT:,} lines")


def _encoding(head: bytes) -> str:
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def _undecodable(path: Path, encoding: str, near: int, exc: UnicodeError) -> InputError:
    """The fault of a text in another encoding, with its line: text is decoded far ahead of where the reader stands."""
    where = f"{path}, near line {near}"
    if not encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        with contextlib.suppress(OSError, EOFError, zlib.error), open_plain(path) as data:
            for number, line in enumerate(iter(partial(data.readline, _LINE_LIMIT), b""), 1):
                try:
                    line.decode(encoding)
                except UnicodeError:
                    where = f"{path}, line {number}"
                    break
    reason = exc.reason if isinstance(exc, UnicodeDecodeError) else str(exc)
    return InputError(f"{where}: not {encoding.removesuffix('-sig')} text ({reason}).", _WRONG_ENCODING)


def _csv_lines(path: Path, lines: Iterator[str], separator: str, before: int, encoding: str) -> Iterator[Line]:
    reader = csv.reader(lines, delimiter=separator)
    try:
        for cells in reader:
            if any(cells):
                yield Line(reader.line_num + before, cells)
    except UnicodeError as exc:
        raise _undecodable(path, encoding, reader.line_num + before + 1, exc) from exc
    except (csv.Error, OSError, EOFError, zlib.error) as exc:
        raise InputError(f"{path}, line {reader.line_num + before}: cannot be read on ({exc}).", _AGAIN) from exc


def _squared(path: Path, lines: Iterator[Line], columns: int) -> Iterator[Line]:
    for line in lines:
        if len(line.cells) != columns:
            raise InputError(f"{path}, line {line.number}: {len(line.cells)} cells, but {columns} columns.", REMEDY)
        yield line


@contextlib.contextmanager
def _parquet(path: Path) -> Iterator[Sheet]:
    import pyarrow as pa  # a third of a second, and most logs are no Parquet
    import pyarrow.parquet as pq

    broken = (pa.ArrowException, OSError, UnicodeDecodeError)
    try:
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows * max(1, file.metadata.num_columns) > _CELLS:
                raise InputError(f"{path}: more than {_CELLS:,} cells, which no table of outcomes has.", _AGAIN)
            lines = _parquet_lines(path, file, broken)
            size, rows = path.stat().st_size, max(1, file.metadata.num_rows)
            yield Sheet(
                _tidy(file.schema_arrow.names, path), lines, "row", lambda line: size * min(line.number, rows) // rows
            )
    except broken as exc:
        raise InputError(f"{path}: cannot be read as Parquet ({exc}).", "Take a whole copy of the file.") from exc


def _parquet_lines(path: Path, file: Any, broken: tuple[type[Exception], ...]) -> Iterator[Line]:
    number = 0
    try:
        for batch in file.iter_batches(batch_size=_BATCH):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield Line(number, cells)
    except broken as exc:
        raise InputError(f"{path}, after row {number}: cannot be read on ({exc}).", "Take a whole copy.") from exc
