"""From a pack to requests: the task, the chat template, the system prompt, the few-shot examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.run import RunItem
from mince_gui.store import logs as stored_logs
from mince_gui.store.runs import StoredRun
from mince_gui.store.subsets import StoredPack
from mince_gui.subset import read_pack, running_order
from mince_gui.subset.pack_file import logged_definition
from mince_gui.subset.types import Pack, PackItem
from mince_gui.tasks import ChatTemplate, load_template, names
from mince_gui.tasks import get as get_task
from mince_gui.tasks.logged import LoggedTask, task_of
from mince_gui.tasks.types import Doc, Message, Render, Request, Task

_DELIMITER = "\n\n"
"""Between a system prompt and a task's own description, as in lm-eval, unless a blank stands there already."""
_SYSTEM_MARK = "marksystemmark"


def task_names(benchmark: str) -> list[str]:
    """The native tasks that ask every item of a benchmark, its default first; none where only logs have prompts.

    A task of one subject (mmlu_anatomy) asks the others' items wrongly, so it is none of them.
    """
    known = stored_logs.benchmark_of(benchmark)
    parts = known.tasks if known.subjects else ()
    found = [name for name in names() if get_task(name).benchmark == benchmark and name not in parts]
    return sorted(found, key=lambda name: name != known.default_task)


@lru_cache(maxsize=64)
def _logged_task(path: Path, sha256: str) -> str | None:
    """The logged task of a pack's file; `sha256` tells one file from another under the same name."""
    logged = logged_definition(path)
    return None if logged is None else task_of(logged).name


def pack_tasks(pack: StoredPack) -> tuple[str, ...]:
    """The tasks that can ask the items of a pack, its default first; empty where the file is gone or broken."""
    try:
        logged = _logged_task(pack.path, pack.sha256)
    except MinceError:
        return ()
    return (logged,) if logged is not None else tuple(task_names(pack.benchmark))


def choose_task(pack: Pack, named: str | None) -> Task:
    """The task of a pack: the logged one that it carries, else the one named, else its benchmark's default.

    Raises UsageError, which lists the benchmark's tasks, for one that is not among them.
    """
    benchmark = pack.subset.benchmark
    if pack.logged is not None:
        task = task_of(pack.logged)
        if task.benchmark != benchmark:
            raise InputError(
                f"The pack {pack.subset.name} is of {benchmark}, its logged task of {task.benchmark}.", "Pack it again."
            )
        if named not in (None, task.name):
            raise UsageError(
                f"The pack {pack.subset.name} carries the logged prompts of {task.name}, not of {named}.",
                "Leave --task out, or pack the subset from its dataset.",
            )
        return task
    known = task_names(benchmark)
    title = stored_logs.benchmark_of(benchmark).title
    if not known:
        raise UsageError(
            f"There is no task for {title} in mince, and the pack {pack.subset.name} carries no logged prompts.",
            f"Pack it from lm-eval's logs (--log_samples): mince pack --subset {pack.subset.name}",
        )
    if named is None:
        return get_task(known[0])
    # A benchmark's own name stands for its default task.
    task_name = known[0] if named.lower() == benchmark and named.lower() not in known else named.lower()
    if task_name not in known:
        raise UsageError(f"There is no task '{named}' for {title}.", f"It has: {', '.join(known)}.")
    return get_task(task_name)


@dataclass(frozen=True)
class Chat:
    """The chat template of a run: None = prompts are asked as they stand.

    `name` is what the report calls it; `source` is the text of the template that is in the prompts, `sha256` its hash
    ("" = none is).
    """

    template: ChatTemplate | None
    name: str
    sha256: str = ""
    source: str = ""


def choose_chat(task: Task, model_dir: Path, chat_template: str, today: date) -> Chat:
    """How prompts are rendered; `today` is the date that a template may tell.

    Raises InputError where the task's prompts go through a chat template and the folder has none: a prompt is plain
    where that is the task's way, or where it is asked for, never by accident. So too where prompts were logged as
    another model's template rendered them.
    """
    rendered = isinstance(task, LoggedTask) and bool(task.chat_template_sha)
    if not task.uses_chat and chat_template == "auto" and not rendered:
        return Chat(None, "none (the task's way)")
    named: Literal["auto", "none"] | Path
    match chat_template:
        case "auto" | "none":
            named = chat_template
        case _:
            named = Path(chat_template)
    template = load_template(model_dir, named, today=today)
    if isinstance(task, LoggedTask) and rendered:
        task.check_template("" if template is None else template.sha256)
        name = "in the logged prompts already, the same as the model's"
        return Chat(None, name, task.chat_template_sha, "" if template is None else template.source)
    if template is not None:
        return Chat(template, template.origin.name, template.sha256, template.source)
    if chat_template == "auto":
        raise InputError(
            f"{model_dir} has no chat template, and the prompts of {task.name} go through one.",
            "Give one with --chat-template FILE, or ask for plain prompts (a base model): --chat-template none.",
        )
    return Chat(None, "none (as asked for)")


