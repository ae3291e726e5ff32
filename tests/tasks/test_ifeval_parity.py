"""Verdicts equal lm-eval's on 17 models x 541 real responses."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mince_gui.tasks.ifeval import check

_MODELS = (
    "CohereForAI__aya-23-8B",
    "Qwen__Qwen2.5-0.5B-Instruct-GPTQ-Int4",
    "Qwen__Qwen2.5-1.5B-Instruct-GPTQ-Int4",
    "Qwen__Qwen2.5-14B-Instruct-GPTQ-Int4",
    "Qwen__Qwen2.5-32B-Instruct-GPTQ-Int4",
    "Qwen__Qwen2.5-3B-Instruct-GPTQ-Int4",
    "Qwen__Qwen2.5-7B-Instruct-GPTQ-Int4",
    "claude-3-5-sonnet-20240620",
    "claude-3-haiku-20240307",
    "claude-3-opus-20240229",
    "deepseek-ai__deepseek-llm-7b-chat",
    "gpt-4o-2024-08-06",
    "gpt-4o-mini-2024-07-18",
    "hugging-quants__Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
    "mistralai__Mistral-7B-Instruct-v0.3",
    "o1-mini-2024-09-12",
    "o1-preview-2024-09-12",
)
_RANDOM_LETTER = {1122, 1129}
"""Items where lm-eval draws a letter at random; the reference has null there, twice in all for each model."""


@cache
def _docs(shared: Path) -> dict[int, dict[str, Any]]:
    lines = (shared / "data/ifeval/test.jsonl").read_text(encoding="utf-8").splitlines()
    return {doc["key"]: doc for doc in map(json.loads, lines)}


@cache
def _reference(shared: Path) -> dict[tuple[str, int], dict[str, Any]]:
    with gzip.open(shared / "data/ifeval/reference_scores.jsonl.gz", "rt", encoding="utf-8") as file:
        return {(row["model"], row["key"]): row for row in map(json.loads, file)}


@pytest.mark.shared
@pytest.mark.parametrize("model", _MODELS)
def test_every_verdict_equals_lm_evals(shared: Path, model: str) -> None:
    docs, reference = _docs(shared), _reference(shared)
    [path] = (shared / "data/logs/lm_eval" / model).glob("samples_ifeval_*.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == 541
    differing, without = [], []
    for row in rows:
        key = row["doc"]["key"]
        checked = check(docs[key], row["resps"][0][0])
        for way, verdicts in (("strict", checked.strict), ("loose", checked.loose)):
            expected = reference[model, key][way]
            without += [key for value in expected if value is None]
            pairs = zip(verdicts, expected, strict=True)
            if any(theirs is not None and ours != theirs for ours, theirs in pairs):
                differing.append((key, way, verdicts, expected))
    assert differing == []
    assert sorted(without) == [1122, 1122, 1129, 1129]
    assert set(without) == _RANDOM_LETTER


@pytest.mark.shared
def test_all_models_of_the_reference_are_compared(shared: Path) -> None:
    reference = _reference(shared)
    assert {model for model, _ in reference} == set(_MODELS)
    assert len(reference) == 9197


@pytest.mark.shared
def test_every_instruction_of_the_dataset_is_supported(shared: Path) -> None:
    docs = _docs(shared).values()
    assert sum(len(check(doc, "Some words.").strict) for doc in docs) == 834
