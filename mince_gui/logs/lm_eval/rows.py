"""One row of a samples file: its key, its filter, its outcomes, the state of its response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mince_gui.benchmarks import Benchmark
from mince_gui.logs.assemble import is_name, share_of, shown
from mince_gui.logs.collect import NAN, Outcome, RowError

NO_METRIC = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
    "doc_hash", "prompt_hash", "target_hash", "response_null",
})  # fmt: skip
"""Fields of a row that are no metric."""
_PAIRS = frozenset({
    "f1", "mcc", "bleu", "chrf", "ter", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte",
    "brier_score",
})  # fmt: skip
"""Metrics whose value in a row, if it is a list, is what the whole is computed from: gold and prediction, ..."""
_VERDICTS = {"True": 1.0, "False": 0.0}
"""How lm-eval before 0.4.8 wrote a verdict that was one of numpy's."""
_MISSING = (NAN, NAN)


def item_key(benchmark: Benchmark, row: Mapping[str, Any], subject: str | None) -> str:
    """The row's item key. Raises RowError where what makes it is absent or no key."""
    kind = benchmark.key_field
    doc_id = row.get("doc_id")
    if kind in ("doc_id", "subject/doc_id") and (type(doc_id) is not int or doc_id < 0):
        raise RowError(f"doc_id is {shown(doc_id)}, not a whole number from 0 up")
    doc = row.get("doc")
    if kind != "doc_id" and subject is None:
        field = "subject" if kind == "subject/doc_id" else kind
        named = doc.get(field) if isinstance(doc, dict) else None
        if type(named) not in (int, str) or not is_name(str(named)):
            raise RowError(f"doc.{field} is {shown(named)}, which names no item")
        if kind == "subject/doc_id" and named not in benchmark.subjects:
            raise RowError(f"doc.subject is {shown(named)}, no subject of {benchmark.title}")
    return benchmark.item_key(doc or {}, doc_id if isinstance(doc_id, int) else 0, subject)


def filter_name(row: Mapping[str, Any]) -> str | None:
    """The row's filter, None where the row does not say (before lm-eval 0.4.7). Raises RowError."""
    name = row.get("filter")
    if name is None or is_name(name):
        return name
    raise RowError(f"filter is {shown(name)}, not a name")


@dataclass
class LeftOut:
    """A metric that cannot be sized: why, where that was first seen, and how many values say so."""

    why: str
    where: str
    count: int = 0


class MetricReader:
    """Takes the outcomes out of rows; remembers which fields the last row's metrics were in, as rows repeat.

    `left_out` are the metrics, none of the benchmark's own, some value of which is no share of 1: perplexities,
    counts of words, scores up to 100.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._own = {metric.name.partition(",")[0] for metric in benchmark.metrics}
        self._listed: Any = None
        self._filter = ""
        self._fields: list[tuple[str, str]] = []
        self.left_out: dict[str, LeftOut] = {}

    def outcomes(self, row: Mapping[str, Any], filter_: str, path: Path, number: int) -> list[Outcome]:
        """Metric, passed and trials of every metric of the row; NaN where null or not finite. Raises RowError.

        A metric is named bare, or with the filter after a comma where there is one. File and line are kept with a
        metric that is left out from this row on.
        """
        fields = self.fields(row, filter_)
        if not fields:
            raise RowError("there is no metric in the row")
        found: list[Outcome] = []
        nothing_left_out = not self.left_out
        for field, metric in fields:
            value = row.get(field)
            if type(value) is float and 0.0 <= value <= 1.0 and nothing_left_out:
                found.append((metric, value, 1.0))
                continue
            try:
                outcome = (metric, *_outcome(field, value))
            except RowError as exc:
                if field.partition(",")[0] in self._own:
                    raise
                left_out = self.left_out.setdefault(metric, LeftOut(exc.message, f"{path}, line {number}"))
                left_out.count += 1
                continue
            if metric not in self.left_out:
                found.append(outcome)
        return found

    def fields(self, row: Mapping[str, Any], filter_: str) -> list[tuple[str, str]]:
        """The fields of the row that hold outcomes, each with its metric's name. Raises RowError."""
        listed = row.get("metrics")
        if listed is None:
            return list(self._guessed(row, filter_))
        same = listed == self._listed and filter_ == self._filter
        for field, _ in self._fields:
            same = same and field in row
        if not same:
            self._fields = list(_named(row, listed, filter_))
            self._listed, self._filter = listed, filter_
        return self._fields

    def _guessed(self, row: Mapping[str, Any], filter_: str) -> Iterator[tuple[str, str]]:
        """For rows without "metrics": the benchmark's own, else every field that looks like a verdict."""
        fields = [name for name in row if name not in NO_METRIC and name.partition(",")[0] in self._own]
        if not fields:
            fields = [name for name, value in row.items() if name not in NO_METRIC and _looks_like_verdict(name, value)]
        for name in fields:
            yield name, _full_name(name, filter_)


