"""Speedup, measured or estimated, and latency over the items."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

from mince_gui.report.format import factor, seconds
from mince_gui.report.intervals import approximate_total_interval
from mince_gui.report.model import Coverage, Histogram, Latency, Speedup, Unit
from mince_gui.report.types import Reference, RunData

ITEM_WALL = "wall clock per item"
TIME_TO_FIRST = "time to first token"
PREFILL_TIME = "prefill time"
PREFILL_RATE = "prefill rate"
DECODE_RATE = "decode rate"
INPUT_TOKENS = "input tokens"
OUTPUT_TOKENS = "output tokens"
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_FEWEST_BINS, _MOST_BINS = 8, 18
"""Of even width: one more on either side may hold what lies far out."""
_FAR = 3.0
"""Interquartile ranges beyond the quartiles that are not far out."""
_EDGE = 1e-9


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value) and value >= 0]


def _timed(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def full_run_is_complete(own: Reference, total: int) -> bool:
    """Whether the own full run has every item of the benchmark."""
    if own.rows is not None:
        return len(own.rows) == total
    return bool(own.metrics) and all(ratio.items == total for ratio in own.metrics.values())


def speedup(run: RunData, coverage: Coverage, own: Reference | None) -> Speedup:
    """Full wall clock / subset wall clock of the same model on the same machine, runtime and timing mode.

    Measured only where both runs are timed, complete and made under one `device_key`; otherwise
    estimated from this run's per-item seconds x N; a wall clock from elsewhere never enters. A run
    whose sittings differ in timing mode, device or threads makes no speedup at all.
    """
    if run.is_full:
        return Speedup("none", None, None, None, None, None, "This is the full run: there is nothing to compare with.")
    wall = _timed(run.wall_seconds)
    if changed := run.conditions.get("changed"):
        words = f"The run's sittings differ in {', '.join(changed)}: they have no one pace, and no speedup is given."
        return Speedup("none", None, None, None, None, wall, words)
    why = "No full run of this model was timed on this device"
    if own is not None:
        full_wall = _timed(own.wall_seconds)
        if full_wall is None:
            why = "The full run was not timed"
        elif _other_timing(run, own):
            mine = str(run.conditions.get("timing"))
            why = f"The full run was timed in {own.timing} mode, this run in {mine} mode: no speedup is measured"
        elif not run.device_key or own.device_key != run.device_key:
            why = "The full run was timed on another device, runtime or timing mode, so its wall clock does not enter"
        elif not full_run_is_complete(own, run.total_items):
            why = "The full run is not complete"
        elif not coverage.complete:
            why = "The subset run is not complete"
        elif wall is None:
            why = "The subset run's wall clock is not known"
        else:
            ratio = full_wall / wall
            words = (
                f"Measured: the full run took {seconds(full_wall)}, the subset {seconds(wall)}: {factor(ratio)}"
                f"{_saved(full_wall, wall)}."
            )
            return Speedup("measured", ratio, None, None, full_wall, wall, words)
    return _estimate(run, coverage, wall, why)


def _other_timing(run: RunData, own: Reference) -> bool:
    mine = run.conditions.get("timing")
    return bool(mine) and bool(own.timing) and mine != own.timing


def _estimate(run: RunData, coverage: Coverage, wall: float | None, why: str) -> Speedup:
    times = _known(run.item_seconds)
    if not times or math.fsum(times) <= 0:
        return Speedup("none", None, None, None, None, wall, f"{why}, and no item was timed: no speedup can be given.")
    mean = math.fsum(times) / len(times)
    full = mean * run.total_items
    if not coverage.complete:
        ratio, subset = run.total_items / coverage.wanted, mean * coverage.wanted
        words = (
            f"{why}. Estimated from {len(times)} timed items of a run that is not complete: about {seconds(full)} for "
            f"the full benchmark, {seconds(subset)} for the whole subset: {factor(ratio)}, no interval."
        )
        return Speedup("estimate", ratio, None, None, full, subset, words)
    subset = wall if wall is not None else mean * coverage.wanted
    ratio = full / subset
    low: float | None = None
    high: float | None = None
    span = "no interval"
    if 1 < len(times) <= run.total_items:
        low, high = (bound / subset for bound in approximate_total_interval(times, run.total_items))
        span = f"95 % interval {factor(low)} to {factor(high)}"
    words = (
        f"{why}. Estimated from the mean of {len(times)} item times x {run.total_items:,} items: about "
        f"{seconds(full)} against {seconds(subset)}: {factor(ratio)} ({span}){_saved(full, subset)}."
    )
    return Speedup("estimate", ratio, low, high, full, subset, words)


def _saved(full: float, subset: float) -> str:
    """What every further model saves, where the subset is the faster one."""
    return f"; the subset saves {seconds(full - subset)} per model" if full > subset else ""


def percentile(values: Sequence[float], share: float) -> float:
    """The quantile at `share` (0..1) with linear interpolation, as numpy's default. `values` must not be empty."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def spread(name: str, unit: Unit, given: Sequence[float]) -> Latency | None:
    """Median, quartiles, 5th and 95th percentile and the extremes; None where nothing was measured."""
    values = _known(given)
    if not values:
        return None
    p05, p25, median, p75, p95 = (percentile(values, share) for share in _SHARES)
    return Latency(name, unit, len(values), median, p05, p25, p75, p95, min(values), max(values))


