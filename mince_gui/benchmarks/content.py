"""What of an item's doc is its content, so that public copies of one item hash alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mince_gui.base.canonical import content_sha256
from mince_gui.benchmarks.facts import Benchmark

_LETTERS = {"A": 0, "B": 1, "C": 2, "D": 3}


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
        if isinstance(answer, str):
            answer = _LETTERS.get(answer.strip(), answer)
        return {"question": doc["question"], "choices": doc["choices"], "answer": answer}
    return doc


def content_hash(benchmark: Benchmark, doc: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of an item's canonical content.

    Raises KeyError where the doc lacks a field of its content, TypeError or ValueError where a field
    cannot be content (a number in place of the list of arguments, NaN).
    """
    return content_sha256(content_of(benchmark, doc))
