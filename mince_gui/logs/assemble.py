"""Puts the rows of one run together, for formats that do not name the benchmark's own item keys.

A reader of such a format makes one `Row` per item: with the format's own key, and with the benchmark's where the item
is recognised. `assemble` takes the benchmark's keys if every row has one; else the run is a benchmark of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress
from mince_gui.benchmarks import of_task
from mince_gui.logs.checks import Observed, checks_of, counted
from mince_gui.logs.collect import NAN, Collector, Outcome, RowError
from mince_gui.logs.lines import JsonLines
from mince_gui.logs.naming import NAME_LIMIT, storable
from mince_gui.logs.types import Check, Found, PerItemLog

_ROWS_PER_STEP = 256
SALVAGE = "With --salvage what is whole in front of this place is imported all the same."
"""What every refusal of a broken row adds to its remedy."""
ResponseState = Literal["null", "empty", "given", "not stored"]


@dataclass(frozen=True)
class Row:
    """One item of a run. `where` names file and row; `key` is None where the item was not recognised.

    An item may have several rows of different `part`, each with metrics of its own. `answer` is the response's text
    where the log has it, for the checks alone.
    """

    where: str
    own_key: str
    key: str | None
    outcomes: tuple[Outcome, ...]
    category: str | None = None
    content: str | None = None
    response: ResponseState = "not stored"
    answer: str | None = None
    part: str = "none"


@dataclass(kw_only=True)
class Item:
    """What is known of one item while its rows come in; a reader adds how it keeps their outcomes."""

    where: str
    own_key: str
    key: str | None
    content: str | None
    category: str | None
    response: ResponseState = "not stored"
    answer: str | None = None

    def row(self, outcomes: Sequence[Outcome]) -> Row:
        """The item as one row, once its outcomes are known."""
        return Row(
            self.where, self.own_key, self.key, tuple(outcomes), category=self.category, content=self.content,
            response=self.response, answer=self.answer,
        )  # fmt: skip


@dataclass
class Reading:
    """One reading of a run: says how far it is, lets itself be cancelled, remembers what was noticed and left out."""

    found: Found
    emit: Emit
    cancel: CancelToken | None
    salvage: bool = False
    broken: str = ""
    left_out: dict[str, int] = field(default_factory=dict)
    observed: Observed = field(default_factory=Observed)

    def __post_init__(self) -> None:
        self._sizes = {path: size_of(path) for path in self.found.files}
        self._total = sum(self._sizes.values())
        self._before = 0
        self._rows = 0

    def step(self, path: Path, position: int) -> None:
        """Count one row that ends at this byte of the file. Raises CancelledError."""
        self._rows += 1
        if self._rows % _ROWS_PER_STEP == 0:
            if self.cancel is not None:
                self.cancel.check()
            self.emit(Progress(self._before + position, self._total, f"{path.name}: {self._rows} rows"))

    def finished(self, path: Path) -> None:
        """Count the file as read. Raises CancelledError."""
        if self.cancel is not None:
            self.cancel.check()
        self._before += self._sizes[path]
        self.emit(Progress(self._before, self._total, f"{path.name}: {self._rows} rows"))

    def jsonl(self, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The rows of a JSON Lines file, each with its place; `salvage` ends it at a broken one. Raises InputError."""
        try:
            with JsonLines(path, self.found.encoding) as lines:
                for number, row in lines:
                    yield f"{path}, line {number}", row
                    self.step(path, lines.position)
        except InputError as exc:
            if not self.salvage:
                raise InputError(exc.message, f"{exc.remedy} {SALVAGE}".lstrip()) from exc
            self.broken = self.broken or exc.message
        self.finished(path)

    def share(self, name: str, value: Any) -> float | None:
        """A metric's value as a share of 1: NaN where null or not finite, None where no share (the metric goes).

        Raises RowError where it is no number at all.
        """
        share = share_of(name, value)
        if share is None:
            self.left_out[name] = self.left_out.get(name, 0) + 1
        return share


