"""Paired differences between a run and another side, on the items that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from mince_gui.report import format as fmt
from mince_gui.report.categories import FEWEST
from mince_gui.report.model import ChangedItem, Interval, PairedCategory, PairedMetric, PairedReport, Role
from mince_gui.report.names import base_model
from mince_gui.report.paired_intervals import counts_interval
from mince_gui.report.scores import LEVEL, MetricFacts, Rows, is_pass_or_fail, ratio_of
from mince_gui.report.sides import named, role_of, side_of_run
from mince_gui.report.types import RunData, Side

_EDGE = 1e-9
Cell = tuple[float, float]


def paired_report(run: RunData, other: Side, facts: Sequence[MetricFacts]) -> PairedReport:
    """This run minus `other` on the items of the subset that both have: metrics, changed items, categories."""
    common = [key for key in run.subset_keys if key in run.rows and key in other.rows]
    mine = side_of_run(run)
    compared, equal = _prompts(mine, other, common)
    role = role_of(mine, other)
    found = (paired_metric(run, fact, run.rows, other.rows, common) for fact in facts)
    return PairedReport(
        ident=other.ident, kind=other.kind, role=role, model=other.model, precision=other.precision,
        device=other.device, named=named(other), common=len(common), wanted=len(run.subset_keys),
        prompts_compared=compared, prompts_equal=equal,
        metrics=tuple(metric for metric in found if metric is not None),
        changed=_changed(run, other, facts, common), categories=_categories(run, other, facts, common),
        warnings=_warnings(mine, other, role, common, len(run.subset_keys)),
    )  # fmt: skip


def paired_metric(
    run: RunData, fact: MetricFacts, mine: Rows, theirs: Rows, keys: Sequence[str]
) -> PairedMetric | None:
    """`mine` minus `theirs` in one metric, on those of `keys` that both have; None where there are none.

    The interval is of the difference over the whole benchmark that `run` is of: from the exact limits of the counts for
    pass/fail metrics, else by a paired bootstrap.
    """
    both = [key for key in keys if fact.name in mine.get(key, {}) and fact.name in theirs.get(key, {})]
    my_cells, their_cells = ([rows[key][fact.name] for key in both] for rows in (mine, theirs))
    my_ratio, their_ratio = ratio_of(my_cells), ratio_of(their_cells)
    if my_ratio is None or their_ratio is None:
        return None
    changes = [_change(m, t) for m, t in zip(my_cells, their_cells, strict=True)]
    gained, lost = changes.count(1), changes.count(-1)
    plain = not fact.ratio and all(map(is_pass_or_fail, my_cells)) and all(map(is_pass_or_fail, their_cells))
    total = run.total_items
    if plain:
        low, high = counts_interval(gained, lost, len(both), total, level=LEVEL)
    else:
        from mince_gui.report.bootstrap import bootstrap_interval  # numpy: only ratio metrics need it

        low, high = bootstrap_interval(my_cells, their_cells, total, level=LEVEL)
    delta = my_ratio.percent - their_ratio.percent
    if len(both) == total:
        interval = Interval(delta, delta, LEVEL, "whole benchmark")
    elif not run.drawn_uniformly:
        interval = Interval(low, high, LEVEL, "approximate, as if drawn uniformly")
    else:
        interval = Interval(low, high, LEVEL, "paired, exact limits combined" if plain else "paired bootstrap")
    return PairedMetric(
        name=fact.name, title=fact.title, mine=my_ratio, theirs=their_ratio, delta_pp=delta, interval=interval,
        gained=gained, lost=lost, p_value=mcnemar_p(gained, lost) if plain else None,
    )  # fmt: skip


def _change(mine: Cell, theirs: Cell) -> int:
    """1 where the outcome is better here, -1 where it is worse, else 0."""
    if mine[1] <= 0 or theirs[1] <= 0:
        return 0
    gain = mine[0] / mine[1] - theirs[0] / theirs[1]
    return (gain > _EDGE) - (gain < -_EDGE)


def mcnemar_p(gained: int, lost: int) -> float:
    """Two-sided exact McNemar test: the binomial test of `gained` among the items whose verdict changed."""
    from scipy.special import bdtr  # only a paired report needs it

    return min(1.0, 2.0 * float(bdtr(min(gained, lost), gained + lost, 0.5))) if gained + lost else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction of p-values that are looked at together, in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    least = 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * p_values[index]))
        corrected[index] = least
    return corrected


def _changed(run: RunData, other: Side, facts: Sequence[MetricFacts], common: Sequence[str]) -> tuple[ChangedItem, ...]:
    """The items with another outcome in any metric, in the subset's order."""
    names = [fact.name for fact in facts]
    found = []
    for key in common:
        mine, theirs = run.rows[key], other.rows[key]
        shared = [name for name in names if name in mine and name in theirs]
        changes = {_change(mine[name], theirs[name]) for name in shared} - {0}
        if not changes:
            continue
        change: Literal["gained", "lost", "both"] = (
            "both" if len(changes) == 2 else "gained" if changes == {1} else "lost"
        )
        found.append(
            ChangedItem(
                key=key, category=run.categories.get(key), change=change, mine=_cells(mine, shared),
                theirs=_cells(theirs, shared), my_answer=run.answers_given.get(key),
                their_answer=other.answers.get(key), expected=run.expected.get(key, other.expected.get(key)),
            )
        )  # fmt: skip
    return tuple(found)


