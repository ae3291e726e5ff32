"""Many rows of the commonest shape at once: a subject's choices, one filter, every verdict 0 or 1.

MMLU's logs are 57 files of such rows per model. Whatever is not exactly of this shape is left to the way row by row,
which alone refuses, counts and explains; both ways give the same log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import orjson

from mince_gui.benchmarks import Benchmark, content_hash
from mince_gui.logs.collect import RowError
from mince_gui.logs.lm_eval.rows import MetricReader, filter_name

_VERDICTS = frozenset({0.0, 1.0})


@dataclass(frozen=True)
class Columns:
    """What rows say, in their order: item keys, content hashes, passed per metric; and the filter of them all."""

    keys: Sequence[str]
    contents: Sequence[str]
    passed: Mapping[str, Sequence[float]]
    filter_name: str


def columns_of(lines: Sequence[bytes], benchmark: Benchmark, subject: str, metrics: MetricReader) -> Columns | None:
    """The lines' rows as columns; None where any of them is of another shape, or no row at all."""
    try:
        return _columns(lines, benchmark, subject, metrics)
    except (RowError, LookupError, TypeError, ValueError, RecursionError):
        return None  # no JSON, a field that is absent or of another type: row by row it is said which


def _columns(lines: Sequence[bytes], benchmark: Benchmark, subject: str, metrics: MetricReader) -> Columns | None:
    first = orjson.loads(lines[0])
    name, listed = filter_name(first), first["metrics"]
    fields = metrics.fields(first, name) if name is not None else ()
    if name is None or not fields or metrics.left_out:
        return None
    keys: list[str] = []
    contents: list[str] = []
    passed: dict[str, list[float]] = {metric: [] for _, metric in fields}
    columns = [(field, passed[metric]) for field, metric in fields]
    if len(passed) != len(columns):
        return None
    # all that is taken of a row is taken before the next is parsed: the memory it lay in is then still in the cache
    for row in chain((first,), map(orjson.loads, islice(lines, 1, None))):
        number = row["doc_id"]
        if type(number) is not int or number < 0 or row["filter"] != name or row["metrics"] != listed:
            return None
        if "response_null" in row:
            return None
        for (choice,) in row["resps"]:  # one answer each, [log-probability, greedy or not]; a text is a TypeError
            if None in choice:
                return None
        for field, column in columns:
            verdict = row[field]
            if verdict not in _VERDICTS:
                return None
            column.append(verdict)
        keys.append(f"{subject}/{number}")
        contents.append(content_hash(benchmark, row["doc"]))
    return Columns(keys, contents, passed, name)
