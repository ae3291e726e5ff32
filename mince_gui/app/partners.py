"""What a run is compared with item by item: the same model unquantised, or the same build on the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from mince_gui.app import reference as references
from mince_gui.app.run_data import precision, run_data, scoring_key
from mince_gui.base.errors import UsageError
from mince_gui.logs.types import PerItemLog
from mince_gui.report.names import precision_of
from mince_gui.report.place import device_name
from mince_gui.report.sides import is_quantised, kind_of_device, role_of, side_of_reference, side_of_run
from mince_gui.report.types import Ratio, Side
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import references as stored_references
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredRun

_CPU = "CPU"


def sides_for(ws: Workspace, run: StoredRun, against: Sequence[str] = ()) -> list[Side]:
    """The sides that are named; without any, the best one for each part of the gap that this run can tell.

    A name is a run's id, a reference's, or the model of an imported log. Raises UsageError for one that is not there,
    is of another benchmark, or keeps no outcomes per item.
    """
    if against:
        return [_named(ws, run, name) for name in dict.fromkeys(against)]
    best: dict[str, Side] = {}
    for side in _candidates(ws, run):
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
        device=device_name(conditions) if conditions.get("device") else "", rows={}, date=run.created_at,
        model_sha256=str(conditions.get("model_sha256") or ""),
    )  # fmt: skip


def _candidates(ws: Workspace, run: StoredRun) -> Iterator[Side]:
    """Every other side that shares items with the run, without rows where it is a run: the most items in common first,
    of equal ones the newest, runs before references.
    """
    mine, keys = _bare(run), stored_runs.done_keys(ws, run.run_id)
    found: list[tuple[int, Side]] = []
    for other in stored_runs.runs(ws):  # newest first
        same = (other.plan.benchmark, other.plan.task) == (run.plan.benchmark, run.plan.task)
        same = same and scoring_key(other) == scoring_key(run)
        if same and other.run_id != run.run_id and other.done and other.conditions:
            side = _bare(other)
            if _slot(mine, side):
                found.append((len(keys & stored_runs.done_keys(ws, other.run_id)), side))
    for reference in stored_references.listing(ws, run.plan.benchmark):
        if reference.rows is not None and reference.task in ("", run.plan.task):
            side = side_of_reference(reference)
            if _slot(mine, side):
                found.append((len(keys & side.rows.keys()), side))
    found.sort(key=lambda pair: -pair[0])
    return (side for common, side in found if common)


def _whole(ws: Workspace, side: Side) -> Side:
    return side_of_run(run_data(ws, stored_runs.get(ws, side.ident))) if side.kind == "run" else side


def _named(ws: Workspace, run: StoredRun, name: str) -> Side:
    side = _found(ws, run, name)
    if side.benchmark != run.plan.benchmark:
        raise UsageError(f"{name} is of {side.benchmark}, the run of {run.plan.benchmark}.", "Name one of the same.")
    if side.ident == run.run_id:
        raise UsageError(f"{name} is the run itself.", "Name another one.")
    if not stored_runs.done_keys(ws, run.run_id) & side.rows.keys():
        raise UsageError(f"{name} has no item in common with the run.", "Name a run of the same subset, or a full one.")
    return side


def _found(ws: Workspace, run: StoredRun, name: str) -> Side:
    if any(known.run_id == name for known in stored_runs.runs(ws)):
        return side_of_run(run_data(ws, stored_runs.get(ws, name)))
    for reference in references.every(ws):
        if reference.reference_id == name:
            if reference.rows is None:
                raise UsageError(
                    f"Reference {name} has aggregate scores only: nothing can be paired with it.",
                    "Import the per-item log of that run: mince reference import",
                )
            return side_of_reference(reference)
    logs = [log for log in stored_logs.listing(ws, run.plan.benchmark) if log.model == name]
    if logs:
        return _side_of_log(stored_logs.load(ws, logs[0].log_id))
    raise UsageError(
        f"There is no run, reference or imported log '{name}' of {run.plan.benchmark}.",
        "`mince runs`, `mince reference list` and `mince logs` list them.",
    )


def _side_of_log(log: PerItemLog) -> Side:
    """An imported log as a side. Its device is not known, its precision only where the model's name tells it."""
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    full: dict[str, Ratio] = {}
    for metric in log.metrics:
        cells = zip(log.keys, log.passed[metric].tolist(), log.trials[metric].tolist(), strict=True)
        have = [(key, p, t) for key, p, t in cells if not math.isnan(t)]
        for key, p, t in have:
            rows.setdefault(key, {})[metric] = (p, t)
        if len(have) == log.total_items:
            full[metric] = Ratio(math.fsum(p for _, p, _ in have), math.fsum(t for _, _, t in have), len(have))
    return Side(
        ident=f"log of {log.model}", kind="reference", benchmark=log.benchmark.name, model=log.model,
        precision=precision_of(log.model), device="", rows=rows, full=full, date=log.timestamp,
    )  # fmt: skip
