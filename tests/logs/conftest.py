"""Writers of small logs in lm-eval's layout; the item texts are made up here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Rows = Sequence[dict[str, Any]]
STAMP = "2026-01-02T03-04-05.678901"


def _gsm8k_row(doc_id: int, right: object, filter_: str | None = "flexible-extract") -> dict[str, Any]:
    row: dict[str, Any] = {
        "doc_id": doc_id,
        "doc": {"question": f"How many are {doc_id} and one?", "answer": f"#### {doc_id + 1}"},
        "target": f"#### {doc_id + 1}",
        "arguments": {"gen_args_0": {"arg_0": "Question", "arg_1": {"until": ["Q:"]}}},
        "resps": [["one more"]],
        "filtered_resps": ["1"],
        "filter": filter_,
        "metrics": ["exact_match"],
        "exact_match": right,
    }
    if filter_ is None:
        del row["filter"], row["metrics"]
    return row


def _ifeval_row(doc_id: int, key: object, strict: Sequence[object], loose: Sequence[object]) -> dict[str, Any]:
    return {
        "doc_id": doc_id,
        "doc": {
            "key": key,
            "prompt": f"Write line {key}.",
            "instruction_id_list": ["punctuation:no_comma", "keywords:existence"][: len(strict)],
            "kwargs": [{"num_words": None}, {"keywords": ["a"]}][: len(strict)],
        },
        "resps": [["text"]],
        "filter": "none",
        "metrics": [
            "prompt_level_strict_acc", "inst_level_strict_acc", "prompt_level_loose_acc", "inst_level_loose_acc",
        ],
        "prompt_level_strict_acc": all(strict),
        "inst_level_strict_acc": list(strict),
        "prompt_level_loose_acc": all(loose),
        "inst_level_loose_acc": list(loose),
    }  # fmt: skip


def _write_run(
    folder: Path,
    task: str,
    rows: Rows,
    *,
    model: str | None = "lab/small-model",
    stamp: str = STAMP,
    results: dict[str, Any] | None = None,
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{stamp}.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8", newline="\n")
    if model is not None or results is not None:
        body = {"model_name": model, "config": {"limit": None}, "lm_eval_version": "0.4.13", **(results or {})}
        (folder / f"results_{stamp}.json").write_text(json.dumps(body), encoding="utf-8")
    return path


@pytest.fixture
def gsm8k_row() -> Callable[..., dict[str, Any]]:
    """A GSM8K row: doc_id, verdict, filter (None leaves out filter and metrics, as before 0.4.7)."""
    return _gsm8k_row


@pytest.fixture
def ifeval_row() -> Callable[..., dict[str, Any]]:
    """An IFEVAL row: doc_id, key, strict and loose verdicts per instruction."""
    return _ifeval_row


@pytest.fixture
def write_run() -> Callable[..., Path]:
    """Writes a samples file and, unless model is None, its results file; gives the samples file."""
    return _write_run
