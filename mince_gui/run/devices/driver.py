"""The NPU driver's version: read, compared number by number, and what it means."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from functools import total_ordering
from pathlib import Path

from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.tools import run_tool, system_program

_MODULE = Path("/sys/module/amdxdna/version")
_QUERY = (
    "Get-CimInstance -OperationTimeoutSec {seconds} -ClassName Win32_PnPSignedDriver "
    "-Filter \"DeviceName LIKE '%NPU Compute Accelerator Device%'\" | Select-Object DeviceName,DriverVersion,"
    "@{{n='DriverDate';e={{if($_.DriverDate){{$_.DriverDate.ToString('yyyy-MM-dd')}}}}}} | ConvertTo-Json -Compress"
)


@total_ordering
@dataclass(frozen=True, eq=False)
class DriverVersion:
    """A version such as 32.0.203.376: equal and ordered by its numbers, trailing zeros left out."""

    text: str
    parts: tuple[int, ...]

    @staticmethod
    def parse(text: str) -> DriverVersion | None:
        """The leading numbers of a version's text (2.19.0_20250330 is 2.19.0); None where it begins with none."""
        found = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9})+)", text)
        return DriverVersion(text.strip(), tuple(int(part) for part in found[1].split("."))) if found else None

    def _order(self) -> tuple[int, ...]:
        parts = self.parts
        while parts and parts[-1] == 0:
            parts = parts[:-1]
        return parts

    def __eq__(self, other: object) -> bool:
        return self._order() == other._order() if isinstance(other, DriverVersion) else NotImplemented

    def __lt__(self, other: DriverVersion) -> bool:
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())


MINIMUM = DriverVersion("32.0.203.280", (32, 0, 203, 280))
"""What AMD documents as the least for language models, releases 1.5 to 1.8."""
PRODUCTION = DriverVersion("32.0.203.376", (32, 0, 203, 376))
"""What AMD documents as the production driver of release 1.8."""


def windows_remark(version: DriverVersion) -> str:
    """What a Windows driver's version means against the documented ones; "" = nothing to say."""
    if len(version.parts) == 4 and version.parts[2] >= 10_000:
        # RyzenAI-SW#389, lemonade#3492, FastFlowLM#603: on some machines the package of .376 calls itself so.
        return (
            f"{version.text} is of another numbering than 32.0.203.x (32.0.20101.3760 was seen for 32.0.203.376): "
            "its number does not tell how old it is"
        )
    if version < MINIMUM:
        return f"{version.text} is older than {MINIMUM.text}, the documented minimum for language models"
    if version < PRODUCTION:
        return f"{version.text} is older than {PRODUCTION.text}, the production driver of Ryzen AI 1.8"
    return ""


@dataclass(frozen=True)
class Driver:
    """The NPU driver that is installed: `date` as YYYY-MM-DD, None where it is not told."""

    version: DriverVersion
    date: str | None


def parse_signed_drivers(text: str) -> Driver | None:
    """The newest driver in PowerShell's JSON (an object, or a list of them); None where it names none."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    found = []
    for row in body if isinstance(body, list) else [body]:
        version = DriverVersion.parse(str(row.get("DriverVersion") or "")) if isinstance(row, dict) else None
        if version is not None:
            date = row.get("DriverDate")
            found.append(Driver(version, date if isinstance(date, str) and date else None))
    return max(found, key=lambda driver: driver.version, default=None)


def read_driver(seconds: float = 7.0) -> Reading[Driver]:
    """The NPU driver as the system knows it; xrt-smi may know it where the system does not say."""
    if sys.platform == "win32":
        shell = system_program("WindowsPowerShell/v1.0/powershell.exe")
        words = ["-NoProfile", "-NonInteractive", "-Command", _QUERY.format(seconds=max(1, int(seconds)))]
        answer = run_tool([str(shell), *words], seconds)
        if answer.value is None:
            return Reading(None, answer.unknown)
        driver = parse_signed_drivers(answer.value) if answer.value.strip() else None
        return Reading(driver, "" if driver else "Windows names no driver of an NPU Compute Accelerator Device")
    return read_module(_MODULE)


def read_module(file: Path) -> Reading[Driver]:
    """The version of a Linux kernel module, from its file in /sys/module."""
    try:
        version = DriverVersion.parse(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        loaded = "names no version" if file.parent.is_dir() else "is not loaded"
        return Reading(None, f"the kernel module {file.parent.name} {loaded}")
    return Reading(Driver(version, None)) if version else Reading(None, f"{file} holds no version")
