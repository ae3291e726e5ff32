"""The right answers, from the `target` that a log shows as text.

A log does not say whether "2" is a choice's place or its text, nor whether "['a', 'b']" is a list. The task's own
definition and the doc tell it where they can; else each reading is tried on the log's verdicts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.lm_eval.requests import LoggedItem
from mince_gui.tasks.logged.definition import OutputType, Pipeline

_LONGEST_LIST = 1 << 16


@dataclass(frozen=True)
class Reading:
    """One way to read targets. `note` is to be told where it is the one that is used."""

    texts_first: bool = False
    by_verdict: bool = False
    several: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def places(self, item: LoggedItem, choices: Sequence[str]) -> tuple[int, ...]:
        """The places of the right choices; empty where none of them is. Raises InputError where it cannot be told."""
        if self.by_verdict:
            return (_by_verdict(item, len(choices)),)
        target = item.target
        if isinstance(target, str):
            if not self.texts_first and target.isdigit() and target.isascii():
                target = int(target[:20])
            elif (listed := _list_in(target)) is not None and target not in choices:
                target = listed
        if isinstance(target, float) and target.is_integer():
            target = int(target)
        if isinstance(target, list):
            # as lm-eval: one place that is none makes an empty gold of that place alone
            return tuple(place for place in target if type(place) is int and 0 <= place < len(choices))
        if isinstance(target, str):
            return (list(choices).index(target),) if target in choices else ()
        return (target,) if type(target) is int and 0 <= target < len(choices) else ()

    def texts(self, item: LoggedItem) -> tuple[str, ...]:
        """The texts of which any is right. Raises InputError for a target that is no text."""
        target = item.target
        if (offered := self.choices(item)) and self.config.get("doc_to_choice") is not None:
            place = int(target) if isinstance(target, str) and target.isdigit() else target
            if type(place) is int and 0 <= place < len(offered):
                return (offered[place],)
        if self.several:
            listed = _list_in(target) if isinstance(target, str) else target
            if isinstance(listed, list) and listed:
                if not all(isinstance(entry, str) for entry in listed):
                    raise InputError(f"{item.where}: the target is a list of more than texts.", "Take another log.")
                return tuple(listed)
        if target is None:
            raise InputError(f"{item.where}: the row carries no target.", "Evaluate again with --log_samples.")
        return (target if isinstance(target, str) else str(target),)

    def choices(self, item: LoggedItem) -> tuple[str, ...]:
        """The choices of a text's item, as far as its task or doc lists them."""
        given = self.config.get("doc_to_choice")
        found: Any = item.doc.get("choices")
        if isinstance(given, str) and given in item.doc:
            found = item.doc[given]
        elif isinstance(given, dict):
            found = list(given.values())
        elif isinstance(given, list):
            found = given
        return tuple(found) if isinstance(found, list) and all(isinstance(entry, str) for entry in found) else ()


def readings(output_type: OutputType, config: Mapping[str, Any], items: Sequence[LoggedItem]) -> Iterator[Reading]:
    """The readings to try, the likeliest first."""
    if output_type == "generate_until":
        first = items[0].target
        several = isinstance(first, list) or (isinstance(first, str) and isinstance(_list_in(first), list))
        yield Reading(several=several, config=config)
        if several:
            yield Reading(config=config)
        return
    if any(len(item.prompts) > 1 for item in items):
        named = config.get("doc_to_text")
        if isinstance(named, str) and all(type(item.doc.get(named)) is int for item in items):
            yield Reading(config={"doc_to_text": named})
        yield Reading(
            by_verdict=True,
            note="{task} logs no right choice: of two choices, it is the one that the log's own verdict names.",
        )
        return
    named = config.get("doc_to_target")
    texts_first = isinstance(named, str) and any(isinstance(item.doc.get(named), str) for item in items)
    yield Reading(texts_first=texts_first)
    yield Reading(texts_first=not texts_first)


def needs_choices(pipes: Sequence[Pipeline]) -> bool:
    """Whether a filter reads the doc's choices."""
    return any(function == "multi_choice_regex" for pipe in pipes for function, _ in pipe.steps)


def _list_in(text: str) -> list[Any] | None:
    """The list that a target's text is written as, None where it is none."""
    if len(text) < 2 or len(text) > _LONGEST_LIST or text[0] != "[" or text[-1] != "]":
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def _by_verdict(item: LoggedItem, count: int) -> int:
    """Which of two choices is right: the better one where the verdict is 1, else the other."""
    verdict = next((v.metrics.get("acc") for v in item.verdicts.values()), None)
    if count != 2 or verdict not in (0, 1):
        raise InputError(
            f"{item.where}: {item.task} has a prompt for each choice, and its log does not say which is right.",
            "Only tasks with two choices and the metric acc can be run so.",
        )
    weights = [float(answer[0]) for answer in item.responses if isinstance(answer, tuple) and len(answer) == 2]
    if len(weights) != count:
        raise InputError(f"{item.where}: no log-probability for each choice.", "Take another log.")
    best = 0 if weights[0] >= weights[1] else 1
    return best if verdict else 1 - best
