"""Whole runs of lm-eval 0.4.13 on docs made here, with its own task files: prompts, stop rules, filters and verdicts.

lm-eval evaluates a model that gives prepared answers; ours must have asked, read and judged the same for every item.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.subset import Dataset, read_dataset
from mince_gui.tasks import Answer, Render, Request, Task, get

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module", autouse=True)
def _no_progress_thread() -> None:
    """Keeps lm-eval's progress bars from starting a thread that would outlive the test."""
    pytest.importorskip("tqdm", reason="lm-eval is not installed").tqdm.monitor_interval = 0


@functools.cache
def _no_tasks() -> Any:
    """In place of the index of all of lm-eval's tasks, which takes seconds to make."""
    return pytest.importorskip("lm_eval.tasks").TaskManager(include_defaults=False)


def _render(messages: Any, add_generation_prompt: bool = True) -> str:
    return json.dumps(messages)


def _task_file(path: str) -> dict[str, Any]:
    """One of lm-eval's own task files, with what it includes."""
    tasks = pytest.importorskip("lm_eval.tasks", reason="lm-eval is not installed")
    yaml = pytest.importorskip("yaml")
    file = Path(tasks.__file__).parent / path
    config: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    if "include" in config:
        config = _task_file(str(file.parent / config.pop("include"))) | config
    return config


def _write(folder: Path, splits: dict[str, Rows]) -> None:
    for split, rows in splits.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _their_task(path: str, folder: Path, **options: Any) -> Any:
    """lm-eval's task of that file over the splits in the folder; `options` as on its command line."""
    config = {name: value for name, value in _task_file(path).items() if name not in ("tag", "dataset_name")}
    config |= {"dataset_path": "json", **options}
    config["dataset_kwargs"] = {
        "data_files": {file.stem: str(file) for file in folder.glob("*.jsonl")},
        "cache_dir": str(folder / "cache"),
    }
    return pytest.importorskip("lm_eval.api.task").ConfigurableTask(config=config)


def _evaluate(task: Any, answer: Callable[[Any], Any], *, chat: bool, limit: int | None) -> Rows:
    """lm-eval's samples of a run with the model whose answer to a request `answer` gives."""
    evaluator = pytest.importorskip("lm_eval.evaluator")
    base = pytest.importorskip("lm_eval.api.model").LM

    def answers(self: Any, requests: Any, disable_tqdm: bool = False) -> list[Any]:
        return [answer(request) for request in requests]

    kinds = dict.fromkeys(("loglikelihood", "loglikelihood_rolling", "generate_until"), answers)
    chats = {
        "tokenizer_name": "none",
        "apply_chat_template": lambda self, messages, add_generation_prompt=True: _render(messages),
        "chat_template": lambda self, chat_template=False: "messages as JSON",
    }
    prepared = type("Prepared", (base,), {**kinds, **chats})
    done = evaluator.simple_evaluate(
        model=prepared(), tasks=[task], limit=limit, bootstrap_iters=0, log_samples=True,
        apply_chat_template=chat, fewshot_as_multiturn=chat, task_manager=_no_tasks(),
    )  # fmt: skip
    samples: Rows = done["samples"][task.config.task]
    return samples


def _asked(task: Task, dataset: Dataset, key: str, *, chat: bool) -> Request:
    doc = dataset.items[key]
    category = dataset.benchmark.category(doc, key)
    shots = dataset.item_fewshot.get(key) or dataset.fewshot.get(category or "", ())
    render: Render | None = _render if chat else None
    return task.request(doc, shots, render=render, max_new_tokens=None)


_PIECES = [*"0123456789.,$-# \n", "####", "#### ", "The answer is ", "The final answer is ", "the answer is", "\u0661",
           "\u00a0", "1,234.50", "$5", "%", "x", "..", "= ", "\\boxed{7}", "Q:", "\x00"]  # fmt: skip


def _response(rng: random.Random, gold: str) -> str:
    """The gold, said in one of many ways, and often spoilt."""
    gold = gold.strip()
    whole = gold.replace(",", "")
    said = rng.choice([gold, whole, f"${gold}", f"{whole}.00", f"{whole}.", f"{int(whole):,}", f"-{whole}", "12"])
    text = rng.choice(
        [f"Steps: 3 + 4 = 7.\nThe answer is {said}.", f"... so {said}\n#### {said}", f"The final answer is {said}",
         f"The answer is {said}\n\nThe answer is 9.", f"The final answer is {said}. The final answer is {whole}",
         f"It is {said} dollars", said, f"#### {said}\n#### 8", "", "no idea",
         f"The answer is {whole}.", f"So it is. The answer is {gold}. Done.", f"The final answer is {whole}"]
    )  # fmt: skip
    signs = list(text)
    for _ in range(rng.choice([0, 0, 1, 2, 4])):
        place = rng.randrange(len(signs) + 1)
        signs[place : place + rng.randrange(2)] = rng.choice(_PIECES)
    return "".join(signs)


def _problems(rng: random.Random, count: int) -> Rows:
    made = []
    for i in range(count):
        gold = rng.choice(["{}", "{:,}", "-{}"]).format(rng.choice([7, 18, 250, 1234, 70000]))
        made.append(
            {"question": f" Row {i} has {i + 2} {{pots}}. How many? \u00e9", "answer": f"By steps.\n#### {gold}"}
        )
    return made


