"""A logged task's definition: what a pack keeps of it, as JSON, checked strictly whenever it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from mince_gui.base.canonical import canonical_json
from mince_gui.base.errors import InputError
from mince_gui.tasks.logged import filters, metrics

KIND = "lm-eval task from its log"
VERSION = 1

OutputType = Literal["multiple_choice", "generate_until"]
Chat = Literal["plain", "rendered", "messages"]
"""How prompts were logged: without chat, as text that a chat template gave, as messages."""

_REMEDY = "Make the pack again from the log: mince pack."
_MOST_BYTES = 4 << 20
_NAME = re.compile(r"[^\W_][^/\\\x00-\x1f\x7f]{0,199}")


@dataclass(frozen=True)
class Pipeline:
    """One filter: its name and its steps, each a function's name with its options."""

    name: str
    steps: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Rule:
    """One metric with its options."""

    metric: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rules:
    """How the items of one lm-eval task are asked and scored.

    `scored` names the metric and filter pairs that the log itself has proven. `delimiter` stands between a prompt and a
    choice, and does not count as the choice's length. `left_out` says what is not reproduced, and why.
    """

    output_type: OutputType
    filters: tuple[Pipeline, ...]
    metrics: tuple[Rule, ...]
    scored: tuple[tuple[str, str], ...]
    delimiter: str = ""
    chat: Chat = "plain"
    shots: int | None = None
    task_version: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics as a run names them: bare, or with the filter after a comma where it has a name."""
        return tuple(metric if name == "none" else f"{metric},{name}" for metric, name in self.scored)


@dataclass(frozen=True)
class Definition:
    """A benchmark's logged tasks by name, and where they come from (model, log, lm_eval_version: texts).

    `chat_template_sha` is the SHA-256 of the chat template that rendered the prompts, "" where none did.
    """

    name: str
    benchmark: str
    tasks: Mapping[str, Rules]
    source: Mapping[str, str]
    chat_template_sha: str = ""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that every task has: an item that lacks one could not count in it."""
        first, *others = (rules.metric_names for rules in self.tasks.values())
        return tuple(name for name in first if all(name in other for other in others))

    @property
    def output_type(self) -> OutputType:
        """What all its tasks ask for."""
        return next(iter(self.tasks.values())).output_type

    @property
    def chat(self) -> Chat:
        """How the prompts of all its tasks were logged."""
        return next(iter(self.tasks.values())).chat

    def to_json(self) -> dict[str, Any]:
        """JSON values only."""
        return {
            "kind": KIND,
            "version": VERSION,
            "name": self.name,
            "benchmark": self.benchmark,
            "chat_template_sha": self.chat_template_sha,
            "source": dict(self.source),
            "tasks": {name: _rules_to_json(rules) for name, rules in self.tasks.items()},
        }


def _rules_to_json(rules: Rules) -> dict[str, Any]:
    return {
        "output_type": rules.output_type,
        "task_version": rules.task_version,
        "shots": rules.shots,
        "chat": rules.chat,
        "delimiter": rules.delimiter,
        "filters": [
            {"name": pipe.name, "steps": [{"function": name, "options": dict(given)} for name, given in pipe.steps]}
            for pipe in rules.filters
        ],
        "metrics": [{"metric": rule.metric, "options": dict(rule.options)} for rule in rules.metrics],
        "scored": [[metric, name] for metric, name in rules.scored],
        "left_out": list(rules.left_out),
    }


def definition_from_json(body: Mapping[str, Any]) -> Definition:
    """The definition, every field checked. Raises InputError that names the field at fault."""
    top = _Fields(body, "the task's definition")
    if body.get("kind") != KIND:
        raise top.refuse("it is no definition of a logged task")
    if body.get("version") != VERSION:
        raise top.refuse(f"its version is {body.get('version')!r}; this one reads {VERSION}")
    try:
        size = len(canonical_json(body))
    except (TypeError, ValueError, RecursionError) as error:
        raise top.refuse(f"it is no plain JSON ({error})") from error
    if size > _MOST_BYTES:
        raise top.refuse(f"it is larger than {_MOST_BYTES >> 20} MB")
    source = top.object("source")
    if not all(isinstance(value, str) for value in source.values()):
        raise top.refuse("'source' holds more than texts")
    tasks = {name: _rules(top.object("tasks"), name) for name in top.object("tasks")}
    if not tasks:
        raise top.refuse("it has no tasks")
    for what in ("output_type", "chat"):
        if len({getattr(rules, what) for rules in tasks.values()}) > 1:
            raise top.refuse(f"its tasks differ in {what}")
    if not all(_NAME.fullmatch(name) and name.isprintable() for name in (top.text("name"), *tasks)):
        raise top.refuse("a task has a name that no lm-eval task has")
    made = Definition(top.text("name"), top.text("benchmark"), tasks, source, top.text("chat_template_sha"))
    if not made.metric_names:
        raise top.refuse("its tasks have no metric in common")
    if (made.chat == "rendered") != bool(made.chat_template_sha):
        raise top.refuse("'chat_template_sha' does not fit how the prompts were logged")
    return made


