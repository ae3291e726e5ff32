"""The plan: candidate sizes and settings, each input checked and named."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import get_args

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import step_for
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing.types import Method, Plan, Worst

MAX_DRAWS = 1_000_000
MAX_QUANTILE = 0.999999
"""Nearer to 1 the sums of an exact solution are not exact enough, and no number of draws will do."""


def candidate_sizes(total_items: int, step: int) -> tuple[int, ...]:
    """`step`, 2 x `step`, ... below `total_items`, in items. Raises UsageError for a step below 1."""
    if step < 1:
        raise UsageError(f"The step must be at least 1 item, not {step}.", "Give --step a positive whole number.")
    return tuple(range(step, total_items, step))


def make_plan(
    matrix: ScoreMatrix,
    *,
    step: int | None = None,
    sizes: Sequence[int] | None = None,
    draws: int = 10_000,
    tau_pp: float = 1.0,
    quantile: float = 0.95,
    worst: Worst = "per-model",
    method: Method = "auto",
    seed: int = 42,
) -> Plan:
    """The plan for `matrix`; candidate sizes come from `step`, from `sizes`, or from the benchmark's default step.

    `sizes` in items, any order, without repeats; `tau_pp` in pp per step; `quantile` above 0, at most MAX_QUANTILE.
    Raises UsageError that names the argument at fault.
    """
    total = matrix.total_items
    default_step = step_for(total, matrix.benchmark)
    if step is not None and sizes is not None:
        raise UsageError("Both --step and --sizes were given.", "Give one of them: sizes are listed, or follow a step.")
    if sizes is None:
        step = default_step if step is None else step
        chosen = candidate_sizes(total, step)
    else:
        chosen = _listed(sizes, total)
        step = _even_step(chosen)
    if len(chosen) < 2:
        raise UsageError(
            f"There are {len(chosen)} candidate sizes below {total} items; a marginal gain needs two.",
            f"Use a smaller --step (it is {step}) or list more --sizes.",
        )
    if not 100 <= draws <= MAX_DRAWS:
        raise UsageError(f"--draws must lie between 100 and {MAX_DRAWS:,}, not {draws}.", "10,000 is the usual number.")
    if not (math.isfinite(tau_pp) and tau_pp > 0):
        raise UsageError(f"--tau must be a number of pp above 0, not {tau_pp}.", "1.0 is the usual one.")
    if not 0 < quantile <= MAX_QUANTILE:
        raise UsageError(
            f"--quantile must lie between 0 and {MAX_QUANTILE}, not {quantile:.15g}.", "For 95 percent write 0.95."
        )
    if worst not in get_args(Worst):
        raise UsageError(f"--worst is per-model or joint, not '{worst}'.")
    if method not in get_args(Method):
        raise UsageError(f"--method is auto, exact or draws, not '{method}'.")
    if seed < 0:
        raise UsageError(f"--seed must be 0 or more, not {seed}.")
    return Plan(chosen, step, default_step, draws, float(tau_pp), float(quantile), worst, method, seed)


def _listed(sizes: Sequence[int], total: int) -> tuple[int, ...]:
    outside = [n for n in sizes if not 1 <= n < total]
    if outside:
        raise UsageError(
            f"--sizes holds {outside[0]}, but a candidate size lies between 1 and {total - 1}.",
            f"The benchmark has {total} items.",
        )
    repeated = [n for i, n in enumerate(sizes) if n in sizes[:i]]
    if repeated:
        raise UsageError(f"--sizes holds {repeated[0]} twice.", "List every size once.")
    return tuple(sorted(sizes))


def _even_step(sizes: tuple[int, ...]) -> int | None:
    steps = {b - a for a, b in pairwise(sizes)}
    return steps.pop() if len(steps) == 1 else None
