"""Tasks that weigh given answers after a question, of every benchmark that declares a `ChoicePrompt`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal

from mince_gui.base.errors import InputError, MinceError
from mince_gui.benchmarks import ChoicePrompt, text_field
from mince_gui.tasks.parts import Declared, Turn, to_prompt
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored

_METRICS = ("acc", "acc_norm")


@dataclass(frozen=True)
class MultipleChoice(Declared[ChoicePrompt]):
    """Questions with choices; the likeliest continuation is the answer.

    Few-shot docs are the first `shots` of the item's topic in the order given; one without a known answer cannot be
    shown and is passed over.
    """

    @property
    def metrics(self) -> tuple[str, ...]:
        """acc: the likeliest choice is right; acc_norm: the likeliest by the character is."""
        return tuple(metric.name for metric in self.of.metrics if metric.name in _METRICS)

    @property
    def uses_chat(self) -> bool:
        """No: choices are read after the plain prompt."""
        return False

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """Choices are weighed, nothing is generated."""
        return "choice"

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The question after its few-shot examples. `prefix` ends where the item's own question begins.

        Fewer examples than `shots` are used where the topic has no more; none at all is refused with InputError.
        With a chat template the answers follow without a blank, as in lm-eval, and there is no shared prefix.
        """
        asked = self.prompt
        topic = asked.topic or (text_field(doc, self.of.data.shown_by) if self.of.data.shown_by else "")
        turns, prefix = _before(_Same(self, fewshot), topic)
        own = Turn("user", asked.question(doc))
        answers = tuple(asked.choices(doc))
        if render is not None:
            return Request("choice", to_prompt([*turns, own], render), choices=answers)
        return Request("choice", prefix + own.content, tuple(f" {answer}" for answer in answers), prefix=prefix)

    def before(self, topic: str, fewshot: Sequence[Doc]) -> list[Turn]:
        """What is said before an item's own question. Raises InputError as `request` does."""
        asked, turns = self.prompt, []
        if asked.about:
            turns.append(Turn("system", asked.about.format(topic=topic.replace("_", " "))))
        for shot in self._shots_for(topic, fewshot):
            turns.append(Turn("user", asked.question(shot), " "))
            turns.append(Turn("assistant", asked.choices(shot)[asked.gold(shot)], "\n\n"))
        return turns

    def _shots_for(self, topic: str, fewshot: Sequence[Doc]) -> list[Doc]:
        if not self.shots:
            return []
        by = self.of.data.shown_by
        fitting = (shot for shot in fewshot if shot.get(by, topic) == topic and self._is_answered(shot))
        shots = list(islice(fitting, self.shots))
        if not shots:
            raise InputError(
                f"Task {self.name} shows {self.shots} examples before each question, and there are none for '{topic}'.",
                "Make the pack from a dataset folder that holds the dev rows.",
            )
        return shots

    def _is_answered(self, shot: Doc) -> bool:
        try:
            return self.prompt.gold(shot) >= 0
        except InputError:
            return False

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Each metric 0 or 1 of 1; `extracted` (by acc) and `expected` are the choices themselves.

        Raises MinceError where no choice was picked, or where acc_norm lacks the choices' log-probabilities.
        """
        gold, answers = self.prompt.gold(doc), self.prompt.choices(doc)
        if answer.picked is None or not 0 <= answer.picked < len(answers):
            raise MinceError(f"There is no picked choice to score ({answer.picked}).", "Run the item again.")
        picks = {"acc": answer.picked}
        if "acc_norm" in self.metrics:
            picks["acc_norm"] = _likeliest_by_character(answers, answer.logprobs)
        return Scored(
            scores={metric: (float(pick == gold), 1.0) for metric, pick in picks.items()},
            extracted={"none": answers[answer.picked]},
            expected=answers[gold],
        )


class _Same:
    """A task with few-shot docs, under the identity of each: docs cannot be hashed, and one topic's are one object."""

    def __init__(self, task: MultipleChoice, fewshot: Sequence[Doc]) -> None:
        self.task = task
        # Held, so that no other doc gets the identity of one of them.
        self.fewshot = tuple(fewshot)
        self._identity = (id(task), *map(id, self.fewshot))

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._identity == self._identity


@lru_cache(maxsize=128)
def _before(same: _Same, topic: str) -> tuple[tuple[Turn, ...], str]:
    """The turns before an item's own question, and their plain text: made once a topic, for thousands of items."""
    turns = tuple(same.task.before(topic, same.fewshot))
    return turns, to_prompt(turns, None)


def _likeliest_by_character(answers: Sequence[str], logprobs: Sequence[float]) -> int:
    """The first of the choices with the highest log-probability per character; one without characters is never it."""
    if len(logprobs) != len(answers):
        raise MinceError(
            f"There are {len(logprobs)} log-probabilities for {len(answers)} choices.", "Run the item again."
        )
    each = [value / len(text) if text else float("-inf") for text, value in zip(answers, logprobs, strict=True)]
    return each.index(max(each))
