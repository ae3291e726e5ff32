"""Asking xrt-smi. It is a stand-in that prints what the facts say: no NPU is here."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from mince_gui.run.devices.xrt_smi import XrtSmi, find_xrt_smi
from tests.run.devices.conftest import FakeXrt, host, hw_context, partitions, platform

_TABLE = "AIE Partitions\n |PID |Sub |Compl |Err |\n |----|----|------|----|\n |7 |3 |2 |0 |\n"


def test_reports_are_read_from_the_json_file(fake_xrt: FakeXrt) -> None:
    tool = XrtSmi(fake_xrt(
        host=[{"json": host(), "text": "System Configuration"}],
        platform=[{"json": platform()}],
        aie_partitions=[{"json": partitions(hw_context(7, 2)), "text": "unreadable"}],
    ), seconds=60)  # fmt: skip
    told = tool.host().value, tool.platform().value, tool.partitions().value
    assert told[0] is not None
    assert told[0].driver == "32.0.203.257"
    assert told[1] is not None
    assert told[1].power_mode == "Default"
    assert told[2] is not None
    assert told[2][0].pid == 7


def test_a_tool_that_writes_no_file_is_read_from_its_table(fake_xrt: FakeXrt) -> None:
    seen = XrtSmi(fake_xrt(aie_partitions=[{"text": _TABLE}]), seconds=60).partitions()
    assert seen.value is not None
    assert seen.value[0].completions == 2


def test_a_format_that_is_not_known_is_a_reason(fake_xrt: FakeXrt) -> None:
    seen = XrtSmi(fake_xrt(aie_partitions=[{"text": "something new"}]), seconds=60).partitions()
    assert seen.value is None
    assert "format that is not known" in seen.unknown


def test_an_older_tool_without_the_report_is_a_reason(fake_xrt: FakeXrt) -> None:
    seen = XrtSmi(fake_xrt(host=[{"json": host()}]), seconds=60).partitions()
    assert "invalid report" in seen.unknown


def test_a_hanging_tool_is_told(fake_xrt: FakeXrt) -> None:
    seen = XrtSmi(fake_xrt(host=[{"hang": True}]), seconds=0.3).host()
    assert seen.value is None
    assert "did not answer within 0.3 s" in seen.unknown


def test_no_tool_is_a_reason(tmp_path: Path) -> None:
    tool = XrtSmi((str(tmp_path / "xrt-smi"),))
    assert tool.partitions().unknown == "xrt-smi is not there"


def test_where_paths_are_beyond_ascii_the_table_is_asked_for(
    fake_xrt: FakeXrt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "Håkansson"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    # Were a file asked for, the stand-in would write other contexts into it.
    answer = {"json": partitions(hw_context(1, 1)), "text": _TABLE}
    seen = XrtSmi(fake_xrt(aie_partitions=[answer]), seconds=60).partitions()
    assert seen.value is not None
    assert seen.value[0].pid == 7


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
def test_a_tool_on_the_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tool = tmp_path / "xrt-smi"
    tool.write_text("#!/bin/sh\necho '  Power Mode : Turbo'\n", encoding="ascii")
    assert find_xrt_smi() != (str(tool),)
    tool.chmod(0o755)
    assert find_xrt_smi() == (str(tool),)
    report = XrtSmi(seconds=60).platform().value
    assert report is not None
    assert report.power_mode == "Turbo"


def test_without_a_folder_for_its_file_the_table_is_read(fake_xrt: FakeXrt, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = XrtSmi(fake_xrt(aie_partitions=[{"json": partitions(), "text": _TABLE}]), seconds=60)

    def full(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    seen = tool.partitions()
    assert seen.value is not None
    assert seen.value[0].completions == 2
