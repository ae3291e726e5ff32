"""Strict and loose verdicts of one response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mince_gui.base.errors import MinceError
from mince_gui.tasks.ifeval.arguments import Arguments
from mince_gui.tasks.ifeval.instructions import INSTRUCTIONS, Check


@dataclass(frozen=True)
class Checked:
    """One verdict per instruction, in the item's order. What holds strictly holds loosely."""

    strict: list[bool]
    loose: list[bool]


def _variants(response: str) -> list[str]:
    """The response itself, then what loose scoring also accepts: lines cut at the ends, asterisks removed."""
    lines = response.split("\n")
    cut = [response, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    every = [*cut, *(text.replace("*", "") for text in cut)]
    return [text for text in dict.fromkeys(every) if text.strip()]


def _checks(doc: Mapping[str, Any]) -> list[Check]:
    ids, kwargs = doc.get("instruction_id_list"), doc.get("kwargs")
    if not isinstance(ids, list) or not isinstance(kwargs, list) or not ids or len(ids) != len(kwargs):
        raise MinceError(
            f"IFEval item {doc.get('key')}: 'instruction_id_list' and 'kwargs' are not lists of equal length.",
            "The item does not look like one of google/IFEval.",
        )
    checks = []
    for name, arguments in zip(ids, kwargs, strict=True):
        build = INSTRUCTIONS.get(name) if isinstance(name, str) else None
        if build is None:
            raise MinceError(
                f"IFEval item {doc.get('key')}: instruction type '{name}' is not supported.",
                "It was not scored; the supported types are those of google/IFEval.",
            )
        if arguments is not None and not isinstance(arguments, Mapping):
            raise MinceError(
                f"IFEval item {doc.get('key')}: the arguments of '{name}' are no object.",
                "The item does not look like one of google/IFEval.",
            )
        held = Arguments(name, arguments or {})
        checks.append(build(held))
        held.finish()
    return checks


def check(doc: Mapping[str, Any], response: str | None) -> Checked:
    """Which instructions of `doc` the response follows, strictly and loosely, as lm-eval judges.

    `doc` needs `instruction_id_list` and `kwargs` (falsy arguments are dropped). A blank response follows nothing, and
    so does None, which logs have where no answer came. The result depends on nothing but the two arguments. Raises
    MinceError for an instruction type or argument that cannot be scored, whatever the response.
    """
    checks = _checks(doc)
    response = response or ""
    variants = _variants(response)
    strict, loose = [], []
    for follows in checks:
        strict.append(bool(response.strip()) and follows(response))
        loose.append(strict[-1] or any(follows(text) for text in variants if text != response))
    return Checked(strict, loose)
