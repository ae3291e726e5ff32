"""Times `quark.contrib.mince`'s own `run_sizing` on given score vectors; run by a Python that has amd-quark.

    python quark_sizing.py VECTORS.npy DRAWS [SIZE ...]

VECTORS has shape (models, items), 0 and 1. Prints one JSON object: seconds of wall clock and of all cores, and the
worst P95 in pp. Loading logs is left out of the time: the items are made here.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from quark.contrib.mince import montecarlo  # type: ignore[import-not-found]
from quark.contrib.mince.config import BENCHMARKS  # type: ignore[import-not-found]
from quark.contrib.mince.data_loader import BenchmarkItem  # type: ignore[import-not-found]


def run(vectors: str, draws: int, sizes: list[int]) -> dict[str, object]:
    """The sizing of the `mmlu` benchmark of quark, with its sizes unless others are given."""
    scores = np.load(vectors)
    models = [f"model-{k}" for k in range(len(scores))]
    items = [
        BenchmarkItem(i, model_results={name: {"acc": float(column[k])} for k, name in enumerate(models)})
        for i, column in enumerate(scores.T)
    ]
    montecarlo.load_benchmark_items = lambda benchmark, paths: items
    wall, cores = time.perf_counter(), time.process_time()
    result = montecarlo.run_sizing(BENCHMARKS["mmlu"], dict.fromkeys(models, ""), B=draws, candidate_ns=sizes)
    wall, cores = time.perf_counter() - wall, time.process_time() - cores
    p95 = [100 * float(value) for value in result["worst_p95_by_n"].values()]
    return {"wall": wall, "cores": cores, "p95_pp": p95}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3:]])) + "\n")
