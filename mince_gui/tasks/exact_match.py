"""Tasks whose answer is written, read by filters and compared as text, of every benchmark that declares a `TextPrompt`.

A filter that finds nothing reads "[invalid]", as in lm-eval.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mince_gui.base.errors import InputError, UsageError
from mince_gui.benchmarks import Reading, TextPrompt
from mince_gui.tasks.parts import Declared, Turn, given_text, to_prompt
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored

INVALID = "[invalid]"
"""What a filter reads where there is nothing to read."""


def _match(reading: Reading, text: str) -> re.Match[str] | None:
    if not reading.last:
        return reading.pattern.search(text)
    found = None
    for found in reading.pattern.finditer(text):  # noqa: B007 - the last one is what counts
        pass
    return found


@dataclass(frozen=True)
class ExactMatch(Declared[TextPrompt]):
    """Prompt, filters and exact match of one declared task."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Exact match by each filter."""
        return tuple(f"exact_match,{name}" for name in self.prompt.filters)

    @property
    def uses_chat(self) -> bool:
        """As declared."""
        return self.prompt.uses_chat

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """The answer is generated."""
        return "generate"

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The question after its examples. Raises InputError where `fewshot` holds fewer than `shots` docs."""
        asked, turns = self.prompt, []
        for shot in self._examples(fewshot):
            turns.append(Turn("user", asked.question(shot), asked.answer_gap))
            turns.append(Turn("assistant", asked.target(shot), "\n\n"))
        turns.append(Turn("user", asked.question(doc)))
        budget = asked.max_new_tokens if max_new_tokens is None else max_new_tokens
        return Request("generate", to_prompt(turns, render), until=asked.until, max_new_tokens=budget)

    def _examples(self, fewshot: Sequence[Doc]) -> Sequence[Doc]:
        if not self.shots:
            return self.prompt.examples
        if len(fewshot) < self.shots:
            needless = [p.task for p in self.of.prompts if not p.shots]
            raise InputError(
                f"Task {self.name} shows {self.shots} training examples per question; {len(fewshot)} were given.",
                "Put the training set (train.jsonl, or train-*.parquet of Hugging Face) beside the test set and pack "
                f"again, or take a task that needs none: {', '.join(needless)}.",
            )
        return fewshot[: self.shots]

    def extract(self, text: str, filter_name: str) -> str:
        """What the filter reads in a response, "[invalid]" if nothing. Raises UsageError for an unknown filter."""
        reading = self.prompt.filters.get(filter_name)
        if reading is None:
            raise UsageError(f"There is no filter '{filter_name}'.", f"Known: {', '.join(self.prompt.filters)}.")
        found = _match(reading, text)
        return next((group.strip() for group in found.groups() if group), INVALID) if found else INVALID

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Exact match by each filter, 0 or 1 of 1; `expected` is the cleaned gold."""
        text, gold = given_text(answer), self.prompt.gold(doc)
        extracted = {name: self.extract(text, name) for name in self.prompt.filters}
        cleaned = self.prompt.cleaned
        return Scored(
            scores={f"exact_match,{name}": (float(cleaned(read) == gold), 1.0) for name, read in extracted.items()},
            extracted=extracted,
            expected=gold,
        )
