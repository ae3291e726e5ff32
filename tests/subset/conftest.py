from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.benchmarks import content_hash, get
from mince_gui.logs import ScoreMatrix
from mince_gui.subset import Dataset, read_dataset

Rows = list[dict[str, Any]]


def _question(i: int) -> dict[str, Any]:
    return {"question": f"What is {i} + {i}?", "answer": f"{i} + {i} is {2 * i}\n#### {2 * i}"}


@pytest.fixture
def rows() -> Rows:
    """As many GSM8K-shaped items of our own as GSM8K has."""
    return [_question(i) for i in range(1319)]


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[[str, Rows], Path]:
    """Write rows as JSON lines to a file of that name; gives its path."""

    def write(name: str, rows: Rows) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def dataset(rows: Rows, write_lines: Callable[[str, Rows], Path]) -> Dataset:
    """The items as a dataset read from a file."""
    return read_dataset(get("gsm8k"), write_lines("test.jsonl", rows))


@pytest.fixture
def matrix(rows: Rows) -> ScoreMatrix:
    """Three models on the items; the third lacks one value of the second metric."""
    benchmark = get("gsm8k")
    passed = (np.random.default_rng(0).random((3, 2, len(rows))) < 0.5).astype(float)
    trials = np.ones_like(passed)
    passed[2, 1, 5] = trials[2, 1, 5] = np.nan
    return ScoreMatrix(
        benchmark,
        ("a", "b", "c"),
        ("exact_match,strict-match", "exact_match,flexible-extract"),
        tuple(str(i) for i in range(len(rows))),
        tuple("odd" if i % 3 else None for i in range(len(rows))),
        tuple(content_hash(benchmark, row) for row in rows),
        passed,
        trials,
    )
