"""Timings of sizing, in one table: seconds of wall clock and of all cores' time (user and system) on this machine.

    MINCE_QUARK_PYTHON=PYTHON pytest -m bench tests/bench/test_sizing_bench.py -s

`MINCE_QUARK_PYTHON` names an interpreter that has amd-quark, to be timed on the same score vectors; without it those
rows are left out. Every row but quark's and the shuffle's is the best of a few runs. On a machine that does other work
the second column tells more.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import Method, Worst, make_plan, size

HERE = Path(__file__).resolve().parent
DRAWS = 10_000
QUARK_SIZES = tuple(range(500, 7001, 500))
MMLU_SHARES = (0.61, 0.65, 0.65, 0.68, 0.69, 0.72, 0.83)

Taken = tuple[float, float]
Row = tuple[str, float, float, str]


def outcomes(shares: tuple[float, ...], items: int) -> FloatArray:
    """0 and 1, (models, items): models that find the same items hard."""
    rng = np.random.default_rng(7)
    ease = rng.standard_normal(items)
    scores = [0.7 * ease + 0.7 * rng.standard_normal(items) for _ in shares]
    rows = [score < np.quantile(score, share) for score, share in zip(scores, shares, strict=True)]
    return np.array(rows, dtype=np.float64)


def matrix_of(benchmark: str, passed: FloatArray, trials: FloatArray | None = None) -> ScoreMatrix:
    models, metrics, items = passed.shape
    trials = np.ones_like(passed) if trials is None else np.broadcast_to(trials, passed.shape).copy()
    names = (tuple(f"model-{k}" for k in range(models)), tuple(f"metric-{m}" for m in range(metrics)))
    nothing = (None,) * items
    return ScoreMatrix(get(benchmark), *names, tuple(map(str, range(items))), nothing, nothing, passed, trials)


def mmlu() -> ScoreMatrix:
    return matrix_of("mmlu", outcomes(MMLU_SHARES, 14_042)[:, None])


def ifeval() -> ScoreMatrix:
    """17 models, two plain metrics and two over the instructions of a prompt."""
    rng = np.random.default_rng(8)
    instructions = rng.choice([1.0, 2.0, 3.0], p=[0.6, 0.26, 0.14], size=541)
    trials = np.stack([np.ones(541), instructions, np.ones(541), instructions])
    shares = np.linspace(0.25, 0.85, 17)[:, None, None]
    passed = rng.binomial(trials.astype(int), np.broadcast_to(shares, (17, 4, 541))).astype(np.float64)
    return matrix_of("ifeval", passed, trials)


def best(work: Callable[[], Any], runs: int = 3) -> Taken:
    """The least wall clock and the least time of all cores, of some runs."""
    walls, cores = [], []
    for _ in range(runs):
        wall, core = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cores.append(time.process_time() - core)
    return min(walls), min(cores)


def sizing(matrix: ScoreMatrix, worst: Worst, method: Method, sizes: tuple[int, ...] | None = None) -> Taken:
    plan = make_plan(matrix, sizes=sizes, worst=worst, method=method, draws=DRAWS)
    return best(lambda: size(matrix, plan, by_seed=False), 5)


def nested_shuffle(scores: FloatArray) -> None:
    """What one would write first: shuffle all items, add up, take both rules."""
    sizes = np.arange(500, 14_042, 500)
    rng = np.random.default_rng(1)
    full = scores.mean(axis=1, keepdims=True)
    narrow = scores.astype(np.int32)
    drift = np.empty((DRAWS, len(scores), len(sizes)))
    for row in drift:
        order = rng.permutation(scores.shape[1])
        row[:] = np.abs(np.cumsum(narrow[:, order], axis=1)[:, sizes - 1] / sizes - full)
    np.percentile(drift, 95, axis=0).max(axis=0)
    np.percentile(drift.max(axis=1), 95, axis=0)


def per_second(work: Callable[[], Any], count: int) -> float:
    """How many of something one core makes in a second."""
    return count / best(work, 9)[1]


def child(python: str, script: str, *arguments: str) -> Any:
    done = subprocess.run([python, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def show(title: str, rows: list[Row]) -> None:
    width = max(len(row[0]) for row in rows)
    lines = [f"{what:<{width}}  {wall:8.3f}  {cores:8.3f}  {note}".rstrip() for what, wall, cores, note in rows]
    sys.stdout.write("\n".join(["", title, f"{'':<{width}}  {'wall s':>8}  {'cores s':>8}", *lines, ""]))


@pytest.mark.bench
@pytest.mark.timeout(900)
def test_mmlu_beside_quark_a_shuffle_and_the_bare_random_numbers(tmp_path: Path) -> None:
    matrix = mmlu()
    scores = matrix.passed[:, 0]
    rows: list[Row] = []
    like = sizing(matrix, "per-model", "draws", QUARK_SIZES)
    note = "set MINCE_QUARK_PYTHON to time quark beside it"
    if python := os.environ.get("MINCE_QUARK_PYTHON"):
        np.save(tmp_path / "scores.npy", scores)
        quark = child(python, "quark_sizing.py", str(tmp_path / "scores.npy"), str(DRAWS), *map(str, QUARK_SIZES))
        rows.append(("quark.contrib.mince, 14 sizes, per-model", quark["wall"], quark["cores"], "its own run_sizing"))
        ours = size(matrix, make_plan(matrix, sizes=QUARK_SIZES, method="draws"), by_seed=False)
        apart = np.abs(np.array(ours.p95_pp) - np.array(quark["p95_pp"])).max()
        note = f"{quark['wall'] / like[0]:.0f} times faster (aim: 200); P95 differ by {apart:.2f} pp at most"
    rows.append(("the same 14 sizes and rule, by draws", *like, note))
    rng = np.random.default_rng(1)
    right, rest = np.full(500, 9000), np.full(500, 5042)
    hypergeometric = per_second(lambda: [rng.hypergeometric(right, rest, 500) for _ in range(400)], 200_000)
    limit(rows, "its 980,000 hypergeometric numbers", 14 * 7 * DRAWS, hypergeometric)
    rows.append(("a nested numpy shuffle, 28 sizes, both rules", *best(lambda: nested_shuffle(scores), 1), ""))
    rows.append(("28 sizes, both rules, common draws", *sizing(matrix, "joint", "draws"), "aim: 4"))
    words = per_second(lambda: [rng.bit_generator.random_raw(1 << 16) for _ in range(64)], 1 << 22)
    limit(rows, "its 140 million random numbers of 32 bits", 14_042 * DRAWS, 2 * words)
    keys = rng.bit_generator.random_raw(9 * 7021).view(np.uint32).reshape(9, -1)
    limit(rows, "sorting them", 14_042 * DRAWS, per_second(lambda: [np.sort(keys) for _ in range(20)], 20 * keys.size))
    rows.append(("28 sizes, exact, per-model", *sizing(matrix, "per-model", "exact"), "aim: 0.05"))
    show(f"MMLU, 14,042 items, 7 models, {DRAWS:,} draws", rows)


def limit(rows: list[Row], what: str, need: int, rate: float) -> None:
    """What a step would take if it did nothing else, on all cores."""
    taken = need / rate
    rows.append((f"  {what}, alone", taken / (os.cpu_count() or 1), taken, f"{rate / 1e6:,.1f} million/s per core"))


@pytest.mark.bench
def test_ifeval_and_a_million_items() -> None:
    matrix = ifeval()
    rules: tuple[Worst, Worst] = ("per-model", "joint")
    rows: list[Row] = [
        (f"IFEVAL, 17 models x 4 metrics, 10 sizes, {rule}", *sizing(matrix, rule, "draws"), "aim: 1.5")
        for rule in rules
    ]
    plan = make_plan(matrix)
    rows.append(("  and n* over 20 seeds", *best(lambda: size(matrix, plan), 2), "21 x 10,000 draws"))
    for rule, method in (("joint", "draws"), ("per-model", "draws"), ("per-model", "exact")):
        found = child(sys.executable, "million_items.py", rule, method)
        what = f"1,000,000 items, 7 models, {found['sizes']} sizes, {rule}, {method}"
        peak = f"aim: 10; peak {found['mb']:.0f} MB, {found['mb_of_the_data']:.0f} with the data alone (aim: 1,000)"
        rows.append((what, found["wall"], found["cores"], peak))
    show(f"{DRAWS:,} draws", rows)


@pytest.mark.bench
@pytest.mark.shared
def test_mince_size_as_a_whole(shared: Path, tmp_path: Path) -> None:
    """A process from start to end, on the real logs."""
    environment = {**os.environ, "MINCE_WORKSPACE": str(tmp_path / "workspace")}

    def mince(*arguments: str) -> None:
        command = [sys.executable, "-m", "mince_gui", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    mince("import", str(shared / "data" / "logs" / "lm_eval"))
    rows: list[Row] = []
    for arguments in (("ifeval",), ("ifeval", "--worst", "joint"), ("gsm8k", "--method", "exact"), ("mmlu",)):
        before = psutil.Process().cpu_times()
        wall, _ = best(functools.partial(mince, "size", "--benchmark", *arguments))
        after = psutil.Process().cpu_times()
        cores = after.children_user + after.children_system - before.children_user - before.children_system
        rows.append((f"mince size --benchmark {' '.join(arguments)}", wall, cores / 3, ""))
    show("mince size, real logs, whole processes", rows)
