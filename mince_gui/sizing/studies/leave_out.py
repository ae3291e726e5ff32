"""Leave-K-out: does n* hang on single models of the pool, and does it protect the models that are removed?

All pools share one exact solution or one set of draws, so what differs between them is the pool, not the noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, ignore
from mince_gui.logs.types import FloatArray, ScoreMatrix
from mince_gui.sizing import rules
from mince_gui.sizing.curves import pair_curves, worst_curves
from mince_gui.sizing.pairs import Pairs, pairs_of
from mince_gui.sizing.solve import size
from mince_gui.sizing.studies.drawn import Drawing, drifts, worst
from mince_gui.sizing.studies.table import (
    Table,
    as_json,
    bound_column,
    counted,
    joined,
    number,
    of_what,
    quantile_name,
    star,
)
from mince_gui.sizing.types import Plan, SizingResult

MOST_OUT = 4
"""Models removed at once, at most."""

LEAST_LEFT = 3
"""Models that stay, at least."""

_MOST_COMBINATIONS = 200_000
_SHOWN = 40


@dataclass(frozen=True)
class LeftOut:
    """One smaller pool: without the models `removed`. `n_star` and what follows from it are None where it has none.

    `p95_pp` is its bound at its own n*; `drift_pp` the signed drift that is largest in size among the removed
    models' metrics, on the subset that the plan's seed draws at that n*; `drift_of` is that (model, metric).
    """

    removed: tuple[str, ...]
    n_star: int | None
    p95_pp: float | None
    gain_pp: float | None
    drift_pp: float | None
    drift_of: tuple[str, str] | None

    @property
    def within(self) -> bool | None:
        """Whether the removed models stay within the smaller pool's bound; None without an n*."""
        if self.drift_pp is None or self.p95_pp is None:
            return None
        return abs(self.drift_pp) <= self.p95_pp


@dataclass(frozen=True)
class Removed:
    """All ways to remove `count` models. Sizes are those of the `with_n_star` ways that have an n*.

    `stable` are the ways with the whole pool's n*, `outside` those of `with_n_star` in which a removed model leaves its
    pool's bound; `max_drift_pp` is the largest |drift| of a removed model. All of these are None where no way has an
    n*, `stable` also where the whole pool has none.
    """

    count: int
    ways: int
    with_n_star: int
    stable: int | None
    n_star_least: int | None
    n_star_most: int | None
    max_drift_pp: float | None
    outside: int | None


