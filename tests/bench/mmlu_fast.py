"""Seconds per item of MMLU (5-shot) and GSM8K: our standard mode, our fast mode, and lm-eval's own backend.

    python -m tests.bench.mmlu_fast MODEL_DIR DATA_DIR [--lm-eval PYTHON] [--items 26] [--subjects A,B] [--gsm8k N]

DATA_DIR holds mmlu/test.jsonl.gz, mmlu/dev.jsonl and gsm8k/test.jsonl. PYTHON is that of an environment made so
(without it, lm-eval is left out):

    python3.11 -m venv lm-eval-env
    lm-eval-env/bin/pip install "lm_eval[ifeval]==0.4.13" onnxruntime==1.32.0 onnxruntime-genai==0.18.0 \
        transformers==5.24.0

Subject by subject and item by item the ways go by turns, each in a process of its own with the model's own number of
threads (`--threads` sets ours only), on the first items of every subject. Fast mode's seconds hold its share of reading
the common beginning; `bare` is what no program can beat, a loop of rewind_to and append_tokens over the tokens that
fast mode reads, on a generator that has read that beginning. `--items 10` gives the items of lm-eval's reference runs.
Prints JSON lines: one per subject, then the whole; the picks must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai as og

from mince_gui.run import WorkerProcess, bundled_runtime, read_model_folder
from mince_gui.run.protocol import ChoiceRequest, GenerateRequest, LoadRequest, ShareRequest, ShareResult
from mince_gui.tasks import get

SUBJECTS = "abstract_algebra,anatomy,computer_security,world_religions"
_BUDGET = 256
Row = dict[str, Any]


def _lines(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Bare:
    """Plain onnxruntime-genai in this process: a prefix read once, and the rests appended to it."""

    def __init__(self, model_dir: Path, threads: int | None) -> None:
        config = og.Config(str(model_dir))
        if threads is not None:
            options = {"intra_op_num_threads": threads}
            config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
        self._model = og.Model(config)
        self._tokenizer = og.Tokenizer(self._model)
        self._generator: Any = None

    def keep(self, prompts: Sequence[str], kept: int) -> None:
        """Read the first `kept` tokens."""
        longest = max(len(self._tokenizer.encode(prompt)) for prompt in prompts)
        params = og.GeneratorParams(self._model)
        params.set_search_options(max_length=longest + 2, do_sample=False)
        self._generator = og.Generator(self._model, params)
        self._kept = kept
        self._generator.append_tokens(self._tokenizer.encode(prompts[0])[:kept])

    def seconds(self, prompt: str) -> float:
        """Of one prompt's rest."""
        rest = self._tokenizer.encode(prompt)[self._kept :]
        begin = time.perf_counter()
        self._generator.rewind_to(self._kept)
        self._generator.append_tokens(rest)
        return time.perf_counter() - begin


class LmEval:
    """lm-eval's backend in its own Python."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._answer()

    def _answer(self) -> Row:
        assert self._process.stdout is not None
        answer: Row = json.loads(self._process.stdout.readline())
        return answer

    def ask(self, item: Row) -> Row:
        """Its answer to one item."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(item) + "\n")
        self._process.stdin.flush()
        return self._answer()


@contextmanager
def lm_eval(python: Path, model_dir: Path) -> Iterator[LmEval]:
    """The backend, loaded."""
    command = [str(python), str(Path(__file__).with_name("lm_eval_items.py")), str(model_dir)]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            yield LmEval(process)
        finally:
            process.kill()


def _worker(stack: ExitStack, model_dir: Path, threads: int | None) -> WorkerProcess:
    folder = read_model_folder(model_dir)
    worker = stack.enter_context(WorkerProcess(bundled_runtime()))
    worker.load(
        LoadRequest(str(model_dir), threads, {}, folder.ceiling, folder.kv_length, folder.eos_ids, folder.bos_id)
    )
    return worker


def _best(logprobs: Sequence[float]) -> int:
    return logprobs.index(max(logprobs))