def joined(system_prompt: str, description: str) -> str:
    """A system prompt before a task's own description, as lm-eval joins --system_instruction with it."""
    blank = system_prompt[-1:].isspace() or description[:1].isspace()
    return system_prompt + ("" if blank or not system_prompt or not description else _DELIMITER) + description


@dataclass(frozen=True)
class Prompting:
    """How the items of one run are asked; `system_prompt` None = none, `max_new_tokens` None = the task's own.

    `grouped`: items that begin with the same examples follow one another, as fast mode needs them.
    """

    pack: Pack
    task: Task
    chat: Chat
    system_prompt: str | None
    max_new_tokens: int | None
    grouped: bool = False

    def items(self, count: int) -> list[RunItem]:
        """The first `count` items in running order with their requests. Raises InputError that names a bad item.

        Grouped ones are the same items; a group stands where its first one was.
        """
        return list(self.one_by_one(count))

    def one_by_one(self, count: int) -> Iterator[RunItem]:
        """As `items`, each made when it is asked for, unless they are grouped: all prompts of a run are much memory."""
        self._check_template()
        asked = self._asked(count)
        if self.grouped:
            whole, first = list(asked), dict[str, int]()
            groups = [
                first.setdefault(request.prefix, at) if request.prefix else at
                for at, (_, _, request) in enumerate(whole)
            ]
            asked = (one for _, one in sorted(zip(groups, whole, strict=True), key=lambda pair: pair[0]))
        for position, (item, doc, request) in enumerate(asked):
            yield RunItem(position, item.key, item.category, doc, request)

    def _asked(self, count: int) -> Iterator[tuple[PackItem, Doc, Request]]:
        plain_system = self.system_prompt if self.chat.template is None else None
        described = plain_system is not None and self._begins_with_description()
        render = self._render()
        for place in running_order(len(self.pack.items))[:count]:
            item = self.pack.items[place]
            doc, shots = self._given(item)
            request = self.task.request(doc, shots, render=render, max_new_tokens=self.max_new_tokens)
            if plain_system is not None:
                request = _with_system(request, plain_system, described)
            yield item, doc, request

    def facts(self, count: int, budget: int) -> dict[str, Any]:
        """What a report must know of how the first `count` items are asked; `budget` is the most tokens of one."""
        facts: dict[str, Any] = {
            **self._examples(count),
            "thinking_off": self.chat.template is not None and self.chat.template.thinking_off,
            "system_prompt": self.system_prompt,
            "budget": budget or None,
        }
        if isinstance(self.task, LoggedTask):
            source = self.task.definition.source
            version = source.get("lm_eval_version") or "of unknown version"
            facts["left_out"] = sorted({why for rules in self.task.definition.tasks.values() for why in rules.left_out})
            facts["logged_from"] = f"by lm-eval {version}, run of {source.get('model') or 'an unknown model'}"
        return facts

    def _given(self, item: PackItem) -> tuple[Doc, Sequence[Doc]]:
        """What the task takes: the logged request, or the doc with its few-shot docs."""
        if self.pack.logged is not None:
            if item.asked is None:
                name = self.pack.subset.name
                raise InputError(f"The pack {name} has no logged request of item {item.key}.", "Make the pack again.")
            return item.asked, ()
        own = self.pack.item_fewshot.get(item.key, ())
        return item.doc, own or self.pack.fewshot.get(item.category or "", self.pack.fewshot.get("", ()))

    def _render(self) -> Render | None:
        template, system_prompt = self.chat.template, self.system_prompt
        if template is None:
            return None
        if system_prompt is None:
            return template.render

        def render(messages: Sequence[Message]) -> str:
            head = messages[0] if messages and messages[0]["role"] == "system" else None
            content = joined(system_prompt, head["content"] if head else "")
            return template.render([{"role": "system", "content": content}, *messages[head is not None :]])

        return render

    def _turns(self, place: int | None = None) -> list[Message]:
        """The turns of an item (None: of the first to run), as a chat template would get them."""
        seen: list[Message] = []

        def look(messages: Sequence[Message]) -> str:
            seen.extend(messages)
            return ""

        place = running_order(len(self.pack.items))[0] if place is None else place
        doc, shots = self._given(self.pack.items[place])
        self.task.request(doc, shots, render=look, max_new_tokens=self.max_new_tokens)
        return seen

    def _check_template(self) -> None:
        """Raise InputError for a template that leaves a turn out: its prompts would not ask what the report says."""
        marked = self if self.system_prompt is None else replace(self, system_prompt=_SYSTEM_MARK)
        render = marked._render()
        if self.chat.template is None or render is None:
            return
        turns = self._turns()
        marks = [f"mark{number}mark" for number in range(len(turns))]
        text = render([{**turn, "content": mark} for turn, mark in zip(turns, marks, strict=True)])
        lost = {turn["role"] for turn, mark in zip(turns, marks, strict=True) if mark not in text}
        if self.system_prompt is not None and _SYSTEM_MARK not in text:
            lost.add("system")
        if lost:
            what = " and ".join(f"the {role} message" for role in sorted(lost))
            raise InputError(
                f"{self.chat.template.origin}: the chat template leaves out {what}.",
                "Leave the system prompt out, or name another template: --chat-template FILE."
                if lost == {"system"} and self.system_prompt is not None
                else "Name another template: --chat-template FILE, or run without one: --chat-template none.",
            )

    def _begins_with_description(self) -> bool:
        """Whether the task says something before the first question. Raises UsageError for logged prompts."""
        if isinstance(self.task, LoggedTask):
            raise UsageError(
                f"The prompts of {self.task.name} are asked as lm-eval logged them: no system prompt can be added.",
                "Leave --system-prompt out, or make the pack from a log that holds chat messages.",
            )
        return self._turns()[0]["role"] == "system"

    def _examples(self, count: int) -> dict[str, Any]:
        """How many worked examples the questions of the first `count` items have, and how many items have fewer."""
        if isinstance(self.task, LoggedTask):
            known = {rules.shots for rules in self.task.definition.tasks.values()}
            return {"examples": known.pop() if len(known) == 1 else None}
        shown: Counter[int] = Counter()
        for places in self._alike(running_order(len(self.pack.items))[:count]):
            shown[sum(turn["role"] == "user" for turn in self._turns(places[0])) - 1] += len(places)
        most = max(shown, default=0)
        return {"examples": most, "fewer_examples": shown.total() - shown[most]}

    def _alike(self, order: Sequence[int]) -> list[list[int]]:
        """Places whose items have the same category and few-shot docs, and so the same examples."""
        groups: dict[tuple[str | None, int], list[int]] = {}
        for place in order:
            item = self.pack.items[place]
            groups.setdefault((item.category, id(self._given(item)[1])), []).append(place)
        return list(groups.values())


