"""The two sides of a paired comparison: what they are called, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mince_gui.report.model import Role
from mince_gui.report.names import base_model
from mince_gui.report.place import device_name
from mince_gui.report.types import Reference, RunData, Side

CPU = "CPU"


def side_of_run(run: RunData) -> Side:
    """A run as a side."""
    conditions = run.conditions
    return Side(
        ident=run.run_id, kind="run", benchmark=run.benchmark, model=run.model, precision=run.precision,
        device=one_device(conditions), rows=run.rows, answers=run.answers_given, expected=run.expected,
        prompts=run.prompts, runtime=str(conditions.get("runtime") or ""), date=run.created,
        model_sha256=str(conditions.get("model_sha256") or ""), asked=_asked(run),
    )  # fmt: skip


def one_device(conditions: Mapping[str, Any]) -> str:
    """The device of a whole run as `device_name` has it; "" where it is not known, or sittings had different ones."""
    mixed = "device" in (conditions.get("changed") or ())
    return "" if mixed or not conditions.get("device") else device_name(conditions)


def _asked(run: RunData) -> dict[str, str]:
    conditions, budget = run.conditions, run.answers.budget
    rescored = conditions.get("rescored") or {}
    own = rescored.get("filter") or {}
    scored = f"again by {rescored.get('task')} of mince {rescored.get('version')}" if rescored else "when it was run"
    found = {
        "task": conditions.get("task"),
        "token budget": None if budget is None else f"{budget:,}",
        "scoring": f"{scored}, with the filter {own.get('name')} ({own.get('pattern')})" if own else scored,
    }
    return {what: str(how) for what, how in found.items() if how is not None}


def side_of_reference(reference: Reference) -> Side:
    """A stored reference as a side. Raises ValueError for one without per-item outcomes."""
    if reference.rows is None:
        raise ValueError(f"reference {reference.reference_id} has no per-item outcomes")
    return Side(
        ident=reference.reference_id, kind="reference", benchmark=reference.benchmark, model=reference.model,
        precision=reference.precision, device=reference.device, rows=reference.rows, runtime=reference.runtime,
        date=reference.date, model_sha256=reference.model_sha256, warnings=reference.warnings,
    )  # fmt: skip


def named(side: Side) -> str:
    """The model with precision and device where they are known: "Phi-4-mini INT4 on NPU (RyzenAI), proven"."""
    precision = side.precision.upper() if side.precision.lower() not in side.model.lower() else ""
    place = f" on {side.device}" if side.device else ""
    return f"{side.model} {precision}".strip() + place


def is_quantised(precision: str) -> bool | None:
    """Whether weights of that precision were quantised; None where it is not known."""
    word = precision.lower().strip()
    if not word:
        return None
    return not word.startswith(("fp32", "f32", "float32", "fp16", "f16", "float16", "bf16", "bfloat16"))


def role_of(mine: Side, theirs: Side) -> Role:
    """What differs between two sides, as far as their facts tell; it does not say which of them is which.

    Of an unquantised model the device does not matter: it is what the quantised one is held against.
    """
    if base_model(mine.model) != base_model(theirs.model):
        return "other"
    if mine.model_sha256 and mine.model_sha256 == theirs.model_sha256:
        return _by_device(mine, theirs)
    if not (mine.precision and theirs.precision):
        return "other"
    if mine.precision.lower() == theirs.precision.lower():
        return _by_device(mine, theirs)
    quantised = [side for side in (mine, theirs) if is_quantised(side.precision)]
    if len(quantised) == 1:
        device = kind_of_device(quantised[0].device)
        if not device:
            return "other"
        return "quantisation" if device == CPU else "quantisation and hardware"
    both = _by_device(mine, theirs)
    return both if both == "other" else "quantisation and hardware" if both == "hardware" else "quantisation"


def _by_device(mine: Side, theirs: Side) -> Role:
    if mine.device and theirs.device:
        return "repeat" if kind_of_device(mine.device) == kind_of_device(theirs.device) else "hardware"
    # Neither of an unquantised pair has a device that matters; of the others it cannot be told.
    return "repeat" if is_quantised(mine.precision) is False and is_quantised(theirs.precision) is False else "other"


def kind_of_device(device: str) -> str:
    """ "NPU" of "NPU (RyzenAI), not proven": the device without provider and proof."""
    return device.partition(",")[0].partition(" (")[0].strip()
