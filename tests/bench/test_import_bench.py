"""Taking in 7 models x MMLU (399 files, 98,294 rows), beside a bare json.loads loop and amd-quark's loader.

    MINCE_QUARK_PYTHON=PYTHON pytest -m bench tests/bench/test_import_bench.py -s

`MINCE_QUARK_PYTHON` names an interpreter that has amd-quark; without it that line is left out. Every way runs in a
process of its own, the ways by turns, and the best of three counts. Seconds of the processor, so that another process
on the machine disturbs little; the loading of modules stands apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.mmlu_logs import make

_ROWS = 7 * 14_042
_ROUNDS = 3
_PEAK_MB = 300
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_WAYS = Path(__file__).with_name("import_ways.py")


def _run(python: str, way: str, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [python, str(_WAYS), way, str(folder)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(_CHECKOUT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


@pytest.mark.bench
@pytest.mark.shared
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("prompts", [True, False], ids=["full", "without-prompts"])
def test_mb_per_second_and_peak_memory(shared: Path, tmp_path: Path, prompts: bool) -> None:
    size = make(shared / "data", tmp_path / "logs", models=7, prompts=prompts) / 1e6
    python = {"bare": sys.executable, "ours": sys.executable, "stored": sys.executable}
    if quark := os.environ.get("MINCE_QUARK_PYTHON"):
        python["quark"] = quark
    best: dict[str, dict[str, float]] = {}
    for _ in range(_ROUNDS):
        for way, interpreter in python.items():
            figures = _run(interpreter, way, tmp_path / "logs")
            assert figures["rows"] == _ROWS
            best[way] = min(best.get(way, figures), figures, key=lambda f: f["cpu_seconds"])
    lines = [f"\n7 models x MMLU, 399 files, {size:,.0f} MB, {'with' if prompts else 'without'} prompts"]
    head = ("CPU s", "wall s", "modules s", "MB/s", "peak MB", "of bare")
    lines.append(" " * 8 + "".join(f"{word:>10}" for word in head))
    for way, f in best.items():
        ratio = f["cpu_seconds"] / best["bare"]["cpu_seconds"]
        cells = [f"{f[name]:.2f}" for name in ("cpu_seconds", "seconds", "modules_seconds")]
        cells += [f"{size / f['cpu_seconds']:.0f}", f"{f['peak_mb']:.0f}", f"{ratio:.2f}"]
        lines.append(f"{way:8}" + "".join(f"{cell:>10}" for cell in cells))
    if quark is None:
        lines.append("amd-quark is left out: MINCE_QUARK_PYTHON names no interpreter")
    sys.stdout.write("\n".join(lines) + "\n")
    assert best["stored"]["peak_mb"] < _PEAK_MB