def share_of(name: str, value: Any) -> float | None:
    """A metric's value as a share of 1: NaN where null or not finite, None outside 0 to 1. Raises RowError."""
    if value is None:
        return NAN
    if not isinstance(value, bool | int | float):
        raise RowError(f"{name} is {shown(value)}, not a number or a verdict")
    if isinstance(value, float) and not math.isfinite(value):
        return NAN
    return float(value) if 0 <= value <= 1 else None


def size_of(path: Path) -> int:
    """The file's bytes. Raises InputError."""
    try:
        return path.stat().st_size
    except OSError as exc:
        raise InputError(f"{path}: cannot be opened ({exc.strerror}).", "Look for the logs again.") from exc


def shown(value: Any) -> str:
    """The value for a message: ASCII, bounded."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def is_name(value: Any) -> TypeGuard[str]:
    """Whether the value is a text that can name something."""
    return isinstance(value, str) and 0 < len(value) <= NAME_LIMIT and value.isprintable()


def state_of(answer: Any) -> ResponseState:
    """Whether a response's field holds an answer."""
    if answer is None:
        return "null"
    return "given" if not isinstance(answer, str) or answer.strip() else "empty"


def assemble(
    reading: Reading,
    rows: Sequence[Row],
    *,
    own_name: str,
    meta: Mapping[str, Any] | None = None,
    limit: float | None = None,
) -> PerItemLog:
    """The checked log of the rows. `own_name` is the benchmark of its own that it is where an item is not recognised.

    Raises InputError where there are no rows, or where one contradicts another.
    """
    found = reading.found
    if not rows:
        raise InputError(f"{found.files[0]}: there are no rows in it.", "Evaluate again.")
    strange = list(dict.fromkeys(row.own_key for row in rows if row.key is None))
    foreign = bool(strange) and found.benchmark.name != own_name
    benchmark = of_task(own_name) if foreign else found.benchmark
    own_keys = foreign or found.benchmark.name == own_name
    collector, observed = Collector(benchmark), reading.observed
    for row in rows:
        key = row.own_key if own_keys or row.key is None else row.key
        outcomes = [outcome for outcome in row.outcomes if outcome[0] not in reading.left_out]
        if not outcomes:
            names = ", ".join(sorted(reading.left_out))
            raise InputError(
                f"{row.where}: " + (f"{names} is outside 0 to 1." if names else "there is no metric in the row."),
                "Such a metric cannot be sized: leave this file out.",
            )
        category = row.category if row.category is not None else benchmark.category({}, key)
        try:
            collector.add(key, row.part, outcomes, category, row.content)
        except RowError as exc:
            raise InputError(f"{row.where}: {exc.message}.", exc.remedy or "Leave this file out.") from exc
        observed.row(key, outcomes, row.content, row.response)
        if row.answer is not None:
            observed.answer(key, row.answer)
    keys, categories, hashes, passed, trials = collector.arrays()
    log = PerItemLog(
        model=found.model, benchmark=benchmark, task=found.task, keys=keys, categories=categories, hashes=hashes,
        passed=passed, trials=trials, format=found.format, source=storable(found.source), timestamp=found.timestamp,
        meta={name: value for name, value in (meta or {}).items() if value is not None},
    )  # fmt: skip
    extra = list(_extra(reading))
    if foreign:
        extra.append(
            Check(
                "unknown_items", "warning",
                f"{len(strange)} of {counted(len(keys), 'item')} not recognised as any of {found.benchmark.title} "
                f"(another prompt, or none stored): the log is kept as a benchmark of its own, {own_name}.",
                len(strange), tuple(strange[:5]),
            )
        )  # fmt: skip
    return checks_of(log, collector, observed, limit, extra)


def _extra(reading: Reading) -> Iterator[Check]:
    if reading.broken:
        yield Check("salvaged", "warning", f"Only what is whole was read: {reading.broken}")
    for name, count in reading.left_out.items():
        yield Check(
            "metric_left_out", "warning",
            f"{name} is left out: {counted(count, 'value')} outside 0 to 1, which cannot be sized.", count,
        )  # fmt: skip
