"""How long a run will take, by what earlier runs of this workspace took; nothing is loaded and nothing is made."""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mince_gui.app.prompting import Prompting, choose_chat, choose_task, prompting_of
from mince_gui.app.run import RunOrder, find_pack
from mince_gui.app.runtimes import find_runtime
from mince_gui.app.timing import item_seconds, overall, tokens_read, tokens_written
from mince_gui.base.errors import InputError
from mince_gui.run import read_model_folder
from mince_gui.run.estimate import estimate, span
from mince_gui.run.types import TimingMode
from mince_gui.store import Workspace
from mince_gui.store import models as stored_models
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.subset import read_pack
from mince_gui.tasks.types import Request

_ENOUGH = 30
"""Items of one run that are preferred over more items of an older one."""
_LATEST = 1_000
"""Items of a run that are looked at: the latest, as a resumed run of thousands must not wait for its estimate."""
_FEW = 5
"""Items below which a standard deviation says nothing: shortest to longest instead."""
_Z = 1.959964
_SAME_WORK = ("timing", "threads", "chat_template", "max_new_tokens", "system_prompt", "max_item_seconds")
"""Settings by which the time of an item of one model and task may differ."""
_SAME_PACE = ("runtime", "threads")
"""Settings by which the rates of one model may differ."""


@dataclass(frozen=True)
class Forecast:
    """`low` to `high` seconds for `items` items, without loading the model; both None where no earlier run tells.

    `words` says it, with the `run_id` it rests on and what kind of range it is.
    """

    items: int
    low: float | None
    high: float | None
    words: str
    run_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object of `run --estimate --json`."""
        return {
            "items": self.items, "low_seconds": self.low, "high_seconds": self.high, "by_run": self.run_id,
            "words": self.words,
        }  # fmt: skip


@dataclass(frozen=True)
class _Work:
    """What is to be run. `requests` makes the prompts, which takes a while: asked only where rates must do."""

    model_dir: Path
    benchmark: str
    task: str
    items: int
    settings: Mapping[str, Any]
    requests: Callable[[], Sequence[Request]]


class _NotHashedError(Exception):
    """The folder's hash is not known, and reading gigabytes is no part of an estimate."""


def forecast(workspace: Path, order: RunOrder) -> Forecast:
    """For a run that is asked for. Raises as `create` does: UsageError for a wrong subset or task, InputError."""
    with Workspace(workspace) as ws:
        pack = read_pack(find_pack(ws, order))
        task = choose_task(pack, order.task)
        model_dir = read_model_folder(order.model_dir).path
        items = min(len(pack.items), order.limit or len(pack.items))

        def requests() -> Sequence[Request]:
            today = datetime.now().astimezone().date()
            chat = choose_chat(task, model_dir, order.chat_template, today)
            grouped = order.timing == "fast"
            prompting = Prompting(pack, task, chat, order.system_prompt, order.max_new_tokens, grouped)
            return [item.request for item in prompting.items(items)]

        runtime = find_runtime(ws, order.runtime)
        settings = {
            "runtime": None if runtime.kind == "bundled" else runtime.command[0],
            "timing": order.timing, "threads": order.threads,
            "chat_template": order.chat_template, "max_new_tokens": order.max_new_tokens,
            "system_prompt": order.system_prompt, "max_item_seconds": order.max_item_seconds,
        }  # fmt: skip
        work = _Work(model_dir, pack.subset.benchmark, task.name, items, settings, requests)
        return _forecast(ws, work)


def forecast_run(workspace: Path, run_id: str) -> Forecast:
    """For the items of a run that are not done yet. Raises UsageError for an unknown run."""
    with Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)

        def requests() -> Sequence[Request]:
            done = {item.position for item in stored_runs.items(ws, run.run_id) if item.state == "done"}
            items = prompting_of(run).items(run.plan.items)
            return [item.request for item in items if item.position not in done]

        left, plan = run.plan.items - run.done, run.plan
        try:
            return _forecast(ws, _Work(plan.model_dir, plan.benchmark, plan.task, left, plan.settings, requests))
        except InputError as exc:
            # A pack or template that is gone stops the run, and not its estimate: the run's own row then says why.
            return Forecast(left, None, None, f"not known for {_items(left)}: {exc.message}")


def _forecast(ws: Workspace, work: _Work) -> Forecast:
    if not work.items:
        return Forecast(0, 0.0, 0.0, "nothing is left to do")
    known = _runs_of_model(ws, work)
    return _by_items(ws, work, known) or _by_rates(ws, work, known) or Forecast(
        work.items, None, None, f"not known for {_items(work.items)} before the model is loaded: no earlier run tells"
    )  # fmt: skip


