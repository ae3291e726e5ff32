"""The published figures, logs made with the published accuracies, and the real logs."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix, build_matrix, detect, read

Load = Callable[[str], ScoreMatrix]


@pytest.fixture(scope="session")
def paper(shared: Path) -> dict[str, Any]:
    """The figures of the paper. They are read here and nowhere typed again."""
    body: dict[str, Any] = json.loads((shared / "reference" / "paper_tables.json").read_text(encoding="utf-8"))
    return body


@pytest.fixture(scope="session")
def made(shared: Path, paper: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Logs of the seven models with the published accuracies; which items are right is made up. Paper's order."""
    kept: dict[str, ScoreMatrix] = {}

    def load(name: str) -> ScoreMatrix:
        if name not in kept:
            out = tmp_path_factory.mktemp(f"made-{name}")
            tool = shared / "tools" / "make_paper_logs.py"
            command = [sys.executable, str(tool), "--out", str(out), "--benchmark", name, "--seed", "0"]
            subprocess.run(command, check=True, capture_output=True)
            kept[name] = _matrix(name, out).select([model.lower() for model in paper["models"]])
        return kept[name]

    return load


@pytest.fixture(scope="session")
def real(shared: Path) -> Load:
    """The real logs: 17 models on IFEVAL, 8 on GSM8K."""
    kept: dict[str, ScoreMatrix] = {}

    def load(name: str) -> ScoreMatrix:
        if name not in kept:
            kept[name] = _matrix(name, shared / "data" / "logs" / "lm_eval")
        return kept[name]

    return load


def _matrix(name: str, folder: Path) -> ScoreMatrix:
    benchmark = get(name)
    return build_matrix(benchmark, [read(f) for f in detect([folder]).found if f.benchmark.name == name])


@pytest.fixture(scope="session")
def plain() -> Callable[[ScoreMatrix], ScoreMatrix]:
    """Only the metrics that count every item as right or wrong: IFEVAL's prompt-level ones. They are exact."""

    def of(matrix: ScoreMatrix) -> ScoreMatrix:
        places = np.flatnonzero((matrix.trials == 1).all(axis=(0, 2)))
        return dataclasses.replace(
            matrix,
            metrics=tuple(matrix.metrics[m] for m in places),
            passed=matrix.passed[:, places],
            trials=matrix.trials[:, places],
        )

    return of
