"""Reading docs: the small functions that declarations are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from mince_gui.base.errors import InputError

Doc = Mapping[str, Any]

LETTERS = ("A", "B", "C", "D")
_REMEDY = "Check that the dataset belongs to this benchmark."


def as_it_is(doc: Doc) -> Doc:
    """The doc itself."""
    return doc


def only(*names: str) -> Callable[[Doc], Doc]:
    """Of a doc, the fields of these names. What it gives raises KeyError where one is absent."""
    return lambda doc: {name: doc[name] for name in names}


def text_field(doc: Doc, name: str) -> str:
    """The text `doc[name]`. Raises InputError where it is missing or not text."""
    value = doc.get(name)
    if not isinstance(value, str):
        raise InputError(f"An item has no text '{name}' (it has: {', '.join(sorted(doc))}).", _REMEDY)
    return value


def template(text: str) -> Callable[[Doc], str]:
    """Fills "{name}" with the doc's text of that name as it stands. What it gives raises InputError as `text_field`."""
    names = [name for _, name, _, _ in Formatter().parse(text) if name]
    return lambda doc: text.format(**{name: text_field(doc, name) for name in names})


def answer_index(answer: str) -> int | None:
    """The place of the choice that a letter names, counted from 0; None for any other text."""
    letter = answer.strip()
    return LETTERS.index(letter) if letter in LETTERS else None


def four_choices(doc: Doc) -> tuple[str, ...]:
    """The texts of the doc's list 'choices'. Raises InputError where they are not four."""
    choices = doc.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or len(choices) != len(LETTERS):
        raise InputError("An item has no list of four 'choices'.", _REMEDY)
    return tuple(str(choice) for choice in choices)


def answer_of_four(doc: Doc) -> int:
    """The doc's 'answer', 0 to 3. Raises InputError for anything else."""
    answer = doc.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer < len(LETTERS):
        raise InputError(f"An item's 'answer' is {answer!r}, not 0 to 3.", "Check the dataset's file.")
    return answer


def with_answer_as_place(doc: Doc) -> Doc:
    """The doc with an answer given as a letter turned into its place. Raises ValueError where it names no choice."""
    choices, answer = doc["choices"], doc["answer"]
    if isinstance(answer, str):
        answer = answer_index(answer)
    if not all(isinstance(choice, str) for choice in choices) or answer is None or not 0 <= answer < len(choices):
        raise ValueError("'choices' are not texts, or 'answer' is none of them")
    return {**doc, "answer": answer}