def _rules(tasks: Mapping[str, Any], name: str) -> Rules:
    row = _Fields(_Fields(tasks, "the task's definition").object(name), f"the definition of {name!r:.80}")
    output_type = row.one_of("output_type", ("multiple_choice", "generate_until"))
    pipelines = tuple(_pipeline(entry, row) for entry in row.objects("filters"))
    rules = tuple(_rule(entry, row, output_type) for entry in row.objects("metrics"))
    scored = []
    for pair in row.array("scored"):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise row.refuse("'scored' holds something that is no metric with its filter")
        if pair[0] not in {rule.metric for rule in rules} or pair[1] not in {pipe.name for pipe in pipelines}:
            raise row.refuse(f"'scored' names what is not defined: {pair!r:.80}")
        scored.append((pair[0], pair[1]))
    if len(set(scored)) < len(scored) or len({pipe.name for pipe in pipelines}) < len(pipelines):
        raise row.refuse("a filter or a score stands in it twice")
    shots = row.body.get("shots")
    if shots is not None and (type(shots) is not int or shots < 0):
        raise row.refuse("'shots' is no number of examples")
    left_out = row.array("left_out")
    if not all(isinstance(entry, str) for entry in left_out):
        raise row.refuse("'left_out' is not a list of texts")
    return Rules(
        output_type=cast(OutputType, output_type),
        filters=pipelines,
        metrics=rules,
        scored=tuple(scored),
        delimiter=row.text("delimiter"),
        chat=cast(Chat, row.one_of("chat", ("plain", "rendered", "messages"))),
        shots=shots,
        task_version=row.text("task_version"),
        left_out=tuple(left_out),
    )


def _pipeline(entry: Mapping[str, Any], row: _Fields) -> Pipeline:
    body = _Fields(entry, row.where)
    steps = []
    for step in body.objects("steps"):
        function, options = _Fields(step, row.where).text("function"), _Fields(step, row.where).object("options")
        if (why := filters.why_not(function, options)) is not None:
            raise row.refuse(f"a filter cannot be run: {why}")
        steps.append((function, options))
    return Pipeline(body.text("name"), tuple(steps))


def _rule(entry: Mapping[str, Any], row: _Fields, output_type: str) -> Rule:
    body = _Fields(entry, row.where)
    metric, options = body.text("metric"), body.object("options")
    if (why := metrics.why_not(output_type, metric, options)) is not None:
        raise row.refuse(f"the metric {metric!r:.40} {why}")
    return Rule(metric, options)


class _Fields:
    """Typed access to the fields of one object."""

    def __init__(self, body: Mapping[str, Any], where: str) -> None:
        self.body = body
        self.where = where

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.where[:1].upper()}{self.where[1:]} cannot be used: {why}.", _REMEDY)

    def text(self, name: str) -> str:
        value = self.body.get(name)
        if not isinstance(value, str):
            raise self.refuse(f"{name!r} is not a text")
        return value

    def one_of(self, name: str, known: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in known:
            raise self.refuse(f"{name!r} is {value!r:.40}, none of {', '.join(known)}")
        return value

    def object(self, name: str) -> dict[str, Any]:
        value = self.body.get(name)
        if not isinstance(value, dict):
            raise self.refuse(f"{name!r} is not an object")
        return value

    def array(self, name: str) -> list[Any]:
        value = self.body.get(name)
        if not isinstance(value, list):
            raise self.refuse(f"{name!r} is not a list")
        return value

    def objects(self, name: str) -> list[dict[str, Any]]:
        value = self.body.get(name)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise self.refuse(f"{name!r} is not a list of objects")
        return value
