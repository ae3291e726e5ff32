"""The demo's own benchmarks: the same prompts and scoring as the real ones, in small."""

from __future__ import annotations

import re

from mince_gui.tasks.choice import MultipleChoice
from mince_gui.tasks.word_problems import WordProblems


def tasks() -> list[MultipleChoice | WordProblems]:
    """demo_choice (two examples of the item's category) and demo_math (no examples, gold as `#### n`)."""
    return [
        MultipleChoice(name="demo_choice", benchmark="demo-choice", topic_field="category", shots=2),
        WordProblems(
            name="demo_math",
            benchmark="demo-math",
            question="Question: {question}\nAnswer:",
            until=("Question:",),
            strict=re.compile(r"#### (-?[0-9.,]+)"),
            max_new_tokens=48,
        ),
    ]
