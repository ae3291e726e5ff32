"""From a log to a definition and the items' requests, proven on the log's own responses.

A task's own Python leaves no sure trace in a log. So our filters and metrics are run over every logged response, and
what does not give every logged reading and verdict is left out, with the first item that differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.lm_eval.requests import LoggedItem, LoggedRequests
from mince_gui.tasks.logged import filters, gold, metrics
from mince_gui.tasks.logged.asked import Asked
from mince_gui.tasks.logged.definition import Chat, Definition, OutputType, Pipeline, Rule, Rules
from mince_gui.tasks.logged.proof import Proof, prove

_DEFAULT_BUDGET = 256
"""New tokens where the log names no number: lm-eval's own default."""
_BUDGETS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_DEFAULT_METRICS = {"multiple_choice": ("acc", "acc_norm"), "generate_until": ("exact_match",)}
_OF_METRIC = ("metric", "aggregation", "higher_is_better", "hf_evaluate")
_OTHER_LOG = "Take another log: mince pack --dataset LOGS or --model NAME."
_WITH_RESULTS = "Put the run's results_*.json beside its samples file, import again, and pack again."


@dataclass(frozen=True)
class Made:
    """A definition (JSON), the items' requests (JSON) by key, and what is to be told of both.

    `proven` counts the verdicts of the log that our scorer gave again: all of those of the metrics that are kept.
    """

    definition: Mapping[str, Any]
    asked: Mapping[str, Mapping[str, Any]]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    proven: int


