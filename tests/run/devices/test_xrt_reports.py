"""xrt-smi's reports. Built from XRT's source and its pull requests (8319, 8643, 9092, 9990); no NPU is here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mince_gui.run.devices.xrt_reports import HwContext, parse_host, parse_partitions, parse_platform
from tests.run.devices.conftest import host, hw_context, partitions, platform

_ONE_LINE = """
------------------------------
[0000:c5:00.1] : NPU Strix
------------------------------
AIE Partitions
  Partition Index: 0
    Columns: [0, 1, 2, 3]
    HW Contexts:
      |PID     |Ctx ID  |Status  |Instr BO  |Sub  |Compl  |Migr  |Err  |Prio  |GOPS  |EGOPS  |FPS  |Latency  |
      |--------|--------|--------|----------|-----|-------|------|-----|------|------|-------|-----|---------|
      |655166  |1       |Active  |0 Byte    |120  |119    |0     |0    |N/A   |0     |0      |0    |0        |
      |655170  |2       |Idle    |0 Byte    |7    |7      |0     |2    |N/A   |0     |0      |0    |0        |

  Partition Index: 1
    Columns: [4, 5, 6, 7]
    HW Contexts:
      |PID     |Ctx ID  |Status  |Instr BO  |Sub  |Compl  |Migr  |Err  |Prio  |GOPS  |EGOPS  |FPS  |Latency  |
      |--------|--------|--------|----------|-----|-------|------|-----|------|------|-------|-----|---------|
      |700     |3       |Active  |0 Byte    |5    |4      |0     |0    |N/A   |0     |0      |0    |0        |
"""

_MANY_LINES = """
---------------------------
[0000:c5:00.1] : NPU Strix
---------------------------
AIE Partitions
  Total NPU Memory Usage: 64 MB
  Partition Index   : 0
    Columns: [0, 1, 2, 3, 4, 5, 6, 7]
    HW Contexts:
      |PID               |Ctx ID    |Submissions  |Migrations   |Frame Evts  |Err  |Priority  |
      |Process Name      |Status    |Completions  |Suspensions  |Layer Evts  |     |GOPS      |
      |NPU Memory Usage  |Instr BO  |             |             |            |     |FPS       |
      |                  |          |             |             |            |     |Latency   |
      |{rule}|----------|-------------|-------------|------------|-----|----------|
      |3598269           |1         |78           |0            |0           |0    |N/A       |
      |python.exe        |Active    |77           |0            |0           |     |N/A       |
      |64 MB             |N/A       |             |             |            |     |N/A       |
      |                  |          |             |             |            |     |N/A       |
      |------------------|----------|-------------|-------------|------------|-----|----------|
      |11644             |2         |0            |0            |0           |3    |Normal    |
      |xrt-smi.exe       |Active    |0            |0            |0           |     |N/A       |
      |1953 KB           |64 KB     |             |             |            |     |N/A       |
      |                  |          |             |             |            |     |N/A       |
      |------------------|----------|-------------|-------------|------------|-----|----------|
AIE Columns
"""


def test_a_table_with_one_line_a_context_is_read_over_all_partitions() -> None:
    assert parse_partitions(_ONE_LINE) == (
        HwContext(655166, None, 120, 119, 0),
        HwContext(655170, None, 7, 7, 2),
        HwContext(700, None, 5, 4, 0),
    )


@pytest.mark.parametrize("rule", ["=" * 18, "-" * 18])
def test_a_table_with_several_lines_a_context_is_read_by_its_head(rule: str) -> None:
    assert parse_partitions(_MANY_LINES.format(rule=rule)) == (
        HwContext(3598269, "python.exe", 78, 77, 0),
        HwContext(11644, "xrt-smi.exe", 0, 0, 3),
    )


def test_a_windows_tool_of_2024_names_no_process() -> None:
    table = """AIE Partitions
    HW Contexts:
      |Ctx ID  ||Instr BO  ||Sub  ||Compl  ||Migr  ||Err  ||Prio  ||GOPS  |
      |--------||----------||-----||-------||------||-----||------||------|
      |1       ||0 Byte    ||86   ||85     ||0     ||0    ||6144  ||0     |
