"""What of an item's doc is its content, so that public copies of one item hash alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mince_gui.base.canonical import content_sha256
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
    return content_sha256(content_of(benchmark, doc))
