from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix, build_matrix, detect, read
from mince_gui.logs.types import FloatArray

Make = Callable[..., ScoreMatrix]


def _make(passed: FloatArray, trials: FloatArray | None = None) -> ScoreMatrix:
    passed = np.asarray(passed, dtype=np.float64)
    trials = np.where(np.isnan(passed), np.nan, 1.0) if trials is None else np.broadcast_to(trials, passed.shape)
    models, metrics, items = passed.shape
    return ScoreMatrix(
        benchmark=get("gsm8k"),
        models=tuple(f"model-{k}" for k in range(models)),
        metrics=tuple(f"metric-{m}" for m in range(metrics)),
        keys=tuple(str(i) for i in range(items)),
        categories=(None,) * items,
        hashes=(None,) * items,
        passed=passed,
        trials=np.array(trials, dtype=np.float64),
    )


@pytest.fixture(scope="session")
def make_matrix() -> Make:
    """A matrix from `passed` (K, M, N); trials are 1 where not given. NaN marks a missing item."""
    return _make


@pytest.fixture(scope="session")
def real_matrix(shared: Path) -> Callable[[str], ScoreMatrix]:
    """The calibration pool of the shared logs for a benchmark's name."""
    kept: dict[str, ScoreMatrix] = {}

    def load(name: str) -> ScoreMatrix:
        if name not in kept:
            found = detect([shared / "data" / "logs" / "lm_eval"]).found
            benchmark = get(name)
            kept[name] = build_matrix(benchmark, [read(f) for f in found if f.benchmark.name == name])
        return kept[name]

    return load
