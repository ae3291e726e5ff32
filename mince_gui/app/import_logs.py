"""Import per-item logs: look first (`look`), then store what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, Progress, Warned, ignore
from mince_gui.logs import detect, read
from mince_gui.logs.types import Check, Detection, Found
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs


@dataclass(frozen=True)
class Imported:
    """One log after import. `new` is False where this evaluation was there already. Scores in percent."""

    log_id: int
    model: str
    benchmark: str
    title: str
    items: int
    total_items: int
    scores: dict[str, float | None]
    checks: tuple[Check, ...]
    new: bool


@dataclass(frozen=True)
class ImportSummary:
    """What was stored, what was refused (with its reason) and what was passed over."""

    imported: tuple[Imported, ...]
    refused: tuple[tuple[Found, str], ...]
    skipped: tuple[tuple[Path, str], ...]


def look(paths: Sequence[Path]) -> Detection:
    """What lies in the paths, before anything is stored. Raises InputError for a path that is not there."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path} does not exist.", "Name a folder of logs or a samples file.")
    return detect(paths)


def import_logs(
    workspace: Path,
    found: Detection,
    *,
    benchmark: str | None = None,
    model: str | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> ImportSummary:
    """Read and store every found log; one that is refused does not stop the others.

    Args:
        workspace: the workspace's folder.
        found: what `look` found.
        benchmark: only logs of this benchmark.
        model: the name to store; for a single model's logs only.
        emit: receives Progress per log and Warned per refusal.
        cancel: checked while rows are read; what was stored before stays.

    Raises:
        InputError: nothing was found, or every log was refused.
        UsageError: logs were found, but none of `benchmark`.
    """
    cancel = cancel or CancelToken()
    chosen = [f for f in found.found if benchmark is None or f.benchmark.name.lower() == benchmark.lower()]
    with stream(emit, "import", total=len(chosen), unit="logs"), Workspace(workspace) as ws:
        if found.found and not chosen:
            names = ", ".join(sorted({f.benchmark.name for f in found.found}))
            raise UsageError(f"No log of '{benchmark}' was found.", f"There are logs of: {names}.")
        if not chosen:
            reasons = "\n".join(f"  {path}: {why}" for path, why in found.skipped[:10])
            raise InputError(
                "No per-item logs were found." + (f"\n{reasons}" if reasons else ""),
                "Give lm-eval output folders made with --log_samples.",
            )
        if model is not None and len({f.model for f in chosen}) > 1:
            raise InputError("--model names one model, but logs of several were found.", "Import them one by one.")
        imported: list[Imported] = []
        refused: list[tuple[Found, str]] = []
        for done, item in enumerate(chosen):
            name = model or item.model
            emit(Progress(done, len(chosen), f"{name} · {item.benchmark.title}"))
            cancel.check()
            try:
                log = read(item, cancel=cancel)
            except InputError as exc:
                refused.append((item, str(exc)))
                emit(Warned(f"{name} · {item.benchmark.title} was refused: {exc.message}", exc.remedy))
                continue
            if model is not None:
                log = dataclasses.replace(log, model=model)
            log_id, new = stored_logs.add(ws, log)
            imported.append(
                Imported(
                    log_id=log_id,
                    model=log.model,
                    benchmark=log.benchmark.name,
                    title=log.benchmark.title,
                    items=len(log.keys),
                    total_items=log.benchmark.total_items or len(log.keys),
                    scores={metric: log.score(metric) for metric in log.metrics},
                    checks=log.checks,
                    new=new,
                )
            )
        emit(Progress(len(chosen), len(chosen)))
        if not imported:
            raise InputError(
                "Every log was refused:\n" + "\n".join(f"  {item.model}: {why}" for item, why in refused),
                "Nothing was stored.",
            )
        return ImportSummary(tuple(imported), tuple(refused), found.skipped)
