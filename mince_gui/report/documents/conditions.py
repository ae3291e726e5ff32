"""The conditions of a run in words: what they are called, in which order, and with which units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mince_gui.report import format as fmt
from mince_gui.report.asking import TOLD
from mince_gui.report.json_form import plain
from mince_gui.report.place import device_name, machine_words, place_words, smoke_words

CONDITION_WORDS: dict[str, str] = {
    "model_name": "model",
    "model_sha256": "model folder, SHA-256",
    "precision": "precision",
    "runtime": "runtime",
    "device": "device",
    "device_proof": "how the device is known",
    "oga_version": "onnxruntime-genai",
    "distribution": "distribution of onnxruntime-genai",
    "ort_version": "ONNX Runtime",
    "python_version": "Python of the runtime",
    "platform": "system",
    "cpu": "processor",
    "machine": "machine",
    "driver": "driver",
    "power_mode": "power mode",
    "machine_state": "machine at the start",
    "sleep": "sleep of the machine",
    "smoke": "smoke test",
    "threads": "threads",
    "timing": "timing mode",
    "limit": "limit of items",
    "search_options": "search options",
    "load_seconds": "model load (not in the wall clock)",
    "changed": "changed between sittings",
    "warmup_seconds": "warm-up (not in the wall clock)",
}
"""What each condition is called, in reading order; others follow by name."""
_SECONDS = frozenset({"load_seconds", "warmup_seconds"})
_UNSET = {"threads": "chosen by ONNX Runtime"}
"""Conditions that are None where nothing was asked for, and what then holds."""


def condition_lines(conditions: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, value) of every condition that `asking` does not tell, known ones first; nested ones on one line."""
    flat: dict[str, Any] = {}
    for key, value in plain(conditions).items():
        if key in (*TOLD, "device_proven") or (key == "changed" and not value):
            continue  # told elsewhere, or beside the device; nothing changed between sittings
        title = CONDITION_WORDS.get(key, key.replace("_", " "))
        if key == "device" and value:
            flat[title] = device_name(conditions)
        elif key == "device_proof" and value:
            flat[title] = place_words(conditions)
        elif key == "smoke" and value:
            flat[title] = smoke_words(conditions[key])
        elif key == "machine_state" and value:
            flat[title] = machine_words(conditions[key])
        elif isinstance(value, dict) and value:
            flat[title] = "; ".join(f"{inner} {condition_words(value[inner])}" for inner in sorted(value))
        elif key in _SECONDS and isinstance(value, int | float):
            flat[title] = fmt.seconds(value)
        else:
            flat[title] = value
    order = {title: place for place, title in enumerate(CONDITION_WORDS.values())}
    names = sorted(flat, key=lambda name: (order.get(name, len(order)), name))
    unset = {CONDITION_WORDS[key]: words for key, words in _UNSET.items()}
    return [
        (name, unset[name] if name in unset and flat[name] is None else condition_words(flat[name])) for name in names
    ]


def condition_words(value: Any) -> str:
    """One value: "not recorded" where there is none, yes and no, numbers short, lists with commas."""
    if value is None or value in ("", [], {}):
        return "not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return ", ".join(str(inner) for inner in value) if isinstance(value, list) else str(value)
