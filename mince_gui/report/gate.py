"""Limits that a script sets: is a run's drift, paired delta or total gap beyond them?

Only what can be judged is: drift against an own full run alone, and nothing of a part of the subset. A limit that
cannot be judged is never passed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from mince_gui.report import format as fmt
from mince_gui.report.model import Gate, GateCheck, GateOutcome, GateSubject, MetricReport, Report

_EDGE_PP = 1e-9
"""A value equal to the limit is within it, whatever the last bit of the floats says."""
_GRAVITY: tuple[GateOutcome, ...] = ("beyond", "not judged", "within")


@dataclass(frozen=True)
class Limits:
    """The largest |value| in pp that is let pass, per subject; None = not asked."""

    drift_pp: float | None = None
    delta_pp: float | None = None
    total_pp: float | None = None

    @property
    def any(self) -> bool:
        """Whether a limit was set at all."""
        return not (self.drift_pp is None and self.delta_pp is None and self.total_pp is None)


@dataclass(frozen=True)
class _Value:
    metric: str
    title: str
    pp: float
    against: str
    interval: str = ""


def gated(report: Report, limits: Limits) -> Report:
    """The report with the verdict on these limits; as it is where none was set."""
    return dataclasses.replace(report, gate=judge(report, limits)) if limits.any else report


def judge(report: Report, limits: Limits) -> Gate:
    """Hold the report against the limits. Raises ValueError where none was set."""
    if not limits.any:
        raise ValueError("no limit was set")
    checks = tuple(_checks(report, limits))
    outcome = min((check.outcome for check in checks), key=_GRAVITY.index)
    told = "; ".join(f"{check.subject} {check.outcome}: {check.reason}" for check in checks)
    # What the reader must not miss comes first, whatever the order of the limits.
    return Gate(checks, outcome, f"gate {outcome}: {told}")


def _checks(report: Report, limits: Limits) -> Iterator[GateCheck]:
    if limits.drift_pp is not None:
        yield _check(report, "drift", limits.drift_pp, _drifts(report), _no_drift(report))
    if limits.delta_pp is not None:
        yield _check(report, "paired delta", limits.delta_pp, _deltas(report), _no_delta(report))
    if limits.total_pp is not None:
        yield _check(report, "total gap", limits.total_pp, _gaps(report), _no_gap(report))


def _check(report: Report, subject: GateSubject, limit: float, values: list[_Value], why_none: str) -> GateCheck:
    if report.coverage.done == 0 or not values:
        return GateCheck(subject, limit, "not judged", None, None, why_none)
    worst = max(values, key=lambda value: abs(value.pp))
    shown = f"{worst.title} {fmt.pp(worst.pp, digits=2)} {worst.against}{worst.interval}"
    bar = f"the limit of {fmt.pp(limit, signed=False, digits=2)}"
    if not report.coverage.complete:
        part = fmt.coverage(report.coverage.done, report.coverage.wanted)
        return GateCheck(subject, limit, "not judged", worst.metric, worst.pp, f"only {part} are done; so far {shown}")
    if why_none:
        return GateCheck(subject, limit, "not judged", worst.metric, worst.pp, why_none)
    if abs(worst.pp) <= limit + _EDGE_PP:
        return GateCheck(subject, limit, "within", worst.metric, worst.pp, f"{shown}, within {bar}")
    return GateCheck(subject, limit, "beyond", worst.metric, worst.pp, f"{shown}, beyond {bar}")


def _drifts(report: Report) -> list[_Value]:
    return [_Value(m.name, m.title, m.drift_pp, "of drift") for m in report.metrics if m.drift_pp is not None]


def _no_drift(report: Report) -> str:
    """Why drift cannot be judged; "" where it can."""
    if report.coverage.wanted == report.coverage.total:
        return "this is the full run: there is no drift to judge"
    if all(metric.full is None for metric in report.metrics):
        return "no full run of this very model is stored, and against anything else the difference is not drift"
    return _unjudged(report.metrics)


def _unjudged(metrics: tuple[MetricReport, ...]) -> str:
    """Why some metric is not judged though all items are there; "" where each is."""
    for metric in metrics:
        if metric.verdict in ("not judged", "no score", "no full score"):
            return f"{metric.title}: {metric.reason}"
    return ""


def _deltas(report: Report) -> list[_Value]:
    found = []
    for pair in report.paired:
        for metric in pair.metrics:
            span = metric.interval
            told = "" if span is None else f" (95 % interval {fmt.interval(span.low, span.high, unit='pp')})"
            found.append(_Value(metric.name, metric.title, metric.delta_pp, f"against {pair.named}", told))
    return found


def _no_delta(report: Report) -> str:
    if not report.paired:
        return "there is no other run of the same items to pair with; name one by --against"
    short = [pair for pair in report.paired if pair.common < pair.wanted]
    if short:
        return f"only {fmt.coverage(short[0].common, short[0].wanted)} are in {short[0].named} as well"
    return ""


def _gaps(report: Report) -> list[_Value]:
    named = next((source.named for source in report.sources if source.use == "total gap"), "")
    return [
        _Value(m.name, m.title, m.total_gap_pp, f"to the full score of {named}")
        for m in report.metrics
        if m.total_gap_pp is not None
    ]


def _no_gap(report: Report) -> str:
    if all(metric.total_gap_pp is None for metric in report.metrics):
        return "no full score of another precision or source is stored; add one: mince reference"
    return ""
