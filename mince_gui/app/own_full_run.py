"""A model's own full run: the only thing that a difference to is drift."""

from __future__ import annotations

from mince_gui.app.full_runs import FullRuns
from mince_gui.report.types import Reference, RunData
from mince_gui.store import Workspace
from mince_gui.store import references as stored_references
from mince_gui.store.runs import StoredRun


def own_full_run(ws: Workspace, run: StoredRun) -> Reference | None:
    """The run's own full run, as `full_runs.FullRuns.own` finds it."""
    return FullRuns(ws).own(run)


def full_score_of_this_model(ws: Workspace, run: StoredRun, data: RunData) -> Reference | None:
    """The stored full score of the very model folder (the demo's): the difference to it is drift too."""
    stored = stored_references.listing(ws, data.benchmark)
    return next((known for known in stored if of_this_model(known, run) and is_whole(known, data)), None)


def of_this_model(reference: Reference, run: StoredRun) -> bool:
    """Whether it is the stored full run of the run's very model folder."""
    digest = (run.conditions or {}).get("model_sha256")
    return reference.kind == "shipped with the demo" and bool(digest) and reference.model_sha256 == digest


def is_whole(reference: Reference, data: RunData) -> bool:
    """Whether its scores are of the whole benchmark: a size that was not known when it was stored may be known now."""
    return all(ratio.items == data.total_items for ratio in reference.metrics.values())