def latency(run: RunData) -> tuple[Latency, ...]:
    """The spread of what was timed and counted per item; quantities without values are left out."""
    lines = (
        spread(ITEM_WALL, "s", run.item_seconds),
        spread(TIME_TO_FIRST, "s", run.first_token_seconds),
        spread(PREFILL_TIME, "s", run.prefill_seconds),
        spread(PREFILL_RATE, "tok/s", run.prefill_rates),
        spread(DECODE_RATE, "tok/s", run.decode_rates),
        spread(INPUT_TOKENS, "tokens", run.input_tokens),
        spread(OUTPUT_TOKENS, "tokens", run.output_tokens),
    )
    return tuple(line for line in lines if line is not None)


def histograms(run: RunData) -> tuple[Histogram, ...]:
    """How the times and rates of a run are spread over its items; quantities without values are left out.

    Wall clock per item, time to first token and decode rate; the prefill time where nothing was generated.
    """
    reads_only = not _known(run.first_token_seconds) and not _known(run.decode_rates)
    lines = (
        histogram(ITEM_WALL, "s", run.item_seconds),
        histogram(TIME_TO_FIRST, "s", run.first_token_seconds),
        histogram(PREFILL_TIME, "s", run.prefill_seconds if reads_only else ()),
        histogram(DECODE_RATE, "tok/s", run.decode_rates),
    )
    return tuple(line for line in lines if line is not None)


def histogram(name: str, unit: Unit, given: Sequence[float]) -> Histogram | None:
    """Counts in 8 to 20 bins with round, evenly spaced edges; None where nothing was measured.

    Where a few values lie further out than three interquartile ranges from the quartiles, the even bins span the rest,
    and one wider bin reaches out to them. Every value is in one bin: one on an edge in the upper one, the highest of
    all in the last.
    """
    values = sorted(_known(given))
    if not values:
        return None
    lower, upper = percentile(values, 0.25), percentile(values, 0.75)
    reach = _FAR * (upper - lower)
    near = [value for value in values if lower - reach <= value <= upper + reach] if reach > 0 else values
    step, first, last = _round_bins(near[0], near[-1])
    edges = [_rounded(place * step) for place in range(first, last + 1)]
    if values[0] < edges[0]:
        edges.insert(0, values[0])
    if values[-1] > edges[-1]:
        edges.append(values[-1])
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[min(bisect_right(edges, value), len(counts)) - 1] += 1
    return Histogram(name, unit, tuple(edges), tuple(counts))


def _round_bins(low: float, high: float) -> tuple[float, int, int]:
    """A width of 1, 2 or 5 times a power of ten, and the first and last edge in widths: 8 to 20 bins over both ends."""
    span = high - low
    if span <= _EDGE * max(high, _EDGE):
        # All equal: the value stands in the middle of bins that are narrow beside it.
        span = 0.1 * high if high > _EDGE else 1.0
        low, high = max(0.0, low - span / 2), high + span / 2
    power = math.floor(math.log10(span / _MOST_BINS))
    for width in (f * 10.0**p for p in (power, power + 1) for f in (1, 2, 5)):
        first, last = math.floor(low / width + _EDGE), math.ceil(high / width - _EDGE)
        if last - first <= _MOST_BINS:
            return width, first, max(last, first + _FEWEST_BINS)
    raise AssertionError(f"no width divides {span} into {_MOST_BINS}")


def _rounded(edge: float) -> float:
    """Without the last digits that a product of floats brings."""
    return float(f"{edge:.12g}")
