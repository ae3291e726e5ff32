"""One run: a model over the items of a pack. New or resumed, in this process or detached.

`create` writes the run's row, `execute` runs what is not done yet, `detached.start` does it in a process of
its own (`mince run --resume RUN`), which a window only follows. `execute` after an interruption goes on behind
the last committed item; items that are missing (a crash, a skip) are tried again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mince_gui.app.check_model import this_machine
from mince_gui.app.device import taken
from mince_gui.app.prompting import Prompting, choose_chat, choose_task, pack_tasks, prompting_of
from mince_gui.app.run_data import said_precision
from mince_gui.app.run_sink import WorkspaceSink, event_writer
from mince_gui.app.runtimes import find_runtime
from mince_gui.app.summary import RunSummary, summarise
from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.collecting import uncollected
from mince_gui.base.errors import CancelledError, InputError, MinceError, UsageError
from mince_gui.base.events import Cause, Emit, Ended, Progress, Started, Warned, ignore
from mince_gui.run import (
    Earlier,
    ModelFolder,
    RunEnd,
    RunItem,
    RunnerSettings,
    folder_sha256,
    read_model_folder,
    run_items,
)
from mince_gui.run.checking.surroundings import surrounding_facts
from mince_gui.run.types import TimingMode
from mince_gui.store import Workspace
from mince_gui.store import models as stored_models
from mince_gui.store import runs as stored_runs
from mince_gui.store import subsets as stored_subsets
from mince_gui.store.runs import DoneItem, NewRun, StoredRun
from mince_gui.subset import bundled, read_pack, read_subset
from mince_gui.tasks.types import Answer, Scored

BUSY_SECONDS = 600.0
"""A run that took hours outwaits a backup program that holds the workspace."""
_LOGGED = " (without --dataset where only imported logs know the benchmark)"


@dataclass(frozen=True)
class RunOrder:
    """What `mince run` is asked for.

    `subset` is a pack file, the name of a pack in the workspace, a frozen subset's file, or "full" (with
    `task`, where the workspace has full packs of several benchmarks); None = the only pack there is.
    `runtime` None = the bundled one, otherwise a registered one's name, or the path of a Python that has
    onnxruntime-genai. `limit` runs that many items of the subset only; `max_item_seconds` ends an answer between two
    tokens; `worker_bytes` is the most memory that the worker may have before it is replaced between two items.
    `trust_native_code` allows a model folder that names a library to load.
    `precision` is that of the weights, for folders whose files do not tell it (as NPU builds do not).
    `system_prompt` is the system message of a chat template, or stands before a plain prompt, as in lm-eval.
    """

    model_dir: Path
    subset: str | None = None
    task: str | None = None
    runtime: str | None = None
    timing: TimingMode = "standard"
    threads: int | None = None
    chat_template: str = "auto"
    limit: int | None = None
    max_new_tokens: int | None = None
    trust_native_code: bool = False
    system_prompt: str | None = None
    max_item_seconds: float | None = None
    worker_bytes: int | None = None
    precision: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The order as it is kept in a queue; `from_json` reads it."""
        return {**dataclasses.asdict(self), "model_dir": str(self.model_dir)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RunOrder:
        """The order that `to_json` wrote. Raises TypeError for a field that this version does not know."""
        return cls(**{**body, "model_dir": Path(body["model_dir"])})


def create(workspace: Path, order: RunOrder, *, busy_seconds: float = 15.0) -> str:
    """Check everything that can be checked before a model is loaded, and write the run; returns its id.

    `busy_seconds`: how long another program's lock on the workspace is waited for.

    Raises UsageError for an unknown subset, task or runtime, InputError for a broken pack or model folder.
    """
    if not order.chat_template.strip():
        raise UsageError("--chat-template is empty.", "Name a file, auto or none.")
    try:
        (order.system_prompt or "").encode()
    except UnicodeEncodeError as exc:
        raise UsageError(f"The system prompt is no valid text: {exc.reason}.") from exc
    precision = said_precision(order.precision or "")
    if order.limit is not None and order.limit < 1:
        raise UsageError("--limit must be at least 1.")
    with Workspace(workspace, busy_seconds=busy_seconds) as ws:
        ws.require_writable()
        pack_path = find_pack(ws, order)
        pack = read_pack(pack_path)
        task = choose_task(pack, order.task)
        model = read_model_folder(order.model_dir)
        if model.custom_ops_library is not None and not order.trust_native_code:
            raise UsageError(
                f"{order.model_dir} loads native code: {model.custom_ops_library}.",
                "If you trust where the folder comes from, say so with --trust-native-code.",
            )
        _require_device(model)
        if task.kind != "choice" and order.timing == "fast":
            raise UsageError(f"{task.name} writes text: fast mode is for choices.", "Leave --timing fast out.")
        runtime = find_runtime(ws, order.runtime)
        today = datetime.now().astimezone().date()
        chat = choose_chat(task, model.path, order.chat_template, today)
        for limit, option in (
            (order.max_new_tokens, "--max-new-tokens"),
            (order.max_item_seconds, "--max-item-seconds"),
        ):
            if task.kind == "choice" and limit is not None:
                raise UsageError(f"{task.name} weighs choices and writes nothing: {option} has no meaning for it.")
        # Outer blanks belong to what is asked for; nothing but blanks is nothing.
        system_prompt = order.system_prompt if (order.system_prompt or "").strip() else None
        # Renders the first prompt, so that a missing few-shot example or a broken template is seen at once.
        Prompting(pack, task, chat, system_prompt, order.max_new_tokens).items(1)
        return stored_runs.create(
            ws,
            NewRun(
                benchmark=pack.subset.benchmark,
                task=task.name,
                subset=pack.subset.name,
                total_items=pack.subset.total_items,
                subset_items=pack.subset.n,
                items=min(len(pack.items), order.limit or len(pack.items)),
                model=model.name,
                model_dir=order.model_dir.absolute(),
                pack_path=pack_path.absolute(),
                pack_sha256=sha256_file(pack_path),
                settings={
                    "runtime": None if runtime.kind == "bundled" else runtime.command[0],
                    "timing": order.timing,
                    "threads": order.threads,
                    "chat_template": _absolute(order.chat_template),
                    # Kept only where prompts depend on it: a run that is resumed another day has one kind of prompt.
                    "prompt_date": today.isoformat() if chat.template is not None and chat.template.uses_date else None,
                    "limit": order.limit,
                    "max_new_tokens": order.max_new_tokens,
                    "system_prompt": system_prompt,
                    "max_item_seconds": order.max_item_seconds,
                    "worker_bytes": order.worker_bytes,
                    "precision": precision or None,
                    "accepted_differences": list(pack.accepted_differences),
                    "unverified": len(pack.unverified),
                },
            ),
            pack.subset,
        )


def _require_device(model: ModelFolder) -> None:
    """Raise UsageError where this machine certainly has no device for the folder; what is not known blocks nothing."""
    if model.mode == "npu or hybrid":
        # A library of operators alone does not say for what.
        return
    for fact in surrounding_facts(model, this_machine(model), trusted=True):
        if fact.topic == "device" and fact.level == "bad":
            raise UsageError(f"{model.path} cannot run here: {fact.words}.", fact.remedy)


def _tell_surroundings(model: ModelFolder, emit: Emit) -> None:
    """Memory, path and release, where they may become a reason of failure."""
    for fact in surrounding_facts(model, this_machine(model), trusted=True):
        if fact.level != "good" and fact.topic in ("memory", "path", "release", "device"):
            emit(Warned(f"{fact.topic}: {fact.words}.", fact.remedy))


def _absolute(chat_template: str) -> str:
    """A template's file by its whole path: a resumed run may be started from another folder."""
    return chat_template if chat_template in ("auto", "none") else str(Path(chat_template).absolute())


def find_pack(ws: Workspace, order: RunOrder) -> Path:
    """The pack file that an order means. Raises UsageError that lists the packs, InputError for one that is gone."""
    packs = stored_subsets.packs(ws)
    names = ", ".join(pack.name for pack in packs) or "none yet; make one with mince pack"
    if order.subset is None:
        if len(packs) == 1:
            return _there(packs[0].path, packs[0].name)
        raise UsageError("Which subset to run is not said.", f"Name one with --subset. Packs: {names}.")
    if order.subset == "full":
        full = [p for p in packs if p.is_full]
        if order.task is not None and len(full) > 1:
            named = order.task.lower()
            full = [pack for pack in full if named == pack.benchmark or named in pack_tasks(pack)]
        if len(full) == 1:
            return _there(full[0].path, full[0].name)
        if full:
            raise UsageError("Full packs of several benchmarks are in the workspace.", "Say which with --task.")
        raise UsageError("No full pack is in the workspace.", "Make one: mince pack --all BENCHMARK --dataset PATH")
    for known in packs:
        if known.name == order.subset:
            return _there(known.path, known.name)
    path = Path(order.subset)
    frozen = {stored.subset.name for stored in stored_subsets.subsets(ws)} | {file.stem for file in bundled()}
    if not path.is_file() and order.subset in frozen:
        raise UsageError(
            f"{order.subset} is frozen, but no pack carries its items yet.",
            f"Make it: mince pack --subset {order.subset} --dataset PATH{_LOGGED}",
        )
    if not path.is_file():
        raise UsageError(
            f"'{order.subset}' is neither a file nor a pack of this workspace.",
            f"Packs: {names}.",
        )
    if path.suffix == ".mincepack":
        pack = read_pack(path)
        stored_subsets.add_pack(ws, pack.subset, path)
        return path
    subset = read_subset(path)
    for known in packs:
        if known.name == subset.name and read_pack(known.path).subset.item_keys == subset.item_keys:
            return known.path
    raise UsageError(
        f"No pack of this workspace carries the items of {subset.name}.",
        f"Make it: mince pack --subset {path} --dataset PATH{_LOGGED}",
    )


def _there(path: Path, name: str) -> Path:
    if not path.is_file():
        raise InputError(f"The pack {name} was at {path} and is gone.", "Put it back, or make it again: mince pack")
    return path


def require_own_answers(run: StoredRun) -> None:
    """Raise UsageError for a run that holds another's answers, scored again: it cannot be gone on with."""
    if run.rescored_of:
        raise UsageError(
            f"Run {run.run_id} holds the answers of run {run.rescored_of}, scored again: there is nothing to run.",
            f"Go on with the run itself: mince run --resume {run.rescored_of}",
        )


def execute(
    workspace: Path, run_id: str, *, emit: Emit = ignore, cancel: CancelToken | None = None, wait: bool = False
) -> RunSummary:
    """Run every item that is not done yet. Each is committed before the next starts.

    One run at a time has a device: while another has it, this one is refused, or waits with `wait`.

    Events go to `emit` and to the run's event file. The run's row is closed with a cause however this ends,
    but for SIGKILL and power loss, after which the row's process is gone and the run counts as interrupted.
    """
    cancel = cancel or CancelToken()
    with Workspace(workspace, busy_seconds=BUSY_SECONDS) as ws:
        run = stored_runs.get(ws, run_id)
        run_id = run.run_id
        require_own_answers(run)
        if run.state == "ended" and run.done == run.plan.items:
            return summarise(ws, run_id)
        stored_runs.take(ws, run_id)
        # Read again: a runner that ended in this moment has left more than was seen.
        run = stored_runs.get(ws, run_id)
        with event_writer(ws.events_file(run_id), emit) as tell:
            tell(Started("run", run.plan.items, "items", f"{run.plan.subset} on {run.plan.model}"))
            cause: Cause = "failed"
            detail = "ended without a reason: a defect of mince-gui"
            try:
                device = read_model_folder(run.plan.model_dir).devices
                so_far = Progress(run.done, run.plan.items)
                holder = f"run {run_id} ({run.plan.model} on {run.plan.subset})"

                def stopped() -> bool:
                    wish = stored_runs.asked(ws, run_id)
                    return wish is not None and wish[1] == "stop"

                with taken(device, holder, wait=wait, emit=tell, cancel=cancel, stopped=stopped, progress=so_far):
                    end = _execute(ws, run, tell, cancel)
                cause = "incomplete" if end.cause == "done" and end.missing else end.cause
                detail = f"{end.missing} of {run.plan.items} items are missing" if cause == "incomplete" else end.detail
            except (CancelledError, KeyboardInterrupt):
                cause, detail = "stopped", "stopped by the user"
            except MinceError as exc:
                detail = str(exc)
                raise
            finally:
                try:
                    stored_runs.end(ws, run_id, cause, detail)
                finally:
                    # Also on a disk that takes no more: whoever follows must not wait for ever.
                    tell(Ended(cause, detail))
        return summarise(ws, run_id)


def _execute(ws: Workspace, run: StoredRun, emit: Emit, cancel: CancelToken) -> RunEnd:
    plan = run.plan
    settings = plan.settings
    with uncollected():
        prompting = prompting_of(run)
        done = stored_runs.done_items(ws, run.run_id)
    task, chat = prompting.task, prompting.chat
    model = read_model_folder(plan.model_dir)
    digest = stored_models.folder_sha256(ws, model.path, model.name, lambda path: folder_sha256(path, cancel=cancel))
    if done:
        _same_as_before(run, {"model_sha256": digest, "chat_template_sha256": chat.sha256})
    with uncollected():
        left, budget = _left(run, prompting, done)
        asked = prompting.facts(plan.items, budget)

    _tell_surroundings(model, emit)

    def score(item: RunItem, answer: Answer) -> Scored:
        return task.score(item.doc, answer)

    return run_items(
        left,
        run_id=run.run_id,
        runtime=find_runtime(ws, settings["runtime"]),
        model_dir=model.path,
        score=score,
        sink=WorkspaceSink(ws, run.run_id, run.conditions if done else None, emit, asked),
        emit=emit,
        cancel=cancel,
        settings=RunnerSettings(
            model_sha256=digest,
            threads=settings["threads"],
            timing=settings["timing"],
            chat_template=chat.name,
            chat_template_sha256=chat.sha256,
            max_new_tokens=settings["max_new_tokens"],
            max_item_seconds=settings.get("max_item_seconds"),
            worker_bytes=settings.get("worker_bytes"),
        ),
        total=plan.items,
        # Missing items are tried again, so only done ones count as earlier.
        earlier=Earlier(
            done=len(done), capped=sum(item.capped for item in done.values()), sums=stored_runs.totals(ws, run.run_id)
        ),
    )


def _left(run: StoredRun, prompting: Prompting, done: Mapping[int, DoneItem]) -> tuple[list[RunItem], int]:
    """The items that are not done yet, and the most tokens that any item of the run may write.

    Whatever the cause (another version of the program, too): items of one run are asked by one kind of prompt, so the
    prompts of those that are done are made again. Raises InputError where one is not what it was.
    """
    left, budget = list[RunItem](), 0
    for item in prompting.one_by_one(run.plan.items):
        budget = max(budget, item.request.max_new_tokens)
        before = done.get(item.position)
        if before is None:
            left.append(item)
        elif before.prompt_sha256 not in (None, item.request.sha256):
            raise InputError(
                f"The prompt of item {before.item_key} is not what it was when run {run.run_id} asked it.",
                "Start a new run.",
            )
    return left, budget


def _same_as_before(run: StoredRun, now: Mapping[str, str]) -> None:
    """One score is of one model and one prompt. Raises InputError where either has changed since items were run."""
    words = {"model_sha256": f"The model folder {run.plan.model_dir}", "chat_template_sha256": "The chat template"}
    for name, value in now.items():
        if run.conditions is not None and run.conditions.get(name) != value:
            raise InputError(
                f"{words[name]} has changed since {run.done} items of run {run.run_id} were done.",
                "Put it back as it was, or start a new run.",
            )
