"""Report a run: gather what it is held against, compute, write the document."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.app.run_sink import TIMED_BY
from mince_gui.app.stream import stream
from mince_gui.app.summary import answers_of, budget_of, conditions_of, methods_of
from mince_gui.app.timing import (
    decode_rates,
    first_token_seconds,
    input_tokens,
    item_seconds,
    output_tokens,
    prefill_rates,
    prefill_seconds,
)
from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.report import Report, build, write
from mince_gui.report.types import NOT_RUN, Ratio, Reference, RunData
from mince_gui.store import Workspace
from mince_gui.store import references as stored_references
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun

_SAME_PROMPTS = ("model_sha256", "chat_template_sha256")
"""Conditions that two runs share which were asked the same of the same model."""


@dataclass(frozen=True)
class Written:
    """The report and, where one was asked for, its document."""

    report: Report
    path: Path | None


def device_key(run: StoredRun) -> str:
    """Equal for runs that were made on the same machine, runtime, threads and timing mode."""
    conditions = run.conditions or {}
    facts: dict[str, Any] = {name: conditions.get(name) for name in TIMED_BY}
    return sha256_text(canonical_json(facts))[:16]


def run_data(ws: Workspace, run: StoredRun) -> RunData:
    """A stored run as the report needs it: with the subset as it was run, whatever lies in its pack's place now."""
    subset = stored_runs.subset_of(ws, run)
    conditions = run.conditions or {}
    items = stored_runs.items(ws, run.run_id)
    done = [item for item in items if item.state == "done"]
    missing = {item.item_key: item.cause or "" for item in items if item.state == "missing"}
    seen = {item.item_key for item in items}
    missing.update({key: NOT_RUN for key in subset.item_keys if key not in seen})
    return RunData(
        run_id=run.run_id,
        benchmark=run.plan.benchmark,
        model=run.plan.model,
        subset_name=run.plan.subset,
        subset_keys=subset.item_keys,
        total_items=run.plan.total_items,
        bound_pp=subset.p95_pp,
        rows={item.item_key: item.scores for item in done},
        run_order=tuple(item.item_key for item in done),
        categories={item.item_key: item.category for item in items},
        # Sittings on other devices, or with other threads, make no one wall clock.
        wall_seconds=run.elapsed_seconds if done and not missing and not conditions.get("changed") else None,
        item_seconds=item_seconds(done),
        first_token_seconds=first_token_seconds(done),
        prefill_seconds=prefill_seconds(done),
        prefill_rates=prefill_rates(done),
        decode_rates=decode_rates(done),
        input_tokens=input_tokens(done),
        output_tokens=output_tokens(done),
        missing=missing,
        answers=answers_of(run, items),
        methods=methods_of(items),
        conditions=conditions_of(run, items),
        created=run.created_at,
        ended=run.ended_at or "",
        device_key=device_key(run),
        evidence=subset.evidence,
        sampler=subset.sampler,
        accepted=tuple(run.plan.settings.get("accepted_differences", ())),
        unverified=run.plan.settings.get("unverified", 0),
        pack_sha256=run.plan.pack_sha256,
    )


def _same_budget(run: StoredRun, other: StoredRun) -> bool:
    """A budget may be the task's own or the same number asked for; where it was not kept, what was asked decides."""
    mine, theirs = budget_of(run), budget_of(other)
    if mine is not None and theirs is not None:
        return mine == theirs
    asked = (of.plan.settings.get("max_new_tokens") for of in (run, other))
    return len(set(asked)) == 1


