"""mince runtimes, as typed. The machine with an NPU is a stand-in built from the facts: none is here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.runtimes import Survey
from mince_gui.cli import main
from mince_gui.cli import runtimes as command
from mince_gui.run.discovery import Candidate

_MACHINE: dict[str, Any] = {
    "power_source": "battery", "battery_percent": 81.0, "power_mode": "best performance, plan Balanced",
    "npu": "AMD NPU, XDNA2 (Strix)", "npu_pci": "1022:17F0 rev 10", "npu_driver": "32.0.203.280",
    "npu_driver_date": "2025-12-01", "npu_firmware": None, "npu_power_mode": "Turbo", "npu_watts": 3.1,
    "npu_users": [], "cpu_load_percent": 7.0, "free_memory_bytes": 8 << 30, "total_memory_bytes": 32 << 30,
    "remarks": ["NPU driver 32.0.203.280 is older than 32.0.203.376"],
    "unknown": ["NPU power mode: xrt-smi.exe did not answer within 4 s"],
}  # fmt: skip


@pytest.fixture
def ws(tmp_path: Path) -> list[str]:
    return ["--workspace", str(tmp_path / "ws")]


def test_a_new_workspace_lists_the_bundled_runtime_and_the_machine(
    ws: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runtimes", *ws]) == 0
    shown = capsys.readouterr().out
    assert "bundled" in shown
    assert "public wheel, CPU" in shown
    assert "This machine" in shown
    assert main(["runtimes", *ws, "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["runtimes"][0]["facts"]["can_run"] == ["cpu"]
    assert set(body) == {"runtimes", "machine", "found"}


def test_a_runtime_is_added_probed_and_removed(ws: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runtimes", "add", sys.executable, "--name", "lab", *ws]) == 0
    assert "lab" in capsys.readouterr().out
    assert main(["runtimes", "probe", "lab", *ws, "--json"]) == 0
    (body,) = json.loads(capsys.readouterr().out)
    assert (body["name"], body["is_there"], body["facts"]["error"]) == ("lab", True, None)
    assert main(["runtimes", "remove", "lab", *ws]) == 0
    assert "no longer registered" in capsys.readouterr().out
    assert main(["runtimes", "remove", "lab", *ws]) == 2
    assert "There is no runtime 'lab'" in capsys.readouterr().err


def test_what_is_no_python_is_refused_in_two_lines(
    ws: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runtimes", "add", str(tmp_path / "none"), *ws]) == 3
    told = capsys.readouterr().err
    assert "There is no Python at" in told
    assert len(told.splitlines()) == 2


def test_an_npu_its_doubts_and_what_could_be_added_are_shown(
    ws: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    python = Path("/home/eva/my envs/ryzen-ai-1.8.0/bin/python")
    found = Candidate(python, "ryzen-ai-1.8.0", "conda environment in /home/eva/miniforge3")
    monkeypatch.setattr(command, "survey", lambda workspace: Survey([], _MACHINE, [found]))
    assert main(["runtimes", *ws]) == 0
    shown = capsys.readouterr().out
    for words in (
        "AMD NPU, XDNA2 (Strix), PCI 1022:17F0 rev 10",
        "32.0.203.280 of 2025-12-01",
        "firmware  not known",
        "Turbo, about 3.1 W",
        "battery, battery at 81 %; mode: best performance, plan Balanced",
        "8.0 of 32.0 GiB free",
        "! NPU driver 32.0.203.280 is older",
        "? NPU power mode: xrt-smi.exe did not answer within 4 s",
        "(conda environment in /home/eva/miniforge3)",
    ):
        assert words in shown
    quoted = f"'{python}'" if os.name != "nt" else f'"{python}"'
    assert f"mince runtimes add {quoted} --name ryzen-ai-1.8.0" in shown
