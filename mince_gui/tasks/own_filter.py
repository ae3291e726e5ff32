"""A filter of the user's own, beside those of a text task: one regular expression, run in bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mince_gui.base.errors import MinceError, UsageError
from mince_gui.tasks.exact_match import INVALID, ExactMatch
from mince_gui.tasks.logged import LoggedTask, filters, metrics
from mince_gui.tasks.logged.asked import asked_of
from mince_gui.tasks.logged.patterns import compiled
from mince_gui.tasks.parts import given_text
from mince_gui.tasks.types import Answer, Doc, Scored, Task

Score = Callable[[Doc, Answer], Scored]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_METRIC = "exact_match"


@dataclass(frozen=True)
class OwnFilter:
    """`pattern` is read as lm-eval's filter "regex" reads it: the first match (with `last` the last), its first group.

    Raises UsageError for a name that could not stand in a metric's, and for a pattern that is refused.
    """

    name: str
    pattern: str
    last: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"'{self.name}' cannot name a filter.", "Take letters, digits, dots and dashes: boxed=PATTERN"
            )
        try:
            compiled(self.pattern)
        except MinceError as exc:
            raise UsageError(exc.message, "Write another pattern.") from exc

    @property
    def metric(self) -> str:
        """The metric that it adds."""
        return f"{_METRIC},{self.name}"

    def read(self, text: str) -> str:
        """What it reads in an answer, "[invalid]" if nothing. Raises UsageError where the pattern finds no end."""
        options = {"regex_pattern": self.pattern, "group_select": -1 if self.last else 0, "fallback": INVALID}
        try:
            return filters.apply((("regex", options),), text, ()) or ""
        except MinceError as exc:
            # Of the whole filter, not of one answer: the next one would take as long.
            raise UsageError(exc.message, "Write a simpler pattern.") from exc

    def to_json(self) -> dict[str, Any]:
        """JSON values only."""
        return {"name": self.name, "pattern": self.pattern, "last": self.last}


def scored_by(task: Task, own: OwnFilter | None) -> Score:
    """How the task scores an answer, with one metric more where there is an own filter.

    What the filter reads is compared with the gold as the task compares what its own filters read. Raises UsageError
    where the task does not read texts by filters, or has a filter of that name.
    """
    if own is None:
        return task.score
    compare = _comparison(task)
    if compare is None:
        raise UsageError(f"{task.name} reads no answer by a filter.", "Leave --filter out.")
    if own.metric in task.metrics:
        raise UsageError(f"{task.name} has a filter {own.name} already, and scores by it.", "Give yours another name.")

    def score(doc: Doc, answer: Answer) -> Scored:
        scored = task.score(doc, answer)
        read = own.read(given_text(answer))
        return Scored(
            {**scored.scores, own.metric: (compare(doc, scored, read), 1.0)},
            {**scored.extracted, own.name: read},
            scored.expected,
        )

    return score


def _comparison(task: Task) -> Callable[[Doc, Scored, str], float] | None:
    """How a task compares what was read with the gold: 0 or 1; None where it does not."""
    if isinstance(task, ExactMatch):
        cleaned = task.prompt.cleaned
        return lambda doc, scored, read: float(cleaned(read) == scored.expected)
    if isinstance(task, LoggedTask) and task.kind == "generate":
        by_task = {
            name: rule.options
            for name, rules in task.definition.tasks.items()
            for rule in rules.metrics
            if rule.metric == _METRIC
        }

        def compare(doc: Doc, scored: Scored, read: str) -> float:
            asked = asked_of(doc, choices=False)
            return metrics.exact_match(read, asked.gold_texts, by_task[asked.task])

        return compare if len(by_task) == len(task.definition.tasks) else None
    return None
