"""Word problems with a number as the answer: GSM8K and the demo.

Two filters as in lm-eval: "strict-match" looks for the phrase that the prompt asks for, "flexible-extract" takes
the last thing that looks like a number. What is read is compared as text after the same cleaning of both sides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.tasks.parts import Turn, given_text, text_field, to_prompt
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored

INVALID = "[invalid]"
"""What a filter reads where there is nothing to read."""

FILTERS = ("strict-match", "flexible-extract")
_NUMBER = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")
_GOLD_MARK = "#### "


def _read(found: re.Match[str] | None) -> str:
    """The first group that is not empty."""
    return next(group for group in found.groups() if group).strip() if found else INVALID


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007 - the last one is what counts
        pass
    return found


def clean(text: str) -> str:
    """`text` without commas, dollar signs, all up to the last "#### " and one final point; in lower case."""
    return re.sub(r"\.$", "", text.replace(",", "").replace("$", "").rpartition(_GOLD_MARK)[2]).lower()


def _gold(doc: Doc) -> str:
    answer = doc.get("answer")
    if not isinstance(answer, str) or _GOLD_MARK not in answer:
        raise MinceError(f"An item's 'answer' holds no gold after '{_GOLD_MARK}'.", "Check the dataset's file.")
    return clean(answer)


@dataclass(frozen=True)
class WordProblems:
    """Prompt, filters and exact match of one lm-eval task on word problems.

    `question` is the template of a question, `strict` the pattern of the strict filter (its last match counts if
    `strict_last`, else its first). `examples` are the task's own question-answer pairs; a task without them takes
    `shots` docs from the few-shot docs it is given. `answer_gap` stands between a question and its answer.
    `uses_chat` False keeps the prompt plain unless a chat template is asked for.
    """

    name: str
    benchmark: str
    question: str
    until: tuple[str, ...]
    strict: re.Pattern[str]
    max_new_tokens: int = 256
    strict_last: bool = False
    answer_gap: str = " "
    examples: tuple[tuple[str, str], ...] = ()
    shots: int = 0
    uses_chat: bool = True

    @property
    def metrics(self) -> tuple[str, ...]:
        """Exact match by either filter."""
        return tuple(f"exact_match,{name}" for name in FILTERS)

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """The answer is generated."""
        return "generate"

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The question after its examples. Raises InputError where `fewshot` holds fewer than `shots` docs."""
        turns = []
        for question, answer in self._pairs(fewshot):
            turns.append(Turn("user", self.question.format(question=question), self.answer_gap))
            turns.append(Turn("assistant", answer, "\n\n"))
        turns.append(Turn("user", self.question.format(question=text_field(doc, "question"))))
        budget = self.max_new_tokens if max_new_tokens is None else max_new_tokens
        return Request("generate", to_prompt(turns, render), until=self.until, max_new_tokens=budget)

    def _pairs(self, fewshot: Sequence[Doc]) -> Sequence[tuple[str, str]]:
        if not self.shots:
            return self.examples
        if len(fewshot) < self.shots:
            raise InputError(
                f"Task {self.name} shows {self.shots} training examples per question; {len(fewshot)} were given.",
                "Take a task that needs none: gsm8k_cot_zeroshot or gsm8k_cot.",
            )
        return [(text_field(shot, "question"), text_field(shot, "answer")) for shot in fewshot[: self.shots]]

    def extract(self, text: str, filter_name: str) -> str:
        """What the filter reads in a response, "[invalid]" if nothing. Raises UsageError for an unknown filter."""
        if filter_name == "strict-match":
            return _read(_last(self.strict, text) if self.strict_last else self.strict.search(text))
        if filter_name == "flexible-extract":
            return _read(_last(_NUMBER, text))
        raise UsageError(f"There is no filter '{filter_name}'.", f"Known: {', '.join(FILTERS)}.")

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Exact match by either filter, each 0 or 1 of 1; `expected` is the cleaned gold."""
        text, gold = given_text(answer), _gold(doc)
        extracted = {name: self.extract(text, name) for name in FILTERS}
        return Scored(
            scores={f"exact_match,{name}": (float(clean(read) == gold), 1.0) for name, read in extracted.items()},
            extracted=extracted,
            expected=gold,
        )
