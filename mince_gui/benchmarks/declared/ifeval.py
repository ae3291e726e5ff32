"""IFEVAL: 541 prompts with instructions whose following can be verified."""

from __future__ import annotations

from typing import Any

from mince_gui.benchmarks.docs import Doc
from mince_gui.benchmarks.types import Benchmark, Data, Metric


def _content(doc: Doc) -> Doc:
    return {
        "prompt": doc["prompt"],
        "instruction_id_list": doc["instruction_id_list"],
        # some copies write null where an instruction takes no arguments
        "kwargs": [entry or {} for entry in doc["kwargs"] or ()],
    }


def _tidied(doc: Doc) -> Doc:
    """Without the nulls with which Parquet fills absent arguments; whole numbers that a copy made decimal are whole."""
    if not all(entry is None or isinstance(entry, dict) for entry in doc["kwargs"]):
        raise ValueError("'kwargs' is not a list of objects")
    return {**doc, "kwargs": [_arguments(entry or {}) for entry in doc["kwargs"]]}


def _arguments(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: _whole(value) for name, value in entry.items() if value is not None}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _first_instruction(doc: Doc, item_key: str) -> str | None:
    ids = doc.get("instruction_id_list")
    return str(ids[0]) if isinstance(ids, list) and ids else None


BENCHMARK = Benchmark(
    name="ifeval",
    title="IFEVAL",
    total_items=541,
    metrics=(
        Metric("prompt_level_strict_acc", "prompt strict"),
        Metric("inst_level_strict_acc", "instruction strict", ratio=True),
        Metric("prompt_level_loose_acc", "prompt loose"),
        Metric("inst_level_loose_acc", "instruction loose", ratio=True),
    ),
    key_field="key",
    tasks=("ifeval", "leaderboard_ifeval"),
    default_task="ifeval",
    default_step=50,
    dataset="google/IFEval",
    licence="Apache-2.0",
    data=Data(
        fields={"key": int, "prompt": str, "instruction_id_list": list, "kwargs": list},
        tidied=_tidied,
        content=_content,
        own_names=("ifeval_input_data.jsonl", "input_data.jsonl"),
        test_splits=("test", "train"),
    ),
    category_of=_first_instruction,
)
