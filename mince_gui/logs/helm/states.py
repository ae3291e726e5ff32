"""Streams scenario_state.json, which holds every prompt and answer of a run: one request at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.assemble import shown
from mince_gui.logs.nested import Members

_STATES = "request_states"
_AGAIN = "Take a whole copy of the run's folder."


@dataclass(frozen=True)
class Instance:
    """What a request says of its instance. `answer` is None where none came; `references` are the choices."""

    key: str
    split: str | None
    text: str
    references: tuple[str, ...]
    correct: int | None
    extra: Mapping[str, Any]
    answer: str | None
    time: float | None


def instances(path: Path) -> Iterator[Instance]:
    """The unperturbed instances, once per request. Raises InputError that names file and line or request."""
    number = 0
    for member, _, state in Members(path, _STATES):
        if member != _STATES:
            continue
        number += 1
        if not isinstance(state, dict):
            raise InputError(f"{path}, request {number}: {shown(state)} is no request.", _AGAIN)
        body = state.get("instance")
        if not isinstance(body, dict):
            raise InputError(f"{path}, request {number}: instance is {shown(body)}, not an object.", _AGAIN)
        if body.get("perturbation") is None:
            yield _instance(body, state, f"{path}, request {number}")
    if not number:
        raise InputError(f"{path}: there is no request in it.", _AGAIN)


def _instance(body: Mapping[str, Any], state: Mapping[str, Any], where: str) -> Instance:
    key, text = body.get("id"), _text(body.get("input"))
    if not isinstance(key, str) or text is None:
        raise InputError(f"{where}: the instance has no id or no text.", _AGAIN)
    listed = body.get("references")
    references = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    texts = tuple(_text(entry.get("output")) or "" for entry in references)
    right = [i for i, entry in enumerate(references) if "correct" in (entry.get("tags") or ())]
    split, extra = body.get("split"), body.get("extra_data")
    result = state.get("result")
    result = result if isinstance(result, dict) else {}
    completions = result.get("completions")
    first = completions[0] if isinstance(completions, list) and completions else None
    time = result.get("request_datetime")
    return Instance(
        key, split if isinstance(split, str) else None, text, texts, right[0] if len(right) == 1 else None,
        extra if isinstance(extra, dict) else {}, _text(first),
        float(time) if isinstance(time, int | float) and 0 < time < 1e11 else None,
    )  # fmt: skip


def _text(value: Any) -> str | None:
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else None
