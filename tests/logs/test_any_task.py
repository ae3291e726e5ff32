"""A task that nobody knows, from lm-eval's rows to n*: verdicts, real values in [0, 1], ratios, and gaps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.logs import ScoreMatrix, build_matrix, detect, read
from mince_gui.sizing import make_plan, size

ITEMS = 240
METRICS = ("acc", "rouge", "steps")


def row(doc_id: int, rng: np.random.Generator, ability: float) -> dict[str, Any]:
    steps = [bool(right) for right in rng.random(1 + doc_id % 4) < ability]
    return {
        "doc_id": doc_id, "doc": {"text": f"made up, number {doc_id}"}, "resps": [[f"{ability} {doc_id}"]],
        "filter": "none", "metrics": list(METRICS), "acc": bool(rng.random() < ability),
        "rouge": round(float(rng.beta(2 * ability, 2 * (1 - ability))), 4), "steps": steps,
    }  # fmt: skip


@pytest.fixture
def matrix(tmp_path: Path, write_run: Callable[..., Path]) -> ScoreMatrix:
    rng = np.random.default_rng(5)
    for model, ability in (("weak", 0.3), ("even", 0.5), ("strong", 0.7)):
        rows = [row(i, rng, ability) for i in range(ITEMS)]
        if model == "even":
            rows[17]["rouge"] = float("nan")
        write_run(tmp_path / model, "made_up", rows, model=model)
    logs = [read(found) for found in detect([tmp_path]).found]
    return build_matrix(logs[0].benchmark, logs)


def test_every_kind_of_value_keeps_its_passed_and_trials(matrix: ScoreMatrix) -> None:
    assert (matrix.metrics, matrix.total_items) == (METRICS, ITEMS)
    assert set(np.unique(matrix.passed[:, 0])) == {0.0, 1.0}
    weak = matrix.models.index("weak")
    assert len(np.unique(matrix.passed[weak, 1])) > ITEMS / 2
    assert np.array_equal(matrix.trials[:, 2], np.tile(1.0 + np.arange(ITEMS) % 4, (3, 1)))


def test_a_metric_with_a_gap_takes_no_part_for_that_model_alone(matrix: ScoreMatrix) -> None:
    even = matrix.models.index("even")
    assert np.isnan(matrix.scores()).tolist() == [[i == even and m == 1 for m in range(3)] for i in range(3)]
    (check,) = (check for check in matrix.checks if check.severity == "refusal")
    assert (check.kind, check.count, check.examples) == ("missing_values", 1, ("17",))
    assert check.message.startswith("rouge of even (")


def test_its_sizing_agrees_with_plain_draws(matrix: ScoreMatrix) -> None:
    result = size(matrix, make_plan(matrix, sizes=(60, 120), draws=4_000), by_seed=False)
    assert result.method == "draws"
    assert any("rouge of even" in warning for warning in result.warnings)
    rng = np.random.default_rng(9)
    full = matrix.scores()
    for place, n in enumerate((60, 120)):
        drifts = []
        for _ in range(2_000):
            drawn = rng.choice(ITEMS, size=n, replace=False)
            scores = 100 * matrix.passed[:, :, drawn].sum(axis=2) / matrix.trials[:, :, drawn].sum(axis=2)
            drifts.append(np.abs(scores - full))
        worst = np.nanmax(np.percentile(np.array(drifts), 95, axis=0))
        assert result.p95_pp[place] == pytest.approx(worst, abs=0.6)
