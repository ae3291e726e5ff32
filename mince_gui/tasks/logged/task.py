"""A task whose requests stand in a log: it asks them again and scores the answers as lm-eval does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.base.errors import InputError, MinceError
from mince_gui.tasks.logged import filters, metrics
from mince_gui.tasks.logged.asked import Asked, asked_of
from mince_gui.tasks.logged.definition import Definition, Rules, definition_from_json
from mince_gui.tasks.parts import given_text
from mince_gui.tasks.types import Answer, Doc, Render, Request, Scored


@dataclass(frozen=True)
class LoggedTask:
    """`request` and `score` take an item's logged request (`PackItem.asked`) as doc; few-shot docs are not needed."""

    definition: Definition

    @property
    def name(self) -> str:
        """The lm-eval task's or group's name."""
        return self.definition.name

    @property
    def benchmark(self) -> str:
        """The benchmark whose items it takes."""
        return self.definition.benchmark

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that the log has proven for every task."""
        return self.definition.metric_names

    @property
    def uses_chat(self) -> bool:
        """Only where the log holds messages: a prompt that is logged as text is asked as it stands."""
        return self.definition.chat == "messages"

    @property
    def kind(self) -> Literal["choice", "generate"]:
        """What its requests ask for."""
        return "choice" if self.definition.output_type == "multiple_choice" else "generate"

    @property
    def shots(self) -> int:
        """None are taken: the logged prompt holds its examples."""
        return 0

    @property
    def chat_template_sha(self) -> str:
        """SHA-256 of the chat template that is in the prompts; "" where they hold none."""
        return self.definition.chat_template_sha

    def check_template(self, sha256: str) -> None:
        """Raise InputError unless a model whose chat template has this SHA-256 ("" = none) may be asked these prompts.

        A prompt that another model's template rendered holds that model's special tokens.
        """
        if self.chat_template_sha and self.chat_template_sha != sha256:
            raise InputError(
                f"The prompts of {self.name} were rendered with the chat template of "
                f"{self.definition.source.get('model', 'another model')}, which is not this model's.",
                "Take a log without chat template or one of a model with the same template: "
                "mince pack --model NAME or --dataset LOGS.",
            )

    def request(
        self, doc: Doc, fewshot: Sequence[Doc], *, render: Render | None, max_new_tokens: int | None
    ) -> Request:
        """The logged request. Raises InputError for a template where the prompts are logged as text, or for none."""
        asked, _ = self._asked(doc)
        if render is not None and not self.uses_chat:
            raise InputError(
                f"The prompts of {self.name} are asked as lm-eval logged them, without a chat template.",
                "Leave --chat-template out, or make the pack from a log that holds chat messages.",
            )
        prompts = asked.texts(render)
        if self.kind == "generate":
            budget = asked.max_new_tokens if max_new_tokens is None else max_new_tokens
            return Request("generate", prompts[0], until=asked.until, max_new_tokens=budget)
        return Request("choice", prompts[0], choices=asked.choices, contexts=prompts if len(prompts) > 1 else ())

    def score(self, doc: Doc, answer: Answer) -> Scored:
        """Every metric, 0 or 1 of 1; `extracted` is what each filter read, or the choice that was picked."""
        asked, rules = self._asked(doc)
        scored = _score_choices(asked, rules, answer) if self.kind == "choice" else _score_text(asked, rules, answer)
        return Scored({name: scored.scores[name] for name in self.metrics}, scored.extracted, scored.expected)

    def _asked(self, doc: Doc) -> tuple[Asked, Rules]:
        asked = asked_of(doc, choices=self.kind == "choice")
        rules = self.definition.tasks.get(asked.task)
        if rules is None:
            raise InputError(f"An item is of {asked.task!r:.80}, which {self.name} does not define.", "Pack again.")
        return asked, rules


def task_of(definition: Mapping[str, Any]) -> LoggedTask:
    """The task of a pack's `logged` definition. Raises InputError that names what is wrong with it."""
    return LoggedTask(definition_from_json(definition))


def plain_choices(asked: Asked, rules: Rules) -> tuple[str, ...]:
    """The choices without the delimiter before them."""
    return tuple(choice.removeprefix(rules.delimiter) for choice in asked.choices)


def _score_choices(asked: Asked, rules: Rules, answer: Answer) -> Scored:
    count = len(asked.choices)
    if len(answer.logprobs) != count:
        raise MinceError(f"There are {len(answer.logprobs)} log-probabilities for {count} choices.", "Run it again.")
    choices = plain_choices(asked, rules)
    scores = {}
    for (metric, _), name in zip(rules.scored, rules.metric_names, strict=True):
        if metric == "exact_match" and len(answer.greedy) != count:
            raise MinceError("It is not known which choices greedy decoding would write.", "Run the item again.")
        scores[name] = (metrics.of_choices(metric, answer.logprobs, answer.greedy, choices, asked.gold), 1.0)
    picked = max(range(count), key=answer.logprobs.__getitem__) if answer.picked is None else answer.picked
    shown = choices if len(asked.prompts) == 1 else tuple(str(i) for i in range(count))
    return Scored(scores, {"none": shown[picked]}, " | ".join(shown[place] for place in asked.gold))


def _score_text(asked: Asked, rules: Rules, answer: Answer) -> Scored:
    text = given_text(answer)
    extracted = {pipe.name: filters.apply(pipe.steps, text, asked.choices) or "" for pipe in rules.filters}
    options = {rule.metric: rule.options for rule in rules.metrics}
    scores = {
        name: (metrics.exact_match(extracted[filter_name], asked.gold_texts, options[metric]), 1.0)
        for (metric, filter_name), name in zip(rules.scored, rules.metric_names, strict=True)
    }
    return Scored(scores, extracted, " | ".join(asked.gold_texts))
