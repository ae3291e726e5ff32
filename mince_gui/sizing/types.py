"""The question that sizing answers, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mince_gui.logs.types import FloatArray

Worst = Literal["per-model", "joint"]
Method = Literal["auto", "exact", "draws"]

LEVELS = (*(percent / 100 for percent in range(1, 100)), 0.995)
"""Quantiles of |drift| that a result keeps, for plots of its distribution."""


@dataclass(frozen=True)
class Plan:
    """What to compute. `sizes` are candidate sizes in items, ascending, all below N.

    `tau_pp` in pp per step; `quantile` in (0, 1); `worst` is the rule (method.md: per-model takes the
    percentile for each (model, metric), then the maximum; joint the other way round).
    """

    sizes: tuple[int, ...]
    step: int | None
    default_step: int
    draws: int = 10_000
    tau_pp: float = 1.0
    quantile: float = 0.95
    worst: Worst = "per-model"
    method: Method = "auto"
    seed: int = 42


@dataclass(frozen=True)
class Bound:
    """The worst-case quantile of |drift| at any one size n, in pp; 0 at n = N.

    `error_pp` is its Monte Carlo standard error (0 for exact), `method` "exact" or "draws".
    """

    n: int
    p95_pp: float
    error_pp: float
    method: str


@dataclass(frozen=True)
class Target:
    """The smallest n whose bound is at most `target_pp`.

    Bounds move in lumps, so a larger n may exceed the target again: `n_always` is the smallest n from which on every
    larger one that was looked at holds it. Exact answers look at every n; answers by draws at every n from some lumps
    below the n that was found to as many above the last that exceeds, and farther off at the candidate sizes. Where
    no n below N holds it, both are N.
    """

    target_pp: float
    bound: Bound
    n_always: int

    def to_json(self) -> dict[str, Any]:
        """The object under `target` in `mince size --json`."""
        return {
            "target_pp": self.target_pp, "n": self.bound.n, "p95_pp": self.bound.p95_pp,
            "error_pp": self.bound.error_pp, "n_always": self.n_always, "method": self.bound.method,
        }  # fmt: skip

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Target:
        """What `to_json` made."""
        return Target(body["target_pp"], _bound(body), body["n_always"])


@dataclass(frozen=True)
class Budget:
    """How many items `hours` last for at `seconds_per_item`, at most N, and the bound at that n."""

    hours: float
    seconds_per_item: float
    bound: Bound

    def to_json(self) -> dict[str, Any]:
        """The object under `budget` in `mince size --json`."""
        return {
            "hours": self.hours, "seconds_per_item": self.seconds_per_item, "n": self.bound.n,
            "p95_pp": self.bound.p95_pp, "error_pp": self.bound.error_pp, "method": self.bound.method,
        }  # fmt: skip

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> Budget:
        """What `to_json` made."""
        return Budget(body["hours"], body["seconds_per_item"], _bound(body))


def _bound(body: Mapping[str, Any]) -> Bound:
    return Bound(body["n"], body["p95_pp"], body["error_pp"], body["method"])


@dataclass(frozen=True)
class SizingResult:
    """P95 curve, marginal gains and n*, with everything needed to plot and to freeze.

    `p95_pp[t]` belongs to `sizes[t]`; `gain_pp[0]` is None. `curves_pp` has shape (K, M, T): the
    quantile of |drift| of each (model, metric), NaN for a pair that takes no part. `error_pp` is the
    Monte Carlo standard error of each P95 (0 for exact); `smooth_pp` the lump-free closed form; `lump_pp` how far
    the |drift| of the pair that sets P95 moves with one unit more right (0 where its outcomes have no common unit).
    `n_star` is None where the rule finds none. `method` is "exact" or "draws", never "auto".
    """

    benchmark: str
    total_items: int
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    plan: Plan
    method: str
    p95_pp: tuple[float, ...]
    gain_pp: tuple[float | None, ...]
    error_pp: tuple[float, ...]
    smooth_pp: tuple[float, ...]
    lump_pp: tuple[float, ...]
    curves_pp: FloatArray
    n_star: int | None
    n_star_smooth: int | None
    n_star_by_seed: Mapping[int, int | None]
    seconds: float
    warnings: tuple[str, ...] = ()
    n_star_warnings: tuple[str, ...] = ()
    """Those of `warnings` that speak of this very n*: at another tau they say nothing."""
    gain_error_pp: tuple[float | None, ...] = ()
    """Monte Carlo standard error of each gain; less than the errors of its two P95 suggest, for they share draws."""
    by_rule_pp: Mapping[Worst, tuple[float, ...]] = field(default_factory=dict)
    """P95 by the plan's rule, and by the other one where the same draws give it."""
    by_level_pp: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    """The plan's rule at each of `LEVELS` instead of its quantile, (L, T): the distribution of the worst |drift|."""
    target: Target | None = None
    budget: Budget | None = None
    pool_sha256: str = ""
    """`ScoreMatrix.digest` of the pool, set where a sizing is kept: it says nothing of logs that came later."""

    def bound_at(self, n: int) -> float | None:
        """P95 in pp at candidate size n, None where n is no candidate."""
        return self.p95_pp[self.plan.sizes.index(n)] if n in self.plan.sizes else None

    def to_json(self) -> dict[str, Any]:
        """The object that `mince size --json` prints (keys as in DESIGN.md), without pair curves and distribution."""
        return {
            "benchmark": self.benchmark, "total_items": self.total_items, "models": list(self.models),
            "metrics": list(self.metrics), "sizes": list(self.plan.sizes), "p95_pp": list(self.p95_pp),
            "gain_pp": list(self.gain_pp), "error_pp": list(self.error_pp),
            "gain_error_pp": list(self.gain_error_pp), "lump_pp": list(self.lump_pp),
            "smooth_pp": list(self.smooth_pp),
            "by_rule_pp": {rule: list(curve) for rule, curve in self.by_rule_pp.items()},
            "n_star": self.n_star, "tau_pp": self.plan.tau_pp, "quantile": self.plan.quantile,
            "worst": self.plan.worst, "method": self.method, "draws": self.plan.draws, "seed": self.plan.seed,
            "step": self.plan.step, "seconds": self.seconds,
            "n_star_by_seed": {str(seed): n for seed, n in self.n_star_by_seed.items()},
            "n_star_smooth": self.n_star_smooth, "smooth_worst": "per-model",
            "target": self.target.to_json() if self.target else None,
            "budget": self.budget.to_json() if self.budget else None,
            "warnings": list(self.warnings),
        }  # fmt: skip
