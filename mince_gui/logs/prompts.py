"""Which item a prompt asks, where a log has only what was sent: instructions and examples around the question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mince_gui.benchmarks import Benchmark, KeyFinder
from mince_gui.benchmarks.known_items import item_keys_of

_LINES_AFTER = 24
"""So many lines may follow the question: choices and instructions."""
_LINES_OF_QUESTION = 80
_LABEL = re.compile(r"\s*(?:Question|Problem|Q)\s*:\s*")
_CHOICE = re.compile(r"\s*\(?([A-J])(?:\)|\.|:)\s*(.*)")


class PromptFinder:
    """Finds the items of one log's prompts. The question must stand in whole lines, but for a label before it."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._finder = KeyFinder(benchmark)
        self._after = 0

    def key(self, prompt: str, subject: str | None = None) -> str | None:
        """The key of the item that the prompt asks last; None where it is unknown or ambiguous."""
        lines = prompt.split("\n")
        for after in (self._after, *(n for n in range(min(_LINES_AFTER, len(lines))) if n != self._after)):
            end = len(lines) - after
            # of several questions that end here the longest is meant: one item's text can be the end of another's
            question = next((text for text in _windows(lines, end) if self._is_known(text, subject)), None)
            if question is not None:
                self._after = after
                return self._finder.key(question, subject, _choices(lines[end:]) or None)
        return None

    def _is_known(self, text: str, subject: str | None) -> bool:
        return bool(item_keys_of(self._benchmark, text, subject))


def _windows(lines: Sequence[str], end: int) -> Iterator[str]:
    for start in range(max(0, end - _LINES_OF_QUESTION), end):
        text = "\n".join(lines[start:end])
        yield text
        label = _LABEL.match(text)
        if label:
            yield text[label.end() :]


def _choices(lines: Sequence[str]) -> list[str]:
    """The texts of the choices A, B, C, ... that begin these lines; empty where there are none."""
    found: list[str] = []
    for line in lines:
        match = _CHOICE.match(line)
        if match and ord(match[1]) - ord("A") == len(found):
            found.append(match[2])
        elif found and len(found) < 4 and line.strip():
            found[-1] += "\n" + line
        elif found and not match:
            break
    return found


def prompt_text(prompt: Any) -> str | None:
    """The last text that the user sent: of a plain prompt, a list of messages, or of parts; None where there is none.

    Messages are {role, content} or {role, prompt}; contents are texts or lists of {type: text, text}.
    """
    if isinstance(prompt, str):
        return prompt
    if not isinstance(prompt, list):
        return None
    for message in reversed(prompt):
        if not isinstance(message, dict):
            continue
        if str(message.get("role", "")).lower() not in ("user", "human"):
            continue
        content = message.get("content", message.get("prompt"))
        if isinstance(content, list):
            texts = [part.get("text") for part in content if isinstance(part, dict)]
            content = "\n".join(text for text in texts if isinstance(text, str))
        return content if isinstance(content, str) else None
    return None