@pytest.mark.parametrize("name", ["gsm8k", "gsm8k_cot", "gsm8k_cot_llama", "gsm8k_cot_zeroshot"])
def test_gsm8k_asks_reads_and_judges_alike(name: str, tmp_path: Path) -> None:
    """Of task gsm8k, each of 1,319 items has the 5 training rows that lm-eval draws for it; one response to each."""
    rng, count = random.Random(name), 400 if name in ("gsm8k_cot", "gsm8k_cot_llama") else 1319
    _write(tmp_path, {"test": _problems(rng, count), "train": _problems(rng, 60)})
    theirs, ours = _their_task(f"gsm8k/{name.replace('_', '-')}.yaml", tmp_path), get(name)
    dataset = read_dataset(BENCHMARKS["gsm8k"], tmp_path)
    responses = [_response(rng, str(ours.score(doc, Answer(text="")).expected)) for doc in dataset.items.values()]
    right = dict.fromkeys(ours.metrics, 0.0)
    for chat, limit in ((False, None), (True, 40), (False, 9)):
        samples = _evaluate(theirs, lambda request: responses[request.doc_id], chat=chat, limit=limit)
        assert len(samples) == 2 * (limit or count)
        for sample in samples:
            key, read = str(sample["doc_id"]), sample["filter"]
            request = _asked(ours, dataset, key, chat=chat)
            prompt, options = sample["arguments"][0]
            assert request.prompt == prompt
            assert list(request.until) == options["until"]
            assert options.get("do_sample") is False
            assert request.max_new_tokens == options.get("max_gen_toks", 256)
            scored = ours.score(dataset.items[key], Answer(text=responses[int(key)]))
            assert scored.extracted[read] == sample["filtered_resps"][0]
            assert scored.scores[f"exact_match,{read}"] == (sample["exact_match"], 1), responses[int(key)]
            right[f"exact_match,{read}"] += sample["exact_match"]
    assert all(15 < passed < count for passed in right.values()), right


def _odd_text(rng: random.Random, i: int) -> str:
    return (
        rng.choice(["", " ", "\n"]) + rng.choice([f"Number {i}", f"{i}\u00b2 \u4e2d", "{x} %s"]) + rng.choice(["", " "])
    )


def _their_choices(
    path: str,
    folder: Path,
    ours: Task,
    dataset: Dataset,
    keys: Sequence[str],
    limits: Sequence[tuple[bool, int | None]],
) -> dict[str, float]:
    """Runs lm-eval's task of choices, where many are as likely as others, and compares; gives what was right."""
    theirs, right = _their_task(path, folder, num_fewshot=ours.shots), dict.fromkeys(ours.metrics, 0.0)
    rng = random.Random(5)
    for chat, limit in limits:
        samples = _evaluate(theirs, lambda request: (-rng.randrange(1, 5) / 2, False), chat=chat, limit=limit)
        assert len(samples) == (limit or len(keys))
        for sample in samples:
            key = keys[sample["doc_id"]]
            request = _asked(ours, dataset, key, chat=chat)
            assert [(request.prompt, choice) for choice in request.choices] == list(map(tuple, sample["arguments"]))
            logprobs = tuple(value for value, _ in sample["filtered_resps"])
            answer = Answer(picked=logprobs.index(max(logprobs)), logprobs=logprobs)
            scored = ours.score(dataset.items[key], answer)
            assert scored.scores == {metric: (sample[metric], 1) for metric in ours.metrics}
            for metric in ours.metrics:
                right[metric] += sample[metric]
    return right


@pytest.mark.parametrize("subject", BENCHMARKS["mmlu"].subjects)
def test_every_subject_of_mmlu_asks_and_judges_alike(subject: str, tmp_path: Path) -> None:
    rng = random.Random(subject)
    rows = [
        {
            "subject": subject,
            "question": _odd_text(rng, i),
            "choices": [_odd_text(rng, place) for place in range(4)],
            "answer": rng.randrange(4),
        }
        for i in range(14)
    ]
    _write(tmp_path, {"test": rows[:8], "dev": rows[8:]})
    dataset = read_dataset(BENCHMARKS["mmlu"], tmp_path)
    for name in (f"mmlu_{subject}", "mmlu"):
        _their_choices(
            f"mmlu/default/mmlu_{subject}.yaml", tmp_path, get(name), dataset, [f"{subject}/{i}" for i in range(8)],
            [(False, None), (True, 3)],
        )  # fmt: skip


def test_arc_challenge_asks_and_judges_alike(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = []
    for i in range(200):
        labels = rng.choice(["ABCD", "1234", "ABC", "ABCDE", "12345"])
        texts = [
            rng.choice(["gas", "a solid", "\u4e2d\u6587", "the liquid state \u00e9", "'it' \"is\""]) for _ in labels
        ]
        rows.append(
            {
                "id": f"made_{i}",
                "question": _odd_text(rng, i),
                "choices": {"text": texts, "label": list(labels)},
                "answerKey": rng.choice(labels),
            }
        )
    _write(tmp_path, {"test": rows, "train": rows[:1], "validation": rows[:1]})
    dataset = read_dataset(BENCHMARKS["arc_challenge"], tmp_path)
    right = _their_choices(
        "arc/arc_challenge.yaml",
        tmp_path,
        get("arc_challenge"),
        dataset,
        list(dataset.items),
        [(False, None), (True, 20)],
    )
    assert 0 < right["acc_norm"] != right["acc"] > 0
