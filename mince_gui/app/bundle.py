"""Bundles of runs: what a lab carries from many laptops into one workspace.

A run that came in a bundle is listed, shown, reported, rescored, exported and deleted like any other; it is resumed
only where it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from mince_gui.app.bundle_file import SUFFIX, BundleFile, open_bundle, require_readable, write_bundle
from mince_gui.app.stream import stream
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, Progress, Warned, ignore
from mince_gui.base.files import write_atomic
from mince_gui.store import Workspace, transfer
from mince_gui.store import runs as stored_runs
from mince_gui.store.transfer import RunRecord
from mince_gui.store.workspace import now

What = Literal["new", "updated", "already here", "older"]
"""older: the workspace has this run already with more items, or with a later end."""

_SHOWN = 60


@dataclass(frozen=True)
class BundledRun:
    """A run as a bundle has it. `device` is "" where no model was loaded; `cause` None where it was interrupted."""

    run_id: str
    benchmark: str
    subset: str
    model: str
    machine: str
    device: str
    items: int
    done: int
    missing: int
    state: str
    cause: str | None
    created_at: str
    rescored_of: str | None
    digest: str

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


@dataclass(frozen=True)
class Exported:
    """What was written; `left_out` maps runs of `--all` to why they are not in the file."""

    path: Path
    sha256: str
    runs: tuple[BundledRun, ...]
    left_out: dict[str, str]


@dataclass(frozen=True)
class ImportedRun:
    """What became of one run; `here` is its id in the workspace."""

    run: BundledRun
    what: What
    here: str


@dataclass(frozen=True)
class Imported:
    """What became of a bundle, which the program of `tool_version` wrote."""

    path: Path
    sha256: str
    tool_version: str
    runs: tuple[ImportedRun, ...]


@dataclass(frozen=True)
class Shown:
    """What is in a bundle, verified."""

    path: Path
    sha256: str
    tool_version: str
    runs: tuple[BundledRun, ...]


def export_runs(
    workspace: Path, run_ids: Sequence[str], out: Path, *, everything: bool = False, emit: Emit = ignore
) -> Exported:
    """Write runs that have ended or were interrupted into one file; the suffix is added where `out` has none.

    `everything`: all of the workspace that can be exported, those that cannot are named. Raises UsageError for an
    unknown run, for one that is going on, and where there is none.
    """
    path = out if out.suffix == SUFFIX else out.with_name(out.name + SUFFIX)
    found, left_out = list[BundledRun](), dict[str, str]()
    with Workspace(workspace) as ws:
        wanted = [run.run_id for run in stored_runs.runs(ws)] if everything else run_ids
        chosen = sorted({stored_runs.get(ws, run_id).run_id for run_id in wanted})

        def records() -> Iterator[RunRecord]:
            for done, run_id in enumerate(chosen, start=1):
                try:
                    record = transfer.take_out(ws, run_id)
                    require_readable(record)
                except (UsageError, InputError) as exc:
                    if not everything:
                        raise
                    left_out[run_id] = exc.message
                    emit(Warned(f"Left out: {exc.message}"))
                    continue
                found.append(_bundled(record))
                yield record
                emit(Progress(done, len(chosen)))

        with stream(emit, "bundle", total=len(chosen), unit="runs", detail=path.name):
            raw = write_bundle(records())
            if not found:
                raise UsageError("There is no run to export.", "`mince runs` lists them.")
            write_atomic(path, raw)
    return Exported(path, sha256_file(path), tuple(found), left_out)


def import_bundle(workspace: Path, path: Path, *, emit: Emit = ignore) -> Imported:
    """Put every run of a bundle into the workspace, or none of them.

    A run that is here already is not stored twice; one that went on since it was imported is brought up to date.
    Raises InputError for a file that is no whole bundle, and for a run that contradicts the one that is here; then
    nothing is changed.
    """
    found: list[ImportedRun] = []
    with open_bundle(path) as bundle, Workspace(workspace) as ws:
        ws.require_writable()
        origin = {
            "bundle": path.name, "bundle_sha256": bundle.sha256, "exported_by": f"mince-gui {bundle.tool_version}",
            "imported_at": now(),
        }  # fmt: skip
        total = len(bundle.runs)
        with stream(emit, "import", total=total, unit="runs", detail=path.name), ws.writing() as db:
            for done, record in enumerate(_records(bundle), start=1):
                what, here = _compared(ws, record, path)
                if what in ("new", "updated"):
                    _same_subset(transfer.subset_here(db, record.plan["pack_sha256"]), record, path)
                    transfer.put_in(db, record, origin)
                found.append(ImportedRun(_bundled(record), what, here))
                emit(Progress(done, total))
        return Imported(path, bundle.sha256, bundle.tool_version, tuple(found))


def show_bundle(path: Path) -> Shown:
    """What is in a bundle. Raises InputError for a file that is no whole bundle."""
    with open_bundle(path) as bundle:
        runs = tuple(_bundled(record) for record in _records(bundle))
        return Shown(path, bundle.sha256, bundle.tool_version, runs)


def _records(bundle: BundleFile) -> Iterator[RunRecord]:
    return (bundle.record(stated) for stated in bundle.runs)


def _bundled(record: RunRecord) -> BundledRun:
    done = sum(item["state"] == "done" for item in record.items)
    plan = record.plan
    return BundledRun(
        run_id=record.run_id, benchmark=plan["benchmark"], subset=plan["subset"], model=plan["model"],
        machine=record.machine, device=str((record.conditions or {}).get("device") or ""), items=plan["items"],
        done=done, missing=len(record.items) - done, state=record.state, cause=record.cause,
        created_at=record.created_at, rescored_of=plan["rescored_of"], digest=record.digest,
    )  # fmt: skip


def _compared(ws: Workspace, record: RunRecord, path: Path) -> tuple[What, str]:
    """What the record is to the workspace, and the id of the run that it is there.

    Raises InputError where both have the same id and contradict each other.
    """
    known = transfer.known(ws, record.run_id)
    if known is None:
        twin = transfer.same_elsewhere(ws, record)
        return ("new", record.run_id) if twin is None else ("already here", twin)
    mine = transfer.record_of(ws, known)
    if mine.digest == record.digest and _end(mine) == _end(record):
        return "already here", record.run_id
    _require_same_plan(mine, record, path)
    here, there = mine.done, record.done
    for position in sorted(here.keys() & there.keys()):
        _require_same_item(here[position], there[position], record, path)
    more_here, more_there = here.keys() - there.keys(), there.keys() - here.keys()
    if more_here and more_there:
        keys = [(items[min(more)]["item_key"]) for items, more in ((here, more_here), (there, more_there))]
        raise _contradiction(record, path, f"item {keys[0]} is done here alone, item {keys[1]} in the file alone")
    if more_here or (not more_there and (not known.origin or _end(mine) >= _end(record))):
        return "older", record.run_id
    if not known.origin:
        raise InputError(
            f"{path}: run {record.run_id} was made in this workspace, and has {len(there):,} items in the file against "
            f"{len(here):,} here. Nothing was changed.",
            f"Runs of your own are never overwritten. If the file is right: mince runs delete {record.run_id}, then "
            "import it again.",
        )
    return "updated", record.run_id


def _end(record: RunRecord) -> str:
    """When the run ended; one that was interrupted is older than its later end."""
    return record.ended_at or ""


def _require_same_plan(mine: RunRecord, theirs: RunRecord, path: Path) -> None:
    here, there = mine.facts, theirs.facts
    for name in here:
        # Conditions are those of the latest sitting.
        if name != "conditions" and here[name] != there[name]:
            raise _contradiction(
                theirs, path, f"{name} is {_short(here[name])} here, {_short(there[name])} in the file"
            )


def _require_same_item(mine: Any, theirs: Any, record: RunRecord, path: Path) -> None:
    if mine == theirs:
        return
    name = next(name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name))
    facts = f"{_short(mine.get(name))} here, {_short(theirs.get(name))} in the file"
    raise _contradiction(record, path, f"{name} of item {mine['item_key']} is {facts}")


def _same_subset(here: dict[str, Any] | None, record: RunRecord, path: Path) -> None:
    """A pack of one SHA-256 has one subset, and runs of it that are here must keep theirs."""
    if here is not None and here != record.subset:
        pack = record.plan["pack_sha256"]
        raise _contradiction(record, path, f"the subset of pack {pack[:12]}... is another one here")


def _contradiction(record: RunRecord, path: Path, facts: str) -> InputError:
    return InputError(
        f"{path} contradicts this workspace on run {record.run_id}: {facts}. Nothing was changed.",
        "One of the two was edited: take the file from the machine that made the run, or delete the run here "
        f"(mince runs delete {record.run_id}) and import again.",
    )


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
