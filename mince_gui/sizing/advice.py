"""What a user must know about a sizing before trusting its n*: plain sentences with numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing import rules
from mince_gui.sizing.pairs import Pairs
from mince_gui.sizing.types import Plan

_FAR_FROM_HALF = 15.0
_FEW_MODELS = 3
_FEW_BEYOND = 10
_MOST_SIZES = 12
_MOST_REASONS = 3


def on_the_pool(matrix: ScoreMatrix, pairs: Pairs) -> list[str]:
    """Warnings that come from the calibration pool alone: what its checks found, its size, its scores."""
    found = [check.message for check in matrix.checks if check.severity != "info"]
    found += pairs.excluded
    models = len({k for k, _ in pairs.places})
    if models < _FEW_MODELS:
        found.append(
            f"The calibration pool has only {models} model{'s' if models > 1 else ''}; "
            "at least 3 models of different strength make the bound worth more."
        )
    nearest = int(np.argmin(np.abs(pairs.full - 0.5)))
    score = 100.0 * float(pairs.full[nearest])
    if abs(score - 50.0) > _FAR_FROM_HALF:
        k, m = pairs.places[nearest]
        found.append(
            f"No score of the pool lies near 50 %: the nearest is {score:.1f} % ({matrix.models[k]}, "
            f"{matrix.metrics[m]}). A later model nearer 50 % drifts more than this bound says."
        )
    return found


def on_the_step(plan: Plan) -> list[str]:
    """The warning that tau counts per step, where the step is not the benchmark's own."""
    if plan.step == plan.default_step:
        return []
    own = "The candidate sizes are not evenly spaced" if plan.step is None else f"The step is {plan.step} items"
    return [
        f"{own}; the default step is {plan.default_step}. tau counts per step, so this n* "
        "cannot be compared with one at the default step."
    ]


def on_the_draws(plan: Plan) -> list[str]:
    """The warning that a quantile by draws hangs on a few of them, so that its error is not known either."""
    beyond = plan.draws * (1.0 - plan.quantile)
    if beyond >= _FEW_BEYOND - 1e-6:
        return []
    name = f"P{100 * plan.quantile:.10g}"
    return [
        f"{name} leaves only about {beyond:.2g} of {plan.draws:,} draws beyond it: it is rough, and it may err by more "
        f"than the error given. Use at least {math.ceil(_FEW_BEYOND / (1.0 - plan.quantile) - 1e-6):,} draws."
    ]


def on_n_star(
    plan: Plan,
    p95_pp: Sequence[float],
    gain_error_pp: Sequence[float | None],
    lump_pp: Sequence[float],
    n_star: int | None,
    total_items: int,
) -> list[str]:
    """Warnings about how firmly n* stands: none found, or hanging on a lump or on Monte Carlo noise.

    All but the plan and the counts of items are in pp, one for each size of the plan. Every gain up to n*
    (all of them where there is no n*) is moved by one lump and by two of its Monte Carlo errors, up and down; where
    that moves it over an edge of 0 <= g < tau, n* would be another.
    """
    found = []
    if n_star is None:
        found.append(
            f"No n*: no candidate size up to {plan.sizes[-1]} of {total_items} items has a marginal gain of at "
            f"least 0 and below tau = {plan.tau_pp:g} pp. Widen the sweep (more or larger sizes) or loosen tau."
        )
    last = len(plan.sizes) - 1 if n_star is None else plan.sizes.index(n_star)
    reasons: dict[int, str] = {}
    for t, gain in enumerate(rules.gains(p95_pp)[: last + 1]):
        noise = 2.0 * (gain_error_pp[t] or 0.0)
        if gain is not None and (reason := _near_an_edge(gain, plan.sizes[t], lump_pp[t], noise, plan.tau_pp)):
            reasons[plan.sizes[t]] = reason
    if reasons:
        others = [str(n) for n in reasons if n != n_star]
        if n_star in reasons:
            others.append("a larger size")
        chosen = "That there is no n*" if n_star is None else f"n* = {n_star}"
        found.append(
            f"{chosen} is not firm: {_listed(list(reasons.values()), '; ', '; ', _MOST_REASONS)}. "
            f"n* could as well be {_listed(others, ', ', ' or ', _MOST_SIZES)}."
        )
    return found


def _near_an_edge(gain: float, n: int, lump: float, noise: float, tau_pp: float) -> str:
    """Why the gain at `n` might lie on the other side of an edge of 0 <= g < tau; empty where it cannot."""
    moved = {
        f"one lump ({_small(lump)} pp at {n} items)": _crossed(gain, lump, tau_pp),
        f"2 Monte Carlo errors ({noise:.2f} pp)": _crossed(gain, noise, tau_pp),
    }
    found = []
    for edge, named in enumerate((f"tau = {tau_pp:g} pp", "0")):
        near = [f"within {shift}" for shift, crossed in moved.items() if crossed[edge]]
        if near:
            found.append(f"{' and '.join(near)} of {named}")
    return f"the gain at {n} is {gain:.2f} pp, {' and '.join(found)}" if found else ""


def _small(value_pp: float) -> str:
    """Two digits after the point, and two that say something where those are 0: lumps of ratios are small."""
    return f"{value_pp:.2f}" if value_pp >= 0.095 else f"{value_pp:.2g}"


def _crossed(gain: float, shift: float, tau_pp: float) -> tuple[bool, bool]:
    """Whether a gain moved by `shift` changes sides at tau, and at 0. At 0 a gain still counts, at tau no longer."""
    if 0 <= gain < tau_pp:
        return gain + shift >= tau_pp, gain - shift < 0
    return gain >= tau_pp > gain - shift, gain < 0 <= gain + shift


def _listed(parts: Sequence[str], between: str, last: str, most: int) -> str:
    """The parts in a row, with `last` before the last one; of more than `most` the first ones and how many follow."""
    if len(parts) > most:
        parts = [*parts[:most], f"{len(parts) - most} more"]
    return last.join([*([between.join(parts[:-1])] if len(parts) > 1 else []), parts[-1]])


def on_seeds(n_star_by_seed: Mapping[int, int | None], n_star: int | None, draws: int, plan: Plan) -> list[str]:
    """Warnings about n* over other seeds: that it differs, and that fewer draws were used for it."""
    if not n_star_by_seed:
        return []
    found = []
    counts = Counter(n_star_by_seed.values())
    if set(counts) != {n_star}:
        ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0] is None, entry[0] or 0))
        spread = ", ".join(f"{'none' if n is None else n} for {count}" for n, count in ordered)
        chosen = "none" if n_star is None else str(n_star)
        found.append(
            f"n* depends on the seed: over {len(n_star_by_seed)} seeds it is {spread}; seed {plan.seed} gives {chosen}."
        )
    if draws < plan.draws:
        found.append(
            f"n* over {len(n_star_by_seed)} seeds was computed with {draws:,} draws each "
            f"instead of {plan.draws:,}, so it spreads more than the result itself."
        )
    return found
