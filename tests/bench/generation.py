"""The worker's generation beside a bare loop of onnxruntime-genai, on the same model in the same process.

    python -m tests.bench.generation MODEL_DIR [PAIRS [TOKENS]]

The bare loop appends the prompt, generates until it is done and reads every token; the worker's `generate` also makes
the token ids and the text, looks for stop strings, tests every token's logits, counts and tells. The two go by turns,
on one thread, and must write the same ids. Prints one JSON object: the median of ours / bare over the pairs with a 95 %
bootstrap interval, by the wall clock and by the processor's (which other processes on the machine disturb less).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai as og

from mince_gui.run import read_model_folder
from mince_gui.run.worker import Channel, Engine

_PROMPTS = (
    "Once upon a time there was a little girl who lived in a village near the forest. Every day",
    "The history of the city began in the twelfth century, when",
    "To bake a good loaf of bread at home, you first",
)
_UNTIL = ["Question:", "</s>", "<|im_end|>"]


def _bare(engine: Any, prompt: str, tokens: int) -> list[int]:
    ids = engine._tokenizer.encode(prompt)
    params = og.GeneratorParams(engine._model)
    params.set_search_options(max_length=len(ids) + tokens, do_sample=False)
    generator = og.Generator(engine._model, params)
    generator.append_tokens(ids)
    new = []
    while not generator.is_done():
        generator.generate_next_token()
        new.append(int(generator.get_next_tokens()[0]))
    return new


def _timed(write: Callable[[], list[int]]) -> tuple[float, float, list[int]]:
    wall, processor = time.perf_counter(), time.process_time()
    ids = write()
    return time.perf_counter() - wall, time.process_time() - processor, ids


def interval(ratios: Any, rng: np.random.Generator) -> dict[str, float]:
    """The median, and the 2.5th and 97.5th percentile of the medians of resamples."""
    drawn = np.median(rng.choice(ratios, (10_000, len(ratios))), axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {"median": float(np.median(ratios)), "low": float(low), "high": float(high)}


def run(model_dir: Path, pairs: int, tokens: int) -> dict[str, Any]:
    """Time `pairs` pairs of answers of `tokens` tokens."""
    folder = read_model_folder(model_dir)
    source, end = os.pipe()
    with Path(os.devnull).open("wb") as nowhere:
        channel = Channel(nowhere.fileno(), source)
        engine = Engine(og, channel)
        engine.load(
            model_dir=str(model_dir), threads=1, search={}, ceiling=folder.ceiling, kv_length=folder.kv_length,
            eos_ids=list(folder.eos_ids), bos_id=folder.bos_id, fresh_only=False,
        )  # fmt: skip

        def ours(prompt: str) -> list[int]:
            ids: list[int] = engine.generate(prompt, _UNTIL, tokens, None)["ids"]
            return ids

        times = []
        for pair in range(-1, pairs):
            prompt = _PROMPTS[pair % len(_PROMPTS)]
            ways = [lambda: _bare(engine, prompt, tokens), lambda: ours(prompt)]  # noqa: B023  # called at once
            order = (0, 1) if pair % 2 else (1, 0)
            done = {way: _timed(ways[way]) for way in order}
            if done[0][2] != done[1][2]:
                raise SystemExit(f"The ids differ after {prompt!r}; take a prompt that ends later.")
            if pair >= 0:  # the first pair warms up
                times.append([done[way][:2] for way in (0, 1)])
        engine.close()
        os.close(end)
    measured = np.array(times)
    ratios = measured[:, 1] / measured[:, 0]
    rng = np.random.default_rng(1)
    return {
        "oga": og.__version__,
        "pairs": pairs,
        "tokens": tokens,
        "wall": interval(ratios[:, 0], rng),
        "processor": interval(ratios[:, 1], rng),
        "bare_ms_per_token": float(1e3 * np.median(measured[:, 0, 0]) / tokens),
    }


if __name__ == "__main__":
    counts = [int(count) for count in sys.argv[2:]]
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), *(counts + [30, 128][len(counts) :]))) + "\n")
