"""Size a benchmark: how many items bound the drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.logs import build_matrix
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing import budget_for, check_budget, check_target, make_plan, n_for_target
from mince_gui.sizing import size as compute
from mince_gui.sizing.types import Method, Plan, SizingResult, Worst
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import subsets as stored_subsets


@dataclass(frozen=True)
class SizeQuestion:
    """What `mince size` asks; None = the benchmark's default. `models` None = every model not excluded.

    `target_pp` asks for the smallest n with that bound; `hours` and `seconds_per_item` for the bound of the n that
    fits into the time. None = not asked.
    """

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
    target_pp: float | None = None
    hours: float | None = None
    seconds_per_item: float | None = None


def calibration(
    ws: Workspace, benchmark: str, models: Sequence[str] | None, *, held: Sequence[str] = ()
) -> ScoreMatrix:
    """The checked score matrix of the pool, and of models held out of it, which may be excluded from sizing.

    Raises UsageError where no log, or not every named model, is there.
    """
    known = stored_logs.known_benchmark(ws, benchmark)
    pool = [log for log in stored_logs.pool(ws, known.name, models) if log.model not in held]
    pool += stored_logs.pool(ws, known.name, held) if held else []
    there = sorted({stored.model for stored in stored_logs.listing(ws, known.name)})
    absent = sorted({*(models or ()), *held} - {log.model for log in pool})
    if absent and there:
        raise UsageError(f"No log of {known.title} for: {', '.join(absent)}.", f"There are: {', '.join(there)}.")
    if not pool:
        none = (
            "No model of the pool is named."
            if models is not None and there
            else f"No logs of {known.title} are in use."
        )
        raise UsageError(none, "Import some (mince import FOLDER), or include some (mince logs --include MODEL).")
    return build_matrix(known, pool)


def is_of(sizing: SizingResult, matrix: ScoreMatrix) -> bool:
    """Whether the sizing was computed from these very outcomes; `matrix` may hold other models beside its own."""
    return set(sizing.models) <= set(matrix.models) and matrix.select(sizing.models).digest() == sizing.pool_sha256


def check_is_of(sizing: SizingResult, matrix: ScoreMatrix) -> None:
    """Raise UsageError where logs changed since the sizing: its figures are those of other outcomes."""
    if not is_of(sizing, matrix):
        raise UsageError(
            f"The logs of {matrix.benchmark.title} changed since it was sized.",
            f"Size it again: mince size --benchmark {matrix.benchmark.name}",
        )


def plan_of(matrix: ScoreMatrix, question: SizeQuestion) -> Plan:
    """The plan that the question asks for. Raises UsageError for what cannot be planned."""
    return make_plan(
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


def size(
    workspace: Path, question: SizeQuestion, *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> SizingResult:
    """Answer the question and keep the answer in the workspace. Raises UsageError for what cannot be sized."""
    _check_questions(question.target_pp, question.hours, question.seconds_per_item)
    with stream(emit, "size", detail=question.benchmark), Workspace(workspace) as ws:
        ws.require_writable()
        matrix = calibration(ws, question.benchmark, question.models)
        plan = plan_of(matrix, question)
        result = compute(matrix, plan, emit=emit, cancel=cancel)
        result = _with_answers(
            matrix, result, question.target_pp, question.hours, question.seconds_per_item, emit=emit, cancel=cancel
        )
        result = replace(result, pool_sha256=matrix.digest())
        stored_subsets.add_sizing(ws, result)
        return result


def ask(
    workspace: Path,
    benchmark: str,
    *,
    target_pp: float | None = None,
    hours: float | None = None,
    seconds_per_item: float | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> SizingResult:
    """The newest sizing of `benchmark` with its `target` and `budget` as asked now; nothing is sized or stored anew.

    Raises UsageError where there is no sizing, or its pool is no longer what it was.
    """
    _check_questions(target_pp, hours, seconds_per_item)
    with stream(emit, "ask", detail=benchmark), Workspace(workspace) as ws:
        known = stored_logs.known_benchmark(ws, benchmark)
        sizing = stored_subsets.latest_sizing(ws, known.name)
        if sizing is None:
            raise UsageError(f"{known.title} was not sized.", f"Size it: mince size --benchmark {known.name}")
        matrix = calibration(ws, known.name, sizing.models)
        check_is_of(sizing, matrix)
        return _with_answers(matrix, sizing, target_pp, hours, seconds_per_item, emit=emit, cancel=cancel)


def _check_questions(target_pp: float | None, hours: float | None, seconds_per_item: float | None) -> None:
    """Before anything is drawn: a question that has no answer must not cost the sizing."""
    if (hours is None) != (seconds_per_item is None):
        raise UsageError(
            "--hours and --seconds-per-item belong together.", "Give both: how long, and how long one item takes."
        )
    if target_pp is not None:
        check_target(target_pp)
    if hours is not None and seconds_per_item is not None:
        check_budget(hours, seconds_per_item)


def _with_answers(
    matrix: ScoreMatrix,
    result: SizingResult,
    target_pp: float | None,
    hours: float | None,
    seconds_per_item: float | None,
    *,
    emit: Emit,
    cancel: CancelToken | None,
) -> SizingResult:
    target = budget = None
    if target_pp is not None:
        target = n_for_target(matrix, result, target_pp, emit=emit, cancel=cancel)
    if hours is not None and seconds_per_item is not None:
        budget = budget_for(matrix, result, hours, seconds_per_item, emit=emit, cancel=cancel)
    return replace(result, target=target, budget=budget)
