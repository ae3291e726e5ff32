"""A run in the layout of lm-eval 0.4.13's --log_samples: one results file and one samples file per task.

Comes in: what was asked and answered, and what is known of the run. Goes out: file names with their text. Rows have
the keys, types and hashes that lm-eval writes; what it does not know stands under "mince_gui" in the results file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mince_gui.base.canonical import sha256_text
from mince_gui.tasks.types import Request

NO_FILTER = "none"
_INSTRUCTIONS = {"inst_level_strict_acc": "strict", "inst_level_loose_acc": "loose"}
_VERDICTS = ("prompt_level_strict_acc", "prompt_level_loose_acc")
_NOT_OF_A_WORD = re.compile(r"\W")
_UNSAFE = re.compile(r'["<>:/|\\?*\[\]]+')


@dataclass(frozen=True)
class AnsweredItem:
    """One item that was run. `task` and `doc_id` are lm-eval's; `target` is its target as text.

    `scores` maps metric to (passed, trials), `extracted` a filter to what it read; see `tasks.types.Scored`. `options`
    are generation options of the item's own, None where the run's hold.
    """

    task: str
    doc_id: int
    doc: Mapping[str, Any]
    request: Request
    target: str
    text: str | None
    logprobs: tuple[float, ...]
    greedy: tuple[bool, ...]
    extracted: Mapping[str, str]
    scores: Mapping[str, tuple[float, float]]
    options: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ExportFacts:
    """What the results file says of the run beside its answers.

    `timestamp` as in lm-eval's file names; `config_of` is each task's configuration as far as it is known; `version_of`
    its task version; `originals` how many items it has in full. `group` names the tasks' group, "" = none.
    `date` and `seconds` are the run's beginning (seconds since 1970) and its wall clock. `own` is for "mince_gui".
    """

    model: str
    timestamp: str
    date: float
    seconds: float
    config_of: Mapping[str, Mapping[str, Any]]
    version_of: Mapping[str, float | None]
    shots_of: Mapping[str, int | None]
    originals: Mapping[str, int | None]
    group: str = ""
    chat_template: str | None = None
    system_prompt: str | None = None
    max_new_tokens: int | None = None
    generation: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


def folder_name(model: str) -> str:
    """The model's folder, as lm-eval makes it."""
    return _UNSAFE.sub("__", model)


def files_of(items: Sequence[AnsweredItem], facts: ExportFacts) -> dict[str, bytes]:
    """File name -> content. Items in any order; rows stand by filter, then doc_id, as lm-eval's."""
    tasks: dict[str, list[AnsweredItem]] = {}
    for item in sorted(items, key=lambda item: (item.task, item.doc_id)):
        tasks.setdefault(item.task, []).append(item)
    rows = {task: _rows(answered, facts) for task, answered in tasks.items()}
    made = {f"results_{facts.timestamp}.json": _results(tasks, rows, facts)}
    for task, listed in rows.items():
        made[f"samples_{_NOT_OF_A_WORD.sub('_', task)}_{facts.timestamp}.jsonl"] = b"".join(
            _line(row) for row in listed
        )
    return made


