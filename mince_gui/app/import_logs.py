"""Import per-item logs, and frozen artifacts of amd-quark: look first (`look`), then store what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, Event, Progress, Warned, ignore
from mince_gui.logs import check_encoding, detect, read
from mince_gui.logs.checks import refusal_of
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.types import Check, Detection, Found
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store.logs import Run, StoredLog

_MB = 1_000_000


@dataclass(frozen=True)
class Looked(Detection):
    """What a search turned up: logs, and `artifacts`, files with a subset that amd-quark froze."""

    artifacts: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Imported:
    """One log after import. `new` is False where this evaluation was there already. Scores in percent.

    `updated` is True where it was there, but this reading knows more or other details of it. `checks` are as stored.
    `total_items` is the whole benchmark's number, None where it is not known. `others` counts the model's other stored
    runs of the benchmark: each is kept, and sizing takes the newest of the `whole` ones, this one counted in.
    `together` is True where no run is whole, but all of them have every item once.
    """

    log_id: int
    model: str
    benchmark: str
    title: str
    timestamp: str
    source: str
    items: int
    total_items: int | None
    scores: dict[str, float | None]
    checks: tuple[Check, ...]
    new: bool
    updated: bool
    others: int = 0
    whole: int = 0
    together: bool = False


@dataclass(frozen=True)
class ImportedSubset:
    """One frozen subset after import. `new` is False where the workspace had it."""

    name: str
    benchmark: str
    n: int
    source: str
    new: bool


@dataclass(frozen=True)
class ImportSummary:
    """What was stored, what was refused (with its reason) and what was passed over."""

    imported: tuple[Imported, ...]
    refused: tuple[tuple[Found, str], ...]
    skipped: tuple[tuple[Path, str], ...]
    subsets: tuple[ImportedSubset, ...] = ()
    refused_subsets: tuple[tuple[Path, str], ...] = ()


class NothingImportedError(InputError):
    """There was nothing to import, or everything was refused; `summary` says what became of each file."""

    def __init__(self, message: str, remedy: str, summary: ImportSummary) -> None:
        super().__init__(message, remedy)
        self.summary = summary


def look(
    paths: Sequence[Path],
    *,
    encoding: str = "",
    salvage: bool = False,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Looked:
    """What lies in the paths, before anything is stored. Archives are unpacked until the result is closed or dropped.

    `encoding` is that of the logs' text where it is not UTF-8. With `salvage` a broken archive gives what was whole.
    Raises InputError for a path that is not there, UsageError for an unknown encoding, CancelledError.
    """
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist.", "Name a folder of logs, an archive or a samples file.")
    if encoding:
        check_encoding(encoding)
    with stream(emit, "look"):
        seen = detect(paths, encoding=encoding, emit=emit, cancel=cancel, salvage=salvage)
        artifacts = _artifacts(seen.unclaimed)
        places = {Path(seen.shown(str(path))) for path in artifacts}
        return Looked(
            found=seen.found,
            skipped=tuple((path, why) for path, why in seen.skipped if path not in places),
            unclaimed=tuple(path for path in seen.unclaimed if path not in artifacts),
            scratch=seen.scratch,
            artifacts=artifacts,
        )


def _artifacts(paths: Sequence[Path]) -> tuple[Path, ...]:
    candidates = [path for path in paths if path.suffix.lower() == ".json"]
    if not candidates:
        return ()
    # statistics come with the subsets; an import of logs alone does not wait for them
    from mince_gui.subset import is_artifact

    return tuple(path for path in candidates if is_artifact(path))


def import_logs(
    workspace: Path,
    found: Looked,
    *,
    benchmark: str | None = None,
    model: str | None = None,
    salvage: bool = False,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> ImportSummary:
    """Read and store every found log and artifact; one that is refused does not stop the others.

    Args:
        workspace: the workspace's folder.
        found: what `look` found.
        benchmark: only logs of this benchmark.
        model: the name to store; for a single model's logs only.
        salvage: import what is whole in front of a broken place.
        emit: receives Progress in MB of the files and Warned per refusal.
        cancel: checked while rows are read; what was stored before stays.

    Raises:
        NothingImportedError: nothing was found, or everything was refused.
        InputError: `model` is given, but there are logs of several models.
        UsageError: logs were found, but none of `benchmark`; or `model` is empty.
    """
    cancel = cancel or CancelToken()
    chosen = choose(found, benchmark)
    model = _model_name(model, chosen)
    meter = _Meter(chosen, emit)
    with stream(emit, "import", total=meter.total, unit="MB"), Workspace(workspace) as ws:
        ws.require_writable()
        imported: list[Imported] = []
        refused: list[tuple[Found, str]] = []
        for item in chosen:
            name = model or item.model
            meter.next(item, f"{name} · {item.benchmark.title}")
            cancel.check()
            try:
                log = read(item, emit=meter, cancel=cancel, salvage=salvage)
            except InputError as exc:
                refused.append((item, str(exc)))
                emit(Warned(f"{name} · {item.benchmark.title} was refused: {exc.message}", exc.remedy))
                continue
            if model is not None:
                log = dataclasses.replace(log, model=model)
            # whole paths are kept: a pack may take the log's prompts later, from another folder
            added = stored_logs.add(ws, dataclasses.replace(log, source=str(Path(log.source).absolute())))
            imported.append(
                Imported(
                    log_id=added.log_id,
                    model=log.model,
                    benchmark=log.benchmark.name,
                    title=log.benchmark.title,
                    timestamp=log.timestamp,
                    source=log.source,
                    items=len(log.keys),
                    total_items=log.total_items,
                    scores={metric: log.score(metric) for metric in log.metrics},
                    checks=added.checks,
                    new=added.new,
                    updated=added.updated,
                )
            )
        imported = _beside_others(ws, imported)
        # last: the logs that came with an artifact know the content of its items
        subsets, refused_subsets = _import_artifacts(ws, found, benchmark, emit)
        emit(Progress(meter.total, meter.total))
        summary = ImportSummary(tuple(imported), tuple(refused), found.skipped, tuple(subsets), tuple(refused_subsets))
        if not imported and not subsets:
            reasons = [f"  {item.model}: {why}" for item, why in refused]
            reasons += [f"  {path}: {why}" for path, why in refused_subsets]
            raise NothingImportedError("Everything was refused:\n" + "\n".join(reasons), "Nothing was stored.", summary)
        return summary


def choose(found: Looked, benchmark: str | None) -> list[Found]:
    """The logs that an import of `benchmark` (None: of any) takes.

    Raises NothingImportedError where nothing was found, UsageError where logs were found but none of `benchmark`.
    """
    chosen = [f for f in found.found if benchmark is None or f.benchmark.name.lower() == benchmark.lower()]
    if chosen or found.artifacts:
        return chosen
    if found.found:
        names = ", ".join(sorted({f.benchmark.name for f in found.found}))
        raise UsageError(f"No log of '{benchmark}' was found.", f"There are logs of: {names}.")
    reasons = "\n".join(f"  {path}: {why}" for path, why in found.skipped[:10])
    raise NothingImportedError(
        "No per-item logs were found." + (f"\n{reasons}" if reasons else ""),
        "Give what an evaluation wrote per item: lm-eval --log_samples, lighteval --save-details, inspect_ai, HELM, "
        "OpenCompass, EvalScope, IFEval's own script; or a table (mince import --help says of which form).",
        ImportSummary((), (), found.skipped),
    )


def _model_name(model: str | None, chosen: Sequence[Found]) -> str | None:
    """The name to store all under, fit to be stored; None where each log keeps its own."""
    if model is None:
        return None
    if len({f.model for f in chosen}) > 1:
        raise InputError("--model names one model, but logs of several were found.", "Import them one by one.")
    name = tidy_name(model)
    if not name:
        raise UsageError("--model names no model: it is empty.", "Give a name, or leave it out to keep the log's own.")
    return name


def _beside_others(ws: Workspace, imported: Sequence[Imported]) -> list[Imported]:
    """The same with what the workspace has of each model's runs of the benchmark."""
    return [
        dataclasses.replace(
            log,
            others=len(mine) - 1,
            whole=sum(refusal_of(run.checks) is None for run in mine),
            together=_have_all_together(ws, mine),
        )
        for log in imported
        for mine in [stored_logs.runs_of(ws, log.benchmark, log.model)]
    ]


