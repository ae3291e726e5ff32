"""Our filters and metrics over every response that a log holds, beside what the log made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mince_gui.base.errors import MinceError
from mince_gui.logs.lm_eval.requests import LoggedItem
from mince_gui.tasks.logged import filters, metrics
from mince_gui.tasks.logged.asked import Asked
from mince_gui.tasks.logged.definition import Pipeline, Rules
from mince_gui.tasks.logged.task import plain_choices


@dataclass
class Proof:
    """What became of one metric under one filter over the rows of one task; `first` is the first that differs.

    `slow` says that a regular expression found no end on an answer: no more of them were tried.
    """

    agreed: int = 0
    differing: int = 0
    first: str = ""
    slow: str = ""

    def take(self, item: LoggedItem, same: bool, said: str) -> None:
        """Count one row; `said` is what to tell of one that differs."""
        if same:
            self.agreed += 1
        else:
            self.differing += 1
            self.first = self.first or f"item {item.key}, {item.where}: {said}"


def prove(rules: Rules, items: Sequence[LoggedItem], requests: Mapping[str, Asked]) -> dict[tuple[str, str], Proof]:
    """Every metric and filter of the rules over the rows; a row without an answer or a verdict says nothing."""
    proofs = {(rule.metric, pipe.name): Proof() for pipe in rules.filters for rule in rules.metrics}
    for item in items:
        asked = requests[item.key]
        for pipe in rules.filters:
            verdict = item.verdicts.get(pipe.name)
            if verdict is None or any(answer is None for answer in item.responses):
                continue
            if rules.output_type == "multiple_choice":
                _prove_choices(item, asked, rules, pipe.name, verdict.metrics, proofs)
            else:
                _prove_text(item, asked, rules, pipe, proofs)
    return proofs


def _prove_choices(
    item: LoggedItem, asked: Asked, rules: Rules, name: str, logged: Mapping[str, Any],
    proofs: Mapping[tuple[str, str], Proof],
) -> None:  # fmt: skip
    numbers = [_choice(answer) for answer in item.responses]
    logprobs = [number for number, _ in numbers]
    greedy = [sign for _, sign in numbers]
    choices = plain_choices(asked, rules)
    for rule in rules.metrics:
        value = _number(logged.get(rule.metric))
        if value is None or any(math.isnan(number) for number in logprobs):
            continue
        ours = metrics.of_choices(rule.metric, logprobs, greedy, choices, asked.gold)
        proofs[rule.metric, name].take(item, ours == value, f"ours {ours:g}, the log's {value:g}")


def _choice(answer: Any) -> tuple[float, bool]:
    """Log-probability and greediness as the log has them: numbers, or texts of them."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        return math.nan, False
    try:
        return float(answer[0]), str(answer[1]) == "True"
    except (TypeError, ValueError):
        return math.nan, False


def _prove_text(
    item: LoggedItem, asked: Asked, rules: Rules, pipe: Pipeline, proofs: Mapping[tuple[str, str], Proof]
) -> None:
    verdict = item.verdicts[pipe.name]
    if any(proofs[rule.metric, pipe.name].slow for rule in rules.metrics):
        return
    response = item.responses[0]
    try:
        read = filters.apply(pipe.steps, response if isinstance(response, str) else None, asked.choices)
    except MinceError as error:
        for rule in rules.metrics:
            proofs[rule.metric, pipe.name].slow = error.message
        return
    logged = verdict.filtered[0] if verdict.filtered else None
    same = isinstance(logged, str) and read == logged
    for rule in rules.metrics:
        value = _number(verdict.metrics.get(rule.metric))
        if value is None:
            continue
        proof = proofs[rule.metric, pipe.name]
        if not same:
            proof.take(item, False, f"our filter reads {read!r:.60}, the log's {logged!r:.60}")
            continue
        try:
            ours = metrics.exact_match(read or "", asked.gold_texts, rule.options)
        except MinceError as error:
            proof.slow = error.message
            continue
        proof.take(item, ours == value, f"ours {ours:g}, the log's {value:g}, read {read!r:.60}")


def _number(value: Any) -> float | None:
    """A logged verdict; None where there is none."""
    if isinstance(value, str):
        return {"True": 1.0, "False": 0.0}.get(value)
    if not isinstance(value, bool | int | float) or math.isnan(value):
        return None
    return float(value)
