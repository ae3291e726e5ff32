"""What a run costs besides the model: the runner's own CPU, and the growth of the worker over 5,000 items.

    pytest -m bench tests/bench/test_runner_bench.py -s

The share of CPU is of a real `mince run` of the model beside the project over items that it takes some tenths of a
second for; start, load and the first look are left out.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mince_gui.app.demo import model_dir as demo_model
from mince_gui.app.pack import pack
from mince_gui.app.run import RunOrder, create
from mince_gui.run import RunItem
from mince_gui.tasks.types import Request
from tests.run.sittings import Sitting, worker_process

_ITEMS = 5_000
_EDGE = 200
_TIMED_ITEMS = 60


@pytest.mark.bench
@pytest.mark.timeout(3_000)
def test_the_workers_memory_over_five_thousand_items() -> None:
    """Prompts of 4 to 40 words and answers of 8 tokens, in no order; medians of the first and the last 200 items."""
    items = [
        RunItem(n, f"k{n}", None, {}, Request("generate", " ".join(["one"] * (4 + 17 * n % 37)) + f" {n}", (), (), 8))
        for n in range(_ITEMS)
    ]
    sitting = Sitting(demo_model())
    end = sitting.run(items)
    assert (end.done, end.restarts) == (_ITEMS, 0)
    sizes = [result.memory_bytes for result in sitting.sink.results if result.memory_bytes is not None]
    assert len(sizes) == _ITEMS
    first, last = statistics.median(sizes[:_EDGE]), statistics.median(sizes[-_EDGE:])
    sys.stdout.write(
        f"\n{_ITEMS:,} items in {sum(sitting.sink.elapsed):.0f} s: worker {first / 1e6:.1f} MB at first, "
        f"{last / 1e6:.1f} MB at last, growth {100 * (last / first - 1):+.2f} %, most {max(sizes) / 1e6:.1f} MB"
    )


@pytest.mark.bench
@pytest.mark.shared
@pytest.mark.timeout(1_200)
def test_the_runners_cpu_while_a_run_is_on(shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "smollm2-135m-instruct-int4-cpu"
    workspace = tmp_path / "ws"
    made = pack(workspace, shared / "data" / "mmlu", all_of="mmlu", accept_revision=True)
    run_id = create(workspace, RunOrder(model, made.pack.subset.name, limit=_TIMED_ITEMS))
    words = [sys.executable, "-m", "mince_gui", "run", "--resume", run_id, "--workspace", str(workspace)]
    with subprocess.Popen([*words, "--events", "jsonl"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        runner = psutil.Process(process.pid)
        marks: list[tuple[float, float, float]] = []
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "ItemDone" and event["done"] in (1, _TIMED_ITEMS - 1):
                used, worker = runner.cpu_times(), worker_process(runner).cpu_times()
                marks.append((time.monotonic(), used.user + used.system, worker.user + worker.system))
    assert process.returncode == 0
    (begin, mine, worked), (end, mine_end, worked_end) = marks
    seconds = end - begin
    sys.stdout.write(
        f"\n{_TIMED_ITEMS - 2} MMLU items in {seconds:.1f} s: runner {100 * (mine_end - mine) / seconds:.2f} % of one "
        f"core, worker {100 * (worked_end - worked) / seconds:.0f} %"
    )
