"""One way to take in a folder of logs, in a process of its own: import_ways.py bare|ours|stored|quark FOLDER.

Writes one JSON object: modules_seconds (loading them), seconds and cpu_seconds (of the rest), peak_mb (of the whole
process) and rows. `bare` and `quark` need no more than the standard library and amd-quark, so that they run under any
interpreter.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Way = Callable[[Path], int]


def bare() -> Way:
    """The limit: every line through json.loads, and nothing else."""

    def way(folder: Path) -> int:
        rows = 0
        for path in sorted(folder.glob("*/samples_*.jsonl")):
            with path.open(encoding="utf-8") as file:
                for line in file:
                    json.loads(line)
                    rows += 1
        return rows

    return way


def ours() -> Way:
    """Found, read and checked."""
    from mince_gui.logs import detect, read

    return lambda folder: sum(len(read(found).keys) for found in detect([folder]).found)


def stored() -> Way:
    """The whole of `mince import`: found, read, checked and written to a new workspace."""
    from mince_gui.app.import_logs import import_logs, look

    def way(folder: Path) -> int:
        with tempfile.TemporaryDirectory() as workspace:
            return sum(log.items for log in import_logs(Path(workspace), look([folder])).imported)

    return way


def quark() -> Way:
    """quark.contrib.mince's own loader."""
    from quark.contrib.mince.config import BENCHMARKS  # type: ignore[import-not-found]
    from quark.contrib.mince.data_loader import load_benchmark_items  # type: ignore[import-not-found]

    def way(folder: Path) -> int:
        paths = {path.name: str(path) for path in sorted(folder.iterdir())}
        return len(load_benchmark_items(BENCHMARKS["mmlu"], paths)) * len(paths)

    return way


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # ru_maxrss begins with what the parent had before exec
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


WAYS: dict[str, Callable[[], Way]] = {"bare": bare, "ours": ours, "stored": stored, "quark": quark}

if __name__ == "__main__":
    loading = time.perf_counter()
    way = WAYS[sys.argv[1]]()
    began, began_cpu = time.perf_counter(), time.process_time()
    count = way(Path(sys.argv[2]))
    figures = {
        "modules_seconds": began - loading,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - began_cpu,
        "peak_mb": _peak_mb(),
        "rows": count,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
