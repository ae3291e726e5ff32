"""The demo's own benchmarks: prompts and scoring of the same kinds as the real ones, in small."""

from __future__ import annotations

from mince_gui.benchmarks.docs import Doc, answer_of_four, four_choices, template, text_field, with_answer_as_place
from mince_gui.benchmarks.numbers import AFTER_MARK, METRICS, cleaned, filters, gold
from mince_gui.benchmarks.types import Benchmark, ChoicePrompt, Data, Metric, TextPrompt

_DATASET, _LICENCE = "mince-gui demo", "MIT"


def _question(doc: Doc) -> str:
    return f"{text_field(doc, 'question').strip()}\nOptions: {', '.join(four_choices(doc))}\nAnswer:"


CHOICE = Benchmark(
    name="demo-choice",
    title="Demo choice",
    total_items=1_000,
    metrics=(Metric("acc", "accuracy"),),
    key_field="id",
    tasks=("demo_choice",),
    default_task="demo_choice",
    dataset=_DATASET,
    licence=_LICENCE,
    in_lm_eval=False,
    data=Data(
        fields={"id": int, "category": str, "question": str, "choices": list, "answer": int},
        tidied=with_answer_as_place,
        shown_by="category",
    ),
    prompts=(
        # Texts, not letters: how a text leads to its letter is more than the demo's tiny models learn in minutes.
        ChoicePrompt(
            task="demo_choice",
            question=_question,
            choices=four_choices,
            gold=answer_of_four,
            shots=2,
            about="The following are multiple choice questions (with answers) about {topic}.\n\n",
        ),
    ),
)

MATH = Benchmark(
    name="demo-math",
    title="Demo math",
    total_items=500,
    metrics=METRICS,
    key_field="id",
    tasks=("demo_math",),
    default_task="demo_math",
    dataset=_DATASET,
    licence=_LICENCE,
    in_lm_eval=False,
    data=Data(fields={"id": int, "question": str, "answer": str}),
    prompts=(
        TextPrompt(
            task="demo_math",
            question=template("Question: {question}\nAnswer:"),
            target=template("{answer}"),
            gold=gold,
            filters=filters(AFTER_MARK),
            cleaned=cleaned,
            until=("Question:",),
            max_new_tokens=48,
            uses_chat=False,
        ),
    ),
)
