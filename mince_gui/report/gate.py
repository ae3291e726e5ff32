"""Limits that a script sets: is a run's drift, paired delta or total gap beyond them?

Only what can be judged is: drift against an own full run alone, and nothing of a part of the subset. A limit that
cannot be judged is never passed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
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
    whole: bool = True
    """Whether it is of every item of the subset."""


def gated(report: Report, limits: Limits) -> Report:
    """The report with the verdict on these limits; as it is where none was set."""
    return dataclasses.replace(report, gate=judge(report, limits)) if limits.any else report


def judge(report: Report, limits: Limits) -> Gate:
    """Hold the report against the limits. Raises ValueError where none was set."""
    if not limits.any:
        raise ValueError("no limit was set")
    checks = tuple(_checks(report, limits))
    outcome = min((check.outcome for check in checks), key=_GRAVITY.index)
    told = "; ".join(f"{check.subject} {check.outcome} ({check.reason})" for check in checks)
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
    short = [value for value in values if not value.whole]
    shown = f"{worst.title} {fmt.pp(worst.pp, digits=2)} {worst.against}{worst.interval}"
    bar = f"the limit of {fmt.pp(limit, signed=False, digits=2)}"
    if not report.coverage.complete:
        part = fmt.coverage(report.coverage.done, report.coverage.wanted)
        return GateCheck(subject, limit, "not judged", worst.metric, worst.pp, f"only {part} are done; so far {shown}")
    if not why_none and short:
        why_none = f"{short[0].title} {short[0].against} is of a part of the items only"
    if why_none:
        return GateCheck(subject, limit, "not judged", worst.metric, worst.pp, why_none)
    shown += _left_out(report, values)
    if abs(worst.pp) <= limit + _EDGE_PP:
        return GateCheck(subject, limit, "within", worst.metric, worst.pp, f"{shown}, within {bar}")
    return GateCheck(subject, limit, "beyond", worst.metric, worst.pp, f"{shown}, beyond {bar}")


def _left_out(report: Report, values: list[_Value]) -> str:
    """The metrics that nothing is there to judge by: what is said of the others is not said of them."""
    judged = {value.metric for value in values}
    others = [metric.title for metric in report.metrics if metric.name not in judged]
    return f" ({', '.join(others)}: not there to compare with)" if others else ""


def _drifts(report: Report) -> list[_Value]:
    """Drift, and this run's score less the full run's: where a run does not repeat its full run, it is not the drift,
    which is of the full run's own answers, but the score that has gone.
    """
    found = []
    told = _cautioned([w for source in report.sources if source.use == "own full run" for w in source.warnings])
    for metric in report.metrics:
        if metric.drift_pp is not None:
            found.append(_Value(metric.name, metric.title, metric.drift_pp, "of drift", told))
            if metric.difference_pp is not None and metric.drift_basis == "same run":
                of = "between this run's score and the full run's"
                found.append(_Value(metric.name, metric.title, metric.difference_pp, of, told))
    return found


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
        if metric.verdict in ("not judged", "no score", "no full score", "total gap only"):
            return f"{metric.title}: {metric.reason}"
    return ""


def _deltas(report: Report) -> list[_Value]:
    found = []
    for pair in report.paired:
        for metric in pair.metrics:
            span = metric.interval
            told = "" if span is None else f" (95 % interval {fmt.interval(span.low, span.high, unit='pp')})"
            told += _cautioned(pair.warnings)
            whole = metric.mine.items == pair.wanted
            found.append(_Value(metric.name, metric.title, metric.delta_pp, f"against {pair.named}", told, whole))
    return found


def _no_delta(report: Report) -> str:
    if not report.paired:
        return "there is no other run of the same items to pair with; name one by --against"
    short = [pair for pair in report.paired if pair.common < pair.wanted]
    if short:
        return f"only {fmt.coverage(short[0].common, short[0].wanted)} are in {short[0].named} as well"
    return ""


def _gaps(report: Report) -> list[_Value]:
    source = next((source for source in report.sources if source.use == "total gap"), None)
    if source is None:
        return []
    return [
        _Value(
            m.name,
            m.title,
            m.total_gap_pp,
            f"to the full score of {source.named}",
            _cautioned(source.warnings),
            not m.partial,
        )
        for m in report.metrics
        if m.total_gap_pp is not None
    ]


def _cautioned(warnings: Sequence[str]) -> str:
    """That a number is not to be taken without its cautions."""
    return f" (with {len(warnings)} caution{'' if len(warnings) == 1 else 's'}: see the report)" if warnings else ""


def _no_gap(report: Report) -> str:
    if all(metric.total_gap_pp is None for metric in report.metrics):
        return "no full score of another precision or source is stored; add one: mince reference"
    if report.content.accepted:
        changed = fmt.coverage(len(report.content.accepted), report.coverage.wanted)
        return f"{changed} differ from what was frozen and were accepted when the pack was made"
    return ""
