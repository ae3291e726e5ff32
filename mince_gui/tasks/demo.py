"""The demo's own benchmarks: prompts and scoring of the same kinds as the real ones, in small."""

from __future__ import annotations

import re

from mince_gui.tasks.choice import MultipleChoice
from mince_gui.tasks.word_problems import WordProblems


def tasks() -> list[MultipleChoice | WordProblems]:
    """demo_choice (two examples of the item's category) and demo_math (no examples, gold as `#### n`)."""
    return [
        # Texts, not letters: how a text leads to its letter is more than the demo's tiny models learn in minutes.
        MultipleChoice(
            name="demo_choice", benchmark="demo-choice", topic_field="category", shots=2, continuation="texts"
        ),
        WordProblems(
            name="demo_math",
            benchmark="demo-math",
            question="Question: {question}\nAnswer:",
            until=("Question:",),
            strict=re.compile(r"#### (-?[0-9.,]+)"),
            max_new_tokens=48,
            uses_chat=False,
        ),
    ]