def _runs_of_model(ws: Workspace, work: _Work) -> list[StoredRun]:
    """Runs of the very model folder on this machine and runtime that have items done, newest first."""
    try:
        digest = stored_models.folder_sha256(ws, work.model_dir, "", _not_hashed)
    except (_NotHashedError, OSError):
        return []
    return [
        run
        for run in stored_runs.runs(ws)
        if run.done
        and run.conditions is not None
        and run.conditions.get("model_sha256") == digest
        and run.conditions.get("machine") == platform.node()
        # Sittings on other devices, or with other threads, have no one pace.
        and not run.conditions.get("changed")
        and _equal(run, work, _SAME_PACE)
    ]


def _not_hashed(folder: Path) -> str:
    raise _NotHashedError


def _equal(run: StoredRun, work: _Work, names: Sequence[str]) -> bool:
    return all(_setting(run.plan.settings, name) == _setting(work.settings, name) for name in names)


def _setting(settings: Mapping[str, Any], name: str) -> object:
    """As a stored run has it, which keeps files by their whole path and no system prompt of blanks."""
    value = settings.get(name)
    if name == "chat_template" and value not in (None, "auto", "none"):
        return str(Path(value).absolute())
    if name == "system_prompt" and not str(value or "").strip():
        return None
    return value


def _by_items(ws: Workspace, work: _Work, known: Sequence[StoredRun]) -> Forecast | None:
    """By the time of single items of the same task: for their sum, as of as many independent further items."""
    alike = [
        run
        for run in known
        if (run.plan.benchmark, run.plan.task) == (work.benchmark, work.task) and _equal(run, work, _SAME_WORK)
    ]
    run = next((run for run in alike if run.done >= _ENOUGH), max(alike, key=lambda run: run.done, default=None))
    if run is None:
        return None
    # A second attempt's time is not the item's own.
    times = item_seconds([item for item in _latest(ws, run) if item.attempts == 1])
    if not times:
        return None
    low, high = sum_interval(times, work.items)
    kind = "shortest to longest" if len(times) < _FEW else "95 %, normal approximation"
    kind += f" of {_items(len(times))} of run {run.run_id}"
    return Forecast(work.items, low, high, f"{span(low, high)} for {_items(work.items)} ({kind})", run.run_id)


def sum_interval(times: Sequence[float], items: int) -> tuple[float, float]:
    """Where the sum of `items` further times lies: 95 %, by the normal approximation of sum and mean.

    Fewer than five times say nothing of their spread: then from all as short as the shortest to all as long as the
    longest. `times` must not be empty.
    """
    lowest = items * min(times)
    if len(times) < _FEW:
        return lowest, items * max(times)
    total = items * statistics.fmean(times)
    # Of the further items themselves, and of the mean that the known ones gave.
    spread = statistics.stdev(times) * math.sqrt(items + items**2 / len(times))
    return max(lowest, total - _Z * spread), total + _Z * spread


@dataclass(frozen=True)
class _Rates:
    prefill_seconds_per_token: float | None
    decode_seconds_per_token: float | None


def _by_rates(ws: Workspace, work: _Work, known: Sequence[StoredRun]) -> Forecast | None:
    """By the rates of another task.

    Of a run in the other timing mode only the smoke test's count: what follows a kept prefix is short, and is read at
    another pace than a whole prompt.
    """
    timing: TimingMode = "fast" if work.settings.get("timing") == "fast" else "standard"
    ordered = sorted(known, key=lambda run: (run.conditions or {}).get("timing") != timing)
    requests: Sequence[Request] | None = None
    for run in ordered:
        conditions = run.conditions or {}
        items = _latest(ws, run) if conditions.get("timing") == timing else ()
        rates = _rates(items, conditions.get("smoke") or {})
        if rates.prefill_seconds_per_token is None:
            continue
        requests = work.requests() if requests is None else requests
        found = estimate(requests, rates, timing=timing)
        if found.low is not None and found.high is not None:
            words = f"{span(found.low, found.high)} for {_items(work.items)} (by the rates of run {run.run_id})"
            return Forecast(work.items, found.low, found.high, words, run.run_id)
    return None


def _latest(ws: Workspace, run: StoredRun) -> list[StoredItem]:
    items = stored_runs.items(ws, run.run_id, after=run.done + run.missing - _LATEST - 1)
    return [item for item in items if item.state == "done"]


def _rates(items: Sequence[StoredItem], smoke: Mapping[str, Any]) -> _Rates:
    """Of the items; of the smoke test what they do not have (choices write nothing)."""
    read, write = overall(tokens_read(items)), overall(tokens_written(items))
    return _Rates(
        1 / read if read else smoke.get("prefill_seconds_per_token"),
        1 / write if write else smoke.get("decode_seconds_per_token"),
    )


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number:,} items"
