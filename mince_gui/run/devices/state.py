"""The machine's state when a run begins: everything that a timing depends on and a report's reader cannot see."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psutil

from mince_gui.run.devices.driver import Driver, DriverVersion, read_driver, windows_remark
from mince_gui.run.devices.pci import Npu, find_npu
from mince_gui.run.devices.power import read_battery, read_power_mode
from mince_gui.run.devices.reading import Reading
from mince_gui.run.devices.xrt_reports import HostReport, HwContext, PlatformReport
from mince_gui.run.devices.xrt_smi import XrtSmi

T = TypeVar("T")
_LOAD_SECONDS = 0.3


@dataclass(frozen=True)
class Readers:
    """Where the state is read from. Each reader is bounded in time by itself; together at most about 15 s."""

    npu: Callable[[], Reading[Npu]] = find_npu
    driver: Callable[[], Reading[Driver]] = read_driver
    xrt: XrtSmi = field(default_factory=lambda: XrtSmi(seconds=3.5))
    """Asked for three reports, one after the other; not again once it did not answer."""


def machine_state(readers: Readers | None = None) -> dict[str, Any]:
    """What the machine says of itself, JSON-able.

    `power_source` ("AC", "battery"), `battery_percent`, `power_mode`, `npu` (in words; "none" where there is none),
    `npu_pci`, `npu_driver`, `npu_driver_date`, `npu_firmware`, `npu_power_mode`, `npu_watts`, `npu_users` (other
    programs with contexts on it, in words), `cpu_load_percent`, `free_memory_bytes`, `total_memory_bytes`,
    `remarks` (what a user must know) and `unknown` (what could not be read, and why). None = not known; for what
    belongs to an NPU also where there is none.
    """
    readers = readers or Readers()
    unknown: list[str] = []

    def take(name: str, reading: Reading[T]) -> T | None:
        if reading.unknown:
            unknown.append(f"{name}: {reading.unknown}")
        return reading.value

    with ThreadPoolExecutor(4, thread_name_prefix="machine-state") as pool:
        load = pool.submit(psutil.cpu_percent, _LOAD_SECONDS)
        battery = read_battery()
        mode = pool.submit(read_power_mode, battery.source)
        found = readers.npu()
        npu = take("NPU", found)
        asked: tuple[Future[Reading[Driver]], Future[_Xrt]] | None = None
        if npu is not None or found.unknown:
            asked = pool.submit(readers.driver), pool.submit(_ask_xrt, readers.xrt)
        memory = psutil.virtual_memory()
        state: dict[str, Any] = {
            "power_source": battery.source,
            "battery_percent": battery.percent,
            "power_mode": take("power mode", mode.result()),
            "npu": npu.name if npu is not None else None if found.unknown else "none",
            "npu_pci": npu.pci if npu is not None else None,
            "npu_driver": None,
            "npu_driver_date": None,
            "npu_firmware": None,
            "npu_power_mode": None,
            "npu_watts": None,
            "npu_users": [],
            "cpu_load_percent": load.result(),
            "free_memory_bytes": memory.available,
            "total_memory_bytes": memory.total,
        }
        remarks = [npu.remark] if npu is not None and npu.remark else []
        if battery.source is None:
            unknown.append("power source: the system does not say")
        if asked is not None:
            remarks += _add_npu(state, asked[0].result(), asked[1].result(), take)
    return {**state, "remarks": remarks, "unknown": unknown}


@dataclass(frozen=True)
class _Xrt:
    host: Reading[HostReport]
    platform: Reading[PlatformReport]
    partitions: Reading[tuple[HwContext, ...]]


def _ask_xrt(xrt: XrtSmi) -> _Xrt:
    host = xrt.host()
    if host.value is None:
        # A tool that is missing or hangs will not do better at the next question.
        return _Xrt(host, Reading(None, host.unknown), Reading(None, host.unknown))
    return _Xrt(host, xrt.platform(), xrt.partitions())


def _add_npu(
    state: dict[str, Any], driver: Reading[Driver], xrt: _Xrt, take: Callable[[str, Reading[Any]], Any]
) -> list[str]:
    """Fill in what belongs to an NPU; returns the remarks."""
    host: HostReport | None = xrt.host.value
    if driver.value is None and host is not None and host.driver is not None:
        version = DriverVersion.parse(host.driver)
        driver = Reading(Driver(version, None)) if version is not None else driver
    known: Driver | None = take("NPU driver", driver)
    platform: PlatformReport | None = take("NPU power mode", xrt.platform)
    contexts: tuple[HwContext, ...] = take("users of the NPU", xrt.partitions) or ()
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    state["npu_driver"] = known.version.text if known is not None else None
    state["npu_driver_date"] = known.date if known is not None else None
    state["npu_firmware"] = host.firmware if host is not None else None
    if platform is not None:
        state["npu_power_mode"], state["npu_watts"] = platform.power_mode, platform.watts
    state["npu_users"] = list(users(contexts, ours))
    remarks = []
    # Linux counts its drivers otherwise: 2.x, as XRT.
    if known is not None and known.version.parts[0] >= 30 and (remark := windows_remark(known.version)):
        remarks.append(f"NPU driver {remark}")
    if state["npu_users"]:
        remarks.append(f"The NPU is in use by {', '.join(state['npu_users'])}: it holds one language model at a time.")
    return remarks


def users(contexts: Sequence[HwContext], ours: Collection[int]) -> tuple[str, ...]:
    """Whose contexts these are, each process once: "python.exe (process 1234)"; our own and xrt-smi's are left out."""
    words = {
        context.process or "a process that is not named"
        if context.pid is None
        else f"{context.process or 'a program'} (process {context.pid})"
        for context in contexts
        if context.pid not in ours and not (context.process or "").lower().startswith("xrt-smi")
    }
    return tuple(sorted(words))
