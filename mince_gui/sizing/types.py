"""The question that sizing answers, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.logs.types import FloatArray

Worst = Literal["per-model", "joint"]
Method = Literal["auto", "exact", "draws"]


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
class SizingResult:
    """P95 curve, marginal gains and n*, with everything needed to plot and to freeze.

    `p95_pp[t]` belongs to `sizes[t]`; `gain_pp[0]` is None. `curves_pp` has shape (K, M, T): the
    quantile of |drift| of each (model, metric), NaN for a pair that takes no part. `error_pp` is the
    Monte Carlo standard error of each P95 (0 for exact); `smooth_pp` the lump-free closed form.
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
    curves_pp: FloatArray
    n_star: int | None
    n_star_smooth: int | None
    n_star_by_seed: Mapping[int, int | None]
    seconds: float
    warnings: tuple[str, ...] = ()
    n_star_warnings: tuple[str, ...] = ()
    """Those of `warnings` that speak of this very n*: at another tau they say nothing."""

    def bound_at(self, n: int) -> float | None:
        """P95 in pp at candidate size n, None where n is no candidate."""
        return self.p95_pp[self.plan.sizes.index(n)] if n in self.plan.sizes else None

    def to_json(self) -> dict[str, Any]:
        """The object that `mince size --json` prints (keys as in DESIGN.md), without the pair curves."""
        return {
            "benchmark": self.benchmark, "total_items": self.total_items, "models": list(self.models),
            "metrics": list(self.metrics), "sizes": list(self.plan.sizes), "p95_pp": list(self.p95_pp),
            "gain_pp": list(self.gain_pp), "error_pp": list(self.error_pp), "smooth_pp": list(self.smooth_pp),
            "n_star": self.n_star, "tau_pp": self.plan.tau_pp, "quantile": self.plan.quantile,
            "worst": self.plan.worst, "method": self.method, "draws": self.plan.draws, "seed": self.plan.seed,
            "step": self.plan.step, "seconds": self.seconds,
            "n_star_by_seed": {str(seed): n for seed, n in self.n_star_by_seed.items()},
            "n_star_smooth": self.n_star_smooth, "warnings": list(self.warnings),
        }  # fmt: skip
