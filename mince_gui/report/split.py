"""What the difference is made of: sampling drift, quantisation delta, hardware delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mince_gui.report import format as fmt
from mince_gui.report.model import Interval, MetricReport, Part, Split, SplitLine, SplitSum, SplitValue
from mince_gui.report.names import base_model
from mince_gui.report.paired import cautions, paired_metric
from mince_gui.report.scores import LEVEL, MetricFacts, cells_of, ratio_of
from mince_gui.report.sides import CPU, is_quantised, kind_of_device, named, side_of_run
from mince_gui.report.types import Ratio, Reference, RunData, Side

_NONE = "cannot be separated"


@dataclass(frozen=True)
class _Slots:
    """Who stands where in the chain of parts; the run is in one of the slots, None where nobody is.

    `device` is the quantised model on anything but the CPU.
    """

    unquantised: Side | None
    on_cpu: Side | None
    device: Side | None


def split_of(
    run: RunData, metrics: Sequence[MetricReport], facts: Sequence[MetricFacts], own: Reference | None,
    sides: Sequence[Side],
) -> Split:  # fmt: skip
    """The parts of the gap that are known, and which run the others would take."""
    mine = side_of_run(run)
    slots = _slots(run, mine, sides)
    lines = [_sampling(run, metrics, own), _quantisation(run, facts, mine, slots), _hardware(run, facts, mine, slots)]
    if slots.device is mine and slots.unquantised is not None and slots.on_cpu is None:
        lines.append(_delta("quantisation and hardware together", run, facts, mine, slots.unquantised))
    return Split(tuple(lines), _sums(run, facts, mine, slots))


def _slots(run: RunData, mine: Side, sides: Sequence[Side]) -> _Slots:
    same = [side for side in sides if base_model(side.model) == base_model(run.model)]
    unquantised = _best(run, [side for side in same if is_quantised(side.precision) is False])
    quantised = is_quantised(run.precision)
    if quantised is None or not mine.device:
        return _Slots(unquantised, None, None)
    if not quantised:
        return _Slots(mine, None, None)
    if kind_of_device(mine.device) == CPU:
        return _Slots(unquantised, mine, None)
    builds = [side for side in same if _same_weights(mine, side) and kind_of_device(side.device) == CPU]
    return _Slots(unquantised, _best(run, builds), mine)


def _same_weights(mine: Side, theirs: Side) -> bool:
    if mine.model_sha256 and mine.model_sha256 == theirs.model_sha256:
        return True
    return theirs.precision.lower() == mine.precision.lower()


def _best(run: RunData, sides: Sequence[Side]) -> Side | None:
    """The one with the most items in common, of equal ones the newest; None without a common item."""
    done = [key for key in run.subset_keys if key in run.rows]
    ranked = [(sum(key in side.rows for key in done), side.date, side) for side in sides]
    common, _, side = max(ranked, key=lambda entry: entry[:2], default=(0, "", None))
    return side if common else None


def _sampling(run: RunData, metrics: Sequence[MetricReport], own: Reference | None) -> SplitLine:
    judged = [metric for metric in metrics if metric.drift_pp is not None]
    if run.is_full:
        return SplitLine("sampling drift", (), "", "none: the whole benchmark was run")
    if own is None or not judged:
        remedy = (
            "Score a full run of it in the same way (mince rescore), or run the whole benchmark once"
            if run.rescored_of
            else "Run the whole benchmark once with this model folder and device; it serves every later subset run"
        )
        words = f"{_NONE}: a full run of this model on this runtime is missing. {remedy}."
        return SplitLine("sampling drift", (), "", words)
    # Both scores are known: of this subset the drift is certain.
    values = tuple(
        SplitValue(m.name, m.title, m.drift_pp, Interval(m.drift_pp, m.drift_pp, LEVEL, "whole benchmark"), m.done)
        for m in judged
        if m.drift_pp is not None
    )
    shown = ", ".join(f"{value.title} {fmt.pp(value.pp)}" for value in values)
    part = "" if all(not m.partial for m in metrics) else " (of a part of the subset)"
    whose = "own full run" if own.kind == "own full run" else f"full score ({own.kind})"
    same = all(metric.drift_basis == "same run" for metric in judged)
    of = (
        f"this model's score on the subset minus its score on the whole benchmark, both from {own.source}"
        if same
        else f"this run's score on the subset minus the full score of {own.source}"
    )
    return SplitLine("sampling drift", values, of, f"{shown}{part}, against this model's {whose}")


def _quantisation(run: RunData, facts: Sequence[MetricFacts], mine: Side, slots: _Slots) -> SplitLine:
    part: Part = "quantisation delta"
    if slots.unquantised is mine:
        return SplitLine(part, (), "", "not part of this run: its model is not quantised")
    if is_quantised(run.precision) is None:
        return SplitLine(
            part, (), "", f"{_NONE}: the precision of this run's model is not known, so that nothing says what a "
            "difference to another run comes from.",
        )  # fmt: skip
    if slots.on_cpu is not None and slots.unquantised is not None:
        return _delta(part, run, facts, slots.on_cpu, slots.unquantised)
    wanted = []
    if slots.unquantised is None:
        wanted.append(
            f"outcomes per item of the unquantised {base_model(run.model)} (BF16 or FP32) are missing. Import its "
            "per-item log, or run it on this subset"
        )
    if slots.on_cpu is None:
        wanted.append(_cpu_run_is_missing(run) if mine.device else "the device of this run is not known, or not one")
    together = " The line of both together holds it." if slots.device is mine and slots.unquantised is not None else ""
    return SplitLine(part, (), "", f"{_NONE}: {'; and '.join(wanted)}.{together}")


def _hardware(run: RunData, facts: Sequence[MetricFacts], mine: Side, slots: _Slots) -> SplitLine:
    part: Part = "hardware delta"
    if not mine.device:
        return SplitLine(part, (), "", f"{_NONE}: the device of this run is not known, or not one.")
    if kind_of_device(mine.device) == CPU:
        fell_back = mine.device != CPU
        caution = f" (the device is not proven: {mine.device})" if fell_back else ""
        return SplitLine(part, (), "", f"not part of this run: it ran on the CPU{caution}")
    if slots.device is mine and slots.on_cpu is not None:
        return _delta(part, run, facts, mine, slots.on_cpu)
    if slots.unquantised is mine:
        return SplitLine(part, (), "", "not part of this run: its model is not quantised")
    together = " The line of both together holds it." if slots.device is mine and slots.unquantised is not None else ""
    return SplitLine(part, (), "", f"{_NONE}: {_cpu_run_is_missing(run)}.{together}")


def _cpu_run_is_missing(run: RunData) -> str:
    precision = run.precision.upper() or "same"
    return (
        f"a run of the {precision} model on the CPU is missing. Run this subset with a CPU build of the same model and "
        "precision"
    )


def _delta(part: Part, run: RunData, facts: Sequence[MetricFacts], mine: Side, theirs: Side) -> SplitLine:
    found = (paired_metric(run, fact, mine.rows, theirs.rows, run.subset_keys) for fact in facts)
    values = tuple(
        SplitValue(m.name, m.title, m.delta_pp, m.interval, m.mine.items) for m in found if m is not None
    )  # fmt: skip
    if not values:
        return SplitLine(part, (), "", f"{_NONE}: {named(mine)} and {named(theirs)} have no item in common.")
    words = ", ".join(map(_words_of, values))
    fewest = min(value.items for value in values)
    if fewest < len(run.subset_keys):
        words += f" (on {fmt.coverage(fewest, len(run.subset_keys))})"
    unproven = [named(side) for side in (mine, theirs) if side.device.endswith("not proven")]
    if unproven:
        words += f"; where it ran is not proven: {', '.join(unproven)}"
    common = [key for key in run.subset_keys if key in mine.rows and key in theirs.rows]
    words = ". ".join([words, *(caution.rstrip(".") for caution in cautions(mine, theirs, common))])
    return SplitLine(part, values, f"{named(mine)} minus {named(theirs)}, on the same items", words)


def _words_of(value: SplitValue) -> str:
    shown = f"{value.title} {fmt.pp(value.pp)}"
    if value.interval is None:
        return shown
    return f"{shown} ({fmt.interval(value.interval.low, value.interval.high, unit='pp')})"


def _sums(run: RunData, facts: Sequence[MetricFacts], mine: Side, slots: _Slots) -> tuple[SplitSum, ...]:
    """The total gap as a sum, for the metrics that every side has on all of this run's items."""
    base = slots.unquantised
    if base is None or base is mine or run.is_full:
        return ()
    chain: list[tuple[Part, Side, Side]]
    if slots.device is not mine:
        if slots.on_cpu is not mine:
            return ()
        chain = [("quantisation delta", mine, base)]
    elif slots.on_cpu is None:
        chain = [("quantisation and hardware together", mine, base)]
    else:
        chain = [("quantisation delta", slots.on_cpu, base), ("hardware delta", mine, slots.on_cpu)]
    found = (_sum(run, fact, base, chain) for fact in facts)
    return tuple(line for line in found if line is not None)


def _sum(run: RunData, fact: MetricFacts, base: Side, chain: Sequence[tuple[Part, Side, Side]]) -> SplitSum | None:
    keys = [key for key in run.subset_keys if fact.name in run.rows.get(key, {})]
    whole = cells_of(base.rows, fact.name, base.rows)
    full = ratio_of(whole)
    if full is None or full.items != run.total_items:
        return None
    scores: dict[str, Ratio] = {}
    for side in (base, *(side for _, side, _ in chain)):
        score = ratio_of(cells_of(side.rows, fact.name, keys))
        if score is None or score.items != len(keys):
            return None
        scores[side.ident] = score
    parts: list[tuple[Part, float]] = [("sampling drift", scores[base.ident].percent - full.percent)]
    parts += [(part, scores[upper.ident].percent - scores[lower.ident].percent) for part, upper, lower in chain]
    total = scores[chain[-1][1].ident].percent - full.percent
    return SplitSum(fact.name, fact.title, total, tuple(parts))
