"""Makes logs of tasks that mince has no prompts of, with lm-eval itself, for the tests of logged tasks.

Each task is lm-eval's own task file, included as it is; only its data is ours: a few docs that are written below, in
the layout of the task's dataset. The model is the demo's, through lm-eval's backend onnxruntime-genai. Needs
tests/requirements-oracle.txt; writes about 0.3 MB:

    HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 python tests/tasks/make_logged_logs.py tests/tasks/data/logged

The results files lose what they tell of the machine (`pretty_env_info`) and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MODEL = Path(__file__).resolve().parents[2] / "resources" / "demo" / "demo-device-int4"

_QUESTIONS = [
    ("Which one is a tool?", "saw", ["grape", "belt", "black", "coat"]),
    ("Which number is the largest?", "eighteen", ["two", "twelve", "nine", "six"]),
    ("Which unit measures weight?", "kilogram", ["gallon", "month", "kilometer", "hour"]),
    ("Which letter comes first in the alphabet?", "i", ["x", "u", "s", "z"]),
    ("What comes next? fourteen ten six", "two", ["five", "sixteen", "three", "nine"]),
    ("Which one is a color?", "teal", ["hammer", "plum", "scarf", "week"]),
    ("Which number is the smallest?", "three", ["seven", "twenty", "eight", "ten"]),
    ("Which one is a fruit?", "plum", ["brown", "drill", "sock", "gray"]),
    ("Which unit measures time?", "month", ["liter", "mile", "gram", "inch"]),
    ("Which one can you wear?", "a warm coat", ["a saw", "one plum", "ten miles", "teal"]),
]
_WORD_PROBLEMS = [
    ("Sue has 5 shells and finds 7 more. How many shells does Sue have?", "5+7=12\n#### 12"),
    ("Ben has 15 cards and sells 3. How many cards are left?", "15-3=12\n#### 12"),
    ("Jim has 7 boxes with 7 shells in each. How many shells does Jim have?", "7*7=49\n#### 49"),
    ("Tom has 42 coins and wins 30 more. How many coins does Tom have?", "42+30=72\n#### 72"),
    ("Mia has 8 books and buys 4. How many books does Mia have?", "8+4=12\n#### 12"),
    ("Max has 20 stamps and loses 6. How many stamps are left?", "20-6=14\n#### 14"),
    ("Ann has 900 coins and wins 300 more. How many coins does Ann have?", "900+300=1,200\n#### 1,200"),
    ("Leo has 3 bags with 9 nuts in each. How many nuts does Leo have?", "3*9=27\n#### 27"),
]
_SENTENCES = [
    ("The saw did not fit into the box because the _ was too large.", "saw", "box", "1"),
    ("Tom gave Ben a coat because _ was cold.", "Tom", "Ben", "2"),
    ("The plum was riper than the grape, so she ate the _ first.", "plum", "grape", "1"),
    ("Mia asked Sue for the cards, but _ had none.", "Mia", "Sue", "2"),
    ("The belt was too short for the coat, so the _ was changed.", "belt", "coat", "1"),
    ("A month is longer than a week, so the _ passed later.", "week", "month", "2"),
    ("Jim ran faster than Leo, so _ came first.", "Jim", "Leo", "1"),
    ("The hammer hit the drill, and the _ broke.", "hammer", "drill", "2"),
]


def _turned(place: int, right: str, wrong: list[str]) -> tuple[list[str], int]:
    """The choices with the right one at a place that goes round."""
    at = place % (len(wrong) + 1)
    return [*wrong[:at], right, *wrong[at:]], at


def _commonsense_qa() -> list[dict[str, Any]]:
    docs = []
    for i, (question, right, wrong) in enumerate(_QUESTIONS):
        texts, at = _turned(i, right, wrong)
        choices = {"label": list("ABCDE"), "text": texts}
        docs.append({"id": f"c{i}", "question": question, "choices": choices, "answerKey": "ABCDE"[at]})
    return docs


def _arc() -> list[dict[str, Any]]:
    docs = []
    for i, (question, right, wrong) in enumerate(_QUESTIONS):
        texts, at = _turned(i, right, wrong[:3])
        labels = list("1234") if i == 3 else list("ABCD")  # some of ARC's are numbered
        docs.append({"id": f"a{i}", "question": question, "choices": {"text": texts, "label": labels},
                     "answerKey": labels[at]})  # fmt: skip
    return docs


def _piqa() -> list[dict[str, Any]]:
    docs = []
    for i, (question, right, wrong) in enumerate(_QUESTIONS):
        pair, at = _turned(i, f"take the {right}", [f"take the {wrong[0]}, then the {wrong[1]}"])
        docs.append({"goal": question, "sol1": pair[0], "sol2": pair[1], "label": at})
    return docs


def _hellaswag() -> list[dict[str, Any]]:
    docs = []
    for i, (question, right, wrong) in enumerate(_QUESTIONS):
        endings, at = _turned(i, f"takes the {right}.", [f"says  [loudly] {word}." for word in wrong[:3]])
        docs.append({"ind": i, "activity_label": "Cards [title] game", "ctx_a": f"Mia asks: {question}", "ctx_b": "leo",
                     "endings": endings, "label": str(at)})  # fmt: skip
    return docs


def _mmlu_pro() -> list[dict[str, Any]]:
    docs = []
    for i, (question, right, wrong) in enumerate(_QUESTIONS):
        options, at = _turned(i, right, wrong)
        letter = "ABCDE"[at]
        docs.append({
            "question_id": i, "question": question, "options": options, "answer": letter, "answer_index": at,
            "cot_content": f"A: Let's think step by step. It is {right}. The answer is ({letter}).",
            "category": "math" if i % 2 else "law", "src": "made",
        })  # fmt: skip
    return docs


def _gsm8k() -> list[dict[str, Any]]:
    return [{"question": question, "answer": answer} for question, answer in _WORD_PROBLEMS]


def _winogrande() -> list[dict[str, Any]]:
    return [{"sentence": s, "option1": a, "option2": b, "answer": right} for s, a, b, right in _SENTENCES]


TASKS: dict[str, tuple[str, list[dict[str, Any]], tuple[str, ...], int]] = {
    "commonsense_qa": ("commonsense_qa/default.yaml", _commonsense_qa(), ("train", "validation"), 2),
    "piqa": ("piqa/piqa.yaml", _piqa(), ("train", "validation"), 0),
    "arc_challenge": ("arc/arc_challenge.yaml", _arc(), ("train", "validation", "test"), 1),
    "hellaswag": ("hellaswag/hellaswag.yaml", _hellaswag(), ("train", "validation"), 0),
    "winogrande": ("winogrande/default.yaml", _winogrande(), ("train", "validation"), 1),
    "mmlu_pro_math": ("mmlu_pro/mmlu_pro_math.yaml", _mmlu_pro(), ("validation", "test"), 1),
    "mmlu_pro_law": ("mmlu_pro/mmlu_pro_law.yaml", _mmlu_pro(), ("validation", "test"), 1),
    "gsm8k": ("gsm8k/gsm8k.yaml", _gsm8k(), ("train", "test"), 2),
}
"""lm-eval's task file, our docs, the splits that the task reads, and the examples before each question.

