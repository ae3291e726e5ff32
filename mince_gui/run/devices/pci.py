"""Which NPU this machine has, by its PCI ids."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.tools import run_tool, system_program

_SYSFS = Path("/sys")
_AMD = "1022"
# AMD's own check looks at these; further XDNA2 revisions exist and run LLMs alike.
_XDNA2 = {"00": "Strix", "10": "Strix", "11": "Strix", "20": "Krackan"}
_WINDOWS_ID = re.compile(r"PCI\\VEN_1022&DEV_(17F0|1502)(?:&SUBSYS_[0-9A-F]+)?(?:&REV_([0-9A-F]{2}))?", re.IGNORECASE)


@dataclass(frozen=True)
class Npu:
    """An AMD NPU. `pci` is "1022:17F0 rev 10"; `runs_llms` None where this program does not know the kind."""

    name: str
    pci: str
    runs_llms: bool | None

    @property
    def remark(self) -> str:
        """What a user must know of this kind; "" = nothing."""
        if self.runs_llms is False:
            return f"{self.name} runs INT8 vision networks only; language models need XDNA2 (Strix, Krackan)"
        return ""


def npu_of(device: str, revision: str | None) -> Npu:
    """The NPU with AMD's PCI device id `device` (four hexadecimal digits), of that revision (two) if it is known."""
    device = device.upper()
    revision = revision.upper() if revision else None
    pci = f"{_AMD}:{device}" + (f" rev {revision}" if revision else "")
    if device == "17F0":
        kind = _XDNA2.get(revision or "")
        return Npu(f"AMD NPU, XDNA2 ({kind})" if kind else "AMD NPU, XDNA2", pci, True)
    if device == "1502":
        return Npu("AMD NPU, XDNA1 (Phoenix, Hawk Point)", pci, False)
    return Npu("AMD NPU of a kind not known here", pci, None)


def parse_pnputil(text: str) -> Npu | None:
    """The NPU in `pnputil /enum-devices /bus PCI /deviceids`: of its text, in any language, only the ids are read."""
    found = {(m[1].upper(), m[2].upper() if m[2] else None) for m in _WINDOWS_ID.finditer(text)}
    if not found:
        return None
    # The same device is listed under ids with and without its revision.
    return npu_of(*max(found, key=lambda ids: (ids[0] == "17F0", ids[1] is not None, ids[1] or "")))


def read_sysfs(root: Path = _SYSFS) -> Reading[Npu]:
    """The NPU that Linux lists: by known ids, else whatever the driver amdxdna has taken."""
    listed = sorted((root / "bus/pci/devices").glob("*"))
    if not listed:
        return Reading(None, "the system lists no PCI devices")
    known = []
    for folder in listed:
        device = _hex(folder / "device")
        if _hex(folder / "vendor") == _AMD and device in ("17F0", "1502"):
            known.append((device == "17F0", npu_of(device, _hex(folder / "revision"))))
    if known:
        return Reading(max(known, key=lambda pair: pair[0])[1])
    for folder in sorted((root / "class/accel").glob("*/device")):
        device = _hex(folder / "device")
        if device and (folder / "driver").resolve().name == "amdxdna":
            return Reading(npu_of(device, _hex(folder / "revision")))
    return Reading(None)


def find_npu(seconds: float = 4.0) -> Reading[Npu]:
    """The NPU of this machine; asks Windows for at most `seconds`."""
    if sys.platform != "win32":
        return read_sysfs()
    answer = run_tool([str(system_program("pnputil.exe")), "/enum-devices", "/bus", "PCI", "/deviceids"], seconds)
    if answer.value is None:
        return Reading(None, answer.unknown)
    if "PCI\\" not in answer.value.upper():
        return Reading(None, "pnputil lists no PCI devices")
    return Reading(parse_pnputil(answer.value))


def _hex(file: Path) -> str | None:
    """The digits of a sysfs id such as 0x17f0, in capitals; None where the file cannot be read."""
    try:
        return file.read_text(encoding="ascii").strip().removeprefix("0x").upper() or None
    except (OSError, UnicodeDecodeError):
        return None