@dataclass(frozen=True)
class LeaveOutStudy:
    """Every combination of `models`, those that remove fewer first.

    `n_star` is the whole pool's from the solution or draws that all combinations share; `sizing` is that of the
    whole pool by itself.
    """

    sizing: SizingResult
    models: tuple[str, ...]
    n_star: int | None
    rows: tuple[LeftOut, ...]
    kind: str = "leave-out"

    @property
    def stable(self) -> int | None:
        """How many combinations have the whole pool's n*; None where it has none, or no combination has one."""
        return self._stable(self.rows)

    @property
    def unstable(self) -> tuple[LeftOut, ...]:
        """The combinations with another n* than the whole pool, or with none where it has one, or the reverse."""
        return tuple(row for row in self.rows if row.n_star != self.n_star)

    @property
    def outside(self) -> int | None:
        """How many combinations have a removed model outside their bound; None where none has an n*."""
        return _outside(self.rows)

    def _same(self, row: LeftOut) -> bool | None:
        return None if self.n_star is None or row.n_star is None else row.n_star == self.n_star

    def _stable(self, rows: Sequence[LeftOut]) -> int | None:
        known = [same for row in rows if (same := self._same(row)) is not None]
        return known.count(True) if known else None

    @property
    def largest(self) -> LeftOut | None:
        """The combination with the largest |drift| of a removed model."""
        known = [row for row in self.rows if row.drift_pp is not None]
        return max(known, key=lambda row: abs(row.drift_pp or 0.0)) if known else None

    @property
    def by_count(self) -> tuple[Removed, ...]:
        """The combinations by how many models they remove."""
        found = []
        for count in sorted({len(row.removed) for row in self.rows}):
            rows = [row for row in self.rows if len(row.removed) == count]
            sizes = [row.n_star for row in rows if row.n_star is not None]
            found.append(
                Removed(
                    count=count,
                    ways=len(rows),
                    with_n_star=len(sizes),
                    stable=self._stable(rows),
                    n_star_least=min(sizes, default=None),
                    n_star_most=max(sizes, default=None),
                    max_drift_pp=max((abs(row.drift_pp) for row in rows if row.drift_pp is not None), default=None),
                    outside=_outside(rows),
                )
            )
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of the whole pool's sizing."""
        return self.sizing.warnings

    def table(self) -> Table:
        """One row per combination; a screen shows those that remove one model, and the unstable ones."""
        columns = (
            "removed", "models_left", "n_star", "stable", bound_column(self.sizing.plan), "gain_pp", "drift_pp",
            "drift_model", "drift_metric", "within",
        )  # fmt: skip
        words = {True: "yes", False: "no", None: None}
        rows = tuple(
            (
                " + ".join(row.removed), len(self.models) - len(row.removed), row.n_star,
                words[self._same(row)], row.p95_pp, row.gain_pp, row.drift_pp,
                row.drift_of[0] if row.drift_of else None, row.drift_of[1] if row.drift_of else None,
                words[row.within],
            )
            for row in self.rows
        )  # fmt: skip
        telling = [i for i, row in enumerate(self.rows) if len(row.removed) == 1 or row.n_star != self.n_star]
        return Table(columns, rows, tuple(telling[:_SHOWN]), self.models, ("removed", "drift_model"))

    def summary(self) -> tuple[str, ...]:
        """Stability, which models the unstable ones share, and the largest drift."""
        ways = counted(len(self.rows), "way")
        whole_pool = f"n* {star(self.n_star)} with all {len(self.models)} models; "
        if self.outside is None:
            said = [f"{whole_pool}none in any of {ways} to remove some, so nothing can be said of removed models."]
        elif self.stable is None:
            said = [f"{whole_pool}so no way to remove some can be called stable."]
        else:
            said = [f"{whole_pool}the same in {self.stable:,} of {ways} to remove some."]
        said += [_in_words(part) for part in self.by_count]
        if self.unstable and self.outside is not None:
            counts = Counter(row.n_star for row in self.unstable)
            spread = ", ".join(f"{star(n)} in {count:,}" for n, count in counts.most_common())
            shared = sorted(set.intersection(*(set(row.removed) for row in self.unstable)))
            all_remove = f"; all of these remove {joined(shared)}" if shared else ""
            said.append(f"Elsewhere it is {spread}{all_remove}.")
        if (largest := self.largest) is not None and largest.drift_of is not None:
            model, metric = largest.drift_of
            plan = self.sizing.plan
            with_n_star = sum(row.n_star is not None for row in self.rows)
            said.append(
                f"Largest drift of a removed model: {largest.drift_pp:+.2f} pp ({model}, {metric}), at n* "
                f"{star(largest.n_star)} with a bound of {largest.p95_pp:.2f} pp ({quantile_name(plan)}, rule "
                f"{plan.worst}, {of_what(plan)}). A removed model is outside the smaller pool's bound in "
                f"{self.outside:,} of {with_n_star:,} that have an n*."
            )
        return tuple(said)

    def to_json(self) -> dict[str, Any]:
        """The rows, their count and how many are stable."""
        largest = self.largest
        return as_json(
            self, self.sizing, combinations=len(self.rows), stable=self.stable, outside=self.outside,
            n_star=self.n_star,
            max_drift_pp=None if largest is None or largest.drift_pp is None else abs(largest.drift_pp),
            by_count=[asdict(part) for part in self.by_count],
        )  # fmt: skip