def _line(row: Mapping[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        # A lone surrogate of a dataset: escaped, the row says the same.
        return (json.dumps(row, ensure_ascii=True) + "\n").encode("ascii")


def _by_filter(item: AnsweredItem) -> dict[str, dict[str, str]]:
    """Filter -> {bare metric: metric}."""
    found: dict[str, dict[str, str]] = {}
    for metric in item.scores:
        bare, _, name = metric.partition(",")
        found.setdefault(name or NO_FILTER, {})[bare] = metric
    return found


def _rows(items: Sequence[AnsweredItem], facts: ExportFacts) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(name for item in items for name in _by_filter(item)))
    return [_row(item, name, facts) for name in names for item in items if name in _by_filter(item)]


def _row(item: AnsweredItem, name: str, facts: ExportFacts) -> dict[str, Any]:
    request = item.request
    if request.kind == "choice":
        contexts = request.contexts or (request.prompt,) * len(request.choices)
        arguments: list[tuple[str, Any]] = list(zip(contexts, request.choices, strict=True))
        # lm-eval writes both as texts; an older program kept no record of greedy, which is then None.
        greedy = item.greedy or (None,) * len(item.logprobs)
        answers = [[str(logprob), str(said)] for logprob, said in zip(item.logprobs, greedy, strict=True)]
        resps: list[Any] = [[answer] for answer in answers]
        filtered: list[Any] = answers
    else:
        said = item.options if item.options is not None else facts.generation
        other = {name: value for name, value in said.items() if name not in ("until", "max_gen_toks")}
        options = {"until": list(request.until), **other, "max_gen_toks": request.max_new_tokens}
        arguments = [(request.prompt, options)]
        resps, filtered = [[item.text]], [item.extracted.get(name, item.text)]
    metrics = _by_filter(item)[name]
    return {
        "doc_id": item.doc_id,
        "doc": dict(item.doc),
        "target": item.target,
        "arguments": {f"gen_args_{i}": {"arg_0": one, "arg_1": other} for i, (one, other) in enumerate(arguments)},
        "resps": resps,
        "filtered_resps": filtered,
        "filter": name,
        "metrics": list(metrics),
        "doc_hash": _hash(json.dumps(dict(item.doc), indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(arguments[0][0]),
        "target_hash": _hash(item.target),
        **{bare: _value(item, bare, metric) for bare, metric in metrics.items()},
    }


def _hash(text: str) -> str:
    return sha256_text(text)


def _value(item: AnsweredItem, bare: str, metric: str) -> Any:
    """A metric's value in the type that lm-eval writes."""
    passed, _ = item.scores[metric]
    if bare in _INSTRUCTIONS:
        return json.loads(item.extracted[_INSTRUCTIONS[bare]])
    return bool(passed) if bare in _VERDICTS else passed


def _results(
    tasks: Mapping[str, Sequence[AnsweredItem]], rows: Mapping[str, Sequence[Mapping[str, Any]]], facts: ExportFacts
) -> bytes:
    scores = {task: {"name": task, "alias": task, **_scores(items)} for task, items in tasks.items()}
    group = {facts.group: _pooled(facts.group, list(scores.values()))} if facts.group else {}
    body: dict[str, Any] = {
        "results": {**group, **scores},
        **({"groups": group} if group else {}),
        "group_subtasks": {facts.group: list(tasks)} if facts.group else {},
        "configs": {task: {"task": task, **facts.config_of.get(task, {})} for task in tasks},
        "versions": {task: facts.version_of.get(task) for task in tasks},
        "n-shot": {task: facts.shots_of.get(task) for task in tasks},
        "higher_is_better": {task: dict.fromkeys(_bare(items), True) for task, items in tasks.items()},
        "n-samples": {
            task: {"original": facts.originals.get(task), "effective": len(items)} for task, items in tasks.items()
        },
        "config": {
            "model": "mince-gui",
            "model_args": {"pretrained": facts.model},
            "batch_size": 1,
            "limit": None,
            "gen_kwargs": {} if facts.max_new_tokens is None else {"max_gen_toks": facts.max_new_tokens},
        },
        "date": facts.date,
        "task_hashes": {
            task: _hash("".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in listed))
            for task, listed in rows.items()
        },
        "model_source": "mince-gui",
        "model_name": facts.model,
        "model_name_sanitized": folder_name(facts.model),
        "system_instruction": facts.system_prompt,
        "system_instruction_sha": None if facts.system_prompt is None else _hash(facts.system_prompt),
        "fewshot_as_multiturn": True if facts.chat_template is not None else None,
        "chat_template": facts.chat_template,
        "chat_template_sha": None if facts.chat_template is None else _hash(facts.chat_template),
        "total_evaluation_time_seconds": str(facts.seconds),
        "mince_gui": dict(facts.own),
    }
    return (json.dumps(body, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def _bare(items: Sequence[AnsweredItem]) -> list[str]:
    return list(dict.fromkeys(metric.partition(",")[0] for item in items for metric in item.scores))


def _scores(items: Sequence[AnsweredItem]) -> dict[str, Any]:
    """Shares of 1 with their standard errors; lm-eval gives none for means over instructions, nor for one item."""
    found: dict[str, Any] = {"sample_len": len(items)}
    for metric in dict.fromkeys(metric for item in items for metric in item.scores):
        bare, _, name = metric.partition(",")
        counts = [item.scores[metric] for item in items if metric in item.scores]
        share = sum(passed for passed, _ in counts) / sum(trials for _, trials in counts)
        known = bare not in _INSTRUCTIONS and len(counts) > 1
        spread = sum((passed - share) ** 2 for passed, _ in counts)
        error = math.sqrt(spread / (len(counts) - 1) / len(counts)) if known else "N/A"
        found |= {f"{bare},{name or NO_FILTER}": share, f"{bare}_stderr,{name or NO_FILTER}": error}
    return found


def _pooled(group: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The group's mean over items, and the pooled standard error of its tasks, where all of them have one."""
    sizes = [part["sample_len"] for part in parts]
    found: dict[str, Any] = {"name": group, "alias": group, "sample_len": sum(sizes)}
    metrics = [name for name in parts[0] if "," in name and "_stderr," not in name]
    for metric in metrics:
        bare, _, name = metric.partition(",")
        found[metric] = sum(part[metric] * size for part, size in zip(parts, sizes, strict=True)) / sum(sizes)
        errors = [part[f"{bare}_stderr,{name}"] for part in parts]
        found[f"{bare}_stderr,{name}"] = (
            math.sqrt(
                sum((size - 1) * size * error**2 for size, error in zip(sizes, errors, strict=True))
                / (sum(sizes) - len(sizes))
                / sum(sizes)
            )
            if all(isinstance(error, float) for error in errors)
            else "N/A"
        )
    return {**found, "sample_count": dict.fromkeys(metrics, sum(sizes))}
