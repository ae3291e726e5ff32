"""Another tau for a sizing that is there: nothing is drawn anew."""

from __future__ import annotations

from dataclasses import replace

from mince_gui.sizing.advice import on_n_star
from mince_gui.sizing.rules import n_star
from mince_gui.sizing.types import SizingResult


def at_tau(result: SizingResult, tau_pp: float) -> SizingResult:
    """The sizing with the n* of another tau (pp per step).

    The curve is the same; what was said about the old n*, and its spread over seeds, is not.
    """
    if tau_pp == result.plan.tau_pp:
        return result
    plan = replace(result.plan, tau_pp=tau_pp)
    star = n_star(plan.sizes, result.p95_pp, tau_pp)
    others = [text for text in result.warnings if text not in result.n_star_warnings]
    fresh = on_n_star(plan, result.p95_pp, result.gain_error_pp, result.lump_pp, star, result.total_items)
    return replace(
        result,
        plan=plan,
        n_star=star,
        n_star_smooth=n_star(plan.sizes, result.smooth_pp, tau_pp),
        n_star_by_seed={},
        warnings=(*others, *fresh),
        n_star_warnings=tuple(fresh),
    )
