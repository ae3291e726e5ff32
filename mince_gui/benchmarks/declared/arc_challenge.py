"""ARC-Challenge: 1,172 science questions with three to five choices, whose texts are weighed, 0-shot."""

from __future__ import annotations

from mince_gui.base.errors import InputError
from mince_gui.benchmarks.docs import Doc, only, template
from mince_gui.benchmarks.types import Benchmark, ChoicePrompt, Data, Metric


def _read(doc: Doc) -> tuple[list[str], int]:
    """The texts to choose from and the right one's place. Raises ValueError where the doc does not tell."""
    choices, answer = doc.get("choices"), doc.get("answerKey")
    texts, labels = (choices.get("text"), choices.get("label")) if isinstance(choices, dict) else (None, None)
    if not isinstance(texts, list) or not isinstance(labels, list) or not len(labels) == len(texts) > 1:
        raise ValueError("'choices' holds no lists 'text' and 'label' of one length")
    if not all(isinstance(text, str) for text in texts) or answer not in labels:
        raise ValueError("'choices' are not texts, or 'answerKey' is the label of none")
    return texts, labels.index(answer)


def _tidied(doc: Doc) -> Doc:
    _read(doc)
    return doc


def _choices_and_gold(doc: Doc) -> tuple[list[str], int]:
    try:
        return _read(doc)
    except ValueError as error:
        raise InputError(f"An item's {error}.", "Check that the dataset belongs to this benchmark.") from error


BENCHMARK = Benchmark(
    name="arc_challenge",
    title="ARC-Challenge",
    total_items=1_172,
    metrics=(Metric("acc", "accuracy"), Metric("acc_norm", "accuracy by length")),
    key_field="doc_id",
    tasks=("arc_challenge",),
    default_task="arc_challenge",
    dataset="allenai/ai2_arc (ARC-Challenge)",
    licence="CC-BY-SA-4.0",
    data=Data(
        fields={"id": str, "question": str, "choices": dict, "answerKey": str},
        tidied=_tidied,
        content=only("id", "question", "choices", "answerKey"),
        folders=("", "ARC-Challenge/", "data/"),
    ),
    prompts=(
        ChoicePrompt(
            task="arc_challenge",
            question=template("Question: {question}\nAnswer:"),
            choices=lambda doc: _choices_and_gold(doc)[0],
            gold=lambda doc: _choices_and_gold(doc)[1],
        ),
    ),
)
