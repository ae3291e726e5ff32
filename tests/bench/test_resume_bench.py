"""Going on with a run of all 14,042 items of MMLU, 14,000 of them done: seconds to the first request.

    pytest -m bench tests/bench/test_resume_bench.py -s

The rows are made through the store as the runner makes them, with the run's real prompts; only answers are invented.
Each resume is a process of its own; the median of five counts. The worker's start, the model's load and the smoke test
are left out. Seconds of the processor are held to the limit, so that another process on the machine disturbs little;
our own side is one thread that waits for nothing, and on a machine at rest the wall clock beside them is the same.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.pack import pack
from mince_gui.app.prompting import prompting_of
from mince_gui.app.run import RunOrder, create
from mince_gui.run.types import ItemResult, ItemTiming
from mince_gui.store import Workspace, runs
from mince_gui.tasks.types import Scored

_ITEMS, _DONE = 14_042, 14_000
_ROUNDS = 5
_CHECKOUT = Path(__file__).resolve().parent.parent.parent


def _nearly_done(workspace: Path, dataset: Path) -> str:
    pack(workspace, dataset, all_of="mmlu")
    run_id = create(workspace, RunOrder(model_dir(), "full"))
    with Workspace(workspace) as ws:
        # Only while the rows are made: nothing is lost that cannot be made again.
        ws.db.execute("PRAGMA synchronous = OFF")
        run = runs.get(ws, run_id)
        assert run.plan.items == _ITEMS
        for item in prompting_of(run).items(_DONE):
            scored = Scored({"acc": (1.0, 1.0)}, {"none": "A"}, "A")
            timing = ItemTiming(700, 700, 0, 0.1, None, None, 0.1)
            result = ItemResult(
                item.position, item.key, item.category, "done", scored, None, 0, (-1.0, -2.0, -3.0, -4.0), timing,
                prompt_sha256=item.request.sha256, method="last_logits", greedy=(True, False, False, False),
                leading_bos=0, memory_bytes=300_000_000,
            )  # fmt: skip
            runs.add_item(ws, run_id, result, 0.1)
    return run_id


@pytest.mark.bench
@pytest.mark.shared
@pytest.mark.timeout(600)
def test_seconds_to_the_first_request_of_a_resumed_run(shared: Path, tmp_path: Path) -> None:
    run_id = _nearly_done(tmp_path / "ws", shared / "data" / "mmlu")
    found = []
    for _ in range(_ROUNDS):
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("resume.py")), str(tmp_path / "ws"), run_id],
            capture_output=True, text=True, check=False, cwd=_CHECKOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    lines = [f"\nresume of {_ITEMS:,} items, {_DONE:,} done; seconds"]
    lines += ["  ".join(f"{name} {seconds:.2f}" for name, seconds in figures.items()) for figures in found]
    sys.stdout.write("\n".join(lines) + "\n")
    assert statistics.median(figures["own"] for figures in found) < 1.0
