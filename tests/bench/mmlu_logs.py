"""Makes per-item logs of MMLU as lm-eval 0.4.13 writes them: real items, few-shot prompts, outcomes by chance."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

STAMP = "2026-01-01T00-00-00.000001"
_LETTERS = "ABCD"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _items(path: Path) -> dict[str, list[dict[str, Any]]]:
    by_subject: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            doc = json.loads(line)
            by_subject.setdefault(doc["subject"], []).append(doc)
    return by_subject


def _prompt(doc: dict[str, Any], *, answered: bool) -> str:
    choices = "".join(f"{letter}. {choice}\n" for letter, choice in zip(_LETTERS, doc["choices"], strict=True))
    return f"{doc['question'].strip()}\n{choices}Answer:" + (f" {_LETTERS[doc['answer']]}\n\n" if answered else "")


def _row(item: dict[str, Any], prompt: str, rng: random.Random, right: float, *, prompts: bool) -> dict[str, Any]:
    doc = {name: item[name] for name in ("question", "subject", "choices", "answer")}
    answers = [[f"{-10 * rng.random()}", "False"] for _ in _LETTERS]
    asked = {f"gen_args_{i}": {"arg_0": prompt, "arg_1": f" {letter}"} for i, letter in enumerate(_LETTERS)}
    return {
        "doc_id": item["doc_id"],
        "doc": doc,
        "target": str(doc["answer"]),
        "arguments": asked if prompts else {},
        "resps": [[answer] for answer in answers],
        "filtered_resps": answers,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": _sha(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": _sha(prompt),
        "target_hash": _sha(str(doc["answer"])),
        "acc": float(rng.random() < right),
    }


def make(data: Path, out: Path, *, models: int, prompts: bool) -> int:
    """Write 57 files per model below `out`; gives the bytes. `prompts`: with the few-shot prompt of each request."""
    items, shots = _items(data / "mmlu" / "test.jsonl.gz"), _items(data / "mmlu" / "dev.jsonl")
    written = 0
    for model in range(models):
        rng = random.Random(model)
        folder = out / f"lab__model-{model}"
        folder.mkdir(parents=True)
        for subject, docs in items.items():
            examples = [_prompt(shot, answered=True) for shot in shots[subject] if shot["answer"] is not None]
            head = f"The following are multiple choice questions (with answers) about {subject.replace('_', ' ')}.\n\n"
            path = folder / f"samples_mmlu_{subject}_{STAMP}.jsonl"
            with path.open("w", encoding="utf-8", newline="\n") as file:
                for item in docs:
                    prompt = head + "".join(examples) + _prompt(item, answered=False)
                    row = _row(item, prompt, rng, 0.3 + 0.05 * model, prompts=prompts)
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            written += path.stat().st_size
        results = {"model_name": f"lab/model-{model}", "config": {"limit": None}, "lm_eval_version": "0.4.13"}
        (folder / f"results_{STAMP}.json").write_text(json.dumps(results), encoding="utf-8")
    return written
