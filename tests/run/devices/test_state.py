"""The machine's state: the real machine's, and that of a machine with an NPU, whose readers are stand-ins."""

from __future__ import annotations

import json
import os
from pathlib import Path

from mince_gui.run.devices.driver import Driver, DriverVersion
from mince_gui.run.devices.pci import Npu, npu_of
from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.state import Readers, machine_state
from mince_gui.run.devices.xrt_smi import XrtSmi
from tests.run.devices.conftest import FakeXrt, host, hw_context, partitions, platform


def _driver(text: str) -> Reading[Driver]:
    version = DriverVersion.parse(text)
    assert version is not None
    return Reading(Driver(version, "2026-02-01"))


def _npu(device: str = "17F0", revision: str = "10") -> Reading[Npu]:
    return Reading(npu_of(device, revision))


def test_the_state_of_this_machine_is_plain_json_and_says_what_is_not_known() -> None:
    state = machine_state()
    assert json.loads(json.dumps(state)) == state
    assert 0 < state["free_memory_bytes"] <= state["total_memory_bytes"]
    assert 0 <= state["cpu_load_percent"] <= 100
    for name, key in (("power mode", "power_mode"), ("NPU", "npu")):
        assert (state[key] is None) == any(words.startswith(f"{name}: ") for words in state["unknown"])


def test_a_machine_without_an_npu_is_not_asked_for_its_driver(tmp_path: Path) -> None:
    def never() -> Reading[Driver]:
        raise AssertionError("asked")

    state = machine_state(Readers(npu=lambda: Reading(None), driver=never, xrt=XrtSmi((str(tmp_path / "none"),))))
    assert (state["npu"], state["npu_driver"], state["npu_pci"]) == ("none", None, None)
    assert not any("driver" in words for words in state["unknown"])


def test_an_npu_is_described_with_driver_mode_and_users(fake_xrt: FakeXrt) -> None:
    tool = XrtSmi(fake_xrt(
        host=[{"json": host()}],
        platform=[{"json": platform("Turbo", "3.1")}],
        aie_partitions=[{"json": partitions(
            hw_context(2**22 + 1, 2, process="other.exe"),
            # Neither we ourselves nor the tool that looks are in anybody's way.
            hw_context(os.getpid(), 2), hw_context(8, 0, process="xrt-smi.exe"),
        )}],
    ), seconds=60)  # fmt: skip
    state = machine_state(Readers(npu=_npu, driver=lambda: _driver("32.0.203.376"), xrt=tool))
    assert state["npu"] == "AMD NPU, XDNA2 (Strix)"
    assert state["npu_pci"] == "1022:17F0 rev 10"
    assert (state["npu_driver"], state["npu_driver_date"]) == ("32.0.203.376", "2026-02-01")
    assert (state["npu_firmware"], state["npu_power_mode"], state["npu_watts"]) == ("1.0.0.63", "Turbo", 3.1)
    assert state["npu_users"] == ["other.exe (process 4194305)"]
    # One language model takes the whole NPU: whoever else is on it is told.
    assert state["remarks"] == [
        "The NPU is in use by other.exe (process 4194305): it holds one language model at a time."
    ]


def test_a_driver_that_windows_does_not_tell_is_taken_from_xrt_smi(fake_xrt: FakeXrt) -> None:
    tool = XrtSmi(fake_xrt(host=[{"json": host("32.0.203.257")}]), seconds=60)
    state = machine_state(Readers(npu=_npu, driver=lambda: Reading(None, "access denied"), xrt=tool))
    assert state["npu_driver"] == "32.0.203.257"
    assert any("older than 32.0.203.280" in remark for remark in state["remarks"])
    assert not any("access denied" in words for words in state["unknown"])


def test_what_cannot_be_read_is_a_warning_and_never_a_block(tmp_path: Path) -> None:
    state = machine_state(
        Readers(
            npu=lambda: Reading(None, "pnputil ended with code 5"),
            driver=lambda: Reading(None, "powershell.exe did not answer within 8 s"),
            xrt=XrtSmi((str(tmp_path / "none"),)),
        )
    )
    assert state["npu"] is None
    assert state["npu_driver"] is None
    told = "\n".join(state["unknown"])
    assert "NPU: pnputil ended with code 5" in told
    assert "NPU driver: powershell.exe did not answer within 8 s" in told


def test_a_hanging_xrt_smi_is_asked_once(fake_xrt: FakeXrt) -> None:
    command = fake_xrt(host=[{"hang": True}], platform=[{"json": platform()}], aie_partitions=[{"json": partitions()}])
    state = machine_state(Readers(npu=_npu, driver=lambda: _driver("32.0.203.376"), xrt=XrtSmi(command, seconds=0.5)))
    assert state["npu_driver"] == "32.0.203.376"
    assert state["npu_power_mode"] is None
    assert sum("did not answer within 0.5 s" in words for words in state["unknown"]) == 2
    assert not (Path(command[-1]).parent / "platform.calls").exists()


def test_an_npu_that_runs_no_language_models_is_told(tmp_path: Path) -> None:
    readers = Readers(lambda: _npu("1502", "00"), lambda: _driver("32.0.203.376"), XrtSmi((str(tmp_path / "none"),)))
    assert any("INT8 vision networks only" in remark for remark in machine_state(readers)["remarks"])


def test_a_linux_driver_is_not_held_against_windows_numbers(tmp_path: Path) -> None:
    readers = Readers(_npu, lambda: _driver("2.19.0_20250330"), XrtSmi((str(tmp_path / "none"),)))
    state = machine_state(readers)
    assert state["npu_driver"] == "2.19.0_20250330"
    assert state["remarks"] == []
