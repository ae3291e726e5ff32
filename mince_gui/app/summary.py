"""A run in numbers: what `mince run --json` prints and what a report starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mince_gui.app.timing import RunTiming, timing_of
from mince_gui.base.errors import ItemsMissingError, MinceError
from mince_gui.report.answers import Answers
from mince_gui.report.asking import NOT_RECORDED, asking_lines
from mince_gui.report.place import device_name, machine_words, place_words, smoke_words
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.tasks import get as get_task
from mince_gui.tasks import names


@dataclass(frozen=True)
class RunSummary:
    """`scores` are (passed, trials) over done items; `missing` maps item key to cause; times in seconds.

    `answers` counts what was cut, empty or did not fit; `asking` says how items were asked and scored, `machine` where
    it ran, how that is known, and what state the machine was in, all in words.
    """

    run_id: str
    benchmark: str
    model: str
    runtime: str | None
    device: str | None
    device_proven: bool | None
    device_proof: str
    subset: str
    subset_items: int
    items: int
    done: int
    missing: Mapping[str, str]
    not_run: int
    scores: Mapping[str, tuple[float, float]]
    answers: Answers
    asking: Mapping[str, str]
    machine: Mapping[str, str]
    timing: RunTiming
    cause: str | None
    detail: str

    @property
    def elapsed_seconds(self) -> float | None:
        """The run's wall clock: the sum over its items."""
        return self.timing.wall_seconds

    @property
    def device_words(self) -> str:
        """The device with the state of its proof."""
        return device_name({"device": self.device, "device_proven": self.device_proven})

    def to_json(self) -> dict[str, Any]:
        """The object of `run --json` (keys as in DESIGN.md); scores in percent."""
        return {
            "run_id": self.run_id,
            "model": self.model,
            "runtime": self.runtime,
            "device": self.device,
            "device_proven": self.device_proven,
            "device_proof": self.device_proof,
            "subset": self.subset,
            "benchmark": self.benchmark,
            "subset_items": self.subset_items,
            "items": self.items,
            "done": self.done,
            "missing": dict(self.missing),
            "not_run": self.not_run,
            "scores": {
                metric: {"score": 100.0 * passed / trials if trials else None, "passed": passed, "trials": trials}
                for metric, (passed, trials) in self.scores.items()
            },
            "timing": self.timing.to_json(),
            "capped": self.answers.capped,
            "answers": self.answers.to_json(),
            "asking": dict(self.asking),
            "machine": dict(self.machine),
            "ended": {"cause": self.cause, "detail": self.detail},
        }


def conditions_of(run: StoredRun, items: Sequence[StoredItem]) -> dict[str, Any]:
    """What was run on what, with what the worker does not know of; what has no meaning for this run is left out."""
    names = ("limit", "prompt_date", "system_prompt", "max_new_tokens")
    asked = {name: run.plan.settings.get(name) for name in names}
    found = {**(run.conditions or {}), "task": run.plan.task, **{k: v for k, v in asked.items() if v is not None}}
    if not found.get("precision") and (told := run.plan.settings.get("precision")):
        found["precision"] = f"{told}, as told by whoever started the run"
    if bos := _bos(str(found.get("bos_check") or ""), items):
        found["bos_check"] = bos
    if budget_of(run) is None:
        for name in ("budget", "max_new_tokens"):
            found.pop(name, None)
    return found


def _bos(first: str, items: Sequence[StoredItem]) -> str:
    """What is wrong with BOS: at the first prompt, as it was checked, and over all prompts, as they were counted."""
    begins = Counter(item.leading_bos for item in items if item.leading_bos is not None)
    if len(begins) < 2:
        return first
    counts = ", ".join(f"{number:,} with {bos}" for bos, number in sorted(begins.items()))
    return f"{first}; " * bool(first) + f"not the same in all prompts: {counts}"


