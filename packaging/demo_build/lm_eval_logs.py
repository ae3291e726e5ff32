"""Write scores and per-item rows in the layout of lm-evaluation-harness 0.4.13.

The application imports the demo's pool like any other logs, so the demo shows the real import path.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo_build.corpus import Benchmark
from demo_build.prompts import (
    MATH_STOP,
    MAX_NEW_TOKENS,
    choice_block,
    exact_match,
    flexible_extract,
    math_prompt,
    strict_match,
    write_gz,
)

LM_EVAL = "0.4.13"
VERSION = 1.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """What a model said: four log-probabilities per item, and one text per problem."""

    choice: Sequence[Sequence[float]]
    math: Sequence[str]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _doc_hash(doc: Mapping[str, Any]) -> str:
    return _hash(json.dumps(doc, indent=2, ensure_ascii=False))


def choice_rows(benchmark: Benchmark, answers: Sequence[Sequence[float]]) -> list[Row]:
    """One row per item, with the four log-probabilities as lm-eval writes them."""
    rows: list[Row] = []
    for item, scores in zip(benchmark.choice, answers, strict=True):
        best = max(range(4), key=lambda index: scores[index])
        prompt = benchmark.prefix(item["category"]) + choice_block(item)
        pairs = [[f"{score:.6f}", str(score == max(scores) and index == best)] for index, score in enumerate(scores)]
        # The prompt is left to the hash: the rows would otherwise repeat it four times each.
        rows.append(
            {
                "doc_id": item["id"],
                "doc": dict(item),
                "target": str(item["answer"]),
                "arguments": {
                    f"gen_args_{index}": {"arg_0": choice_block(item), "arg_1": f" {text}"}
                    for index, text in enumerate(item["choices"])
                },
                "resps": [[pair] for pair in pairs],
                "filtered_resps": pairs,
                "filter": "none",
                "metrics": ["acc"],
                "doc_hash": _doc_hash(item),
                "prompt_hash": _hash(prompt),
                "target_hash": _hash(str(item["answer"])),
                "acc": float(best == item["answer"]),
            }
        )
    return rows


def math_rows(benchmark: Benchmark, answers: Sequence[str]) -> list[Row]:
    """Two rows per problem, all strict ones before all flexible ones."""
    rows: list[Row] = []
    for name, extract in (("strict-match", strict_match), ("flexible-extract", flexible_extract)):
        for item, text in zip(benchmark.math, answers, strict=True):
            prompt = math_prompt(item["question"])
            found = extract(text)
            rows.append(
                {
                    "doc_id": item["id"],
                    "doc": dict(item),
                    "target": item["answer"],
                    "arguments": {
                        "gen_args_0": {
                            "arg_0": prompt,
                            "arg_1": {"until": [MATH_STOP], "do_sample": False, "max_gen_toks": MAX_NEW_TOKENS},
                        }
                    },
                    "resps": [[text]],
                    "filtered_resps": [found],
                    "filter": name,
                    "metrics": ["exact_match"],
                    "doc_hash": _doc_hash(item),
                    "prompt_hash": _hash(prompt),
                    "target_hash": _hash(item["answer"]),
                    "exact_match": exact_match(found, item["answer"]),
                }
            )
    return rows


def _score(values: Sequence[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.sqrt(mean * (1 - mean) / (len(values) - 1))


def write_logs(
    folder: Path, model: str, benchmark: Benchmark, answers: Answers, stamp: datetime, origin: Mapping[str, Any]
) -> dict[str, dict[str, int]]:
    """Write the three files of a model; give passed and trials by metric."""
    choice, math_all = choice_rows(benchmark, answers.choice), math_rows(benchmark, answers.math)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    when = stamp.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    write_gz(folder / f"samples_demo_choice_{when}.jsonl.gz", choice)
    write_gz(folder / f"samples_demo_math_{when}.jsonl.gz", math_all)
    values = {"acc": [row["acc"] for row in choice]}
    for name in ("strict-match", "flexible-extract"):
        values[f"exact_match,{name}"] = [row["exact_match"] for row in math_all if row["filter"] == name]
    acc, acc_error = _score(values["acc"])
    math_scores: Row = {}
    for name in ("strict-match", "flexible-extract"):
        mean, error = _score(values[f"exact_match,{name}"])
        math_scores |= {f"exact_match,{name}": mean, f"exact_match_stderr,{name}": error}
    sizes = {"demo_choice": len(benchmark.choice), "demo_math": len(benchmark.math)}
    configs: Row = {
        "demo_choice": {
            "task": "demo_choice",
            "dataset_path": "demo-choice",
            "test_split": "test",
            "output_type": "multiple_choice",
            "num_fewshot": 2,
            "doc_to_choice": "choices",
            "target_delimiter": " ",
            "fewshot_delimiter": "\n\n",
            "metadata": {"version": VERSION},
        },
        "demo_math": {
            "task": "demo_math",
            "dataset_path": "demo-math",
            "test_split": "test",
            "output_type": "generate_until",
            "num_fewshot": 0,
            "target_delimiter": " ",
            "generation_kwargs": {"until": [MATH_STOP], "do_sample": False, "max_gen_toks": MAX_NEW_TOKENS},
            "metadata": {"version": VERSION},
        },
    }
    result = {
        "results": {
            "demo_choice": {
                "name": "demo_choice",
                "alias": "demo_choice",
                "sample_len": sizes["demo_choice"],
                "acc,none": acc,
                "acc_stderr,none": acc_error,
            },
            "demo_math": {"name": "demo_math", "alias": "demo_math", "sample_len": sizes["demo_math"], **math_scores},
        },
        "group_subtasks": {"demo_choice": [], "demo_math": []},
        "configs": configs,
        "versions": dict.fromkeys(sizes, VERSION),
        "n-shot": {"demo_choice": 2, "demo_math": 0},
        "higher_is_better": {"demo_choice": {"acc": True}, "demo_math": {"exact_match": True}},
        "n-samples": {name: {"original": size, "effective": size} for name, size in sizes.items()},
        "config": {"model": "converted", "model_args": {"pretrained": model}},
        "date": stamp.timestamp(),
        "lm_eval_version": LM_EVAL,
        "task_hashes": {
            "demo_choice": _hash("".join(row["prompt_hash"] for row in choice)),
            "demo_math": _hash("".join(row["prompt_hash"] for row in math_all[: sizes["demo_math"]])),
        },
        "model_source": "converted",
        "model_name": model,
        "model_name_sanitized": model.replace("/", "__"),
        "converted_from": {"tool": "mince-gui demo build", **origin},
    }
    (folder / f"results_{when}.json").write_text(json.dumps(result, indent=2) + "\n")
    return {name: {"passed": int(sum(row)), "trials": len(row)} for name, row in values.items()}
