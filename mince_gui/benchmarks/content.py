"""What of an item's doc is its content, so that public copies of one item hash alike."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from mince_gui.base.canonical import content_sha256, plain_json
from mince_gui.benchmarks.facts import Benchmark

_LETTERS = ("A", "B", "C", "D")


def answer_index(answer: str) -> int | None:
    """The place of the choice that a letter names, counted from 0; None for any other text."""
    letter = answer.strip()
    return _LETTERS.index(letter) if letter in _LETTERS else None


def content_of(benchmark: Benchmark, doc: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of `doc` that make the item what it is; mirrors add or drop others.

    Raises KeyError where a known benchmark's field is absent.
    """
    if benchmark.name == "ifeval":
        return {
            "prompt": doc["prompt"],
            "instruction_id_list": doc["instruction_id_list"],
            # some copies write null where an instruction takes no arguments
            "kwargs": [entry or {} for entry in doc["kwargs"] or ()],
        }
    if benchmark.name == "gsm8k":
        return {"question": doc["question"], "answer": doc["answer"]}
    if benchmark.name == "mmlu":
        answer = doc["answer"]
        if isinstance(answer, str) and (place := answer_index(answer)) is not None:
            answer = place
        return {"question": doc["question"], "choices": doc["choices"], "answer": answer}
    return doc


def content_hash(benchmark: Benchmark, doc: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of an item's canonical content.

    Raises KeyError where the doc lacks a field of its content, TypeError or ValueError where a field
    cannot be content (a number in place of the list of arguments, NaN).
    """
    # the docs that come by the hundred thousand have their own quick ways, if every field is of the usual type
    known: str | None = None
    if benchmark.name == "mmlu":
        question, choices, answer = doc["question"], doc["choices"], doc["answer"]
        if type(question) is str and type(choices) is list and type(answer) is int:
            try:
                known = _mmlu_hash(question, answer, *choices)
            except TypeError:
                known = None  # a choice that is no text
    elif benchmark.name == "gsm8k":
        question, answer = doc["question"], doc["answer"]
        if type(question) is str and type(answer) is str:
            known = _plain_hash({"answer": answer.strip(), "question": question.strip()})
    return known or content_sha256(content_of(benchmark, doc))


@lru_cache(maxsize=1 << 14)
def _mmlu_hash(question: str, answer: int, *choices: str) -> str | None:
    """Kept for all of MMLU, since the logs of every model carry the same docs; what it is kept under is all of it."""
    stripped = list(map(str.strip, choices))
    return _plain_hash({"answer": answer, "choices": stripped, "question": question.strip()})


def _plain_hash(content: Mapping[str, Any]) -> str | None:
    plain = plain_json(content)
    return hashlib.sha256(plain).hexdigest() if plain is not None else None