def _full_name(name: str, filter_: str) -> str:
    bare, comma, own = name.partition(",")
    own = own if comma else filter_
    return bare if own == "none" else f"{bare},{own}"


def _named(row: Mapping[str, Any], listed: Any, filter_: str) -> Iterator[tuple[str, str]]:
    if not isinstance(listed, list) or not all(map(is_name, listed)):
        raise RowError(f"metrics is {shown(listed)}, not a list of names")
    for name in listed:
        field = name if name in row or "," in name else f"{name},{filter_}"
        yield field if field in row else name, _full_name(name, filter_)


def _looks_like_verdict(name: str, value: Any) -> bool:
    if name.partition(",")[0].endswith("_stderr") or not is_name(name):
        return False
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, bool) for entry in value)
    return isinstance(value, bool | int | float) or (isinstance(value, str) and value in _VERDICTS)


def _outcome(field: str, value: Any) -> tuple[float, float]:
    if isinstance(value, str) and value in _VERDICTS:
        return _VERDICTS[value], 1.0
    if isinstance(value, list) and field.partition(",")[0] in _PAIRS:
        raise RowError(f"{field} is {shown(value)}, of which lm-eval makes a number only for all rows together")
    if isinstance(value, list):
        parts = [_share(f"a part of {field}", part) for part in value]
        # one unknown part would change the ratio's denominator: NaN makes the whole sum NaN, and the item is missing
        passed = sum(parts) if parts else NAN
        return (passed, float(len(parts))) if passed == passed else _MISSING
    share = _share(field, value)
    return (share, 1.0) if share == share else _MISSING


def _share(field: str, value: Any) -> float:
    share = share_of(field, value)
    if share is None:
        raise RowError(f"{field} is {shown(value)}, outside 0 to 1: such a metric cannot be sized")
    return share


def response_state(row: Mapping[str, Any]) -> Literal["null", "empty", "given", "not stored"]:
    """Whether the model answered: null = no answer came, empty = a blank one, not stored = the log does not say."""
    resps = row.get("resps", "")
    if resps is None or row.get("response_null") is True:
        return "null"
    if not resps:
        return "not stored"
    state: Literal["empty", "given", "not stored"] = "not stored"
    for repeats in resps if type(resps) is list else (resps,):
        for answer in repeats if type(repeats) is list else (repeats,):
            if type(answer) is str:
                if state != "given":
                    state = "given" if answer.strip() else "empty"
            elif answer is None or (type(answer) is list and None in answer):
                # a choice's answer is a list [log-probability, greedy or not]
                return "null"
            else:
                state = "given"
    return state


def answer_text(row: Mapping[str, Any]) -> str | None:
    """The text of the first response; None where none is stored, and for choices, whose answers are numbers."""
    resps = row.get("resps")
    if type(resps) is not list or not resps or type(resps[0]) is not list or not resps[0]:
        return None
    answer = resps[0][0]
    return answer if type(answer) is str and answer else None


def loose_below_strict(row: Mapping[str, Any]) -> int:
    """Instructions of an IFEVAL row that pass strictly but not loosely, which no pure scorer gives."""
    strict, loose = row.get("inst_level_strict_acc"), row.get("inst_level_loose_acc")
    if not isinstance(strict, list) or not isinstance(loose, list) or len(strict) != len(loose):
        return 0
    return sum(bool(s) and not li for s, li in zip(strict, loose, strict=True))
