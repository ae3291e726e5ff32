"""Streams the details files of one run into a checked log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.logs.assemble import Item, Reading, assemble
from mince_gui.logs.collect import Outcome, RowError
from mince_gui.logs.lighteval import rows
from mince_gui.logs.lighteval.files import Details, details_file, own_benchmark
from mince_gui.logs.prompts import PromptFinder
from mince_gui.logs.results_file import NO_RESULTS, ResultsFile
from mince_gui.logs.types import Found, PerItemLog
from mince_gui.logs.values import filled, plain_number

_ROWS_LIMIT = 10_000_000
_AGAIN = "Take a whole copy of the file, or evaluate again with --save-details."


@dataclass(kw_only=True)
class _Item(Item):
    """One item, from one row or from several: each sampling method of a task writes its own."""

    outcomes: dict[str, Outcome]


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read every file of the run, a few rows at a time. Raises InputError with file and row, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    finder = PromptFinder(found.benchmark)
    items: dict[str, _Item] = {}
    shots: int | None = None
    for path in found.files:
        details = details_file(path)
        assert details is not None, "claim takes no other files"
        shots = details.shots
        _read_file(details, reading, finder, items)
    whole = filled([list(item.outcomes.values()) for item in items.values()])
    done = [
        item.row(outcomes)
        for item, outcomes in zip(items.values(), whole, strict=True)
    ]  # fmt: skip
    results = ResultsFile.load(found.results_file) if found.results_file is not None else NO_RESULTS
    limit = plain_number(results.part("config_general").get("max_samples"))
    return assemble(
        reading, done, own_name=own_benchmark(found), meta=_meta(found, results, shots),
        limit=None if limit is None or math.isnan(limit) else limit,
    )  # fmt: skip


def _read_file(details: Details, reading: Reading, finder: PromptFinder, items: dict[str, _Item]) -> None:
    path = details.path
    try:
        with pq.ParquetFile(path) as file:
            _read_rows(file, details, reading, finder, items)
    except rows.DAMAGED as exc:
        told = (str(exc).splitlines() or [type(exc).__name__])[0][:200]
        if not reading.salvage:
            raise InputError(f"{path}: the Parquet file is damaged ({told}).", _AGAIN) from exc
        reading.broken = reading.broken or f"{path}: {told}"
    except InputError as exc:
        if not reading.salvage:
            raise
        reading.broken = reading.broken or exc.message
    reading.finished(path)


def _read_rows(
    file: pq.ParquetFile, details: Details, reading: Reading, finder: PromptFinder, items: dict[str, _Item]
) -> None:
    path, total = details.path, file.metadata.num_rows
    if total > _ROWS_LIMIT:
        raise InputError(f"{path}: {total} rows, more than any benchmark has.")
    prefix = f"{details.subject}/" if details.subject and len(reading.found.files) > 1 else ""
    size = path.stat().st_size
    for number, row in rows.numbered(file):
        where = f"{path}, row {number}"
        try:
            _take(rows.entry(row), where, prefix, number, details.subject, reading, finder, items)
        except RowError as exc:
            raise InputError(f"{where}: {exc.message}.", exc.remedy or _AGAIN) from exc
        reading.step(path, size * number // total)


def _take(
    entry: rows.Entry, where: str, prefix: str, number: int, subject: str | None, reading: Reading,
    finder: PromptFinder, items: dict[str, _Item],
) -> None:  # fmt: skip
    own_key = prefix + (entry.item_id or str(number - 1))
    outcomes = entry.outcomes(reading)
    item = items.get(own_key)
    if item is None:
        key = finder.key(entry.query, subject)
        items[own_key] = _Item(
            where=where, own_key=own_key, key=key, category=subject,
            content=entry.content(reading.found.benchmark, recognised=key is not None),
            outcomes={outcome[0]: outcome for outcome in outcomes}, response=entry.response, answer=entry.answer,
        )  # fmt: skip
        return
    for outcome in outcomes:
        before = item.outcomes.get(outcome[0])
        if before is None or math.isnan(before[1]):
            item.outcomes[outcome[0]] = outcome
        elif not math.isnan(outcome[1]) and outcome != before:
            raise RowError(
                f"item {own_key} comes a second time with another {outcome[0]}",
                "Two runs are mixed in one file: keep the rows of one of them.",
            )


def _meta(found: Found, results: ResultsFile, shots: int | None) -> dict[str, Any]:
    general = results.part("config_general")
    reported = {
        name: value
        for task, metrics in results.part("results").items()
        if len(found.files) == 1 and _same_task(task, found.files[0]) and isinstance(metrics, dict)
        for name, value in metrics.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        and not name.endswith("_stderr")
    }  # fmt: skip
    sha = general.get("lighteval_sha")
    return {
        "lighteval_sha": sha if isinstance(sha, str) and sha != "?" else None,
        "n_shot": shots,
        "limit": general.get("max_samples") if isinstance(general.get("max_samples"), int) else None,
        "reported": reported or None,
    }


def _same_task(task: str, path: Path) -> bool:
    details = details_file(path)
    return details is not None and task.replace("|", ":") == details.whole_task.replace("|", ":")
