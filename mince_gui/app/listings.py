"""What the workspace holds, for lists: each call opens and closes it, so any thread may ask."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mince_gui.base.errors import InputError
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import runs as stored_runs
from mince_gui.store import subsets as stored_subsets
from mince_gui.store.logs import StoredLog
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.store.subsets import StoredPack, StoredSubset


def list_logs(workspace: Path, benchmark: str | None = None) -> list[StoredLog]:
    """Imported logs by benchmark and model."""
    with Workspace(workspace) as ws:
        return stored_logs.listing(ws, benchmark)


def list_subsets(workspace: Path) -> tuple[list[StoredSubset], list[StoredPack]]:
    """Frozen subsets and known packs, newest first."""
    with Workspace(workspace) as ws:
        return stored_subsets.subsets(ws), stored_subsets.packs(ws)


def unreadable_subsets(workspace: Path) -> dict[str, InputError]:
    """Name -> why of every frozen subset that cannot be used any more."""
    with Workspace(workspace) as ws:
        return stored_subsets.unreadable(ws)


def list_runs(workspace: Path) -> list[StoredRun]:
    """Runs, newest first."""
    with Workspace(workspace) as ws:
        return stored_runs.runs(ws)


def show_run(workspace: Path, run_id: str) -> tuple[StoredRun, list[StoredItem]]:
    """One run with its committed items. Raises UsageError for an unknown one."""
    with Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)
        return run, stored_runs.items(ws, run.run_id)


@dataclass(frozen=True)
class Deleted:
    """A run that is gone, and the runs that were scored from its answers: they hold these themselves, and stay."""

    run_id: str
    rescored: tuple[str, ...]


def delete_run(workspace: Path, run_id: str) -> Deleted:
    """Delete a run. Raises UsageError while it is going on."""
    with Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)
        rescored = tuple(other.run_id for other in stored_runs.runs(ws) if other.rescored_of == run.run_id)
        stored_runs.delete(ws, run.run_id)
        return Deleted(run.run_id, rescored)
