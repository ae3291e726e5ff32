"""Which NPU, by PCI ids. The texts are built from AMD's own check; no NPU is here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mince_gui.run.devices.pci import Npu, find_npu, npu_of, parse_pnputil, read_sysfs

_ENGLISH = """
Microsoft PnP Utility

Instance ID:                PCI\\VEN_1022&DEV_14E8&SUBSYS_14E81022&REV_00\\3&2411E6FE&0&00
Device Description:         PCI standard host CPU bridge
Status:                     Started

Instance ID:                PCI\\VEN_1022&DEV_17F0&SUBSYS_17F01022&REV_{rev}\\4&1A2B3C4D&0&0141
Device Description:         NPU Compute Accelerator Device
Class Name:                 ComputeAccelerator
Manufacturer Name:          Advanced Micro Devices, Inc.
Status:                     Started
Driver Name:                oem29.inf
Hardware IDs:               PCI\\VEN_1022&DEV_17F0&SUBSYS_17F01022&REV_{rev}
                            PCI\\VEN_1022&DEV_17F0&SUBSYS_17F01022
                            PCI\\VEN_1022&DEV_17F0&REV_{rev}
                            PCI\\VEN_1022&DEV_17F0
"""


@pytest.mark.parametrize(("revision", "kind"), [("00", "Strix"), ("10", "Strix"), ("11", "Strix"), ("20", "Krackan")])
def test_the_kind_of_npu_is_read_from_pnputil(revision: str, kind: str) -> None:
    npu = parse_pnputil(_ENGLISH.format(rev=revision))
    assert npu == Npu(f"AMD NPU, XDNA2 ({kind})", f"1022:17F0 rev {revision}", True)
    assert npu is not None
    assert npu.remark == ""


def test_a_localised_pnputil_is_read_by_its_ids_alone() -> None:
    german = "Instanz-ID:   PCI\\VEN_1022&DEV_1502&SUBSYS_15021022&REV_00\\4&0&0\nGerätebeschreibung:  AMD IPU Device\n"
    npu = parse_pnputil(german)
    assert npu is not None
    assert npu.runs_llms is False
    assert "language models need XDNA2" in npu.remark


def test_other_devices_are_no_npu() -> None:
    assert parse_pnputil("Instance ID: PCI\\VEN_1022&DEV_14E8&REV_00\nPCI\\VEN_10DE&DEV_17F0&REV_A1") is None
    assert parse_pnputil("") is None


def test_an_xdna2_of_a_newer_revision_still_runs_language_models() -> None:
    assert npu_of("17f0", "30").runs_llms is True
    assert npu_of("17F0", None).pci == "1022:17F0"


def _device(root: Path, address: str, vendor: str, device: str, revision: str) -> Path:
    folder = root / "bus/pci/devices" / address
    folder.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("device", device), ("revision", revision)):
        (folder / name).write_text(f"{value}\n", encoding="ascii")
    return folder


def test_linux_lists_the_npu_in_sysfs(tmp_path: Path) -> None:
    _device(tmp_path, "0000:00:00.0", "0x1022", "0x14e8", "0x00")
    assert read_sysfs(tmp_path).value is None
    assert read_sysfs(tmp_path).unknown == ""
    _device(tmp_path, "0000:c5:00.1", "0x1022", "0x17f0", "0x11")
    assert read_sysfs(tmp_path).value == npu_of("17F0", "11")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
def test_an_npu_of_an_unknown_kind_is_known_by_its_driver(tmp_path: Path) -> None:
    folder = _device(tmp_path, "0000:c5:00.1", "0x1022", "0x17f9", "0x00")
    driver = tmp_path / "bus/pci/drivers/amdxdna"
    driver.mkdir(parents=True)
    (folder / "driver").symlink_to(driver)
    accel = tmp_path / "class/accel/accel0"
    accel.mkdir(parents=True)
    (accel / "device").symlink_to(folder)
    npu = read_sysfs(tmp_path).value
    assert npu is not None
    assert (npu.pci, npu.runs_llms) == ("1022:17F9 rev 00", None)


def test_no_list_of_devices_is_unknown_and_not_none(tmp_path: Path) -> None:
    assert "no PCI devices" in read_sysfs(tmp_path).unknown


def test_this_machine_is_looked_at() -> None:
    found = find_npu()
    assert (found.value is None) or found.value.pci.startswith("1022:")
