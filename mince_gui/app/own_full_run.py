"""A model's own full run: the only thing that a difference to is drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mince_gui.app.full_runs import FullRuns
from mince_gui.report.types import Reference, RunData
from mince_gui.store import Workspace
from mince_gui.store import references as stored_references
from mince_gui.store.runs import StoredRun


def own_full_run(ws: Workspace, run: StoredRun, asked: Mapping[str, str] | None = None) -> Reference | None:
    """The run's own full run, as `full_runs.FullRuns.own` finds it; `asked` are the hashes of the run's prompts."""
    return FullRuns(ws).own(run, asked)


def full_score_of_this_model(
    ws: Workspace, run: StoredRun, data: RunData, *, among: Sequence[Reference] | None = None
) -> Reference | None:
    """The stored full score of the very model folder (the demo's): the difference to it is drift too.

    `among` are the stored references of the run's benchmark, where they were read already.
    """
    stored = stored_references.listing(ws, data.benchmark) if among is None else among
    return next((known for known in stored if of_this_model(known, run) and is_whole(known, data)), None)


def of_this_model(reference: Reference, run: StoredRun) -> bool:
    """Whether it is the stored full run of the run's very model folder, and the run was asked and scored as it was."""
    conditions, settings = run.conditions or {}, run.plan.settings
    digest = conditions.get("model_sha256")
    # The demo's logs are of the task as it is: plain prompts, and its own budget.
    as_it_is = not conditions.get("chat_template_sha256") and not conditions.get("rescored")
    as_it_is = as_it_is and all(settings.get(name) is None for name in ("system_prompt", "max_new_tokens"))
    same = reference.task in ("", run.plan.task) and bool(digest) and reference.model_sha256 == digest
    return reference.kind == "shipped with the demo" and same and as_it_is


def is_whole(reference: Reference, data: RunData) -> bool:
    """Whether its scores are of the whole benchmark: a size that was not known when it was stored may be known now."""
    return all(ratio.items == data.total_items for ratio in reference.metrics.values())
