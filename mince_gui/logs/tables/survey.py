"""One look through a whole table: whose outcomes it has, in which columns, and which columns hold none.

The whole of it, as the first lines would not do: a column may begin with gaps, and a single bad cell is a fault of
that cell, for the reader to name, not a reason to do without the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.logs.assemble import shown
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.tables import cells
from mince_gui.logs.tables.layout import Layout, file_name, layout_of
from mince_gui.logs.tables.sheets import REMEDY, Line, opened
from mince_gui.logs.types import Check

Run = tuple[str, str]
"""A model and the name of a benchmark."""

_ROWS_PER_STEP = 1024
_NAMED = 10


@dataclass(frozen=True)
class LeftOut:
    """A column that is not read. `doubtful`: it may have been meant as one of outcomes."""

    column: str
    why: str
    doubtful: bool

    def __str__(self) -> str:
        return f"'{self.column}' ({self.why})"


@dataclass(frozen=True)
class Survey:
    """What a table holds; `layout.values` are only those columns that are read."""

    columns: tuple[str, ...]
    layout: Layout
    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def why(self) -> str:
        """In words what makes it a table of outcomes, with the columns that are read and those that are not."""
        names = [self.columns[place] for place in self.layout.values]
        if self.layout.is_long:
            told = "a table with a row for each outcome" + (f"; metrics: {_listed(names)}" if names else "")
        else:
            each = f"a column for each of {len(names)} models" if len(names) > 1 else "a column of one model"
            told = f"a table with {each}, keys in '{self.columns[self.layout.key]}'; models: {_listed(names)}"
        return told + (f"; columns left out: {_listed(self.left_out)}" if self.left_out else "")

    def checks(self) -> tuple[Check, ...]:
        """What a log of this table says of the columns that were not read."""
        doubtful = [column for column in self.left_out if column.doubtful]
        if not doubtful:
            return ()
        return (
            Check(
                "columns_left_out", "warning",
                f"Columns of the table that are not read: {_listed(doubtful)}.", len(doubtful),
                tuple(column.column for column in doubtful[:5]),
            ),
        )  # fmt: skip


def _listed(parts: Sequence[object]) -> str:
    told = ", ".join(map(str, parts[:_NAMED]))
    return f"{told} and {len(parts) - _NAMED} more" if len(parts) > _NAMED else told


class Runs:
    """Tells of which model and benchmark a row is; what no column says, the file's name does."""

    def __init__(self, path: Path, layout: Layout, unit: str) -> None:
        own = file_name(path)
        self._path = path
        self._unit = unit
        self._layout = layout
        self._model = own.model or path.absolute().parent.name
        self._benchmark = tidy_name(own.benchmark)
        self._tidy: dict[str, str] = {}

    def of(self, line: Line, column: str | None) -> Run:
        """The run of a row, or of its cell in a model's `column`. Raises InputError."""
        layout = self._layout
        if column is None:
            column = self._named(line, layout.model) if layout.model is not None else self._model
        benchmark = self._named(line, layout.benchmark) if layout.benchmark is not None else self._benchmark
        model = self._tidy.get(column)
        if model is None:
            model = self._tidy[column] = tidy_name(column) or "unnamed"
        return model, benchmark

    def _named(self, line: Line, place: int) -> str:
        name = cells.name(line.cells[place])
        if name is None:
            where = f"{self._path}, {self._unit} {line.number}"
            raise InputError(f"{where}: {shown(line.cells[place])} names no model or benchmark.", REMEDY)
        return name


@dataclass
class _Column:
    """What the cells of a column were so far."""

    place: int
    name: str
    good: int = 0
    bad: int = 0
    first: str = ""
    numbers: bool = False

    def look(self, line: Line, unit: str, *, comma: bool) -> None:
        cell = line.cells[self.place]
        outcome = cells.outcome(cell, comma=comma)
        if outcome is None:
            self.bad += 1
            if not self.first:
                self.first = f"{shown(cell)} in {unit} {line.number} is no outcome"
                self.numbers = cells.number(cell, comma=comma) is not None
        elif outcome[1] == outcome[1]:
            self.good += 1

    @property
    def is_read(self) -> bool:
        """Whether it is one of outcomes: where most cells are, the others are faults, which the reader names."""
        return self.good > 0 and self.good >= self.bad

    def left_out(self) -> LeftOut:
        return LeftOut(self.name, self.first or "empty", not self.first or self.numbers or self.good > 0)


def survey(path: Path, encoding: str = "", cancel: CancelToken | None = None) -> Survey | None:
    """What the table holds; None where it has no key. A table that breaks off is surveyed up to there.

    Raises InputError where it holds no outcomes or cannot be read at all, CancelledError.
    """
    with opened(path, encoding) as sheet:
        layout = layout_of(path, sheet.columns)
        if layout is None:
            return None
        columns = [_Column(place, sheet.columns[place]) for place in layout.values]
        runs = Runs(path, layout, sheet.unit)
        named: dict[Run, None] = {}
        try:
            for count, line in enumerate(sheet.lines):
                if cancel is not None and count % _ROWS_PER_STEP == 0:
                    cancel.check()
                named[runs.of(line, None if layout.is_long else "")] = None
                for column in columns:
                    column.look(line, sheet.unit, comma=sheet.comma)
        except InputError:
            if not named:
                raise  # else it is for the reader to say, and what is in front of it may be wanted
    left_out = tuple(column.left_out() for column in columns if not column.is_read)
    layout = replace(layout, values=tuple(column.place for column in columns if column.is_read))
    if layout.value is None and not layout.values:
        told = f" ({_listed(left_out)})" if left_out else ""
        raise InputError(
            f"{path}: a table with the key '{sheet.columns[layout.key]}', but without a column of outcomes{told}."
        )
    if not layout.is_long:
        models = [tidy_name(sheet.columns[place]) or "unnamed" for place in layout.values]
        named = {(model, name): None for _, name in named for model in models}
    return Survey(sheet.columns, layout, tuple(named), left_out)
