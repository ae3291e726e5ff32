"""Training on the CPU: every step sees some items of every category, and only answers carry a loss."""

from __future__ import annotations

import json
import math
import random
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from demo_build.choice_items import CATEGORIES
from demo_build.corpus import Benchmark, training_choice, training_math
from demo_build.network import Cache, Shape, TinyLlama
from demo_build.prompts import answer_text, choice_block, math_prompt
from demo_build.tokens import end_id, option_ids

IGNORE = -100


@dataclass(frozen=True)
class Run:
    """One training: its size, seed, length and where checkpoints are kept."""

    name: str
    seed: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    steps: int
    rate: float = 2e-3
    alone: float = 0.5
    items: int = 8
    problems: int = 16
    save_every: int = 100

    def shape(self, vocab: int) -> Shape:
        """The model's shape."""
        return Shape(vocab, self.hidden, self.layers, self.heads, self.intermediate)


def pad(rows: list[list[int]], fill: int) -> tuple[Tensor, Tensor]:
    """Right-padded ids and the mask of real tokens.

    Lengths are rounded up: a new shape at every step costs the CPU kernels far more than some padding.
    """
    length = -(-max(len(row) for row in rows) // 4) * 4
    ids = torch.tensor([row + [fill] * (length - len(row)) for row in rows])
    sizes = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(length)[None] < sizes[:, None]


class Prefixes:
    """The few-shot prefixes as token ids, run once per step for all items."""

    def __init__(self, benchmark: Benchmark, tokenizer: Tokenizer) -> None:
        # A prefix alone may encode its last line breaks differently; a letter after it keeps them apart.
        self.rows = [tokenizer.encode(benchmark.prefix(name) + "W").ids[:-1] for name in CATEGORIES]
        self.ids, self.valid = pad(self.rows, 0)
        self.sizes = torch.tensor([len(row) for row in self.rows])

    def states(self, model: TinyLlama, ids: Tensor, valid: Tensor, alone: bool = False) -> Tensor:
        """States at all tokens of the items' blocks, seen after their categories' prefixes.

        The blocks are ordered by category, the same number of each (a plain repeat is faster than a look-up).
        With ``alone`` the prefix is left out, which is twice as fast.
        """
        if alone:
            return model.hidden(ids, valid)[0]
        each = len(ids) // len(self.rows)

        def repeat(x: Tensor) -> Tensor:
            return x[:, None].expand(-1, each, *x.shape[1:]).reshape(-1, *x.shape[1:])

        _, cache = model.hidden(self.ids, self.valid)
        past: Cache = [(repeat(key), repeat(value)) for key, value in cache]
        return model.hidden(ids, valid, repeat(self.sizes), past, repeat(self.valid))[0]

    def last_states(self, model: TinyLlama, blocks: list[list[int]]) -> Tensor:
        """State at the last token of each block."""
        ids, valid = pad(blocks, 0)
        return self.states(model, ids, valid)[torch.arange(len(blocks)), valid.sum(1) - 1]


class Stream:
    """Training batches of one run."""

    def __init__(self, run: Run, benchmark: Benchmark, tokenizer: Tokenizer) -> None:
        self.run, self.tokenizer, self.end = run, tokenizer, end_id(tokenizer)
        self.items = {name: training_choice(benchmark, name, run.seed) for name in CATEGORIES}
        self.problems = training_math(benchmark, run.seed)

    def choice(self) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and labels of four-choice items, the same number of every category."""
        rows: list[list[int]] = []
        asked: list[int] = []
        for name in CATEGORIES:
            for item in islice(self.items[name], self.run.items):
                block = self.tokenizer.encode(choice_block(item)).ids
                rows.append(block + self.tokenizer.encode(answer_text(item)).ids)
                asked.append(len(block))
        ids, valid = pad(rows, 0)
        labels = ids.masked_fill(~valid, IGNORE)
        for index, start in enumerate(asked):
            labels[index, :start] = IGNORE
        return ids, valid, labels

    def math(self) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, mask and labels of word problems."""
        rows: list[list[int]] = []
        asked: list[int] = []
        for item in islice(self.problems, self.run.problems):
            question = self.tokenizer.encode(math_prompt(item["question"])).ids
            rows.append([*question, *self.tokenizer.encode(" " + item["answer"]).ids, self.end])
            asked.append(len(question))
        ids, valid = pad(rows, 0)
        labels = ids.masked_fill(~valid, IGNORE)
        for index, start in enumerate(asked):
            labels[index, :start] = IGNORE
        return ids, valid, labels


def _loss(model: TinyLlama, states: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(
        model.logits(states[:, :-1]).flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORE
    )


def train(run: Run, benchmark: Benchmark, tokenizer: Tokenizer, folder: Path) -> None:
    """Train one run; resumes after the last checkpoint only by skipping a run that is already complete."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(run.seed)
    torch.set_flush_denormal(True)  # without it a step becomes three times slower within a minute
    random.seed(run.seed)
    model = TinyLlama(run.shape(tokenizer.get_vocab_size()))
    prefixes = Prefixes(benchmark, tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=run.rate, betas=(0.9, 0.98), weight_decay=0.05)
    (folder / "run.json").write_text(json.dumps(asdict(run), indent=2) + "\n")
    started = time.monotonic()
    stream = Stream(run, benchmark, tokenizer)
    for step in range(1, run.steps + 1):
        warm = min(1.0, step / 80)
        scale = warm * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / run.steps)))
        for group in optimizer.param_groups:
            group["lr"] = run.rate * scale
        # The first part trains mostly without the few-shot prefix: quicker, and easier to learn from.
        alone = step < run.alone * run.steps and step % 4 != 0
        ids, valid, labels = stream.choice()
        choice_loss = _loss(model, prefixes.states(model, ids, valid, alone), labels)
        ids, valid, labels = stream.math()
        math_loss = _loss(model, model.hidden(ids, valid)[0], labels)
        optimizer.zero_grad(set_to_none=True)
        (choice_loss + math_loss).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % run.save_every == 0 or step == run.steps:
            torch.save(model.state_dict(), folder / f"step-{step:05d}.pt")
            line = {
                "step": step,
                "seconds": round(time.monotonic() - started, 1),
                "choice_loss": round(choice_loss.item(), 4),
                "math_loss": round(math_loss.item(), 4),
                **quick_scores(model, benchmark, tokenizer, prefixes),
            }
            with (folder / "progress.jsonl").open("a") as handle:
                handle.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)
    (folder / "done").write_text("")


@torch.no_grad()
def quick_scores(
    model: TinyLlama, benchmark: Benchmark, tokenizer: Tokenizer, prefixes: Prefixes
) -> dict[str, float | dict[str, float]]:
    """Accuracy by category; word problems by teacher forcing, a close lower bound of generating."""
    options = torch.tensor([option_ids(tokenizer, item) for item in benchmark.choice])
    blocks = [tokenizer.encode(choice_block(item)).ids for item in benchmark.choice]
    names = [item["category"] for item in benchmark.choice]
    picked = model.logits(prefixes.last_states(model, blocks)).gather(1, options).argmax(1)
    right = picked == torch.tensor([item["answer"] for item in benchmark.choice])
    end = end_id(tokenizer)
    asked = [tokenizer.encode(math_prompt(item["question"])).ids for item in benchmark.math]
    solved = [[*tokenizer.encode(" " + item["answer"]).ids, end] for item in benchmark.math]
    ids, valid = pad([q + a for q, a in zip(asked, solved, strict=True)], 0)
    guess = model.logits(model.hidden(ids, valid)[0]).argmax(-1)
    good = torch.tensor(
        [
            guess[row, len(q) - 1 : len(q) + len(a) - 1].tolist() == a
            for row, (q, a) in enumerate(zip(asked, solved, strict=True))
        ]
    )

    def mean(values: Tensor, labels: list[str]) -> dict[str, float]:
        return {
            name: round(values[torch.tensor([label == name for label in labels])].float().mean().item(), 3)
            for name in dict.fromkeys(labels)
        }

    return {
        "choice": round(right.float().mean().item(), 4),
        "math": round(good.float().mean().item(), 4),
        "by_choice": mean(right, names),
        "by_math": mean(good, [item["category"] for item in benchmark.math]),
    }