def _cells(row: Mapping[str, Cell], names: Sequence[str]) -> dict[str, Cell]:
    return {name: (row[name][0], row[name][1]) for name in names}


def _categories(
    run: RunData, other: Side, facts: Sequence[MetricFacts], common: Sequence[str]
) -> tuple[PairedCategory, ...]:
    """The first pass/fail metric by category, smallest p-value first; empty unless two categories have enough items."""
    for fact in facts:
        if fact.ratio:
            continue
        groups: dict[str, list[int]] = {}
        for key in common:
            category = run.categories.get(key)
            mine, theirs = run.rows[key].get(fact.name), other.rows[key].get(fact.name)
            if category is not None and mine is not None and theirs is not None:
                groups.setdefault(category, []).append(_change(mine, theirs))
        shown = {name: changes for name, changes in groups.items() if len(changes) >= FEWEST}
        if len(shown) < 2:
            return ()
        p_values = [mcnemar_p(changes.count(1), changes.count(-1)) for changes in shown.values()]
        lines = [
            PairedCategory(
                category=name, items=len(changes), delta_pp=100.0 * sum(changes) / len(changes),
                gained=changes.count(1), lost=changes.count(-1), p_value=p_value, p_holm=corrected,
            )
            for (name, changes), p_value, corrected in zip(shown.items(), p_values, holm(p_values), strict=True)
        ]  # fmt: skip
        return tuple(sorted(lines, key=lambda line: (line.p_value, -abs(line.delta_pp), line.category)))
    return ()


def _prompts(mine: Side, theirs: Side, keys: Sequence[str]) -> tuple[int, int]:
    """How many of `keys` have a known prompt on both sides, and how many of them the very same."""
    compared = [key for key in keys if key in mine.prompts and key in theirs.prompts]
    return len(compared), sum(mine.prompts[key] == theirs.prompts[key] for key in compared)


def cautions(mine: Side, theirs: Side, keys: Sequence[str]) -> list[str]:
    """What a difference between the sides on `keys` holds besides precision and device, in sentences."""
    found = []
    compared, equal = _prompts(mine, theirs, keys)
    if equal < compared:
        found.append(
            f"The prompts differ in {compared - equal:,} of {compared:,} items: the difference holds what another "
            "prompt (examples, template) does as well."
        )
    for what, here in mine.asked.items():
        there = theirs.asked.get(what, here)
        if here != there:
            found.append(f"The {what} differs: {here} here, {there} in {theirs.ident}.")
    found += [f"Of {side.ident}: {warning.rstrip('.')}." for side in (mine, theirs) for warning in side.warnings]
    builds = mine.model_sha256 and theirs.model_sha256 not in ("", mine.model_sha256)
    if builds and role_of(mine, theirs) in ("hardware", "repeat"):
        found.append(
            "The model folders differ, as builds for different devices do: the difference holds that of the builds."
        )
    return found


def _warnings(mine: Side, theirs: Side, role: Role, common: Sequence[str], wanted: int) -> tuple[str, ...]:
    """What a reader must know before taking the difference for what it is called."""
    found = []
    if len(common) < wanted:
        covered = fmt.coverage(len(common), wanted)
        found.append(f"Only {covered} of the subset are in common: the difference is of these.")
    found += cautions(mine, theirs, common)
    unknown_prompts = len(common) - _prompts(mine, theirs, common)[0]
    if unknown_prompts:
        found.append(
            f"For {fmt.coverage(unknown_prompts, len(common))} in common a side keeps no prompt, or was asked other "
            "content than was frozen: whether both were asked the same cannot be told there."
        )
    unproven = [side for side in (mine, theirs) if side.device.endswith("not proven")]
    found += [f"Where it ran is not proven: {named(side)}." for side in unproven]
    if base_model(mine.model) != base_model(theirs.model):
        found.append(f"The models are not the same: {mine.model}, {theirs.model}.")
    elif role == "other":
        unknown = [side.ident for side in (mine, theirs) if not (side.precision and side.device)]
        found.append(
            f"The precision or the one device of {' and of '.join(unknown)} is not known: what the difference is made "
            "of cannot be told."
        )
    return tuple(found)
