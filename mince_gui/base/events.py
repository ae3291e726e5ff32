"""The closed set of events by which work tells a front end how it goes.

Every `app` function takes `emit` and calls it from the thread that does the work. The command line
prints events or writes them as JSON lines (one object with a "type" each); `ui/bridge.py` turns them
into signals; a headless run also appends them to its event file, which any window may tail.
Exactly one `Ended` closes every stream that began with `Started`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Cause = Literal["done", "incomplete", "failed", "stopped", "crashed", "hung", "not_started"]
"""How work ended: incomplete = to the end, but items are missing."""


@dataclass(frozen=True)
class Started:
    """Work begins. `total` counts `unit`s (items, rows, draws, files); None = not known yet."""

    action: str
    total: int | None = None
    unit: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Progress:
    """`done` of `total` units; `note` is what is being worked on, for people. A `lasting` note is worth a line."""

    done: int
    total: int | None = None
    note: str = ""
    lasting: bool = False


@dataclass(frozen=True)
class ItemDone:
    """One benchmark item of a run is committed (state done) or given up (state missing).

    Times in seconds, rates in tokens per second, scores in percent; None where it does not exist
    (no time to first token for choices). `running` is the score so far per metric.
    """

    run_id: str
    done: int
    total: int
    item_key: str
    category: str | None
    state: Literal["done", "missing"]
    scores: Mapping[str, tuple[float, float]]
    running: Mapping[str, float]
    prompt_tokens: int | None
    output_tokens: int | None
    prefill_seconds: float | None
    first_token_seconds: float | None
    decode_rate: float | None
    wall_seconds: float
    seconds_left: float | None
    missing: int = 0
    capped: int = 0
    cause: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Warned:
    """Something the user should know; the work goes on."""

    message: str
    detail: str = ""


@dataclass(frozen=True)
class Ended:
    """Work ended, always the last event. `detail` explains every cause but done."""

    cause: Cause
    detail: str = ""


Event = Started | Progress | ItemDone | Warned | Ended
Emit = Callable[[Event], None]

_TYPES: dict[str, type[Any]] = {cls.__name__: cls for cls in (Started, Progress, ItemDone, Warned, Ended)}


def ignore(event: Event) -> None:
    """Drop the event: the emit of callers that do not care."""


def to_json(event: Event) -> str:
    """One line of JSON without line end; "type" is the class name."""
    body = {"type": type(event).__name__, **dataclasses.asdict(event)}
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def from_json(line: str) -> Event:
    """The event that `to_json` wrote. Raises ValueError for anything else."""
    body = json.loads(line)
    if not isinstance(body, dict) or body.get("type") not in _TYPES:
        raise ValueError(f"not an event: {line[:80]!r}")
    cls = _TYPES[body.pop("type")]
    if cls is ItemDone:
        body["scores"] = {name: (pair[0], pair[1]) for name, pair in body["scores"].items()}
    try:
        event: Event = cls(**body)
    except TypeError as exc:
        raise ValueError(f"not an event: {exc}") from exc
    return event
