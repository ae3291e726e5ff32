"""Four-choice questions as lm-eval puts them: MMLU and the demo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from mince_gui.base.errors import InputError, MinceError
from mince_gui.tasks.parts import Turn, text_field, to_prompt
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored

_LETTERS = ("A", "B", "C", "D")


def _texts(doc: Doc) -> tuple[str, ...]:
    choices = doc.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or len(choices) != len(_LETTERS):
        raise InputError("An item has no list of four 'choices'.", "Check that the dataset belongs to this benchmark.")
    return tuple(str(choice) for choice in choices)


def _gold(doc: Doc) -> int:
    answer = doc.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(_LETTERS):
        raise InputError(f"An item's 'answer' is {answer!r}, not 0 to 3.", "Check the dataset's file.")
    return answer


@dataclass(frozen=True)
class MultipleChoice:
    """Questions with four choices; the likeliest continuation is the answer.

    `continuation` says what is weighed after "Answer:": the letters A to D of the choices, one a line (MMLU),
    or the choices' own texts, listed in one line (the demo).

    `topic_field` names the doc's field that the description speaks of and that few-shot docs must share;
    `topic` is the topic where the docs lack the field (a task of one subject). Few-shot docs are the first
    `shots` of the item's topic in the order given; a doc without a known answer cannot be shown and is passed over.
    """

    name: str
    benchmark: str
    topic_field: str
    shots: int
    topic: str | None = None
    continuation: Literal["letters", "texts"] = "letters"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Accuracy."""
        return ("acc",)

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
        topic = self.topic or text_field(doc, self.topic_field)
        about = topic.replace("_", " ")
        turns = [Turn("system", f"The following are multiple choice questions (with answers) about {about}.\n\n")]
        for shot in self._shots_for(topic, fewshot):
            turns.append(Turn("user", self._question(shot), " "))
            turns.append(Turn("assistant", self._answers(shot)[_gold(shot)], "\n\n"))
        own = Turn("user", self._question(doc))
        answers = self._answers(doc)
        if render is not None:
            return Request("choice", to_prompt([*turns, own], render), choices=answers)
        prefix = to_prompt(turns, None)
        return Request("choice", prefix + own.content, tuple(f" {answer}" for answer in answers), prefix=prefix)

    def _question(self, doc: Doc) -> str:
        if self.continuation == "letters":
            options = "\n".join(f"{letter}. {text}" for letter, text in zip(_LETTERS, _texts(doc), strict=True))
        else:
            options = f"Options: {', '.join(_texts(doc))}"
        return f"{text_field(doc, 'question').strip()}\n{options}\nAnswer:"

    def _answers(self, doc: Doc) -> tuple[str, ...]:
        return _LETTERS if self.continuation == "letters" else _texts(doc)

    def _shots_for(self, topic: str, fewshot: Sequence[Doc]) -> list[Doc]:
        fitting = (
            shot for shot in fewshot if shot.get(self.topic_field, topic) == topic and shot.get("answer") is not None
        )
        shots = list(islice(fitting, self.shots))
        if not shots:
            raise InputError(
                f"Task {self.name} shows {self.shots} examples before each question, and there are none for '{topic}'.",
                "Make the pack from a dataset folder that holds the dev rows.",
            )
        return shots

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Accuracy of one item: 0 or 1 of 1; `extracted` and `expected` are letters or texts."""
        gold, answers = _gold(doc), self._answers(doc)
        if answer.picked is None or not 0 <= answer.picked < len(_LETTERS):
            raise MinceError(f"There is no picked choice to score ({answer.picked}).", "Run the item again.")
        return Scored(
            scores={"acc": (float(answer.picked == gold), 1.0)},
            extracted={"none": answers[answer.picked]},
            expected=answers[gold],
        )
