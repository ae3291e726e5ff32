"""The complete full runs of a workspace, read once for as many runs as are held against them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from mince_gui.app.run_data import device_key, precision, prompts, scoring_key
from mince_gui.app.summary import budget_of
from mince_gui.report.sides import one_device
from mince_gui.report.types import Ratio, Reference
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun

_SAME_SETTINGS = ("prompt_date", "system_prompt")
"""Settings that two runs share which were asked alike."""
_PLACES = {
    "device": "device", "runtime": "runtime", "oga_version": "version of onnxruntime-genai", "machine": "machine",
}  # fmt: skip
"""Conditions in which an own full run may differ, and that answers may depend on."""


class FullRuns:
    """Finds a run's own full run; what was read of one is kept as long as this is."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        every = stored_runs.runs(ws)
        self._runs = [run for run in every if run.done == run.plan.items == run.plan.total_items]
        self._read: dict[str, tuple[Reference, Mapping[str, str]]] = {}

    def own(self, run: StoredRun, asked: Mapping[str, str] | None = None) -> Reference | None:
        """The newest complete full run of the same model folder, task, prompts and scoring; the same device first.

        Chat templates are told apart by their content, not by the name of their file; and the items that both ran must
        have been asked by the very same prompts (a native task and its logged prompts may differ), unless their content
        differs. Its `warnings` say what differs of where it ran. `asked` are the hashes of the run's prompts, where
        they are at hand (`run_data.prompts`).
        """
        candidates = [other for other in self._runs if other.run_id != run.run_id and _asks_the_same(run, other)]
        if not candidates:
            return None
        here = device_key(run)
        candidates.sort(key=lambda other: device_key(other) != here)
        mine = prompts(run, stored_runs.items(self._ws, run.run_id)) if asked is None else asked
        for full in candidates:
            reference, theirs = self._of(full)
            if all(theirs.get(key, prompt) == prompt for key, prompt in mine.items()):
                return dataclasses.replace(reference, warnings=tuple(_elsewhere(run, full)))
        return None

    def _of(self, full: StoredRun) -> tuple[Reference, Mapping[str, str]]:
        if full.run_id not in self._read:
            items = stored_runs.items(self._ws, full.run_id)
            self._read[full.run_id] = _as_reference(self._ws, full, items), prompts(full, items)
        return self._read[full.run_id]


def _asks_the_same(run: StoredRun, other: StoredRun) -> bool:
    digest = (run.conditions or {}).get("model_sha256")
    # Of a folder without a hash nothing says that it is the same one.
    same_model = bool(digest) and (other.conditions or {}).get("model_sha256") == digest
    mine, theirs = run.plan, other.plan
    return (
        same_model
        and (mine.benchmark, mine.task) == (theirs.benchmark, theirs.task)
        and asks_alike(run, other)
        and scoring_key(other) == scoring_key(run)
    )


def asks_alike(run: StoredRun, other: StoredRun) -> bool:
    """Whether both ask the same way, of whichever model: chat template by content, date, system prompt, budget."""
    conditions, others = run.conditions or {}, other.conditions or {}
    return (
        others.get("chat_template_sha256") == conditions.get("chat_template_sha256")
        and all(other.plan.settings.get(name) == run.plan.settings.get(name) for name in _SAME_SETTINGS)
        and _same_budget(run, other)
    )


def _same_budget(run: StoredRun, other: StoredRun) -> bool:
    """A budget may be the task's own or the same number asked for; where it was not kept, what was asked decides."""
    mine, theirs = budget_of(run), budget_of(other)
    if mine is not None and theirs is not None:
        return mine == theirs
    asked = (of.plan.settings.get("max_new_tokens") for of in (run, other))
    return len(set(asked)) == 1


def _elsewhere(run: StoredRun, full: StoredRun) -> Iterator[str]:
    """Where the full run was made under other conditions: its drift is that of the answers given there."""
    here, there = run.conditions or {}, full.conditions or {}
    for name, what in _PLACES.items():
        if here.get(name) != there.get(name):
            yield f"its {what} is {there.get(name) or 'not known'}, the run's {here.get(name) or 'not known'}"
    mixed = [what for name, what in _PLACES.items() if name in (there.get("changed") or ())]
    if mixed:
        yield f"it was continued with another {', another '.join(mixed)}"


def _as_reference(ws: Workspace, full: StoredRun, items: Sequence[StoredItem]) -> Reference:
    conditions = full.conditions or {}
    return Reference(
        reference_id=full.run_id,
        kind="own full run",
        benchmark=full.plan.benchmark,
        model=full.plan.model,
        metrics={
            metric: Ratio(passed, trials, full.done)
            for metric, (passed, trials) in stored_runs.totals(ws, full.run_id).items()
        },
        source=f"run {full.run_id}",
        date=full.ended_at or full.created_at,
        # Sittings on other devices, with other threads or in another mode make no one wall clock.
        wall_seconds=None if conditions.get("changed") else full.elapsed_seconds,
        device_key=device_key(full),
        timing=str(conditions.get("timing") or ""),
        rows={item.item_key: item.scores for item in items},
        precision=precision(full),
        categories={item.item_key: item.category for item in items},
        device=one_device(conditions),
        runtime=str(conditions.get("runtime") or ""),
    )