def _subject(
    prompts: list[str], choices: tuple[str, ...], standard: WorkerProcess, fast: WorkerProcess, bare: Bare,
    theirs: LmEval | None,
) -> Row:  # fmt: skip
    """Seconds of all items of one subject by each way, and how many picks are the same."""
    begin = time.perf_counter()
    share = fast.request(ShareRequest(tuple(prompts), choices, 0))
    shared = time.perf_counter() - begin
    assert isinstance(share, ShareResult)
    assert share.kept, share.reason
    bare.keep(prompts, share.kept)
    row: Row = {"items": len(prompts), "kept": share.kept, "share": shared, "same_picks": 0, "read": 0}
    row |= dict.fromkeys(("standard", "fast", "fast_worker", "bare", "lm_eval"), 0.0)
    for prompt in prompts:
        begin = time.perf_counter()
        quick = fast.choice(ChoiceRequest((prompt,), choices, fast=True))
        row["fast"] += time.perf_counter() - begin
        row["fast_worker"] += quick.timing.wall_seconds
        row["read"] += quick.timing.read_tokens
        row["bare"] += bare.seconds(prompt)
        begin = time.perf_counter()
        whole = standard.choice(ChoiceRequest((prompt,), choices))
        row["standard"] += time.perf_counter() - begin
        assert quick.logprobs == whole.logprobs
        if theirs is not None:
            answer = theirs.ask({"prompt": prompt, "choices": list(choices)})
            row["lm_eval"] += answer["seconds"]
            row["same_picks"] += _best(answer["logprobs"]) == whole.picked
    return row


def _per_item(rows: Sequence[Row]) -> Row:
    total = {name: sum(row[name] for row in rows) for name in rows[0]}
    items = total["items"]
    fast = total["fast"] + total["share"]
    found = {
        "items": items,
        "same_picks_as_lm_eval": total["same_picks"],
        "tokens_read_per_item": total["read"] / items,
        "standard_seconds": total["standard"] / items,
        "fast_seconds": fast / items,
        "fast_seconds_without_share": total["fast"] / items,
        "bare_seconds": total["bare"] / items,
        "standard_by_fast": total["standard"] / fast,
        "fast_by_bare": total["fast"] / total["bare"],
        "fast_in_the_worker_by_bare": total["fast_worker"] / total["bare"],
    }
    if total["lm_eval"]:
        found |= {
            "lm_eval_seconds": total["lm_eval"] / items,
            "lm_eval_by_standard": total["lm_eval"] / total["standard"],
            "lm_eval_by_fast": total["lm_eval"] / fast,
        }
    return found


def _gsm8k(name: str, docs: Sequence[Row], ours: WorkerProcess, theirs: LmEval | None) -> Row:
    task = get(name)
    seconds, same, ratios = [], 0, []
    for place, doc in enumerate(docs):
        request = task.request(doc, (), render=None, max_new_tokens=_BUDGET)
        item = {"prompt": request.prompt, "until": list(request.until), "budget": _BUDGET}
        other = theirs.ask(item) if theirs is not None and place % 2 else None
        begin = time.perf_counter()
        answer = ours.generate(GenerateRequest(request.prompt, request.until, _BUDGET))
        seconds.append(time.perf_counter() - begin)
        if theirs is not None:
            other = other or theirs.ask(item)
            ratios.append(other["seconds"] / seconds[-1])
            same += other["text"] == answer.text
    found: Row = {"task": name, "items": len(docs), "ours_seconds": float(np.mean(seconds))}
    if ratios:
        found |= {"same_texts_as_lm_eval": same, "lm_eval_by_ours_median": float(np.median(ratios))}
        found["lm_eval_seconds"] = float(np.mean(np.array(ratios) * seconds))
    return found


def _say(row: Row) -> None:
    sys.stdout.write(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_dir", type=Path)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--lm-eval", type=Path)
    parser.add_argument("--items", type=int, default=26)
    parser.add_argument("--subjects", default=SUBJECTS)
    parser.add_argument("--gsm8k", type=int, default=0)
    parser.add_argument("--gsm8k-tasks", default="gsm8k_cot_zeroshot,gsm8k_cot")
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    task, shots = get("mmlu"), _lines(asked.data_dir / "mmlu" / "dev.jsonl")
    docs = _lines(asked.data_dir / "mmlu" / "test.jsonl.gz")
    rows = []
    with ExitStack() as stack:
        theirs = stack.enter_context(lm_eval(asked.lm_eval, asked.model_dir)) if asked.lm_eval else None
        standard, fast = (_worker(stack, asked.model_dir, asked.threads) for _ in range(2))
        bare = Bare(asked.model_dir, asked.threads)
        for subject in filter(None, asked.subjects.split(",")):
            of_it = [doc for doc in docs if doc["subject"] == subject][: asked.items]
            requests = [task.request(doc, shots, render=None, max_new_tokens=None) for doc in of_it]
            rows.append(_subject([r.prompt for r in requests], requests[0].choices, standard, fast, bare, theirs))
            _say({"subject": subject, **_per_item(rows[-1:])})
        if rows:
            _say({"subject": "all", **_per_item(rows)})
        if asked.gsm8k:
            gsm8k = _lines(asked.data_dir / "gsm8k" / "test.jsonl")[: asked.gsm8k]
            for name in asked.gsm8k_tasks.split(","):
                _say(_gsm8k(name, gsm8k, standard, theirs))


if __name__ == "__main__":
    main()