"""
    assert parse_partitions(table) == (HwContext(None, None, 86, 85, 0),)


def test_colours_of_a_terminal_are_no_part_of_a_table() -> None:
    coloured = "\n".join(f"\x1b[1m{line}\x1b[0m" for line in _ONE_LINE.splitlines())
    assert parse_partitions(coloured) == parse_partitions(_ONE_LINE)


def test_an_idle_npu_has_no_contexts_and_a_foreign_text_is_not_known() -> None:
    assert parse_partitions("AIE Partitions\n  No hardware contexts running on device\n") == ()
    assert parse_partitions(json.dumps(partitions())) == ()
    unpiped = "AIE Partitions\n  Context ID  Xclbin UUID  Submissions  Completions\n  15  {4782e00b}  0  0\n"
    for foreign in ("", "ERROR: no device", unpiped, "{}", "[1, 2]", '{"devices": []}', '{"aie_partitions"'):
        assert parse_partitions(foreign) is None


def test_contexts_are_read_from_json() -> None:
    body = partitions(hw_context(1234, 41, errors=1), hw_context("-77", 5, process=""))
    assert parse_partitions(json.dumps(body)) == (
        HwContext(1234, "python", 42, 41, 1),
        # A driver without the number of a process gives a negative one.
        HwContext(None, None, 6, 5, 0),
    )


def test_the_host_report_names_driver_firmware_and_device() -> None:
    report = parse_host(json.dumps(host()))
    assert report is not None
    assert (report.driver, report.firmware, report.devices) == ("32.0.203.257", "1.0.0.63", ("NPU Strix",))
    linux = """System Configuration
  OS Name              : Linux
XRT
  Version              : 2.19.0
  xocl                 : unknown, unknown
  xclmgmt              : unknown, unknown
WARNING: xclmgmt version is unknown. Is xclmgmt driver loaded?
  amdxdna              : 2.19.0_20250330, 7c1d273ef9946848a9f236f1216cfda10d9465cb
  NPU Firmware Version : 1.0.0.63

Device(s) Present
|BDF             |Name          |
|----------------|--------------|
|[0000:67:00.1]  |RyzenAI-npu4  |
"""
    report = parse_host(linux)
    assert report is not None
    assert (report.driver, report.firmware, report.devices) == ("2.19.0_20250330", "1.0.0.63", ("RyzenAI-npu4",))
    assert parse_host("xrt-smi: command not found") is None
    assert parse_host("{}") is None


def test_the_platform_report_names_mode_and_power() -> None:
    report = parse_platform(json.dumps(platform("Turbo", "3.100")))
    assert report is not None
    assert (report.power_mode, report.watts) == ("Turbo", 3.1)
    table = """Platform
  Name                   : NPU Strix
  Power Mode             : default
  Total Columns          : 8

Estimated Power          : N/A
NPU Load                 : N/A
"""
    report = parse_platform(table)
    assert report is not None
    assert (report.power_mode, report.watts) == ("default", None)
    assert parse_platform("Platform") is None


_PARSERS = (parse_host, parse_partitions, parse_platform)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["host", "devices", "drivers", "aie_partitions", "hw_contexts", "platforms", "status", "pid"]
            )
            | st.text(max_size=4),
            inner,
            max_size=3,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_json_of_any_shape_is_read_or_not_known(body: Any) -> None:
    for parse in _PARSERS:
        parse(json.dumps(body))


@given(st.text(alphabet="|-= \n:Comp lPIDSub0123N/A[]{}", max_size=200))
@example("{" * 10)
@example("[" * 100_000)
def test_text_of_any_shape_is_read_or_not_known(text: str) -> None:
    for parse in _PARSERS:
        parse(text)


@given(st.lists(st.tuples(st.integers(1, 2**31), st.integers(0, 2**40), st.integers(0, 99)), min_size=1, max_size=5))
def test_every_context_of_a_table_is_found_again(rows: list[tuple[int, int, int]]) -> None:
    head = "AIE Partitions\n |PID |Sub |Compl |Err |\n |----|----|------|----|\n"
    text = head + "".join(f" |{pid} |{done + 1} |{done} |{errors} |\n" for pid, done, errors in rows)
    assert parse_partitions(text) == tuple(HwContext(pid, None, done + 1, done, errors) for pid, done, errors in rows)
