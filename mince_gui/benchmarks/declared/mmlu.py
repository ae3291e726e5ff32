"""MMLU: 14,042 questions with four choices in 57 subjects, 5-shot from the dev rows in order."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from mince_gui.base.canonical import plain_json
from mince_gui.benchmarks.docs import (
    LETTERS,
    Doc,
    answer_index,
    answer_of_four,
    four_choices,
    text_field,
    with_answer_as_place,
)
from mince_gui.benchmarks.types import Benchmark, ChoicePrompt, Data, Metric

_SUBJECTS = (  # noqa: SIM905 - 57 quoted names are harder to read
    "abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology college_chemistry "
    "college_computer_science college_mathematics college_medicine college_physics computer_security "
    "conceptual_physics econometrics electrical_engineering elementary_mathematics formal_logic global_facts "
    "high_school_biology high_school_chemistry high_school_computer_science high_school_european_history "
    "high_school_geography high_school_government_and_politics high_school_macroeconomics "
    "high_school_mathematics high_school_microeconomics high_school_physics high_school_psychology "
    "high_school_statistics high_school_us_history high_school_world_history human_aging human_sexuality "
    "international_law jurisprudence logical_fallacies machine_learning management marketing medical_genetics "
    "miscellaneous moral_disputes moral_scenarios nutrition philosophy prehistory professional_accounting "
    "professional_law professional_medicine professional_psychology public_relations security_studies "
    "sociology us_foreign_policy virology world_religions"
).split()


def _content(doc: Doc) -> Doc:
    answer = doc["answer"]
    if isinstance(answer, str) and (place := answer_index(answer)) is not None:
        answer = place
    return {"question": doc["question"], "choices": doc["choices"], "answer": answer}


def _quick_hash(doc: Doc) -> str | None:
    question, choices, answer = doc["question"], doc["choices"], doc["answer"]
    if type(question) is not str or type(choices) is not list or type(answer) is not int:
        return None
    try:
        return _hash(question, answer, *choices)
    except TypeError:
        return None  # a choice that is no text


@lru_cache(maxsize=1 << 14)
def _hash(question: str, answer: int, *choices: str) -> str | None:
    """Kept for all of MMLU, since the logs of every model carry the same docs; what it is kept under is all of it."""
    stripped = list(map(str.strip, choices))
    plain = plain_json({"answer": answer, "choices": stripped, "question": question.strip()})
    return hashlib.sha256(plain).hexdigest() if plain is not None else None


def _question(doc: Doc) -> str:
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, four_choices(doc), strict=True))
    return f"{text_field(doc, 'question').strip()}\n{options}\nAnswer:"


def _letters(doc: Doc) -> tuple[str, ...]:
    return LETTERS


def _subject(doc: Doc, item_key: str) -> str:
    return item_key.rpartition("/")[0]


def _prompt(task: str, subject: str | None = None) -> ChoicePrompt:
    return ChoicePrompt(
        task=task,
        question=_question,
        choices=_letters,
        gold=answer_of_four,
        shots=5,
        about="The following are multiple choice questions (with answers) about {topic}.\n\n",
        topic=subject,
    )


BENCHMARK = Benchmark(
    name="mmlu",
    title="MMLU",
    total_items=14_042,
    metrics=(Metric("acc", "accuracy"),),
    key_field="subject/doc_id",
    tasks=tuple(f"mmlu_{subject}" for subject in _SUBJECTS),
    default_task="mmlu",
    subjects=tuple(_SUBJECTS),
    default_step=500,
    dataset="cais/mmlu",
    licence="MIT",
    data=Data(
        fields={"subject": str, "question": str, "choices": list, "answer": (int, str)},
        tidied=with_answer_as_place,
        content=_content,
        quick_hash=_quick_hash,
        folders=("", "all/", "data/"),
        shown_by="subject",
    ),
    prompts=(_prompt("mmlu"), *(_prompt(f"mmlu_{subject}", subject) for subject in _SUBJECTS)),
    category_of=_subject,
)
