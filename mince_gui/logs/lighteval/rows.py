"""One row of a details file, in any of the three layouts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mince_gui.base.canonical import content_sha256
from mince_gui.benchmarks import Benchmark, content_hash
from mince_gui.logs.assemble import Reading, ResponseState, is_name, shown, state_of
from mince_gui.logs.collect import Outcome, RowError
from mince_gui.logs.values import outcome

_NEW = ("doc.query", "doc.choices", "doc.gold_index", "doc.specific", "doc.id", "metric", "model_response.text")
_OLD_VALUES = ("choices", "gold_index", "specifics", "metrics", "predictions")
_OLD = ("example", "full_prompt", *_OLD_VALUES)

DAMAGED = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
"""What pyarrow raises for a broken file: bytes that are no text (ValueError), sizes that are none."""

_TEXT_LIMIT = 1 << 20
_ROWS_AT_ONCE = 64
_NUMPY = re.compile(r"\b(?:np|numpy)\.\w+\(([^()]*)\)")
_NOT_FINITE = re.compile(r"(?<![\w'\"])-?(?:nan|inf)(?![\w'\"])")
_QUESTION = re.compile(r"(?:.*\n)?Question: (?P<question>.*?)\n(?:A\. .*\n)?Answer:\s*", re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """What a row says of its item. `item_id` is "" where the layout has none."""

    query: str
    choices: Sequence[Any]
    gold: Any
    specific: Mapping[str, Any]
    metrics: Mapping[str, Any]
    item_id: str
    answers: Sequence[Any] | None

    @property
    def response(self) -> ResponseState:
        """The state of the first answer; tasks that only weigh the choices have none."""
        return state_of(self.answers[0]) if self.answers else "not stored"

    @property
    def answer(self) -> str | None:
        """The first answer's text."""
        return self.answers[0] if self.answers and isinstance(self.answers[0], str) else None

    def outcomes(self, reading: Reading) -> list[Outcome]:
        """The outcomes of every metric of the row."""
        return [
            found for name, value in self.metrics.items() if is_name(name) for found in outcome(name, value, reading)
        ]

    def content(self, benchmark: Benchmark, *, recognised: bool) -> str | None:
        """The item's content hash: the benchmark's own where the item is recognised and the row tells all of it."""
        try:
            if recognised:
                return content_hash(benchmark, self._doc(benchmark))
            return content_sha256({"query": self.query, "choices": self.choices, "gold": self.gold})
        except (KeyError, TypeError, ValueError, RecursionError):
            return None

    def _doc(self, benchmark: Benchmark) -> Mapping[str, Any]:
        """The benchmark's doc as the prompts of lighteval's own tasks show it. Raises KeyError where they do not."""
        if benchmark.name == "ifeval":
            ids = self.specific["instructions_id_list"]
            return {"prompt": self.query, "instruction_id_list": ids, "kwargs": self.specific["kwargs"]}
        match = _QUESTION.fullmatch(self.query)
        if match is None:
            raise KeyError("question")
        if benchmark.name == "gsm8k":
            return {"question": match["question"], "answer": self.choices[0]}
        body = self.query[match.start("question") :].rpartition("\nAnswer:")[0]
        question, choices = _choices(body)
        return {"question": question, "choices": choices, "answer": self.gold}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _choices(body: str) -> tuple[str, list[str]]:
    """Question and choices, cut from the end: a question may have lists of its own. Raises KeyError."""
    choices: list[str] = []
    for letter in "DCBA":
        body, found, choice = body.rpartition(f"\n{letter}. ")
        if not found:
            raise KeyError(letter)
        choices.insert(0, choice)
    return body, choices


def entry(row: Mapping[str, Any]) -> Entry:
    """The row of a details file as read with these columns. Raises RowError."""
    if "metric" in row:
        doc, response = _object(row.get("doc")), _object(row.get("model_response"))
        return _checked(
            doc.get("query"), doc.get("choices"), doc.get("gold_index"), doc.get("specific"), row["metric"],
            doc.get("id"), response.get("text"),
        )  # fmt: skip
    choices, gold, specific, metrics, answers = (_literal(name, row.get(name)) for name in _OLD_VALUES)
    return _checked(row.get("example") or row.get("full_prompt"), choices, gold, specific, metrics, None, answers)


def numbered(file: pq.ParquetFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows from 1. Only the columns that are looked at are read: log-probabilities and tokens can be large."""
    names = set(file.schema_arrow.names)
    if "metric" in names:
        inside = {
            f"{field.name}.{part.name}"
            for field in file.schema_arrow
            if field.name in ("doc", "model_response") and pa.types.is_struct(field.type)
            for part in field.type
        }
        columns = [name for name in _NEW if name in names or name in inside]
    else:
        columns = [name for name in _OLD if name in names]
    number = 0
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False):
        for row in batch.to_pylist():
            number += 1
            yield number, row


def _checked(query: Any, choices: Any, gold: Any, specific: Any, metrics: Any, item_id: Any, answers: Any) -> Entry:
    if not isinstance(query, str):
        raise RowError(f"the query is {shown(query)}, not a text")
    if not isinstance(metrics, dict) or not metrics:
        raise RowError(f"the metrics are {shown(metrics)}, not named values")
    if isinstance(gold, list) and len(gold) == 1:
        gold = gold[0]  # as 0.8 to 0.10 wrote it
    return Entry(
        query, choices if isinstance(choices, list) else [], gold, _object(specific),
        metrics, item_id if is_name(item_id) else "", answers if isinstance(answers, list) else None,
    )  # fmt: skip


def _literal(name: str, value: Any) -> Any:
    """What lighteval 0.7 and older wrote as Python's text of a value; other values as they are. Raises RowError."""
    if not isinstance(value, str):
        return value
    if len(value) > _TEXT_LIMIT:
        raise RowError(f"{name} is a text of {len(value)} characters, which no row has")
    text = _NOT_FINITE.sub("None", _NUMPY.sub(r"\1", value)) if name == "metrics" else value
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as exc:
        raise RowError(f"{name} is {shown(value)}, which is no value") from exc
