"""What a run is compared with item by item: the same model unquantised, or the same build on the CPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from mince_gui.app import reference as references
from mince_gui.app.full_runs import asks_alike
from mince_gui.app.reference_choice import differences
from mince_gui.app.reference_facts import from_log
from mince_gui.app.run_data import precision, run_data, scoring_key
from mince_gui.base.errors import UsageError
from mince_gui.report.sides import is_quantised, kind_of_device, one_device, role_of, side_of_reference, side_of_run
from mince_gui.report.types import Reference, RunData, Side
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import references as stored_references
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredRun

_CPU = "CPU"


def named_sides(ws: Workspace, run: StoredRun, data: RunData, against: Sequence[str]) -> list[Side]:
    """The sides of these names: a run's id, a reference's, or the model of an imported log.

    Raises UsageError for one that is not there, is of another benchmark, or keeps no outcomes per item.
    """
    return [_named(ws, run, data, name) for name in dict.fromkeys(against)]


def sides_of_parts(ws: Workspace, run: StoredRun, data: RunData) -> list[Side]:
    """The best side for each part of the gap that this run can tell."""
    best: dict[str, Side] = {}
    for side in _candidates(ws, run, data):
        slot = _slot(_bare(run), side)
        if slot:
            best.setdefault(slot, side)
    return [_whole(ws, side) for side in best.values()]


def _slot(mine: Side, theirs: Side) -> str:
    """Which part of the gap this pair tells: the unquantised model, or the same build on the CPU; "" = neither."""
    role = role_of(mine, theirs)
    unquantised = is_quantised(theirs.precision) is False
    if role in ("quantisation", "quantisation and hardware") and is_quantised(mine.precision) and unquantised:
        return "unquantised"
    off_cpu = bool(mine.device) and kind_of_device(mine.device) != _CPU
    return "on the CPU" if role == "hardware" and off_cpu and kind_of_device(theirs.device) == _CPU else ""


def _bare(run: StoredRun) -> Side:
    """A run without its items: enough to tell what it is."""
    conditions = run.conditions or {}
    return Side(
        ident=run.run_id, kind="run", benchmark=run.plan.benchmark, model=run.plan.model, precision=precision(run),
        device=one_device(conditions), rows={}, date=run.created_at,
        model_sha256=str(conditions.get("model_sha256") or ""),
    )  # fmt: skip


def _candidates(ws: Workspace, run: StoredRun, data: RunData) -> Iterator[Side]:
    """Every other side that shares items with the run, without rows where it is a run.

    First those that were asked alike, as far as that is known, and have half of the items or more; of these the ones
    with the most items in common, of equal ones the newest, runs before references.
    """
    mine, keys = _bare(run), data.rows.keys()
    found: list[tuple[bool, int, Side]] = []
    for other in stored_runs.runs(ws):  # newest first
        same = (other.plan.benchmark, other.plan.task) == (run.plan.benchmark, run.plan.task)
        same = same and scoring_key(other) == scoring_key(run)
        if same and other.run_id != run.run_id and other.done and other.conditions:
            side = _bare(other)
            if _slot(mine, side):
                common = len(keys & stored_runs.done_keys(ws, other.run_id))
                found.append((asks_alike(run, other) and 2 * common >= len(keys), common, side))
    for reference in stored_references.listing(ws, run.plan.benchmark):
        usable = reference.rows is not None and reference.task in ("", run.plan.task)
        if usable and _slot(mine, side_of_reference(reference)):
            side = _side_of(reference, run, data)
            found.append((False, len(keys & side.rows.keys()), side))
    found.sort(key=lambda entry: (not entry[0], -entry[1]))
    return (side for _, common, side in found if common)


def _whole(ws: Workspace, side: Side) -> Side:
    return side_of_run(run_data(ws, stored_runs.get(ws, side.ident))) if side.kind == "run" else side


def _side_of(reference: Reference, run: StoredRun, data: RunData) -> Side:
    """A reference as a side, with what is not alike on both."""
    side = side_of_reference(reference)
    return dataclasses.replace(side, warnings=(*side.warnings, *differences(reference, run, data, asked_for=True)))


def _named(ws: Workspace, run: StoredRun, data: RunData, name: str) -> Side:
    side = _found(ws, run, data, name)
    if side.benchmark != run.plan.benchmark:
        raise UsageError(f"{name} is of {side.benchmark}, the run of {run.plan.benchmark}.", "Name one of the same.")
    if side.ident == run.run_id:
        raise UsageError(f"{name} is the run itself.", "Name another one.")
    if not data.rows.keys() & side.rows.keys():
        raise UsageError(f"{name} has no item in common with the run.", "Name a run of the same subset, or a full one.")
    return side


def _found(ws: Workspace, run: StoredRun, data: RunData, name: str) -> Side:
    if any(known.run_id == name for known in stored_runs.runs(ws)):
        return side_of_run(run_data(ws, stored_runs.get(ws, name)))
    for reference in references.every(ws):
        if reference.reference_id == name:
            if reference.rows is None:
                raise UsageError(
                    f"Reference {name} has aggregate scores only: nothing can be paired with it.",
                    "Import the per-item log of that run: mince reference import",
                )
            return _side_of(reference, run, data)
    logs = [log for log in stored_logs.listing(ws, run.plan.benchmark) if log.model == name]
    if logs:
        # The newest one of several.
        reference = from_log(stored_logs.load(ws, logs[0].log_id), "imported")
        return dataclasses.replace(_side_of(reference, run, data), ident=f"log of {name}")
    raise UsageError(
        f"There is no run, reference or imported log '{name}' of {run.plan.benchmark}.",
        "`mince runs`, `mince reference list` and `mince logs` list them.",
    )