def leave_out(
    matrix: ScoreMatrix,
    plan: Plan,
    draw: Drawing,
    *,
    most_out: int = MOST_OUT,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> LeaveOutStudy:
    """Remove every 1..`most_out` models of the pool, as long as 3 are left; size what is left; look at the removed.

    `draw` with the plan's seed draws the subset at each n*. Emits Progress (draws, then combinations).
    Raises UsageError for fewer than 4 models with results, and where there are too many combinations.
    """
    pairs = pairs_of(matrix)
    taking_part = sorted({k for k, _ in pairs.places})
    groups = _combinations(taking_part, most_out)
    sizing = size(matrix, plan, emit=emit, cancel=cancel, by_seed=False)
    pools = [[k for k in taking_part if k not in removed] for removed in ((), *groups)]
    curves = _curves(matrix, plan, pools, emit, cancel)
    held: dict[int, FloatArray] = {}
    rows = []
    for done, (removed, p95) in enumerate(zip(groups, curves[1:], strict=True), start=1):
        if cancel is not None:
            cancel.check()
        n = rules.n_star(plan.sizes, p95, plan.tau_pp)
        if n is not None and n not in held:
            held[n] = drifts(pairs, draw(n, plan.seed))
        rows.append(_row(matrix, pairs, plan, removed, p95, n, held))
        if done % 1000 == 0 or done == len(groups):
            emit(Progress(done, len(groups), "combinations"))
    models = tuple(matrix.models[k] for k in taking_part)
    return LeaveOutStudy(sizing, models, rules.n_star(plan.sizes, curves[0], plan.tau_pp), tuple(rows))


def _curves(
    matrix: ScoreMatrix, plan: Plan, pools: Sequence[Sequence[int]], emit: Emit, cancel: CancelToken | None
) -> list[list[float]]:
    """P95 in pp at every size, per pool."""
    if plan.worst == "joint":
        found: list[list[float]] = worst_curves(matrix, plan, pools, emit=emit, cancel=cancel).tolist()
        return found
    pairs = pair_curves(matrix, plan, emit=emit, cancel=cancel)
    return [pairs.worst(pool).tolist() for pool in pools]


def _outside(rows: Sequence[LeftOut]) -> int | None:
    known = [row.within for row in rows if row.within is not None]
    return known.count(False) if known else None


def _in_words(part: Removed) -> str:
    head = f"Without {counted(part.count, 'model')}: {counted(part.ways, 'way')}"
    if part.outside is None:
        return f"{head}, none of which has an n*."
    stable = "" if part.stable is None else f", {part.stable:,} stable"
    span = star(part.n_star_least)
    if part.n_star_most != part.n_star_least:
        span += f" to {star(part.n_star_most)}"
    drift = "" if part.max_drift_pp is None else f", largest |drift| {part.max_drift_pp:.2f} pp"
    outside = f"outside in {part.outside:,} of {part.with_n_star:,} that have an n*"
    return f"{head}{stable}, n* {span}{drift}, {outside}."


def _combinations(models: Sequence[int], most_out: int) -> list[tuple[int, ...]]:
    if most_out < 1:
        raise UsageError(f"--most-out must be at least 1, not {most_out}.")
    most = min(most_out, len(models) - LEAST_LEFT)
    if most < 1:
        raise UsageError(
            f"Leaving models out needs at least {LEAST_LEFT + 1} models with a whole result; there are {len(models)}.",
            "Import logs of more models.",
        )
    total = sum(comb(len(models), count) for count in range(1, most + 1))
    if total > _MOST_COMBINATIONS:
        raise UsageError(
            f"There are {total:,} ways to remove 1 to {most} of {len(models)} models.",
            f"Use a smaller --most-out or --pool; {_MOST_COMBINATIONS:,} ways are the most.",
        )
    return [group for count in range(1, most + 1) for group in combinations(models, count)]


def _row(
    matrix: ScoreMatrix,
    pairs: Pairs,
    plan: Plan,
    removed: tuple[int, ...],
    p95: list[float],
    n: int | None,
    held: dict[int, FloatArray],
) -> LeftOut:
    names = tuple(matrix.models[k] for k in removed)
    if n is None:
        return LeftOut(names, None, None, None, None, None)
    of_removed = [c for c, (k, _) in enumerate(pairs.places) if k in removed]
    at = of_removed[worst(held[n][of_removed])]
    k, m = pairs.places[at]
    t = plan.sizes.index(n)
    return LeftOut(
        names, n, p95[t], rules.gains(p95)[t], number(held[n][at]), (matrix.models[k], matrix.metrics[m])
    )  # fmt: skip
