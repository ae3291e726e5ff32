"""Size a benchmark: how many items bound the drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.logs import build_matrix
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing import make_plan
from mince_gui.sizing import size as compute
from mince_gui.sizing.types import Method, SizingResult, Worst
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import subsets as stored_subsets


@dataclass(frozen=True)
class SizeQuestion:
    """What `mince size` asks; None = the benchmark's default. `models` None = every model not excluded."""

    benchmark: str
    models: tuple[str, ...] | None = None
    step: int | None = None
    sizes: tuple[int, ...] | None = None
    draws: int = 10_000
    tau_pp: float = 1.0
    quantile: float = 0.95
    worst: Worst = "per-model"
    method: Method = "auto"
    seed: int = 42


def calibration(ws: Workspace, benchmark: str, models: Sequence[str] | None) -> ScoreMatrix:
    """The checked score matrix of the pool. Raises UsageError where no log, or not every named model, is there."""
    known = stored_logs.known_benchmark(ws, benchmark)
    pool = stored_logs.pool(ws, known.name, models)
    if not pool:
        raise UsageError(f"No logs of {known.title} are in the workspace.", "Import some: mince import FOLDER")
    absent = sorted(set(models or ()) - {log.model for log in pool})
    if absent:
        names = ", ".join(sorted({s.model for s in stored_logs.listing(ws, known.name)}))
        raise UsageError(f"No log of {known.title} for: {', '.join(absent)}.", f"There are: {names}.")
    return build_matrix(known, pool)


def size(
    workspace: Path, question: SizeQuestion, *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> SizingResult:
    """Answer the question and keep the answer in the workspace. Raises UsageError for what cannot be sized."""
    with stream(emit, "size", detail=question.benchmark), Workspace(workspace) as ws:
        matrix = calibration(ws, question.benchmark, question.models)
        plan = make_plan(
            matrix,
            step=question.step,
            sizes=question.sizes,
            draws=question.draws,
            tau_pp=question.tau_pp,
            quantile=question.quantile,
            worst=question.worst,
            method=question.method,
            seed=question.seed,
        )
        result = compute(matrix, plan, emit=emit, cancel=cancel)
        stored_subsets.add_sizing(ws, result)
        return result
