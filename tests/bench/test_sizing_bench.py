from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mince_gui.benchmarks import get
from mince_gui.logs import build_matrix, detect, read
from mince_gui.sizing import make_plan, size


@pytest.mark.bench
@pytest.mark.shared
@pytest.mark.parametrize("by_seed", [False, True])
def test_seconds_for_ifeval_by_draws(shared: Path, by_seed: bool) -> None:
    found = detect([shared / "data" / "logs" / "lm_eval"]).found
    benchmark = get("ifeval")
    matrix = build_matrix(benchmark, [read(f) for f in found if f.benchmark == benchmark])
    result = size(matrix, make_plan(matrix), by_seed=by_seed)
    sys.stdout.write(f"\nIFEVAL, {len(result.models)} models, by_seed={by_seed}: {result.seconds:.2f} s\n")
    assert result.method == "draws"
