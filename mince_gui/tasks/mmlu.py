"""MMLU, 5-shot from the dev rows in order: the whole, and one task for each of its 57 subjects."""

from __future__ import annotations

from mince_gui.benchmarks import BENCHMARKS
from mince_gui.tasks.choice import MultipleChoice


def tasks() -> list[MultipleChoice]:
    """`mmlu` takes the subject from each doc; `mmlu_<subject>` has it in its name."""
    subjects: list[str | None] = [None, *BENCHMARKS["mmlu"].subjects]
    return [
        MultipleChoice(
            name="mmlu" if subject is None else f"mmlu_{subject}",
            benchmark="mmlu",
            topic_field="subject",
            shots=5,
            topic=subject,
        )
        for subject in subjects
    ]