@dataclass
class _Task:
    """One task on its way to rules."""

    name: str
    config: Mapping[str, Any]
    items: Sequence[LoggedItem]
    output_type: OutputType
    chat: Chat
    filters: list[Pipeline] = field(default_factory=list)
    metrics: list[Rule] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def filter_names(self) -> tuple[str, ...]:
        """The filters that the rows name."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.verdicts))


def definition_of(log: LoggedRequests, benchmark: str, name: str) -> Made:
    """The definition of the log's tasks as the task `name` of `benchmark`, with the requests of all its items.

    Raises InputError with the reason where the log cannot be run again, or no metric of it can be reproduced.
    """
    tasks: dict[str, Rules] = {}
    asked: dict[str, Mapping[str, Any]] = {}
    left_out: dict[str, None] = {}
    notes: dict[str, None] = {}
    proven = 0
    by_task: dict[str, list[LoggedItem]] = {}
    for item in log.items.values():
        by_task.setdefault(item.task, []).append(item)
    for task, items in by_task.items():
        begun = _begun(log, task, items)
        rules, requests, count, said = _proved(begun)
        rules = replace(rules, shots=log.shots.get(task), task_version=str(log.versions.get(task, "")))
        tasks[task] = rules
        asked |= {key: request.to_json() for key, request in requests.items()}
        left_out |= dict.fromkeys(rules.left_out)
        notes |= dict.fromkeys(said)
        proven += count
    source = {"model": log.model, "log": PurePath(log.source).name, "lm_eval_version": log.lm_eval_version}
    rendered = any(rules.chat == "rendered" for rules in tasks.values())
    definition = Definition(name, benchmark, tasks, source, log.chat_template_sha if rendered else "")
    if len({(rules.output_type, rules.chat) for rules in tasks.values()}) > 1:
        raise InputError(f"{log.source}: its tasks ask in different ways.", "Import and pack the tasks one by one.")
    if not definition.metric_names:
        raise InputError(
            f"{log.source}: the tasks of {name} have no metric in common that can be reproduced.",
            "Import and pack the tasks one by one.",
        )
    ordered = {key: asked[key] for key in log.items}
    return Made(definition.to_json(), ordered, tuple(left_out), tuple(notes), proven)


def _begun(log: LoggedRequests, task: str, items: Sequence[LoggedItem]) -> _Task:
    config = log.configs.get(task, {})

    def refuse(why: str, remedy: str = _OTHER_LOG) -> InputError:
        return InputError(f"{log.source}: {task} cannot be run from its log: {why}.", remedy)

    if config.get("process_results") is not None:
        raise refuse("its verdicts come from Python of its own (process_results), which no log carries")
    for sense in ("doc_to_image", "doc_to_audio"):
        if config.get(sense) is not None:
            raise refuse(f"it asks about more than text ({sense})")
    kinds = {_kind(item) for item in items}
    kind = config.get("output_type", next(iter(kinds)))
    if len(kinds) > 1 or kind not in _DEFAULT_METRICS or kind not in kinds:
        named = kind if isinstance(kind, str) and len(kinds) == 1 else " and ".join(sorted(kinds))
        raise refuse(f"it is of the kind {named}; only multiple_choice and generate_until can be run")
    output_type: OutputType = "multiple_choice" if kind == "multiple_choice" else "generate_until"
    if output_type == "multiple_choice":
        items = [_conditional(item) for item in items]
    messages = {isinstance(prompt, tuple) for item in items for prompt in item.prompts}
    if len(messages) > 1:
        raise refuse("some of its prompts are messages and some are text")
    chat: Chat = "messages" if True in messages else "rendered" if log.chat_template_sha else "plain"
    begun = _Task(task, config, items, output_type, chat)
    _add_filters(begun)
    _add_metrics(begun)
    if not begun.filters or not begun.metrics:
        raise refuse(_shortly(begun.left_out) or "none of its metrics is known", _WITH_RESULTS)
    return begun


def _shortly(reasons: Sequence[str]) -> str:
    more = f"; and {len(reasons) - 2} more" if len(reasons) > 2 else ""
    return "; ".join(reasons[:2]) + more


def _kind(item: LoggedItem) -> str:
    if all(isinstance(argument, str) for argument in item.arguments):
        return "multiple_choice" if len(item.arguments) > 1 else "loglikelihood"
    return "generate_until" if len(item.arguments) == 1 else "several generations"


def _add_filters(task: _Task) -> None:
    listed = task.config.get("filter_list")
    known: dict[str, Any] = {}
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            known[entry["name"]] = entry.get("filter")
    if not known:
        known = {"none": [{"function": "take_first"}]}
    for name in task.filter_names:
        steps = known.get(name)
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            task.left_out.append(f"the filter {name} of {task.name}, which the run's results file does not define")
            continue
        split = [(step.get("function"), {k: v for k, v in step.items() if k != "function"}) for step in steps]
        reasons = [why for function, options in split if (why := filters.why_not(function, options)) is not None]
        if task.output_type == "multiple_choice" and any(function != "take_first" for function, _ in split):
            reasons.append("a filter of choices other than take_first")
        if reasons:
            task.left_out.append(f"the filter {name} of {task.name}: {reasons[0]}")
        else:
            task.filters.append(Pipeline(name, tuple((str(function), options) for function, options in split)))


def _add_metrics(task: _Task) -> None:
    listed = task.config.get("metric_list")
    if not isinstance(listed, list):
        found = dict.fromkeys(name for item in task.items for v in item.verdicts.values() for name in v.metrics)
        listed = [{"metric": name} for name in found or _DEFAULT_METRICS[task.output_type]]
    for entry in listed:
        if not isinstance(entry, dict):
            continue
        metric = entry.get("metric")
        options = {name: value for name, value in entry.items() if name not in _OF_METRIC}
        why = metrics.why_not(task.output_type, metric, options)
        if why is None and entry.get("aggregation", "mean") != "mean":
            why = "is put together otherwise than by the mean"
        if why is not None:
            shown = metric if isinstance(metric, str) and len(metric) <= 40 else "a metric"
            task.left_out.append(f"{shown} of {task.name}: it {why}")
        else:
            task.metrics.append(Rule(str(metric), options if task.output_type == "generate_until" else {}))


def _proved(task: _Task) -> tuple[Rules, dict[str, Asked], int, list[str]]:
    """Rules of what every row agrees with, and the requests. Tries each way to read the targets until one agrees."""
    delimiter = _delimiter(task)
    rules = Rules(task.output_type, tuple(task.filters), tuple(task.metrics), (), delimiter, task.chat)
    others: list[str] = []
    best: tuple[dict[tuple[str, str], Proof], dict[str, Asked], gold.Reading] | None = None
    for reading in gold.readings(task.output_type, task.config, task.items):
        requests = {item.key: _request(task, item, reading, delimiter) for item in task.items}
        proofs = prove(rules, task.items, requests)
        if best is None or _wrong(proofs) < _wrong(best[0]):
            best = (proofs, requests, reading)
        elif not _wrong(proofs) and not reading.by_verdict:
            others = others or [key for key, asked in requests.items() if asked.gold != best[1][key].gold]
        if task.output_type == "generate_until" and not _wrong(best[0]):
            break
    assert best is not None
    proofs, requests, reading = best
    kept: list[tuple[str, str]] = []
    reasons = list(task.left_out)
    for (metric, name), proof in proofs.items():
        called = metric if name == "none" else f"{metric},{name}"
        if proof.slow:
            reasons.append(f"{called} of {task.name}: {proof.slow}")
        elif proof.differing:
            reasons.append(
                f"{called} of {task.name}: our verdict is another than the log's for {proof.differing:,} of "
                f"{proof.agreed + proof.differing:,} rows, so the task has code of its own ({proof.first})"
            )
        elif not proof.agreed:
            reasons.append(f"{called} of {task.name}: no row of the log shows a verdict of it")
        else:
            kept.append((metric, name))
    if not kept:
        raise InputError(
            f"{task.items[0].where}: nothing of {task.name} can be scored again: {_shortly(reasons)}.", _OTHER_LOG
        )
    used = [rule for rule in task.metrics if any(rule.metric == metric for metric, _ in kept)]
    pipes = [pipe for pipe in task.filters if any(pipe.name == name for _, name in kept)]
    rules = replace(rules, filters=tuple(pipes), metrics=tuple(used), scored=tuple(kept), left_out=tuple(reasons))
    if not gold.needs_choices(pipes):
        requests = {
            key: replace(asked, choices=()) if asked.max_new_tokens else asked for key, asked in requests.items()
        }
    # A right choice that is read from the verdict proves nothing.
    count = 0 if reading.by_verdict else sum(proofs[pair].agreed for pair in kept)
    said = [*_said(task), *([reading.note.format(task=task.name)] if reading.note else [])]
    if others:
        said.append(
            f"The targets of {len(others):,} items of {task.name} can be read as a place or as a text, and the log "
            f"does not tell which: they are taken as {'texts' if reading.texts_first else 'places'}."
        )
    return rules, requests, count, said


def _wrong(proofs: Mapping[tuple[str, str], Proof]) -> int:
    return sum(proof.differing for proof in proofs.values())


def _said(task: _Task) -> Iterator[str]:
    if not task.config:
        yield (
            f"No results file is beside the log of {task.name}: nothing tells how many items it has in full, whether a "
            "chat template made its prompts, or what its filters and metrics are."
        )
    if task.output_type == "generate_until" and any(_budget(item) is None for item in task.items):
        yield f"{task.name} names no number of new tokens: {_DEFAULT_BUDGET}, lm-eval's own, is taken."


def _delimiter(task: _Task) -> str:
    """What stands before each choice: the task's own, where every choice begins with it; with a template often none."""
    if task.output_type != "multiple_choice":
        return ""
    given = task.config.get("target_delimiter", " ")
    choices = [choice for item in task.items for choice in item.arguments if isinstance(choice, str)]
    return given if isinstance(given, str) and all(choice.startswith(given) for choice in choices) else ""


