"""Where a run ran, whether that is proven, and what the smoke test showed: the same words everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import Any

from mince_gui.report import format as fmt

UNKNOWN = "device not known"
_CPU = "CPU"
_ANSWER_SHOWN = 60
"""Characters of the smoke test's answer; the conditions in JSON hold all of it."""
_TITLES = {"npu": "NPU", "cpu load": "CPU load"}


def is_proven(conditions: Mapping[str, Any]) -> bool:
    """Whether the device itself showed the run, or nothing but a CPU can have run it.

    Runs of versions that kept no proof of place count as proven on the CPU alone: they had nothing else to run on.
    """
    proven = conditions.get("device_proven")
    return bool(proven) or (proven is None and conditions.get("device") == _CPU)


def device_name(conditions: Mapping[str, Any]) -> str:
    """The device with the state of its proof: "CPU", "NPU (RyzenAI), proven", "NPU (RyzenAI), not proven"."""
    device = conditions.get("device")
    if not device:
        return UNKNOWN
    if not is_proven(conditions):
        return f"{device}, not proven"
    return str(device) if device == _CPU else f"{device}, proven"


def place_words(conditions: Mapping[str, Any]) -> str:
    """One line: "ran on CPU (proven: ...)", "asked for NPU (RyzenAI), not proven: ...", "CPU, not proven: ..."."""
    device, said = conditions.get("device"), str(conditions.get("device_proof") or "")
    if not device:
        return UNKNOWN
    # The proof begins with its verdict.
    proof = said.removeprefix("not ").removeprefix("proven: ")
    if is_proven(conditions):
        return f"ran on {device} (proven: {proof})" if proof else f"ran on {device}"
    # Not proven on the CPU is a model that asks for another device, and fell back.
    head = f"{device}, not proven" if device == _CPU else f"asked for {device}, not proven"
    return f"{head}: {proof}" if proof else head


def machine_words(state: Mapping[str, Any]) -> str:
    """What is known of the machine when the run began, in one line, then what could not be read and why."""
    parts = []
    for name, value in state.items():
        if name not in ("unknown", "remarks", "total_memory_bytes") and value not in (None, "", [], {}):
            words = name.removesuffix("_bytes").removesuffix("_percent").replace("_", " ")
            parts.append(f"{_TITLES.get(words, words)} {_measured(name, value)}")
    parts += map(str, state.get("remarks") or ())
    if unknown := state.get("unknown"):
        parts.append(f"not known: {', '.join(map(str, unknown))}")
    return "; ".join(parts)


def _measured(name: str, value: Any) -> str:
    """With the unit that a name ends in."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return fmt.memory(value)
    return fmt.percent(value, digits=0) if name.endswith("_percent") else f"{value:g}"


def smoke_words(smoke: Mapping[str, Any]) -> str:
    """What a fixed prompt was answered before the first item, whether twice the same, and how fast; "" = no test."""
    if not smoke:
        return ""
    same = "the same" if smoke.get("repeated") else "not the same"
    parts = [f"a fixed prompt, asked twice, was answered {same}"]
    if text := shorten(str(smoke.get("text") or ""), _ANSWER_SHOWN, placeholder=" ..."):
        parts[0] += f' ("{text}")'
    for name, words in (("prefill", "reads"), ("decode", "writes")):
        if each := smoke.get(f"{name}_seconds_per_token"):
            parts.append(f"{words} {fmt.rate(1 / each)}")
    return "; ".join(parts)


def cautions(conditions: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader must know of device and smoke test before trusting the numbers."""
    found = []
    if conditions.get("device_proven") is False:
        found.append(f"Where it ran is not certain: {place_words(conditions)}.")
    remarks = (conditions.get("machine_state") or {}).get("remarks") or ()
    found += map(str, remarks)
    smoke = conditions.get("smoke") or {}
    if smoke and not smoke.get("repeated"):
        found.append("The same prompt, asked twice before the run, gave two different answers: another run may differ.")
    return tuple(found)
