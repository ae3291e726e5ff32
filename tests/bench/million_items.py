"""Sizes a made-up benchmark of 1,000,000 items and 7 models at 20 sizes, in a process of its own, for its memory.

Prints one JSON object: seconds of the sizing, wall clock and all cores, and the peak memory of the process in MB.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import Method, Worst, make_plan, size

ITEMS = 1_000_000


def run(worst: Worst, method: str) -> dict[str, object]:
    """One sizing without the twenty seeds."""
    rng = np.random.default_rng(1)
    ease = rng.standard_normal(ITEMS, dtype=np.float32)
    passed = np.empty((7, 1, ITEMS))
    for row, share in zip(passed, np.linspace(0.3, 0.85, 7), strict=True):
        score = ease + rng.standard_normal(ITEMS, dtype=np.float32)
        row[0] = score < np.quantile(score, share)
    nothing = (None,) * ITEMS
    matrix = ScoreMatrix(get("mmlu"), tuple("abcdefg"), ("acc",), tuple(map(str, range(ITEMS))), nothing, nothing,
                         passed, np.ones_like(passed))  # fmt: skip
    of_the_data = _peak_mb()
    chosen: Method = "exact" if method == "exact" else "draws"
    plan = make_plan(matrix, sizes=range(50_000, 1_000_000, 47_500), worst=worst, method=chosen)
    cores = time.process_time()
    result = size(matrix, plan, by_seed=False)
    cores = time.process_time() - cores
    return {
        "wall": result.seconds, "cores": cores, "mb": _peak_mb(), "mb_of_the_data": of_the_data,
        "sizes": len(plan.sizes),
    }  # fmt: skip


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    rule: Worst = "joint" if sys.argv[1] == "joint" else "per-model"
    sys.stdout.write(json.dumps(run(rule, sys.argv[2])) + "\n")
