"""Paired differences between two runs on the items that both have."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mince_gui.report.intervals import student_quantile
from mince_gui.report.model import Interval, PairedMetric, PairedReport
from mince_gui.report.scores import LEVEL, MetricFacts, ratio_of
from mince_gui.report.types import RunData


def paired_report(run: RunData, base: RunData, facts: Sequence[MetricFacts]) -> PairedReport:
    """This run minus `base`, per metric: delta in pp, items gained and lost, exact McNemar for pass/fail metrics."""
    common = [key for key in run.subset_keys if key in run.rows and key in base.rows]
    metrics = []
    for fact in facts:
        keys = [key for key in common if fact.name in run.rows[key] and fact.name in base.rows[key]]
        found = _metric(
            fact, [run.rows[k][fact.name] for k in keys], [base.rows[k][fact.name] for k in keys], run.total_items
        )
        if found is not None:
            metrics.append(found)
    return PairedReport(base.run_id, base.model, len(common), tuple(metrics))


def _metric(
    fact: MetricFacts, mine: Sequence[tuple[float, float]], theirs: Sequence[tuple[float, float]], total: int
) -> PairedMetric | None:
    my_ratio, their_ratio = ratio_of(mine), ratio_of(theirs)
    if my_ratio is None or their_ratio is None:
        return None
    shares = [(m[0] / m[1], t[0] / t[1]) for m, t in zip(mine, theirs, strict=True) if m[1] > 0 and t[1] > 0]
    gained, lost = sum(m > t for m, t in shares), sum(m < t for m, t in shares)
    return PairedMetric(
        name=fact.name, title=fact.title, mine=my_ratio, theirs=their_ratio,
        delta_pp=my_ratio.percent - their_ratio.percent, interval=_interval(mine, theirs, total),
        gained=gained, lost=lost, p_value=None if fact.ratio else mcnemar_p(gained, lost),
    )  # fmt: skip


def mcnemar_p(gained: int, lost: int) -> float:
    """Two-sided exact McNemar test: the binomial test of `gained` among the items whose verdict changed."""
    from scipy.special import bdtr  # only a paired report needs it

    return min(1.0, 2.0 * float(bdtr(min(gained, lost), gained + lost, 0.5))) if gained + lost else 1.0


def _interval(
    mine: Sequence[tuple[float, float]], theirs: Sequence[tuple[float, float]], total: int
) -> Interval | None:
    """Linearised 95 % interval in pp of the full benchmark's difference; None where no item differs."""
    n = len(mine)
    my_ratio, their_ratio = ratio_of(mine), ratio_of(theirs)
    if n < 2 or my_ratio is None or their_ratio is None:
        return None
    p, q = my_ratio.passed / my_ratio.trials, their_ratio.passed / their_ratio.trials
    residuals = [
        (m[0] - p * m[1]) * n / my_ratio.trials - (t[0] - q * t[1]) * n / their_ratio.trials
        for m, t in zip(mine, theirs, strict=True)
    ]
    squares = math.fsum(r * r for r in residuals)
    if n < total and all(m == t for m, t in zip(mine, theirs, strict=True)):
        return None
    error = math.sqrt(squares / (n - 1) / n * (1 - n / total))
    reach = 100.0 * student_quantile((1 + LEVEL) / 2, n - 1) * error
    delta = 100.0 * (p - q)
    return Interval(delta - reach, delta + reach, LEVEL, "approximate, linearised")
