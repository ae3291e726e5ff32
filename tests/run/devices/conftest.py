"""A stand-in for xrt-smi: no NPU is here. It prints what the real tool's source and documentation say it prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

FakeXrt = Callable[..., tuple[str, ...]]

# Reports by name, each a list: the first call gets the first, the last one stays. An answer is {"json": ...} for the
# file that -o names, {"text": ...} for stdout, {"code": n}, or {"hang": true}.
_SCRIPT = """
import json, pathlib, sys, threading
words = sys.argv[1:]
if not words or words[0] != "examine":
    sys.exit("ERROR: Unknown command")
report = words[words.index("--report") + 1] if "--report" in words else "host"
here = pathlib.Path(__file__).parent
counter = here / (report + ".calls")
calls = len(counter.read_text()) if counter.exists() else 0
counter.write_text("x" * (calls + 1))
answers = json.loads((here / "answers.json").read_text(encoding="utf-8")).get(report)
if answers is None:
    sys.exit("ERROR: invalid report '" + report + "'")
answer = answers[min(calls, len(answers) - 1)]
if answer.get("hang"):
    threading.Event().wait()
print(answer.get("text", ""))
if "json" in answer and "-f" in words and words[words.index("-f") + 1] == "JSON":
    pathlib.Path(words[words.index("-o") + 1]).write_text(json.dumps(answer["json"]), encoding="utf-8")
sys.exit(answer.get("code", 0))
"""


@pytest.fixture
def fake_xrt(tmp_path: Path) -> FakeXrt:
    """The command of a stand-in that answers as told; its calls are counted in <report>.calls beside it."""

    def build(**answers: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        folder = tmp_path / "xrt"
        folder.mkdir(exist_ok=True)
        named = {name.replace("_", "-"): list(rows) for name, rows in answers.items()}
        (folder / "answers.json").write_text(json.dumps(named), encoding="utf-8")
        script = folder / "xrt-smi.py"
        script.write_text(_SCRIPT, encoding="utf-8")
        return (sys.executable, "-I", str(script))

    return build


def hw_context(pid: int | str, completions: int, *, errors: int = 0, process: str = "python") -> dict[str, str]:
    """One context as XRT writes it into JSON: every value a string."""
    return {
        "pid": str(pid), "process_name": process, "context_id": "1", "status": "Active", "instr_bo_mem": "64 KB",
        "command_submissions": str(completions + 1), "command_completions": str(completions), "migrations": "0",
        "errors": str(errors), "suspensions": "0", "memory_usage": "1953 KB", "gops": "N/A", "priority": "Normal",
    }  # fmt: skip


def partitions(*contexts: dict[str, str]) -> dict[str, Any]:
    """The aie-partitions report around the contexts; boost writes an empty list as an empty string."""
    listed: Any = [
        {"start_col": "0", "num_cols": "8", "partition_index": "0", "hw_contexts": list(contexts)}
    ] if contexts else ""  # fmt: skip
    report = {"description": "AIE Partition Information", "partitions": listed}
    device = {"interface_type": "pcie", "device_id": "0000:c5:00.1", "aie_partitions": report}
    return {"schema_version": {"schema": "JSON"}, "devices": [device]}


def host(driver: str = "32.0.203.257", name: str = "NPU Driver") -> dict[str, Any]:
    """The host report, as ryzen-ai documentation names its fields."""
    return {
        "system": {
            "host": {
                "os": {"sysname": "Windows NT"},
                "xrt": {"version": "2.19.0", "drivers": [{"name": name, "version": driver, "hash": "unknown"}]},
                "devices": [
                    {"bdf": "00c5:00:01.1", "name": "NPU Strix", "firmware_version": "1.0.0.63", "is_ready": "true"}
                ],
            }
        }
    }


def platform(mode: str = "Default", watts: str = "0.250") -> dict[str, Any]:
    """The platform report, as XRT pull request 8319 shows it."""
    row = {
        "static_region": {"name": "NPU"},
        "status": {"power_mode": mode},
        "electrical": {"power_consumption_watts": watts},
    }
    return {"devices": [{"platforms": [row]}]}