def _request(task: _Task, item: LoggedItem, reading: gold.Reading, delimiter: str) -> Asked:
    target = "" if item.target is None else str(item.target)
    if task.output_type == "multiple_choice":
        choices = tuple(str(choice) for choice in item.arguments)
        texts = tuple(choice.removeprefix(delimiter) for choice in choices)
        return Asked(task.name, item.prompts, choices, gold=reading.places(item, texts), target=target)
    options = item.arguments[0]
    assert isinstance(options, Mapping)
    until, budget = _generation(item, options)
    return Asked(
        task.name, item.prompts, reading.choices(item), gold_texts=reading.texts(item), until=until,
        max_new_tokens=budget, target=target,
        options={name: value for name, value in options.items() if name not in ("until", *_BUDGETS)},
    )  # fmt: skip


def _conditional(item: LoggedItem) -> LoggedItem:
    """The item without the second half of its requests, where they weigh the choices without a prompt (mutual info)."""
    half = len(item.arguments) // 2
    if len(item.prompts) != 2 * half or any(item.prompts[half:]) or item.arguments[:half] != item.arguments[half:]:
        return item
    shared = len(set(item.prompts[:half])) == 1
    return replace(
        item, prompts=item.prompts[: 1 if shared else half], arguments=item.arguments[:half],
        responses=item.responses[:half],
    )  # fmt: skip


def _generation(item: LoggedItem, options: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """Stop strings and budget. Raises InputError for what is not greedy."""

    def refuse(why: str) -> InputError:
        return InputError(f"{item.where}: {item.task} cannot be run from its log: {why}.", _OTHER_LOG)

    temperature, sampled = options.get("temperature"), options.get("do_sample")
    warm = isinstance(temperature, int | float) and temperature > 0
    if (sampled and (warm or temperature is None)) or (warm and sampled is None):
        raise refuse(f"its answers were sampled (do_sample {sampled}, temperature {temperature}), ours are greedy")
    if options.get("num_beams") not in (None, 1):
        raise refuse("its answers were searched with several beams, ours are greedy")
    until = options.get("until")
    until = [until] if isinstance(until, str) else until or []
    if not isinstance(until, list) or not all(isinstance(entry, str) for entry in until):
        raise refuse("its stop strings (until) are no texts")
    budget = _budget(item)
    return tuple(entry for entry in until if entry), _DEFAULT_BUDGET if budget is None else budget


def _budget(item: LoggedItem) -> int | None:
    options = item.arguments[0]
    for name in _BUDGETS:
        value = options.get(name) if isinstance(options, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            return int(value)
    return None
