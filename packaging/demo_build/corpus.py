"""The benchmark files and the training stream, from seeds, with no item in both."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from demo_build.choice_items import CATEGORIES, choice_key, draw_choice
from demo_build.math_items import MATH_CATEGORIES, draw_math
from demo_build.prompts import (
    ChoiceItem,
    MathItem,
    answer_text,
    choice_block,
    choice_prefix,
    jsonl_bytes,
    math_prompt,
    read_rows,
    write_gz,
)
from demo_build.tokens import save_tokenizer, train_tokenizer

SEED = 20260
CHOICE_PER_CATEGORY = 125
MATH_PER_CATEGORY = 100
DEV_CANDIDATES = 3000
PIECES = re.compile(r"[0-9]|[A-Za-z]+")


@dataclass(frozen=True)
class Benchmark:
    """Both demo benchmarks and the fixed examples by category."""

    choice: list[ChoiceItem]
    dev: dict[str, list[ChoiceItem]]
    math: list[MathItem]

    def prefix(self, category: str) -> str:
        """The shared few-shot prefix of a category."""
        return choice_prefix(category, self.dev[category])

    def choice_keys(self) -> set[tuple[str, ...]]:
        """Keys of all test and example items, which training must not draw."""
        return {choice_key(item) for rows in (self.choice, *self.dev.values()) for item in rows}


def make_benchmark(seed: int = SEED) -> Benchmark:
    """Draw the test items and the examples."""
    rng = random.Random(seed)
    seen: set[tuple[str, ...]] = set()
    dev: dict[str, list[ChoiceItem]] = {}
    choice: list[ChoiceItem] = []
    for category in CATEGORIES:
        drawn: list[ChoiceItem] = []
        while len(drawn) < DEV_CANDIDATES + CHOICE_PER_CATEGORY:
            item = draw_choice(category, rng)
            if choice_key(item) not in seen:
                seen.add(choice_key(item))
                drawn.append(item)
        # The shortest make the examples: whole prompts must stay under 128 tokens (see README).
        shortest = sorted(drawn[:DEV_CANDIDATES], key=lambda item: len(PIECES.findall(choice_block(item))))
        second = next(item for item in shortest if item["answer"] != shortest[0]["answer"])
        dev[category] = [{**shortest[0], "id": 0}, {**second, "id": 1}]
        choice += drawn[DEV_CANDIDATES:]
    math: dict[str, MathItem] = {}
    for category in MATH_CATEGORIES:
        wanted = len(math) + MATH_PER_CATEGORY
        while len(math) < wanted:
            problem = draw_math(category, rng)
            math.setdefault(problem["question"], problem)
    return Benchmark(
        [{**item, "id": index} for index, item in enumerate(choice)],
        dev,
        [{**problem, "id": index} for index, problem in enumerate(math.values())],
    )


def write_benchmark(benchmark: Benchmark, folder: Path) -> None:
    """Write the files of ``resources/demo``."""
    write_gz(folder / "demo-choice" / "test.jsonl.gz", benchmark.choice)
    rows = [row for rows in benchmark.dev.values() for row in rows]
    (folder / "demo-choice" / "dev.jsonl").write_bytes(
        jsonl_bytes({**row, "id": index} for index, row in enumerate(rows))
    )
    write_gz(folder / "demo-math" / "test.jsonl.gz", benchmark.math)


def read_benchmark(folder: Path) -> Benchmark:
    """Read what :func:`write_benchmark` wrote."""
    dev: dict[str, list[ChoiceItem]] = {}
    for row in read_rows(folder / "demo-choice" / "dev.jsonl"):
        dev.setdefault(row["category"], []).append(row)
    return Benchmark(
        read_rows(folder / "demo-choice" / "test.jsonl.gz"), dev, read_rows(folder / "demo-math" / "test.jsonl.gz")
    )


def training_choice(benchmark: Benchmark, category: str, seed: int) -> Iterator[ChoiceItem]:
    """Endless training items of a category, none of them in the benchmark."""
    rng = random.Random(f"{seed} choice {category}")
    banned = benchmark.choice_keys()
    while True:
        item = draw_choice(category, rng)
        if choice_key(item) not in banned:
            yield item


def training_math(benchmark: Benchmark, seed: int) -> Iterator[MathItem]:
    """Endless training problems, none of them in the benchmark."""
    rng = random.Random(f"{seed} math")
    banned = {item["question"] for item in benchmark.math}
    names = list(MATH_CATEGORIES)
    while True:
        problem = draw_math(rng.choice(names), rng)
        if problem["question"] not in banned:
            yield problem


def make_tokenizer(benchmark: Benchmark, folder: Path) -> Tokenizer:
    """Train the tokenizer on the first training texts and write its files."""
    texts = [benchmark.prefix(category).rstrip() for category in CATEGORIES for _ in range(50)]
    for category in CATEGORIES:
        stream = training_choice(benchmark, category, SEED)
        texts += [choice_block(item) + answer_text(item) for item in islice(stream, 1500)]
    problems = training_math(benchmark, SEED)
    texts += [f"{math_prompt(item['question'])} {item['answer']}" for item in islice(problems, 4000)]
    tokenizer = train_tokenizer(texts)
    save_tokenizer(tokenizer, folder)
    return tokenizer
