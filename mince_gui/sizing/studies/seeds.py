"""n* over seeds: how much of it is the seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing import rules
from mince_gui.sizing.curves import seed_curves, worst_curves
from mince_gui.sizing.solve import size
from mince_gui.sizing.studies.table import Table, as_json, bound_column, counted, reduction, star, whole
from mince_gui.sizing.types import Plan, SizingResult, Worst


@dataclass(frozen=True)
class AtSeed:
    """One sizing by draws. `p95_pp` and `gain_pp` at its n* are None where it has none; `curve_pp` at every size."""

    worst: Worst
    seed: int
    n_star: int | None
    p95_pp: float | None
    gain_pp: float | None
    curve_pp: tuple[float, ...]


@dataclass(frozen=True)
class SeedStudy:
    """n* by draws for every rule and seed; `sizing` is the plan's own, exact where the data allow."""

    sizing: SizingResult
    rows: tuple[AtSeed, ...]
    kind: str = "seeds"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the sizing says of its pool and step."""
        return tuple(text for text in self.sizing.warnings if text not in self.sizing.n_star_warnings)

    def distribution(self, worst: Worst) -> dict[int | None, int]:
        """n* -> number of seeds that give it, commonest first."""
        return dict(Counter(row.n_star for row in self.rows if row.worst == worst).most_common())

    def table(self) -> Table:
        """One row per rule and seed."""
        columns = ("worst", "seed", "n_star", "reduction_percent", bound_column(self.sizing.plan), "gain_pp")
        total = self.sizing.total_items
        rows = [
            (row.worst, row.seed, row.n_star, reduction(row.n_star, total), row.p95_pp, row.gain_pp)
            for row in self.rows
        ]
        return whole(columns, rows)

    def summary(self) -> tuple[str, ...]:
        """The distribution per rule, beside what no seed can move."""
        said = []
        for worst in dict.fromkeys(row.worst for row in self.rows):
            counts = self.distribution(worst)
            spread = ", ".join(f"{star(n)} for {count}" for n, count in counts.items())
            said.append(f"{worst}: n* over {counted(sum(counts.values()), 'seed')} is {spread}.")
        if self.sizing.method == "exact":
            said.append(f"Exact (per-model, no seed): n* {star(self.sizing.n_star)}.")
        said.append(f"Without lumps (per-model, no seed): n* {star(self.sizing.n_star_smooth)}.")
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        """The rows, the distribution per rule, and every curve."""
        named = dict.fromkeys(row.worst for row in self.rows)
        return as_json(
            self, self.sizing,
            distribution={rule: {str(n): count for n, count in self.distribution(rule).items()} for rule in named},
            curves_pp={rule: [list(row.curve_pp) for row in self.rows if row.worst == rule] for rule in named},
        )  # fmt: skip


def seeds_study(
    matrix: ScoreMatrix,
    plan: Plan,
    *,
    seeds: Sequence[int],
    worst: Sequence[Worst],
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> SeedStudy:
    """n* by draws at every seed, each with all the plan's draws.

    One rule by itself gives what `size` gives by draws with that seed; two rules share their draws. Emits Progress.
    """
    sizing = size(matrix, plan, cancel=cancel, by_seed=False)
    if len(worst) == 1:
        curves = {worst[0]: _of_one_rule(matrix, replace(plan, worst=worst[0], method="draws"), seeds, emit, cancel)}
    else:
        curves = {
            rule: found.tolist() for rule, found in seed_curves(matrix, plan, seeds, emit=emit, cancel=cancel).items()
        }
    rows = [_row(plan, rule, seed, curve) for rule in worst for seed, curve in zip(seeds, curves[rule], strict=True)]
    return SeedStudy(sizing, tuple(rows))


def _of_one_rule(
    matrix: ScoreMatrix, plan: Plan, seeds: Sequence[int], emit: Emit, cancel: CancelToken | None
) -> list[list[float]]:
    """P95 in pp at every size, per seed. Rule per-model needs no common draws, which saves most of the time."""
    everyone = [range(len(matrix.models))]
    curves = []
    for done, seed in enumerate(seeds, start=1):
        curves.append(worst_curves(matrix, plan, everyone, seed=seed, cancel=cancel)[0].tolist())
        emit(Progress(done, len(seeds), "seeds"))
    return curves


def _row(plan: Plan, worst: Worst, seed: int, curve: list[float]) -> AtSeed:
    n = rules.n_star(plan.sizes, curve, plan.tau_pp)
    t = None if n is None else plan.sizes.index(n)
    return AtSeed(
        worst=worst,
        seed=seed,
        n_star=n,
        p95_pp=None if t is None else curve[t],
        gain_pp=None if t is None else rules.gains(curve)[t],
        curve_pp=tuple(curve),
    )
