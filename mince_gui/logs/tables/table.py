"""The outcomes of a table, read once for all its models."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.assemble import Reading, Row, shown
from mince_gui.logs.collect import RowError
from mince_gui.logs.tables import cells
from mince_gui.logs.tables.layout import Layout
from mince_gui.logs.tables.sheets import REMEDY, Line, Sheet, opened
from mince_gui.logs.tables.survey import Run, Runs, Survey


@dataclass
class Part:
    """The rows of one run, held as numbers and shared texts; `fault` ended them.

    Per row there are `width` outcomes, of the metrics that `rows` is told unless the row names its own.
    """

    width: int
    unit: str
    numbers: array[int] = field(default_factory=lambda: array("Q"))
    keys: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    categories: list[str | None] = field(default_factory=list)
    passed: array[float] = field(default_factory=lambda: array("d"))
    trials: array[float] = field(default_factory=lambda: array("d"))
    fault: InputError | None = None

    def rows(self, path: Path, metrics: Sequence[str]) -> Iterator[Row]:
        """The rows as the checks know them."""
        width = self.width
        for place, (number, key, named, category) in enumerate(
            zip(self.numbers, self.keys, self.named, self.categories, strict=True)
        ):
            outcomes = tuple(
                (named or metric, self.passed[place * width + i], self.trials[place * width + i])
                for i, metric in enumerate(metrics)
            )
            yield Row(f"{path}, {self.unit} {number}", key, key, outcomes, category, part=named or "none")


class Table:
    """One file. The first run that is read takes in the rows of all; each run's rows are handed out and let go."""

    def __init__(self, path: Path, survey: Survey) -> None:
        self.survey = survey
        self._path = path
        self._parts: dict[Run, Part] = {}
        self._read: tuple[str, int, int] | None = None

    def take(self, reading: Reading, run: Run) -> Part:
        """The rows of a run. Raises InputError, CancelledError."""
        try:
            stat = self._path.stat()
        except OSError as exc:
            raise InputError(f"{self._path}: cannot be read ({exc.strerror}).", "Look for the logs again.") from exc
        now = (reading.found.encoding, stat.st_mtime_ns, stat.st_size)
        if self._read != now or run not in self._parts:
            self._parts = _Parts(self._path, self.survey).read(reading)
            self._read = now
        part = self._parts.pop(run, None)
        if part is None:
            raise InputError(f"{self._path}: it has no rows of '{run[0]}'.", "Look for the logs again.")
        return part


class _Parts:
    """Sorts the rows of a table by their runs."""

    def __init__(self, path: Path, survey: Survey) -> None:
        self._path = path
        self._survey = survey
        self._layout = survey.layout
        self._parts: dict[Run, Part] = {}

    def read(self, reading: Reading) -> dict[Run, Part]:
        """All runs; a fault of a row ends its run, one of the table all of them. Raises CancelledError."""
        parts = self._parts
        try:
            with opened(self._path, reading.found.encoding) as sheet:
                self._check(sheet)
                runs = Runs(self._path, self._layout, sheet.unit)
                for line in sheet.lines:
                    self._take(line, sheet, runs)
                    reading.step(self._path, sheet.position(line))
        except InputError as exc:
            for run in self._survey.runs:
                part = parts.setdefault(run, Part(1, ""))
                part.fault = part.fault or exc
        return parts

    def _check(self, sheet: Sheet) -> None:
        if sheet.columns != self._survey.columns:
            raise InputError(f"{self._path}: its columns have changed.", "Look for the logs again.")

    def _take(self, line: Line, sheet: Sheet, runs: Runs) -> None:
        layout = self._layout
        if layout.is_long:
            self._add(line, sheet, runs.of(line, None), layout.values or (layout.value or 0,))
            return
        for place in layout.values:
            self._add(line, sheet, runs.of(line, sheet.columns[place]), (place,))

    def _add(self, line: Line, sheet: Sheet, run: Run, places: Sequence[int]) -> None:
        part = self._parts.get(run)
        if part is None:
            part = self._parts[run] = Part(len(places), sheet.unit)
        if part.fault is not None:
            return
        try:
            self._append(part, line, places, comma=sheet.comma)
        except RowError as exc:
            part.fault = InputError(f"{self._path}, {sheet.unit} {line.number}: {exc.message}.", REMEDY)

    def _append(self, part: Part, line: Line, places: Sequence[int], *, comma: bool) -> None:
        """Put the row to its part. Raises RowError, and has then changed nothing."""
        layout, cell = self._layout, line.cells
        key = layout.item_key(cell)
        if key is None:
            raise RowError(f"{shown(cell[layout.key])} is no item key")
        named = ""
        if layout.metric is not None:
            named = cells.name(cell[layout.metric]) or ""
            if not named:
                raise RowError(f"{shown(cell[layout.metric])} is no metric")
        outcomes = [_outcome(layout, cell, place, comma=comma) for place in places]
        part.numbers.append(line.number)
        part.keys.append(key)
        part.named.append(named)
        part.categories.append(cells.name(cell[layout.category]) if layout.category is not None else None)
        for passed, trials in outcomes:
            part.passed.append(passed)
            part.trials.append(trials)


def _outcome(layout: Layout, cell: Sequence[Any], place: int, *, comma: bool) -> tuple[float, float]:
    if layout.trials is not None and layout.value is not None:
        return cells.counts(cell[place], cell[layout.trials], comma=comma)
    outcome = cells.outcome(cell[place], comma=comma)
    if outcome is None:
        raise RowError(f"{shown(cell[place])} is no outcome (0 to 1, true, false, or empty where missing)")
    return outcome
