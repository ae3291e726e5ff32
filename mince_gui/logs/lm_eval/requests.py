"""What an lm-eval log asked its model, item by item: requests, targets, responses and each filter's verdicts.

Both layouts of `arguments` are read: lists (0.4.0 to 0.4.2) and objects gen_args_N (0.4.3 and newer). Chat messages,
which lm-eval logs as one JSON text for models behind an interface, are read back into messages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.assemble import size_of
from mince_gui.logs.collect import RowError
from mince_gui.logs.lines import JsonLines
from mince_gui.logs.lm_eval import rows
from mince_gui.logs.lm_eval.files import subject_of, task_of
from mince_gui.logs.lm_eval.results import NO_FILTERS, Results
from mince_gui.logs.types import Found

Message = dict[str, str]
Prompt = str | tuple[Message, ...]
"""The text of a prompt, or the chat messages that a template is to make one of."""

_ROLES = ("system", "user", "assistant")
_ROWS_PER_STEP = 256
_REMEDY = "Evaluate again with --log_samples (lm-eval 0.4 or newer), or take another model's log: --model NAME."


@dataclass(frozen=True)
class Verdict:
    """What one filter made of an item's responses: its reading of each, and the metrics by their bare names."""

    filtered: tuple[Any, ...]
    metrics: Mapping[str, Any]


@dataclass(frozen=True)
class LoggedItem:
    """One item as it was asked. `arguments` holds per request what came with its prompt of `prompts`.

    That is a text to be weighed (choices), or the generation options as an object. `responses` is the one answer to
    each request: a text, or (log-probability, greedy or not); None where no answer came. `where` is file and line.
    """

    key: str
    task: str
    where: str
    doc: Mapping[str, Any]
    prompts: tuple[Prompt, ...]
    arguments: tuple[str | Mapping[str, Any], ...]
    target: Any
    responses: tuple[Any, ...]
    verdicts: Mapping[str, Verdict]

    @property
    def same_request(self) -> tuple[Any, ...]:
        """What the rows of all filters must agree in."""
        return (self.task, self.doc, self.prompts, self.arguments, self.target, self.responses)


