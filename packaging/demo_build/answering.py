"""A checkpoint's answers to both benchmarks, in float32, with the rules that the device run follows."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from demo_build.corpus import Benchmark
from demo_build.lm_eval_logs import Answers
from demo_build.network import TinyLlama
from demo_build.prompts import MATH_STOP, MAX_NEW_TOKENS, choice_block, cut_at_stop, math_prompt
from demo_build.tokens import end_id, option_ids
from demo_build.training import Prefixes, pad


@torch.no_grad()
def answer_choice(model: TinyLlama, benchmark: Benchmark, tokenizer: Tokenizer) -> list[list[float]]:
    """Log-probabilities of the four options after every prompt."""
    options = torch.tensor([option_ids(tokenizer, item) for item in benchmark.choice])
    blocks = [tokenizer.encode(choice_block(item)).ids for item in benchmark.choice]
    states = Prefixes(benchmark, tokenizer).last_states(model, blocks)
    return torch.log_softmax(model.logits(states), dim=-1).gather(1, options).tolist()


@torch.no_grad()
def answer_math(model: TinyLlama, benchmark: Benchmark, tokenizer: Tokenizer) -> list[str]:
    """Greedy texts. All problems grow together; without a key-value cache, as they are so short."""
    end = end_id(tokenizer)
    rows = [tokenizer.encode(math_prompt(item["question"])).ids for item in benchmark.math]
    starts = [len(row) for row in rows]
    active = list(range(len(rows)))
    for _ in range(MAX_NEW_TOKENS):
        ids, valid = pad([rows[index] for index in active], end)
        states, _ = model.hidden(ids, valid)
        last = states[torch.arange(len(active)), valid.sum(1) - 1]
        still: list[int] = []
        for index, token in zip(active, model.logits(last).argmax(-1).tolist(), strict=True):
            if token == end:
                continue
            rows[index].append(token)
            if MATH_STOP not in tokenizer.decode(rows[index][starts[index] :]):
                still.append(index)
        active = still
        if not active:
            break
    return [cut_at_stop(tokenizer.decode(row[start:])) for row, start in zip(rows, starts, strict=True)]


def answer_all(model: TinyLlama, benchmark: Benchmark, tokenizer: Tokenizer) -> Answers:
    """Both benchmarks."""
    return Answers(answer_choice(model, benchmark, tokenizer), answer_math(model, benchmark, tokenizer))
