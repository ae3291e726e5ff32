"""Build the demo benchmark, its pool of calibration models and the INT4 demo model (``resources/demo``).

The demo says nothing about real models: the items are made up by a seeded script, and the models, of about a
million parameters, are trained here on the CPU only to have real per-item answers that differ.

Build-time only; the application never imports this. Python 3.11::

    python3.11 -m venv demo-env
    demo-env/bin/pip install -r packaging/demo-requirements.txt
    demo-env/bin/python packaging/build_demo.py all --scratch SCRATCH_FOLDER

Stages, each of which starts from the files of the one before and can be run again alone:

  items      draw the benchmark files, assert them apart from the training stream, train the tokenizer
  train      train the runs of ``demo_build/plan.py`` one after the other (the long stage; a run that is
             complete in the scratch folder is skipped, an interrupted one starts again)
  logs       answer both benchmarks with every pool checkpoint in float32, write lm-eval-style logs
  int4       quantise the device checkpoint with onnxruntime-genai's model builder
  reference  run the INT4 model on both benchmarks with a plain loop; write its logs and ``demo.json``; answer both
             with its float32 weights too, so that the demo can tell the quantisation delta
  all        everything in this order
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from demo_build import corpus
from demo_build.prompts import choice_block, math_prompt

STAGES = ("items", "train", "logs", "int4", "reference")
DISJOINT_SAMPLE = 20_000


def _tokenizer(scratch: Path) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(scratch / "tokenizer" / "tokenizer.json"))


def stage_items(out: Path, scratch: Path) -> None:
    """Benchmark files and tokenizer; asserts that training draws no item of the benchmark."""
    from itertools import islice

    from demo_build.choice_items import CATEGORIES, choice_key

    benchmark = corpus.make_benchmark()
    keys, questions = benchmark.choice_keys(), {item["question"] for item in benchmark.math}
    assert len({choice_key(item) for item in benchmark.choice}) == len(benchmark.choice)
    for name in CATEGORIES:
        stream = corpus.training_choice(benchmark, name, seed=1)
        assert not any(choice_key(item) in keys for item in islice(stream, DISJOINT_SAMPLE // len(CATEGORIES)))
    problems = corpus.training_math(benchmark, seed=1)
    assert not any(item["question"] in questions for item in islice(problems, DISJOINT_SAMPLE))
    corpus.write_benchmark(benchmark, out)
    tokenizer = corpus.make_tokenizer(benchmark, scratch / "tokenizer")
    sizes = [
        len(tokenizer.encode(benchmark.prefix(item["category"]) + choice_block(item)).ids) for item in benchmark.choice
    ]
    # At 129 tokens onnxruntime takes another path whose logits differ slightly (and short prompts are fast).
    assert max(sizes) < 128, max(sizes)
    print(
        f"{len(benchmark.choice)} choice items, {len(benchmark.math)} problems, "
        f"vocabulary {tokenizer.get_vocab_size()}, longest prompt {max(sizes)} tokens"
    )


def stage_train(out: Path, scratch: Path) -> None:
    """Every run of the plan that is not complete yet."""
    import shutil

    from demo_build.plan import RUNS
    from demo_build.training import train

    benchmark, tokenizer = corpus.read_benchmark(out), _tokenizer(scratch)
    for run in RUNS.values():
        folder = scratch / "runs" / run.name
        if (folder / "done").exists() and json.loads((folder / "run.json").read_text()) == asdict(run):
            print(f"run {run.name} is complete")
            continue
        shutil.rmtree(folder, ignore_errors=True)
        train(run, benchmark, tokenizer, folder)


def stage_logs(out: Path, scratch: Path) -> None:
    """Logs of the pool."""
    import shutil

    from demo_build.answering import answer_all
    from demo_build.lm_eval_logs import write_logs
    from demo_build.plan import POOL, load_variant, parameters

    benchmark, tokenizer = corpus.read_benchmark(out), _tokenizer(scratch)
    shutil.rmtree(out / "logs", ignore_errors=True)
    for variant in POOL:
        model = load_variant(variant, scratch / "runs", tokenizer)
        origin = {"run": variant.run, "step": variant.step, "parameters": parameters(model), "dtype": "float32"}
        counts = write_logs(
            out / "logs" / variant.name,
            variant.name,
            benchmark,
            answer_all(model, benchmark, tokenizer),
            variant.stamp,
            origin,
        )
        print(variant.name, counts)


def stage_int4(out: Path, scratch: Path) -> None:
    """The INT4 folder."""
    from demo_build.int4 import build_int4, check_hf, save_hf
    from demo_build.plan import DEVICE, load_variant

    tokenizer = _tokenizer(scratch)
    model = load_variant(DEVICE, scratch / "runs", tokenizer)
    save_hf(model, tokenizer, scratch / "hf")
    print(f"largest difference to transformers {check_hf(model, scratch / 'hf'):.1e}")
    build_int4(scratch / "hf", out / DEVICE.name, scratch)


def stage_reference(out: Path, scratch: Path) -> None:
    """The INT4 model's own full run and ``demo.json``."""
    import shutil

    from demo_build.answering import answer_all
    from demo_build.lm_eval_logs import Answers, write_logs
    from demo_build.oga_loop import Device
    from demo_build.plan import DEVICE, RUNS, UNQUANTISED, load_variant, parameters

    benchmark, tokenizer = corpus.read_benchmark(out), _tokenizer(scratch)
    device = Device(out / DEVICE.name)
    prompts = [benchmark.prefix(item["category"]) + choice_block(item) for item in benchmark.choice]
    problems = [math_prompt(item["question"]) for item in benchmark.math]
    for prompt in prompts + problems:
        if device.encode(prompt) != tokenizer.encode(prompt).ids:
            raise ValueError(f"the two tokenizers differ on {prompt!r}")
    started = time.monotonic()
    answers = Answers(
        [
            device.option_logprobs(prompt, item["choices"])
            for prompt, item in zip(prompts, benchmark.choice, strict=True)
        ],
        [device.answer(prompt) for prompt in problems],
    )
    seconds = time.monotonic() - started
    model = load_variant(UNQUANTISED, scratch / "runs", tokenizer)
    weights = parameters(model)
    packages = ("onnxruntime-genai", "onnxruntime", "torch", "transformers", "tokenizers")
    versions = {name: importlib.metadata.version(name) for name in packages}
    shutil.rmtree(out / "reference", ignore_errors=True)
    counts = write_logs(
        out / "reference" / DEVICE.name,
        DEVICE.name,
        benchmark,
        answers,
        DEVICE.stamp,
        {"run": DEVICE.run, "step": DEVICE.step, "parameters": weights, "dtype": "int4"},
    )
    shutil.rmtree(out / "unquantised", ignore_errors=True)
    origin = {"run": UNQUANTISED.run, "step": UNQUANTISED.step, "parameters": weights, "dtype": "float32"}
    before = write_logs(
        out / "unquantised" / UNQUANTISED.name,
        UNQUANTISED.name,
        benchmark,
        answer_all(model, benchmark, tokenizer),
        UNQUANTISED.stamp,
        origin,
    )
    print(UNQUANTISED.name, before)
    math_counts = {name: count for name, count in counts.items() if name != "acc"}
    demo = {
        "model": DEVICE.name,
        "model_dir": DEVICE.name,
        "note": "A demo made by mince-gui's build script; its scores say nothing about real models.",
        "benchmarks": {
            "demo-choice": {"items": len(prompts), "metrics": {"acc": counts["acc"]}},
            "demo-math": {"items": len(problems), "metrics": math_counts},
        },
        "built": {
            **versions,
            "date": DEVICE.stamp.date().isoformat(),
            "seed": corpus.SEED,
            "parameters": weights,
            "run": asdict(RUNS[DEVICE.run]),
            "step": DEVICE.step,
            "precision": "int4",
        },
    }
    (out / "demo.json").write_text(json.dumps(demo, indent=2) + "\n")
    print(DEVICE.name, counts, f"{seconds:.1f} s")


def main() -> None:
    """Run the stages asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=(*STAGES, "all"))
    parser.add_argument("--scratch", type=Path, required=True, help="folder for checkpoints and other by-products")
    parser.add_argument(
        "--out",
        type=Path,
        help="default: resources/demo of this checkout",
        default=Path(__file__).resolve().parents[1] / "resources" / "demo",
    )
    parser.add_argument("--threads", type=int, default=2, help="torch threads (default 2)")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    stages = {
        "items": stage_items,
        "train": stage_train,
        "logs": stage_logs,
        "int4": stage_int4,
        "reference": stage_reference,
    }
    for name in STAGES if options.stage == "all" else (options.stage,):
        print(f"== {name}", flush=True)
        stages[name](options.out, options.scratch)


if __name__ == "__main__":
    main()