The docs are few, so each split has them all, in another order; gsm8k and mmlu_pro are usually 5-shot, for which the
demo's model has no room.
"""
_GROUP = """group: mmlu_pro
task:
  - mmlu_pro_math
  - mmlu_pro_law
aggregate_metric_list:
  - aggregation: mean
    metric: exact_match
    weight_by_size: true
    filter_list: custom-extract
metadata:
  version: 2.0
"""


def make(out: Path) -> None:
    """Run lm-eval on every task and leave its logs in `out`, a folder that must not have any yet."""
    spec = find_spec("lm_eval")
    assert spec is not None
    assert spec.origin is not None
    theirs = Path(spec.origin).parent / "tasks"
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        shutil.copytree(MODEL, work / MODEL.name)
        (work / "data").mkdir()
        (work / "tasks").mkdir()
        (work / "tasks" / "mmlu_pro.yaml").write_text(_GROUP, encoding="utf-8")
        for task, (file, docs, splits, _) in TASKS.items():
            files = {}
            for turn, split in enumerate(splits):
                file_name = f"data/{task}_{split}.jsonl"
                turned = docs[turn:] + docs[:turn]
                (work / file_name).write_text("".join(json.dumps(doc) + "\n" for doc in turned), encoding="utf-8")
                files[split] = file_name
            # JSON is YAML; the name stays lm-eval's own
            body = {"include": str(theirs / file), "task": task, "dataset_path": "json", "dataset_name": None,
                    "dataset_kwargs": {"data_files": files}}  # fmt: skip
            (work / "tasks" / f"{task}.yaml").write_text(json.dumps(body, indent=1), encoding="utf-8")
        for task, shots in (*((t, n) for t, (*_, n) in TASKS.items() if not t.startswith("mmlu_pro")), ("mmlu_pro", 1)):
            command = [
                sys.executable, "-m", "lm_eval", "run", "--model", "onnxruntime-genai",
                "--model_args", f"pretrained={MODEL.name},execution_provider=cpu", "--include_path", "tasks",
                "--tasks", task, "--num_fewshot", str(shots), "--log_samples", "--output_path", "out",
            ]  # fmt: skip
            if task in ("gsm8k", "mmlu_pro"):
                command += ["--gen_kwargs", "max_gen_toks=24"]
            environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(work / "hf")}
            subprocess.run(command, cwd=work, check=True, env=environment)
        for path in (work / "out").rglob("results_*.json"):
            body = json.loads(path.read_text(encoding="utf-8"))
            body.pop("pretty_env_info", None)
            text = json.dumps(body, indent=1, ensure_ascii=False)
            path.write_text(re.sub(re.escape(f"{work}/"), "", text) + "\n", encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        shutil.copytree(work / "out" / MODEL.name, out / MODEL.name)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
