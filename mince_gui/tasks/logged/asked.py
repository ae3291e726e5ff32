"""One item's request as a pack carries it (`PackItem.asked`), checked whenever it is used.

JSON: task (name in the definition), target (as logged, for exports), prompts (one, or one per choice: a text, or a list
of messages), gold; for choices: choices (texts with their delimiter), gold as their places (none where no choice is
right); for generated text: until, max_new_tokens, options (other generation options that were logged), gold as texts
(any of them is right), and choices (without delimiter) where the filter reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.lm_eval.requests import Prompt
from mince_gui.tasks.types import Doc, Render

_REMEDY = "Make the pack again from the log: mince pack."
_ROLES = ("system", "user", "assistant")
_MOST_TOKENS = 1 << 20


@dataclass(frozen=True)
class Asked:
    """The parts of one request; see the module's text."""

    task: str
    prompts: tuple[Prompt, ...]
    choices: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    gold_texts: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    max_new_tokens: int = 0
    target: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON values only."""
        body: dict[str, Any] = {
            "task": self.task,
            "target": self.target,
            "prompts": [prompt if isinstance(prompt, str) else list(prompt) for prompt in self.prompts],
        }
        if self.max_new_tokens:
            body |= {
                "until": list(self.until), "max_new_tokens": self.max_new_tokens, "options": dict(self.options),
                "gold": list(self.gold_texts),
            }  # fmt: skip
            return {**body, "choices": list(self.choices)} if self.choices else body
        return {**body, "choices": list(self.choices), "gold": list(self.gold)}

    def texts(self, render: Render | None) -> tuple[str, ...]:
        """The prompts as text; messages go through the chat template. Raises InputError where there is none."""
        found = []
        for prompt in self.prompts:
            if isinstance(prompt, str):
                found.append(prompt)
            elif render is None:
                raise InputError(
                    f"The prompts of {self.task} are chat messages, and there is no chat template to render them.",
                    "Name one with --chat-template FILE.",
                )
            else:
                found.append(render([dict(message) for message in prompt]))
        return tuple(found)


def asked_of(body: Doc, *, choices: bool) -> Asked:
    """The request in `body`; `choices` says of which kind. Raises InputError that names what is wrong."""
    task = body.get("task")
    if not isinstance(task, str):
        raise _refusal("it names no task")
    target, options = body.get("target", ""), body.get("options", {})
    if not isinstance(target, str):
        raise _refusal("'target' is not a text")
    if not isinstance(options, dict):
        raise _refusal("'options' is not an object")
    prompts = _prompts(body.get("prompts"))
    offered = _texts(body, "choices") if choices or "choices" in body else ()
    if not choices:
        if len(prompts) != 1:
            raise _refusal("a text to generate has one prompt")
        budget = body.get("max_new_tokens")
        if type(budget) is not int or not 0 < budget <= _MOST_TOKENS:
            raise _refusal("'max_new_tokens' is no number of tokens")
        return Asked(
            task, prompts, offered, gold_texts=_texts(body, "gold"), until=_texts(body, "until"), max_new_tokens=budget,
            target=target, options=options,
        )  # fmt: skip
    gold = body.get("gold")
    if len(offered) < 2 or len(prompts) not in (1, len(offered)):
        raise _refusal("there are fewer than two choices, or prompts that do not go with them")
    if not isinstance(gold, list) or not all(type(place) is int and 0 <= place < len(offered) for place in gold):
        raise _refusal("'gold' names no choices")
    return Asked(task, prompts, offered, gold=tuple(gold), target=target)


def _refusal(why: str) -> InputError:
    return InputError(f"An item's logged request cannot be used: {why}.", _REMEDY)


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name)
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _refusal(f"'{name}' is not a list of texts")
    return tuple(value)


def _prompts(value: Any) -> tuple[Prompt, ...]:
    if not isinstance(value, list) or not value:
        raise _refusal("it has no prompts")
    found: list[Prompt] = []
    for prompt in value:
        if isinstance(prompt, str):
            found.append(prompt)
        elif isinstance(prompt, Sequence) and prompt and all(map(_is_message, prompt)):
            found.append(tuple({"role": entry["role"], "content": entry["content"]} for entry in prompt))
        else:
            raise _refusal("a prompt is neither a text nor a list of messages")
    return tuple(found)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") in _ROLES and isinstance(value.get("content"), str)