def prompting_of(run: StoredRun) -> Prompting:
    """How a stored run's items are asked, made again from its pack and the model folder's template.

    Raises InputError where the pack is not what it was, or where it or the template cannot be used.
    """
    plan, settings = run.plan, run.plan.settings
    if not plan.pack_path.is_file() or sha256_file(plan.pack_path) != plan.pack_sha256:
        raise InputError(
            f"The pack {plan.pack_path} is gone or changed since run {run.run_id} began, and its prompts are in it.",
            "Put it back as it was, or start a new run.",
        )
    pack = read_pack(plan.pack_path, seen_before=True)
    task = choose_task(pack, plan.task)
    # A template that tells the date tells the day on which the run was made, however often it is resumed.
    today = date.fromisoformat(settings.get("prompt_date") or run.created_at[:10])
    chat = choose_chat(task, plan.model_dir, settings["chat_template"], today)
    grouped = settings["timing"] == "fast"
    return Prompting(pack, task, chat, settings.get("system_prompt"), settings["max_new_tokens"], grouped)


def _with_system(request: Request, system_prompt: str, described: bool) -> Request:
    """A plain prompt with the system prompt before it, as lm-eval puts it there: nothing between unless described."""

    def put(text: str) -> str:
        return joined(system_prompt, text) if described else system_prompt + text

    return replace(
        request,
        prompt=put(request.prompt),
        contexts=tuple(put(context) for context in request.contexts),
        prefix=put(request.prefix) if request.prefix else "",
    )
