"""Report a run: gather what it is held against, compute, write the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.own_full_run import full_score_of_this_model, own_full_run
from mince_gui.app.partners import named_sides, sides_of_parts
from mince_gui.app.reference_choice import stored_reference
from mince_gui.app.run_data import run_data
from mince_gui.app.stream import stream
from mince_gui.base.errors import ItemsMissingError, LimitError, MinceError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.report import Report, build, write
from mince_gui.report.gate import Limits, gated
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs

NO_LIMITS = Limits()


@dataclass(frozen=True)
class Written:
    """The report and, where one was asked for, its document."""

    report: Report
    path: Path | None


def compute(
    workspace: Path,
    run_id: str,
    *,
    reference: str | None = None,
    against: Sequence[str] = (),
    limits: Limits = NO_LIMITS,
) -> Report:
    """The numbers of one run: drift against its own full run, total gap against a stored reference, paired deltas.

    `reference` names a stored reference (default: the one that fits best); `against` names runs, references or imported
    logs to pair with (default: the same model unquantised, and the same build on the CPU, where they are there; the
    parts of the gap are told by these in any case).
    Raises UsageError for an unknown run, reference or side, and for a run without a finished item.
    """
    with Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)
        return of_run(ws, run, reference=reference, against=against, limits=limits)


def of_run(
    ws: Workspace,
    run: stored_runs.StoredRun,
    *,
    reference: str | None = None,
    against: Sequence[str] = (),
    limits: Limits = NO_LIMITS,
) -> Report:
    """`compute` in an open workspace."""
    data = run_data(ws, run)
    if not data.rows:
        raise UsageError(f"Run {run.run_id} has no finished item.", f"mince run --resume {run.run_id}")
    own = None if data.is_full else own_full_run(ws, run, data.prompts) or full_score_of_this_model(ws, run, data)
    other = stored_reference(ws, run, data, reference)
    parts = sides_of_parts(ws, run, data)
    sides = named_sides(ws, run, data, against) if against else parts
    return gated(build(data, own_full=own, other=other, sides=sides, of_parts=parts if against else ()), limits)


def report(
    workspace: Path,
    run_id: str,
    *,
    out: Path | None = None,
    reference: str | None = None,
    against: Sequence[str] = (),
    limits: Limits = NO_LIMITS,
    emit: Emit = ignore,
) -> Written:
    """Compute and, with `out`, write the document whose kind its suffix names (html, pdf, json, csv, md)."""
    with stream(emit, "report", detail=run_id):
        computed = compute(workspace, run_id, reference=reference, against=against, limits=limits)
        if out is not None:
            write(computed, out)
        return Written(computed, out)


def require_within(computed: Report) -> None:
    """Raise the error, and so the exit code, that the verdict on the limits deserves; nothing where all are kept.

    Beyond a limit is 5; a limit that cannot be judged is 4 where items are missing, else 1: never a pass.
    """
    gate = computed.gate
    if gate is None or gate.outcome == "within":
        return
    if gate.outcome == "beyond":
        raise LimitError(gate.line)
    if not computed.coverage.complete:
        raise ItemsMissingError(gate.line, f"Go on: mince run --resume {computed.run_id}")
    raise MinceError(gate.line, "What cannot be judged is not passed.")
