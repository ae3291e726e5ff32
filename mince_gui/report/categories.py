"""Scores by category, where counts allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mince_gui.benchmarks import BENCHMARKS, keys_of
from mince_gui.report.intervals import approximate_ratio_interval, binomial_interval
from mince_gui.report.model import Categories, CategoryLine, Interval
from mince_gui.report.scores import LEVEL, MetricFacts, cells_of, is_pass_or_fail, projected_interval, ratio_of
from mince_gui.report.types import Reference, RunData

FEWEST = 10
"""Items that a category needs to be shown."""
Cell = tuple[float, float]


def categories_of(run: RunData, fact: MetricFacts, own: Reference | None) -> Categories | None:
    """One metric by category; None where there are no categories, or too few items in each.

    The interval is of the category's full score: exact where its items in the benchmark are counted (a full run, or the
    benchmark's own list), exact for a population of unknown size otherwise.
    """
    groups: dict[str, list[str]] = {}
    for key in run.subset_keys:
        category = run.categories.get(key)
        if category is not None and fact.name in run.rows.get(key, {}):
            groups.setdefault(category, []).append(key)
    shown = {name: keys for name, keys in sorted(groups.items()) if len(keys) >= FEWEST}
    if not shown or len(groups) < 2:
        return None
    totals = _totals(run, own)
    full = _full(run, own, fact.name)
    lines = []
    for name, keys in shown.items():
        cells = cells_of(run.rows, fact.name, keys)
        subset = ratio_of(cells)
        if subset is None:
            continue
        known = totals.get(name)
        # Fewer items than were run: the counts are of another naming of categories.
        total = known if known is not None and known >= len(keys) else None
        whole = ratio_of(full.get(name, ()))
        lines.append(
            CategoryLine(
                category=name, subset=subset, total=total, interval=_interval(run, fact, cells, total),
                full=whole if whole is not None and whole.items == total else None,
            )
        )  # fmt: skip
    small = tuple(name for name in sorted(groups) if name not in shown)
    return Categories(fact.name, fact.title, tuple(lines), small, _caution(lines))


def _totals(run: RunData, own: Reference | None) -> Mapping[str, int]:
    """How many items of each category the benchmark has; empty where that is not known."""
    if run.is_full:
        return Counter(name for name in (run.categories.get(key) for key in run.subset_keys) if name is not None)
    if own is not None and own.rows is not None and len(own.rows) == run.total_items:
        named = [own.categories.get(key, run.categories.get(key)) for key in own.rows]
        if None not in named:
            return Counter(name for name in named if name is not None)
    benchmark = BENCHMARKS.get(run.benchmark.lower())
    if benchmark is None or benchmark.key_field != "subject/doc_id":
        return {}
    return Counter(key.rpartition("/")[0] for key in keys_of(benchmark) or ())


def _full(run: RunData, own: Reference | None, metric: str) -> dict[str, list[Cell]]:
    """The own full run's cells by category."""
    found: dict[str, list[Cell]] = {}
    if own is None or own.rows is None:
        return found
    for key, row in own.rows.items():
        name = own.categories.get(key, run.categories.get(key))
        if name is not None and metric in row:
            found.setdefault(name, []).append((row[metric][0], row[metric][1]))
    return found


def _interval(run: RunData, fact: MetricFacts, cells: Sequence[Cell], total: int | None) -> Interval:
    if total is not None:
        found = projected_interval(cells, total, ratio=fact.ratio, uniform=run.drawn_uniformly)
        if found is not None:
            return found
    if not fact.ratio and all(map(is_pass_or_fail, cells)):
        low, high = binomial_interval(round(sum(cell[0] for cell in cells)), len(cells), level=LEVEL)
        exact = run.drawn_uniformly
        return Interval(low, high, LEVEL, "exact binomial" if exact else "approximate, as if drawn uniformly")
    low, high = approximate_ratio_interval([c[0] for c in cells], [c[1] for c in cells], None, level=LEVEL)
    return Interval(low, high, LEVEL, "approximate, linearised")


def _caution(lines: Sequence[CategoryLine]) -> str:
    """How many intervals miss by chance; those that are points cannot."""
    open_ones = sum(line.interval is not None and line.interval.low < line.interval.high for line in lines)
    if open_ones < 2:
        return ""
    about = round((1 - LEVEL) * open_ones)
    how_many = f"about {about} of them {'misses' if about == 1 else 'miss'}" if about else "each may miss"
    return (
        f"{open_ones} categories, each with its own {100 * LEVEL:.0f} % interval: {how_many} the full score by chance "
        "alone. A category that stands out here is a reason to look, not a finding."
    )