def own_full_run(ws: Workspace, run: StoredRun) -> Reference | None:
    """The newest complete full run of the same model folder, task and prompts; the same device first.

    Chat templates are told apart by their content, not by the name of their file; and the items that both ran must have
    been asked by the very same prompts (a native task and its logged prompts may differ), unless their content differs.
    """
    here = device_key(run)
    settings = ("prompt_date", "system_prompt")
    conditions = run.conditions or {}
    candidates = [
        other
        for other in stored_runs.runs(ws)
        if other.run_id != run.run_id
        and other.plan.benchmark == run.plan.benchmark
        and other.plan.task == run.plan.task
        and other.done == other.plan.items == other.plan.total_items
        and all((other.conditions or {}).get(name) == conditions.get(name) for name in _SAME_PROMPTS)
        and _same_budget(run, other)
        and all(other.plan.settings.get(name) == run.plan.settings.get(name) for name in settings)
    ]
    candidates.sort(key=lambda other: device_key(other) != here)
    mine = _prompts(run, stored_runs.items(ws, run.run_id)) if candidates else {}
    for full in candidates:
        items = stored_runs.items(ws, full.run_id)
        theirs = _prompts(full, items)
        if all(theirs.get(key, prompt) == prompt for key, prompt in mine.items()):
            return _as_reference(ws, full, items)
    return None


def _prompts(run: StoredRun, items: Sequence[StoredItem]) -> dict[str, str]:
    """Item key -> hash of its prompt, without items whose content is another than was frozen."""
    accepted = frozenset(run.plan.settings.get("accepted_differences", ()))
    return {i.item_key: i.prompt_sha256 for i in items if i.prompt_sha256 and i.item_key not in accepted}


def _as_reference(ws: Workspace, full: StoredRun, items: Sequence[StoredItem]) -> Reference:
    rows = {item.item_key: item.scores for item in items}
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
        wall_seconds=None if (full.conditions or {}).get("changed") else full.elapsed_seconds,
        device_key=device_key(full),
        timing=str((full.conditions or {}).get("timing") or ""),
        rows=rows,
    )


def _of_this_model(reference: Reference, run: StoredRun) -> bool:
    """Whether it is the stored full run of the very model folder (the demo's): then the difference is drift."""
    digest = (run.conditions or {}).get("model_sha256")
    return reference.kind == "shipped with the demo" and bool(digest) and reference.model_sha256 == digest


def _is_whole(reference: Reference, data: RunData) -> bool:
    """Whether its scores are of the whole benchmark: a size that was not known when it was stored may be known now."""
    return all(ratio.items == data.total_items for ratio in reference.metrics.values())


def compute(workspace: Path, run_id: str, *, reference: str | None = None) -> Report:
    """The numbers of one run: drift against its own full run, or the total gap against a stored reference.

    `reference` names a stored reference; without it the newest one of the same model name and benchmark is
    taken. Raises UsageError for an unknown run or reference, and for a run without a finished item.
    """
    with Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)
        data = run_data(ws, run)
        if not data.rows:
            raise UsageError(f"Run {run.run_id} has no finished item.", f"mince run --resume {run.run_id}")
        own = own_full_run(ws, run) if not data.is_full else None
        every = stored_references.listing(ws, data.benchmark)
        stored = [known for known in every if _is_whole(known, data)]
        if own is None and not data.is_full:
            own = next((r for r in stored if _of_this_model(r, run)), None)
        other: Reference | None
        if reference is not None:
            other = stored_references.get(ws, reference)
            if other.benchmark != data.benchmark:
                raise UsageError(f"Reference {reference} is for {other.benchmark}, the run for {data.benchmark}.")
            if not _is_whole(other, data):
                raise UsageError(
                    f"Reference {reference} is not of all {data.total_items:,} items of {data.benchmark}.",
                    "Import a log of the full benchmark: mince reference import",
                )
        else:
            mine = [r for r in stored if r.model == data.model and not _of_this_model(r, run)]
            # The newest first; one that is known to be of another task only where there is nothing better.
            mine.sort(key=lambda r: r.task not in ("", run.plan.task))
            other = mine[0] if mine else None
        if other is not None and other.task != run.plan.task:
            task = other.task or "not known"
            other = dataclasses.replace(other, note=f"{other.note}; its task is {task}, the run's {run.plan.task}")
        return build(data, own_full=own, other=other)


def report(
    workspace: Path, run_id: str, *, out: Path | None = None, reference: str | None = None, emit: Emit = ignore
) -> Written:
    """Compute and, with `out`, write the document whose kind its suffix names (html, json, csv, md)."""
    with stream(emit, "report", detail=run_id):
        computed = compute(workspace, run_id, reference=reference)
        if out is not None:
            write(computed, out)
        return Written(computed, out)
