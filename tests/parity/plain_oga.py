"""Plain onnxruntime-genai over prompts, in a process of its own: what the worker must equal on the same machine.

The model's folder as argument, questions on stdin, answers on stdout; one thread, which gives what more of them give.
Imports nothing of the project.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime_genai as og


def _load(folder: str) -> tuple[Any, Any]:
    config = og.Config(folder)
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": 1}}}}))
    model = og.Model(config)
    return model, og.Tokenizer(model)


def _generator(model: Any, ids: Any, length: int) -> Any:
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=length, do_sample=False)
    generator = og.Generator(model, params)
    generator.append_tokens(np.asarray(ids, dtype=np.int32))
    return generator


def _log_softmax(row: Any) -> Any:
    shifted = row.astype(np.float64) - row.max()
    return shifted - np.log(np.exp(shifted).sum())


def choose(model: Any, tokenizer: Any, prompt: str, choices: list[str]) -> dict[str, Any]:
    """Log-probabilities of one-token choices as lm-eval has them: a letter follows, and the row before it is read."""
    ids = [int(i) for i in tokenizer.encode(prompt)]
    letters = [int(tokenizer.encode(prompt + choice)[-1]) for choice in choices]
    logits = _generator(model, [*ids, letters[0]], len(ids) + 2).get_output("logits")
    return {"logprobs": _log_softmax(np.asarray(logits)[0, len(ids) - 1])[letters].tolist(), "tokens": len(ids)}


_AFTER = 32
"""Tokens that are still written after the first that the reference has not: the rest would tell nothing new."""


def write(model: Any, tokenizer: Any, prompt: str, budget: int, theirs: list[int]) -> dict[str, Any]:
    """Greedy ids, and at the first of them that `theirs` has not: its place, and by how much it is the likelier one.

    Not all are written then: `whole` is False.
    """
    ids = tokenizer.encode(prompt)
    generator = _generator(model, ids, len(ids) + budget)
    new: list[int] = []
    parted: dict[str, Any] | None = None
    ended = False
    until = budget
    while not generator.is_done() and len(new) < until:
        row = np.asarray(generator.get_logits()).reshape(-1) if parted is None else None
        generator.generate_next_token()
        ended = len(generator.get_sequence(0)) == len(ids) + len(new)  # the end is not appended
        ours = int(generator.get_next_tokens()[0])
        if row is not None:
            end = ours if ended else int(tokenizer.eos_token_ids[0])
            other = theirs[len(new)] if len(new) < len(theirs) else end
            if ours != other:
                logprobs = _log_softmax(row)
                margin = float(logprobs[ours] - logprobs[other])
                parted = {"at": len(new), "ours": ours, "theirs": other, "margin": margin}
                until = min(budget, len(new) + _AFTER)
        if not ended:
            new.append(ours)
    text = tokenizer.decode(np.asarray(new, dtype=np.int32)) if new else ""
    whole = generator.is_done() or until == budget
    return {"ids": new, "text": text, "ended": ended, "whole": whole, "parted": parted}


def main() -> None:
    """Answer the questions of stdin, one a line (JSON), with one list at its end."""
    model, tokenizer = _load(sys.argv[1])
    kinds: dict[str, Callable[..., dict[str, Any]]] = {"choose": choose, "write": write}
    answers = []
    for line in sys.stdin:
        question = json.loads(line)
        answers.append(kinds[question.pop("kind")](model, tokenizer, **question))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
