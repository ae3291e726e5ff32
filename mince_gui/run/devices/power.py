"""Power: mains or battery, and the mode that the system's user has chosen. Both change every timing."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.tools import run_tool, system_program

_SYSFS = Path("/sys")
_SCHEMES = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"
# The slider of Windows 10 and 11 ("power mode") lies over the plan; these are its fixed ids.
_OVERLAYS = {
    "961cc777-2547-4f9d-8174-7d86181b8a7a": "best power efficiency",
    "00000000-0000-0000-0000-000000000000": "balanced",
    "3af9b8d9-7c97-431d-ad78-34a8bfea439f": "better performance",
    "ded574b5-45a0-4f42-8737-46345c09c238": "best performance",
}
_PLAN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*(?:\(([^\r\n]*)\))?", re.IGNORECASE)


@dataclass(frozen=True)
class Battery:
    """`source` None where the system does not say; a machine without a battery has no `percent`."""

    source: Literal["AC", "battery"] | None
    percent: float | None


def read_battery() -> Battery:
    """Mains or battery. A machine without a battery runs on mains."""
    try:
        found = psutil.sensors_battery()
    except (OSError, AttributeError, ValueError):  # ValueError: kernels with an odd file in power_supply
        return Battery(None, None)
    if found is None:
        return Battery("AC", None)
    source: Literal["AC", "battery"] | None = None
    if found.power_plugged is not None:
        source = "AC" if found.power_plugged else "battery"
    return Battery(source, round(float(found.percent), 1))


def parse_power_plan(text: str) -> str | None:
    """The plan in `powercfg /getactivescheme`, in any language: its name, or its id where it has none."""
    found = _PLAN.search(text)
    return (found[2] or found[1]).strip() or None if found else None


def overlay_words(identifier: str) -> str:
    """What Windows calls the power mode with this id."""
    return _OVERLAYS.get(identifier.strip("{} ").lower(), f"mode {identifier}")


def read_sysfs_mode(root: Path = _SYSFS) -> Reading[str]:
    """Linux: the platform's profile, and the CPU's governor and preference, as far as there are any."""
    policy = root / "devices/system/cpu/cpufreq/policy0"
    parts = (
        ("profile", root / "firmware/acpi/platform_profile"),
        ("governor", policy / "scaling_governor"),
        ("preference", policy / "energy_performance_preference"),
    )
    told = [f"{name} {value}" for name, file in parts if (value := _line(file))]
    return Reading(", ".join(told)) if told else Reading(None, "the system names no power profile and no CPU governor")


def read_power_mode(source: Literal["AC", "battery"] | None, seconds: float = 5.0) -> Reading[str]:
    """The power mode in words: "best performance, plan Balanced", or "profile balanced, governor powersave"."""
    if sys.platform != "win32":
        return read_sysfs_mode()
    answer = run_tool([str(system_program("powercfg.exe")), "/getactivescheme"], seconds)
    plan = parse_power_plan(answer.value) if answer.value is not None else None
    told = [words for words in (_overlay(source), f"plan {plan}" if plan else None) if words]
    return Reading(", ".join(told)) if told else Reading(None, answer.unknown or "powercfg names no power plan")


def _overlay(source: Literal["AC", "battery"] | None) -> str | None:
    if sys.platform == "win32":
        import winreg

        name = "ActiveOverlayDcPowerScheme" if source == "battery" else "ActiveOverlayAcPowerScheme"
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _SCHEMES) as key:
                return overlay_words(str(winreg.QueryValueEx(key, name)[0]))
        except OSError:
            return None
    return None


def _line(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
