"""What tasks share: the facts of a declared prompt, turns of a prompt, the text of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from mince_gui.base.errors import MinceError
from mince_gui.benchmarks import Benchmark, ChoicePrompt, TextPrompt
from mince_gui.tasks.types import Answer, Render

Prompt = TypeVar("Prompt", ChoicePrompt, TextPrompt)


@dataclass(frozen=True)
class Declared(Generic[Prompt]):
    """What every task says that is made of a benchmark's declared prompt."""

    of: Benchmark
    prompt: Prompt

    @property
    def name(self) -> str:
        """The lm-eval task's name."""
        return self.prompt.task

    @property
    def benchmark(self) -> str:
        """The benchmark that declares the prompt."""
        return self.of.name

    @property
    def shots(self) -> int:
        """As declared: examples that the task carries itself are not counted."""
        return self.prompt.shots


@dataclass(frozen=True)
class Turn:
    """One message of a prompt. `after` follows it in plain text and is left out by a chat template."""

    role: Literal["system", "user", "assistant"]
    content: str
    after: str = ""


def to_prompt(turns: Sequence[Turn], render: Render | None) -> str:
    """The prompt text: turns run together, or given to the chat template, few-shot examples as turns."""
    if render is None:
        return "".join(turn.content + turn.after for turn in turns)
    return render([{"role": turn.role, "content": turn.content} for turn in turns])


def given_text(answer: Answer) -> str:
    """The generated text, "" included. Raises MinceError where nothing came back."""
    if answer.text is None:
        raise MinceError("There is no generated text to score.", "Run the item again.")
    return answer.text