@dataclass(frozen=True)
class LoggedRequests:
    """One run's requests by item key, in the benchmark's order, and what its results file says.

    `configs` are the tasks' own definitions (empty where no results file tells), `versions` and `shots` theirs;
    `chat_template_sha` is of the template that rendered the prompts, "" where none did. `items_meant` is how many items
    the tasks have in full, None where it is not said.
    """

    model: str
    source: str
    items: Mapping[str, LoggedItem]
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    shots: Mapping[str, int] = field(default_factory=dict)
    chat_template_sha: str = ""
    lm_eval_version: str = ""
    items_meant: int | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that have items, in order."""
        return tuple(dict.fromkeys(item.task for item in self.items.values()))


def read_requests(found: Found, *, emit: Emit = ignore, cancel: CancelToken | None = None) -> LoggedRequests:
    """Read every row of the run. Raises InputError that names file, line and the way out, CancelledError."""
    results = Results.load(found.results_file) if found.results_file is not None else None
    if results is not None and (results.fault or results.model_name not in (None, found.model)):
        results = None if results.fault else results.filters_only()
    benchmark = found.benchmark
    items: dict[str, LoggedItem] = {}
    times: Counter[str] = Counter()
    total, before = sum(map(size_of, found.files)), 0
    tasks: list[str] = []
    for path in found.files:
        task = task_of(found, path)
        tasks.append(task)
        subject = subject_of(benchmark, task)
        filters = results.filters(task) if results is not None else NO_FILTERS
        with JsonLines(path, found.encoding) as lines:
            for count, (number, row) in enumerate(_each(lines), start=1):
                if count % _ROWS_PER_STEP == 0:
                    if cancel is not None:
                        cancel.check()
                    emit(Progress(before + lines.position, total, f"{path.name}: {count} rows"))
                where = found.shown(f"{path}, line {number}")
                try:
                    key = rows.item_key(benchmark, row, subject)
                    name = rows.filter_name(row)
                    if name is None:
                        name = filters[min(times[key], len(filters) - 1)]
                        times[key] += 1
                    _add(items, _item(row, key, task, name, where), name)
                except RowError as exc:
                    raise InputError(f"{where}: {exc.message}.", exc.remedy or _REMEDY) from exc
        before += size_of(path)
    if not items:
        raise InputError(f"{found.source}: there are no rows in it.", _REMEDY)
    body: Mapping[str, Any] = results.body if results is not None else {}
    return LoggedRequests(
        model=found.model,
        source=found.source,
        items={key: items[key] for key in sorted(items, key=benchmark.sort_key)},
        configs={task: results.part("configs", task) for task in tasks} if results is not None else {},
        versions=_part(results, "versions", tasks),
        shots={task: n for task, n in _part(results, "n-shot", tasks).items() if type(n) is int and n >= 0},
        chat_template_sha=_text(body.get("chat_template_sha")) if body.get("chat_template") else "",
        lm_eval_version=_text(body.get("lm_eval_version")),
        items_meant=results.items_meant(benchmark.subjects or tasks) if results is not None else None,
    )


def _each(lines: JsonLines) -> Any:
    for piece in lines.pieces():
        yield from lines.each(piece)


def _part(results: Results | None, name: str, tasks: Sequence[str]) -> dict[str, Any]:
    told = results.part(name) if results is not None else {}
    return {task: told[task] for task in tasks if task in told}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _add(items: dict[str, LoggedItem], item: LoggedItem, name: str) -> None:
    there = items.get(item.key)
    if there is None:
        items[item.key] = item
        return
    if name in there.verdicts and there.verdicts[name] != item.verdicts[name]:
        raise RowError(f"item {item.key} comes a second time for the filter {name!r}, with another outcome")
    if there.same_request != item.same_request:
        raise RowError(f"item {item.key} was asked otherwise at {there.where}")
    items[item.key] = LoggedItem(
        item.key, there.task, there.where, there.doc, there.prompts, there.arguments, there.target, there.responses,
        {**there.verdicts, **item.verdicts},
    )  # fmt: skip


def _item(row: Mapping[str, Any], key: str, task: str, name: str, where: str) -> LoggedItem:
    doc = row.get("doc")
    if doc is not None and not isinstance(doc, dict):
        raise RowError("doc is not an object")
    prompts, arguments = _requests(row)
    hashed = row.get("prompt_hash")
    if isinstance(prompts[0], str) and isinstance(hashed, str) and hashed != sha256_text(prompts[0]):
        raise RowError(f"the prompt of item {key} is not the one that prompt_hash was made of: the row was changed")
    filtered = row.get("filtered_resps")
    return LoggedItem(
        key=key,
        task=task,
        where=where,
        doc=doc or {},
        prompts=prompts,
        arguments=arguments,
        target=row.get("target"),
        responses=_responses(row, len(arguments)),
        verdicts={name: Verdict(tuple(filtered) if isinstance(filtered, list) else (), _metrics(row, name))},
    )


def _requests(row: Mapping[str, Any]) -> tuple[tuple[Prompt, ...], tuple[str | Mapping[str, Any], ...]]:
    """Prompts and what came with them; one prompt where all requests share it."""
    logged = row.get("arguments")
    if isinstance(logged, dict):
        logged = [logged.get(f"gen_args_{i}") for i in range(len(logged))]
        logged = [list(entry.values()) if isinstance(entry, dict) else entry for entry in logged]
    if not logged:
        raise RowError("the row carries no requests (arguments)")
    if not isinstance(logged, list):
        raise RowError("arguments is neither a list nor an object")
    prompts: list[Prompt] = []
    arguments: list[str | Mapping[str, Any]] = []
    for entry in logged:
        if not isinstance(entry, list) or not entry:
            raise RowError("arguments holds something that is no request")
        if len(entry) == 1:
            raise RowError(
                "the request is one text alone, to be weighed as a whole",
                "Only tasks of the kinds multiple_choice and generate_until can be run.",
            )
        if len(entry) > 2:
            raise RowError("the request has more than text (pictures, sounds)", "Only text can be asked.")
        prompt, argument = entry
        if not isinstance(argument, str | dict):
            raise RowError("a request's second argument is neither a text nor generation options")
        prompts.append(_prompt(prompt))
        arguments.append(argument)
    if all(prompt == prompts[0] for prompt in prompts):
        prompts = prompts[:1]
    return tuple(prompts), tuple(arguments)


def _prompt(value: Any) -> Prompt:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], str):
        raise RowError("a request's prompt is neither a text nor a chat")
    try:
        messages = json.loads(value[0])
    except (ValueError, RecursionError) as exc:
        raise RowError(f"a request's chat is not JSON ({exc})") from exc
    if not isinstance(messages, list) or not messages:
        raise RowError("a request's chat holds no messages")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise RowError("a message of a request's chat has no known role")
        if not isinstance(message.get("content"), str):
            raise RowError("a message of a request's chat is more than text", "Only text can be asked.")
    if messages[-1]["role"] == "assistant":
        raise RowError(
            "a request's chat ends in the beginning of the answer (gen_prefix), which no chat template can go on from",
            "Evaluate the task again without a gen_prefix.",
        )
    return tuple({"role": message["role"], "content": message["content"]} for message in messages)


def _responses(row: Mapping[str, Any], count: int) -> tuple[Any, ...]:
    resps = row.get("resps")
    if not isinstance(resps, list) or not resps:
        raise RowError("the row carries no responses (resps), so nothing shows how its verdict came about")
    if len(resps) != count:
        raise RowError(f"there are {len(resps)} responses to {count} requests")
    if row.get("response_null") is True:
        return (None,) * count
    answers = []
    for repeats in resps:
        if not isinstance(repeats, list) or not repeats:
            raise RowError("a response is not a list of its repeats")
        # several ranks fill their last batch with copies of a request: equal answers count once
        if any(answer != repeats[0] for answer in repeats):
            raise RowError(
                f"the item was asked {len(repeats)} times (repeats) and answered differently",
                "Take a log with one response for each request.",
            )
        answers.append(repeats[0])
    return tuple(tuple(answer) if isinstance(answer, list) else answer for answer in answers)


def _metrics(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    listed = row.get("metrics")
    if not isinstance(listed, list):
        listed = [field for field in row if field not in rows.NO_METRIC and not field.startswith("_")]
    found: dict[str, Any] = {}
    for metric in listed:
        if isinstance(metric, str):
            field_name = metric if metric in row or "," in metric else f"{metric},{name}"
            found[metric.partition(",")[0]] = row.get(field_name)
    return found
