"""The exact prompt strings, answer filters and file formats of the two demo benchmarks.

One module holds them because training, the pool's logs, the device run and the application must agree on
every character: a model of a million parameters does not forgive a different line break.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

MATH_STOP = "Question:"
MAX_NEW_TOKENS = 48
END_OF_TEXT = "<|endoftext|>"
STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")
FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
IGNORED = (",", r"\$", r"(?s).*#### ", r"\.$")
INVALID = "[invalid]"


class ChoiceItem(TypedDict):
    """One four-choice item, as stored in ``demo-choice``."""

    id: int
    category: str
    question: str
    choices: list[str]
    answer: int


class MathItem(TypedDict):
    """One word problem, as stored in ``demo-math``."""

    id: int
    category: str
    question: str
    answer: str


def choice_block(item: Mapping[str, Any]) -> str:
    """Question, options and the open ``Answer:``; the part of the prompt that differs between items."""
    return f"{item['question']}\nOptions: {', '.join(item['choices'])}\nAnswer:"


def answer_text(item: Mapping[str, Any]) -> str:
    """What follows ``Answer:``: the right option, one token of the demo's tokenizer."""
    return f" {item['choices'][item['answer']]}"


def choice_prefix(category: str, dev: Sequence[Mapping[str, Any]]) -> str:
    """The header and the fixed examples shared by all items of a category."""
    header = f"The following are multiple choice questions (with answers) about {category}.\n\n"
    return header + "".join(f"{choice_block(row)}{answer_text(row)}\n\n" for row in dev)


def math_prompt(question: str) -> str:
    """The GSM8K-shaped prompt."""
    return f"Question: {question}\nAnswer:"


def cut_at_stop(text: str) -> str:
    """Generated text up to the stop string, as lm-eval cuts it."""
    return text.split(MATH_STOP)[0]


def strict_match(text: str) -> str:
    """The number after ``####`` or lm-eval's mark for none."""
    found = STRICT.findall(text)
    return found[0].strip() if found else INVALID


def flexible_extract(text: str) -> str:
    """The last number of the text or lm-eval's mark for none."""
    found = FLEXIBLE.findall(text)
    return next((part.strip() for part in found[-1] if part), INVALID) if found else INVALID


def exact_match(extracted: str, gold: str) -> float:
    """lm-eval's ``exact_match`` with the ignored patterns of its GSM8K task."""
    for pattern in IGNORED:
        extracted = re.sub(pattern, "", extracted)
        gold = re.sub(pattern, "", gold)
    return float(extracted.lower() == gold.lower())


def jsonl_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def write_gz(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write compressed JSON lines without a timestamp, so that equal rows give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(jsonl_bytes(rows), compresslevel=9, mtime=0))


def read_rows(path: Path) -> list[Any]:
    """Read JSON lines, compressed or not."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return [json.loads(line) for line in data.decode().splitlines()]
