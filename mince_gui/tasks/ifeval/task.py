"""IFEval as a task: the prompt as it stands, four metrics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mince_gui.benchmarks import text_field
from mince_gui.tasks.ifeval.verdict import check
from mince_gui.tasks.parts import Turn, given_text, to_prompt
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored

_MAX_NEW_TOKENS = 1280


@dataclass(frozen=True)
class Ifeval:
    """google/IFEval, zero-shot; no stop strings, 1,280 new tokens. leaderboard_ifeval asks and scores the same."""

    name: str = "ifeval"
    benchmark: str = "ifeval"
    metrics: tuple[str, ...] = (
        "prompt_level_strict_acc",
        "inst_level_strict_acc",
        "prompt_level_loose_acc",
        "inst_level_loose_acc",
    )
    uses_chat: bool = True
    shots: int = 0

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """The answer is generated."""
        return "generate"

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The item's prompt; `fewshot` is not used."""
        prompt = to_prompt([Turn("user", text_field(doc, "prompt"))], render)
        budget = _MAX_NEW_TOKENS if max_new_tokens is None else max_new_tokens
        return Request("generate", prompt, max_new_tokens=budget)

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Prompt level: all instructions followed, of 1. Instruction level: followed, of 1 to 3.

        `extracted` holds the verdicts in the item's order as JSON lists under "strict" and "loose".
        """
        verdict = check(doc, given_text(answer))
        total = float(len(verdict.strict))
        return Scored(
            scores={
                "prompt_level_strict_acc": (float(all(verdict.strict)), 1.0),
                "inst_level_strict_acc": (float(sum(verdict.strict)), total),
                "prompt_level_loose_acc": (float(all(verdict.loose)), 1.0),
                "inst_level_loose_acc": (float(sum(verdict.loose)), total),
            },
            extracted={"strict": json.dumps(verdict.strict), "loose": json.dumps(verdict.loose)},
        )
