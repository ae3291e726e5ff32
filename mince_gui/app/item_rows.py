"""Every stored fact of a run's items, as rows of a table and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from mince_gui.report.documents.tables import safe_cell
from mince_gui.store.runs import StoredItem


def facts_of(item: StoredItem) -> dict[str, Any]:
    """What was measured and decided, by name; None where it is not there.

    `seconds` is the worker's clock for the item, `elapsed_seconds` the runner's; the table `run_items` says what each
    of them means.
    """
    return {
        "position": item.position, "attempts": item.attempts, "finished_at": item.finished_at,
        "prompt_tokens": item.prompt_tokens, "read_tokens": item.read_tokens, "output_tokens": item.output_tokens,
        "prefill_seconds": item.prefill_seconds, "first_token_seconds": item.first_token_seconds,
        "decode_seconds": item.decode_seconds, "seconds": item.wall_seconds, "elapsed_seconds": item.elapsed_seconds,
        "capped": item.capped, "finish": item.finish, "repeats": item.repeats, "method": item.method,
        "picked": item.picked, "logprobs": list(item.logprobs), "greedy": list(item.greedy),
        "leading_bos": item.leading_bos, "memory_bytes": item.memory_bytes, "prompt_sha256": item.prompt_sha256,
        "cause": item.cause,
    }  # fmt: skip


def item_json(item: StoredItem) -> dict[str, Any]:
    """One item with its answer, what was read in it, and its scores as metric -> [passed, trials]."""
    return {
        "key": item.item_key,
        "category": item.category,
        "state": item.state,
        "scores": {metric: list(score) for metric, score in item.scores.items()},
        "text": item.text,
        "extracted": dict(item.extracted),
        "expected": item.expected,
        **facts_of(item),
    }


def csv_of(items: Sequence[StoredItem]) -> str:
    """One row per item, in running order, safe for a spreadsheet; what is missing is empty, yes and no are 1 and 0."""
    # What the filter "none" reads is the answer itself.
    filters = list(dict.fromkeys(name for item in items for name in item.extracted if name != "none"))
    metrics = list(dict.fromkeys(name for item in items for name in item.scores))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = [
        "item of the run", "category", "state", "answer", *(f"read by {name}" for name in filters), "gold",
        *(part for name in metrics for part in (f"{name} passed", f"{name} trials")),
        *(facts_of(items[0]) if items else ()),
    ]  # fmt: skip
    writer.writerow([safe_cell(name) for name in head])
    for item in items:
        scores = [part for name in metrics for part in item.scores.get(name, (None, None))]
        cells: list[Any] = [
            item.item_key, item.category, item.state, item.extracted.get("none") if item.text is None else item.text,
            *(item.extracted.get(name) for name in filters), item.expected, *scores, *facts_of(item).values(),
        ]  # fmt: skip
        writer.writerow([safe_cell(_cell(cell)) for cell in cells])
    return buffer.getvalue()


def _cell(value: Any) -> str | float | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        return " ".join(str(_cell(inner)) for inner in value) or None
    found: str | float | None = value
    return found
