"""The drift bound and what it means: by which rule, for which share of which subsets."""

from __future__ import annotations

import math
from typing import Any

from mince_gui.base.draws import bound_note, bound_title
from mince_gui.report import format as fmt
from mince_gui.report.model import Bound
from mince_gui.report.types import RunData

_RULES = {"per-model": "rule per-model", "joint": "rule joint"}


def number_of(value: Any) -> float | None:
    """A finite number out of a file that came from elsewhere, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def quantile_name(quantile: float | None) -> str:
    """ "P95", "P99.5"; "a quantile" where it is not recorded which."""
    return "a quantile" if quantile is None else f"P{100 * quantile:.6g}"


def quantile_of(run: RunData) -> float | None:
    """The quantile that the subset was sized with, None where its evidence does not say."""
    found = number_of(run.evidence.get("quantile"))
    return found if found is not None and 0 < found < 1 else None


def rule_of(run: RunData) -> str:
    """The worst-case rule that the subset was sized by, "" where its evidence does not say."""
    return str(run.evidence.get("rule") or run.evidence.get("worst") or "")


def bound_of(run: RunData) -> Bound | None:
    """The bound that this run is held against; None for a full run and where the subset carries none."""
    if run.is_full or run.bound_pp is None:
        return None
    quantile, rule = quantile_of(run), rule_of(run)
    share = "quantile not recorded" if quantile is None else quantile_name(quantile)
    name = f"{share}, {_RULES.get(rule, f'rule {rule}' if rule else 'rule not recorded')}"
    return Bound(
        pp=run.bound_pp, quantile=quantile, rule=rule, sampler=run.sampler, title=bound_title(run.sampler), name=name,
        meaning=_meaning(run, quantile, rule), outside_by_chance=_by_chance(quantile, rule),
    )  # fmt: skip


def _meaning(run: RunData, quantile: float | None, rule: str) -> str:
    share = "a share (not recorded)" if quantile is None else f"{100 * quantile:.6g} %"
    if rule == "joint":
        what = (
            f"{share} of uniform random subsets of this size keep every model and metric of the pool within it at once"
        )
    elif rule == "per-model":
        what = (
            f"for the worst model and metric of the pool, {share} of uniform random subsets of this size stay within it"
        )
    else:
        what = f"{share} of uniform random subsets of this size stay within it; the rule is not recorded"
    return f"{fmt.pp(run.bound_pp, signed=False)}: {what}. {bound_note(run.sampler)}".rstrip()


def _by_chance(quantile: float | None, rule: str) -> str:
    """How many subsets lie outside though nothing is wrong: "about 1 subset in 20"."""
    if quantile is None:
        return "some subsets"
    one_in = 1 / (1 - quantile)
    if abs(one_in - round(one_in)) < 0.01 * one_in:
        share = f"about 1 subset in {round(one_in):,}"
    else:
        share = f"about {100 * (1 - quantile):.3g} % of subsets"
    return f"{share}, on each metric" if rule == "per-model" else share