def _have_all_together(ws: Workspace, runs: Sequence[Run]) -> bool:
    """Whether no run is whole, but every item is in exactly one of them, as subjects that ran at two times are."""
    total = next((run.total_items for run in runs if run.total_items is not None), None)
    if total is None or sum(run.items for run in runs) != total or any(run.items == total for run in runs):
        return False
    return len({key for run in runs for key in stored_logs.load(ws, run.log_id).keys}) == total


class _Meter:
    """Makes one progress in MB over all logs of what each reader says in bytes of its own."""

    def __init__(self, chosen: Sequence[Found], emit: Emit) -> None:
        self._sizes = {id(item): sum(_size(path) for path in item.files) for item in chosen}
        self.total = max(1, sum(self._sizes.values()) // _MB)
        self._emit = emit
        self._before = 0
        self._now = 0
        self._note = ""

    def next(self, item: Found, note: str) -> None:
        """Begin with the next log."""
        self._before += self._now
        self._now = self._sizes[id(item)]
        self._note = note
        self._emit(Progress(self._before // _MB, self.total, note))

    def __call__(self, event: Event) -> None:
        """The emit of the reader."""
        if isinstance(event, Progress):
            event = Progress(min((self._before + event.done) // _MB, self.total - 1), self.total, self._note)
        self._emit(event)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # it went away: its reader says so


def _import_artifacts(
    ws: Workspace, found: Looked, benchmark: str | None, emit: Emit
) -> tuple[list[ImportedSubset], list[tuple[Path, str]]]:
    taken: list[ImportedSubset] = []
    refused: list[tuple[Path, str]] = []
    if not found.artifacts:
        return taken, refused
    from mince_gui.store import subsets as stored_subsets
    from mince_gui.subset import read_artifact, write_subset

    for path in found.artifacts:
        source = found.shown(str(path))
        try:
            subset = read_artifact(path)
            if benchmark is not None and subset.benchmark.lower() != benchmark.lower():
                continue
            hashes = stored_subsets.content_hashes(ws, subset.benchmark)
            hashes |= stored_logs.content_hashes(ws, subset.benchmark)
            subset = dataclasses.replace(subset, hashes=tuple(hashes.get(key) for key in subset.item_keys))
            stored_subsets.check_name(ws, subset)
            known = [stored.subset.name for stored in stored_subsets.subsets(ws, subset.benchmark)]
            # one that was frozen here says more: the sizing that justified its n
            new = subset.name not in known
            if new:
                file = ws.subsets_dir / f"{subset.name}.json"
                write_subset(file, subset)
                stored_subsets.add_subset(ws, subset, file)
        except (InputError, UsageError) as exc:
            refused.append((Path(source), found.shown(str(exc))))
            emit(Warned(f"{source} was refused: {found.shown(exc.message)}", exc.remedy))
            continue
        taken.append(ImportedSubset(subset.name, subset.benchmark, subset.n, source, new))
    return taken, refused


def set_excluded(workspace: Path, which: Sequence[str], excluded: bool) -> list[StoredLog]:
    """Leave logs out of sizing, or take them in again; `which` are numbers of logs or names of models (all their logs).

    Raises UsageError for one that is not there, and then changes nothing.
    """
    with Workspace(workspace) as ws:
        logs = stored_logs.listing(ws)
        chosen: dict[int, StoredLog] = {}
        for name in which:
            meant = [log for log in logs if name in (str(log.log_id), log.model)]
            if not meant:
                raise UsageError(f"There is no log '{name}'.", "Name a log's number or a model: mince logs lists them.")
            chosen |= {log.log_id: log for log in meant}
        for log_id in chosen:
            stored_logs.set_excluded(ws, log_id, excluded)
        return [log for log in stored_logs.listing(ws) if log.log_id in chosen]
