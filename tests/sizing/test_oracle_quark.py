"""Beside `quark.contrib.mince` of amd-quark itself, on the same logs; see tests/requirements-oracle.txt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix, build_matrix, detect, read
from mince_gui.sizing import make_plan, pair_curves, size

pytestmark = [pytest.mark.oracle, pytest.mark.shared, pytest.mark.timeout(600)]

QUARKS_NAMES = {
    "prompt_level_strict_acc": "prompt_strict",
    "prompt_level_loose_acc": "prompt_loose",
    "inst_level_strict_acc": "inst_strict",
    "inst_level_loose_acc": "inst_loose",
    "exact_match,flexible-extract": "exact_match",
}
Both = tuple[ScoreMatrix, dict[str, Any]]


def both(folders: list[Path], benchmark: str, draws: int) -> Both:
    """Our matrix of the logs, and quark's sizing of the same folders (seed 42)."""
    from quark.contrib.mince import BENCHMARKS, run_sizing  # type: ignore[import-not-found]

    known = get(benchmark)
    matrix = build_matrix(known, [read(found) for found in detect(folders).found if found.benchmark == known])
    paths = {folder.name: str(folder) for folder in folders}
    result: dict[str, Any] = run_sizing(BENCHMARKS[benchmark], paths, B=draws, seed=42)
    return matrix, result


def folders_of(root: Path, benchmark: str) -> list[Path]:
    return sorted({path.parent for path in root.rglob(f"samples_{benchmark}_*.jsonl")})


@pytest.fixture(scope="module")
def unpacked(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("unpacked")
    tool = shared / "tools" / "unpack_logs.py"
    subprocess.run([sys.executable, str(tool), "--out", str(target)], check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def made(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """Logs with the published accuracies of the paper's seven models."""
    target = tmp_path_factory.mktemp("made")

    def make(benchmark: str) -> list[Path]:
        tool = shared / "tools" / "make_paper_logs.py"
        command = [sys.executable, str(tool), "--out", str(target), "--benchmark", benchmark, "--seed", "0"]
        subprocess.run(command, check=True, capture_output=True)
        for path in target.rglob(f"samples_{benchmark}_*.jsonl"):
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for row in rows:
                row["doc"].setdefault("question", f"item {row['doc_id']}")  # quark's loader wants a text
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return folders_of(target, benchmark)

    return make


def quarks_n_star(result: dict[str, Any]) -> int:
    from quark.contrib.mince import select_n_star

    return int(select_n_star(result["worst_p95_by_n"]))


def assert_every_p95_agrees(matrix: ScoreMatrix, result: dict[str, Any]) -> int:
    """Quark's P95 of every model, metric and size lies between our quantiles a Monte Carlo error of both apart.

    Five standard errors of a probability, since P95 itself moves in lumps. Returns how many were compared.
    """
    sizes, draws = result["candidate_ns"], 20_000
    slack = 5 * float(np.sqrt(0.95 * 0.05 * (1 / draws + 1 / result["B"])))
    plan = make_plan(matrix, sizes=sizes, draws=draws, method="draws")
    low, high = (pair_curves(matrix, replace(plan, quantile=0.95 + sign * slack)) for sign in (-1, 1))
    by_key = {(name.split("__")[-1], name): name for name in result["models"]}
    compared = 0
    for k, m, below, above in zip(low.models, low.metrics, low.pp, high.pp, strict=True):
        name = next(full for (short, full) in by_key if matrix.models[k] in (full, full.replace("__", "/"), short))
        metric = QUARKS_NAMES.get(matrix.metrics[m], matrix.metrics[m])
        if metric not in result["all_model_results"][name][sizes[0]]:
            continue
        for t, n in enumerate(sizes):
            theirs = 100 * result["all_model_results"][name][n][metric]["p95_abs"]
            assert below[t] - 1e-9 <= theirs <= above[t] + 1e-9, (name, metric, n)
            compared += 1
    return compared


def test_real_ifeval_logs_give_quarks_p95_for_every_model_and_metric(unpacked: Path) -> None:
    matrix, result = both(folders_of(unpacked, "ifeval"), "ifeval", 4000)
    assert assert_every_p95_agrees(matrix, result) == 17 * 4 * 8
    ours = size(matrix, make_plan(matrix, sizes=result["candidate_ns"]), by_seed=False)
    theirs = [100 * p95 for p95 in result["worst_p95_by_n"].values()]
    lumps = np.array(ours.lump_pp)
    assert (np.abs(np.array(ours.p95_pp) - theirs) <= 0.5 * lumps).all()


def test_real_gsm8k_logs_give_quarks_p95_and_n_star(unpacked: Path) -> None:
    matrix, result = both(folders_of(unpacked, "gsm8k"), "gsm8k", 10_000)
    assert assert_every_p95_agrees(matrix, result) == 8 * 8
    exact = size(matrix, make_plan(matrix, sizes=result["candidate_ns"], method="exact"))
    assert exact.n_star == quarks_n_star(result)


@pytest.mark.parametrize(("benchmark", "draws"), [("gsm8k", 10_000), ("mmlu", 3000)])
def test_made_logs_of_the_papers_models_give_quarks_p95_and_n_star(
    made: Callable[[str], list[Path]], benchmark: str, draws: int
) -> None:
    matrix, result = both(made(benchmark), benchmark, draws)
    assert assert_every_p95_agrees(matrix, result) == 7 * len(result["candidate_ns"])
    for method in ("exact", "draws"):
        plan = make_plan(matrix, sizes=result["candidate_ns"], method="exact" if method == "exact" else "draws")
        assert size(matrix, plan, by_seed=False).n_star == quarks_n_star(result)
