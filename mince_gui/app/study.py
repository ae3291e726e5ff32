"""Studies: what a sizing hangs on. One question, one table."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from mince_gui.app.grouping import clustering
from mince_gui.app.size import SizeQuestion, calibration, plan_of
from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.logs.types import Check, ScoreMatrix
from mince_gui.sizing import bound_at, size
from mince_gui.sizing.studies import (
    MOST_OUT,
    OTHER_DRAWS,
    SAMPLER_SEEDS,
    TAUS,
    Drawing,
    Study,
    compare_samplers,
    holdout,
    leave_out,
    ranks,
    seeds_study,
    tau_sweep,
)
from mince_gui.sizing.types import Plan, SizingResult, Worst
from mince_gui.store import Workspace
from mince_gui.subset import draw_stratified, draw_uniform

Kind = Literal["tau", "leave-out", "samplers", "ranks", "seeds", "holdout"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SEEDS = {"seeds": 20, "samplers": len(SAMPLER_SEEDS), "ranks": 100, "holdout": OTHER_DRAWS}


@dataclass(frozen=True)
class StudyQuestion:
    """What `mince study` asks. `sizing` holds the benchmark, the pool (its `models`) and the plan.

    `held`: models outside the pool (holdout only). `metrics`: only these, None = all. `n`: the subset's size for
    samplers, ranks and holdout, None = n*. `seeds`: how many, from 0 on (holdout: but the plan's own), None =
    the study's own number. `both_rules`: seeds by per-model and joint. `embeddings`, or `embedding_model` with
    `dataset`: for the sampler kmeans, as `freeze` takes them.
    """

    kind: Kind
    sizing: SizeQuestion
    held: tuple[str, ...] = ()
    metrics: tuple[str, ...] | None = None
    n: int | None = None
    taus: tuple[float, ...] = TAUS
    seeds: int | None = None
    most_out: int = MOST_OUT
    both_rules: bool = False
    embeddings: Path | None = None
    embedding_model: Path | None = None
    dataset: Path | None = None


def study(workspace: Path, question: StudyQuestion, *, emit: Emit = ignore, cancel: CancelToken | None = None) -> Study:
    """Answer the question from the workspace's logs; nothing is stored.

    Raises UsageError for what cannot be asked of this pool, CancelledError after a cancel.
    """
    asked = question.sizing
    with stream(emit, "study", detail=f"{question.kind} {asked.benchmark}"), Workspace(workspace) as ws:
        _check(question)
        matrix = _matrix(ws, question)
        pool = [model for model in matrix.models if model not in question.held]
        if not pool:
            raise UsageError("Every model is held out; the pool is empty.", "Name fewer with --held.")
        held = matrix.select([model for model in matrix.models if model in question.held])
        matrix = matrix.select(pool)
        plan = plan_of(matrix, asked)
        return _answer(question, matrix, held, plan, ws.folder / "embeddings", emit, cancel)


def _answer(
    question: StudyQuestion,
    matrix: ScoreMatrix,
    held: ScoreMatrix,
    plan: Plan,
    cache: Path,
    emit: Emit,
    cancel: CancelToken | None,
) -> Study:
    total = matrix.total_items

    def uniform(n: int, seed: int) -> Sequence[int]:
        return draw_uniform(total, n, seed)

    kind = question.kind
    count = question.seeds or _SEEDS.get(kind, 1)
    seeds = range(count)
    if kind == "leave-out":
        return leave_out(matrix, plan, uniform, most_out=question.most_out, emit=emit, cancel=cancel)
    if kind == "seeds":
        worst: tuple[Worst, ...] = get_args(Worst) if question.both_rules else (plan.worst,)
        return seeds_study(matrix, plan, seeds=seeds, worst=worst, emit=emit, cancel=cancel)
    sizing = size(matrix, plan, emit=emit, cancel=cancel, by_seed=False)
    if kind == "tau":
        return tau_sweep(sizing, question.taus)
    n = _n(question, sizing)
    if kind == "ranks":
        return ranks(matrix, sizing, n, uniform, seeds=seeds, emit=emit, cancel=cancel)
    bound = bound_at(matrix, sizing, n, emit=emit, cancel=cancel).p95_pp
    if kind == "holdout":
        return holdout(held, sizing, n, bound, uniform, other_draws=count, emit=emit, cancel=cancel)
    drawings, left_out, notes = _samplers(question, matrix, uniform, cache, emit, cancel)
    return compare_samplers(
        matrix, sizing, n, bound, drawings, seeds=seeds, left_out=left_out, notes=notes, emit=emit, cancel=cancel
    )


def _samplers(
    question: StudyQuestion,
    matrix: ScoreMatrix,
    uniform: Drawing,
    cache: Path,
    emit: Emit,
    cancel: CancelToken | None,
) -> tuple[dict[str, Drawing], list[str], list[str]]:
    """Every sampler that can serve this pool, a sentence for each that cannot, and sentences about those that do."""
    drawings = {"uniform": uniform}
    left_out, notes = [], []
    if all(category is None for category in matrix.categories):
        left_out.append(f"stratified is left out: no item of {matrix.benchmark.title} has a category in these logs.")
    else:
        drawings["stratified"] = lambda n, seed: draw_stratified(matrix.categories, n, seed)
    if question.embeddings is None and question.embedding_model is None:
        left_out.append("kmeans is left out: it needs --embeddings, or --embedding-model with --dataset.")
    else:
        grouped = clustering(
            matrix,
            question.embeddings,
            question.embedding_model,
            question.dataset,
            cache=cache,
            emit=emit,
            cancel=cancel,
        )
        drawings["kmeans"] = lambda n, seed: draw_stratified(grouped.labels, n, seed)
        notes.append(f"kmeans: {grouped.k} clusters, mean silhouette {grouped.silhouettes[grouped.k]:.3f}.")
    return drawings, left_out, notes


def _check(question: StudyQuestion) -> None:
    if question.kind == "holdout" and not question.held:
        raise UsageError("No held-out models are named.", "Name them with --held A,B.")
    if question.held and question.kind != "holdout":
        raise UsageError(
            f"--held belongs to the study holdout, not to {question.kind}.", "Use --pool to leave models out."
        )
    both = sorted(set(question.held) & set(question.sizing.models or ()))
    if both:
        raise UsageError(f"{', '.join(both)} stands in --pool and in --held.", "A held-out model is not in the pool.")
    if question.dataset is not None and question.embedding_model is None:
        raise UsageError(
            "--dataset is read for --embedding-model alone, which is not given.", "Give the model too, or no dataset."
        )


def _matrix(ws: Workspace, question: StudyQuestion) -> ScoreMatrix:
    """Pool and held-out models in one checked matrix, with the metrics that are asked for."""
    asked = question.sizing
    matrix = calibration(ws, asked.benchmark, asked.models, held=question.held)
    lacking = [name for name in question.held if name not in matrix.models]
    if lacking:
        reasons = [check.message for check in matrix.checks if any(_is_of(check, name) for name in lacking)]
        raise UsageError(
            f"{', '.join(lacking)} cannot be held out. {' '.join(reasons)}".strip(), "Import a whole log of it."
        )
    if question.metrics is None:
        return matrix
    unknown = [name for name in question.metrics if name not in matrix.metrics]
    if unknown:
        raise UsageError(f"No metric is called {', '.join(unknown)}.", f"There are: {', '.join(matrix.metrics)}.")
    places = [m for m, name in enumerate(matrix.metrics) if name in question.metrics]
    return dataclasses.replace(
        matrix,
        metrics=tuple(matrix.metrics[m] for m in places),
        passed=np.ascontiguousarray(matrix.passed[:, places]),
        trials=np.ascontiguousarray(matrix.trials[:, places]),
    )


def _is_of(check: Check, model: str) -> bool:
    """Whether the check says why this very model is left out: its name, with or without a time, begins the sentence."""
    left_out = re.compile(rf"{re.escape(model)}( \([^()]*\))? is left out: ")
    return check.severity == "refusal" and left_out.match(check.message) is not None


def _n(question: StudyQuestion, sizing: SizingResult) -> int:
    """The subset's size: what was asked for, or n*."""
    if question.n is not None:
        if not 1 <= question.n < sizing.total_items:
            raise UsageError(f"--n {question.n} is not between 1 and {sizing.total_items - 1}.")
        return question.n
    if sizing.n_star is None:
        raise UsageError(f"There is no n* at tau = {sizing.plan.tau_pp:g} pp.", "Say with --n how many items to draw.")
    return sizing.n_star