def answers_of(run: StoredRun, items: Sequence[StoredItem]) -> Answers:
    """What became of the answers besides their scores."""
    answers = Answers(budget_of(run))
    for item in items:
        answers = answers.counting(
            text=item.text, cause=item.cause, capped=item.capped, finish=item.finish, repeats=item.repeats
        )
    return answers


def budget_of(run: StoredRun) -> int | None:
    """New tokens that an answer may have; None where none is generated, or where the task's was not kept."""
    conditions = {**run.plan.settings, **(run.conditions or {})}
    if "budget" not in conditions and _asks_choices(run.plan.task):
        return None
    found: int | None = conditions.get("budget", conditions.get("max_new_tokens"))
    return found


def _asks_choices(task: str) -> bool:
    """Whether a native task generates nothing; runs of logged ones know their budget."""
    return task in names() and get_task(task).kind == "choice"


def methods_of(items: Sequence[StoredItem]) -> dict[str, int]:
    """How the choices of the done items were scored: method -> number of items."""
    chosen = (item for item in items if item.state == "done" and item.text is None)
    return dict(Counter(item.method or NOT_RECORDED for item in chosen))


def asking_of(run: StoredRun, items: Sequence[StoredItem]) -> dict[str, str]:
    """How the items were asked and scored: name -> words."""
    done = [item.item_key for item in items if item.state == "done"]
    conditions, budget = conditions_of(run, items), budget_of(run)
    methods = methods_of(items)
    return dict(asking_lines(conditions, benchmark=run.plan.benchmark, budget=budget, methods=methods, keys=done))


def machine_of(run: StoredRun) -> dict[str, str]:
    """Where a run ran, how that is known, and the state of machine and model when it began: name -> words."""
    conditions = run.conditions or {}
    found = {
        "place": place_words(conditions) if conditions.get("device") else "",
        "machine": machine_words(conditions.get("machine_state") or {}),
        "sleep": str(conditions.get("sleep") or ""),
        "smoke test": smoke_words(conditions.get("smoke") or {}),
    }
    return {name: words for name, words in found.items() if words}


def require_done(summary: RunSummary) -> None:
    """Raise the error, and so the exit code, that the run's end deserves; nothing where every item is done."""
    again = f"Go on: mince run --resume {summary.run_id}"
    if summary.cause == "incomplete" and summary.answers.not_fitting == len(summary.missing):
        raise ItemsMissingError(
            f"{summary.detail}: the score is of {summary.done} items only.",
            "Their prompts do not fit this model, however often they are asked: take one with a longer context.",
        )
    if summary.cause == "incomplete":
        raise ItemsMissingError(f"{summary.detail}: the score is of {summary.done} items only.", again)
    if summary.cause == "stopped":
        raise MinceError(f"Stopped at {summary.done} of {summary.items}; what is done is kept.", again)
    if summary.cause != "done":
        raise MinceError(f"The run ended ({summary.cause}): {summary.detail}", again)


def summarise(ws: Workspace, run_id: str) -> RunSummary:
    """The run as it stands. Raises UsageError for an unknown one."""
    run = stored_runs.get(ws, run_id)
    items = stored_runs.items(ws, run.run_id)
    conditions = run.conditions or {}
    return RunSummary(
        run_id=run.run_id,
        benchmark=run.plan.benchmark,
        model=run.plan.model,
        runtime=conditions.get("runtime"),
        device=conditions.get("device"),
        device_proven=conditions.get("device_proven"),
        device_proof=conditions.get("device_proof") or "",
        subset=run.plan.subset,
        subset_items=run.plan.subset_items,
        items=run.plan.items,
        done=run.done,
        missing={item.item_key: item.cause or "" for item in items if item.state == "missing"},
        not_run=run.plan.items - len(items),
        scores=stored_runs.totals(ws, run.run_id),
        answers=answers_of(run, items),
        asking=asking_of(run, items),
        machine=machine_of(run),
        timing=timing_of(run, items),
        cause=run.cause,
        detail=run.detail,
    )
