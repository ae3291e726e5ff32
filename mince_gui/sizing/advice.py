"""What a user must know about a sizing before trusting its n*: plain sentences with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing import rules
from mince_gui.sizing.pairs import Pairs
from mince_gui.sizing.types import Plan

_FAR_FROM_HALF = 15.0
_FEW_MODELS = 3


def on_the_pool(matrix: ScoreMatrix, pairs: Pairs) -> list[str]:
    """Warnings that come from the calibration pool alone."""
    found = [check.message for check in matrix.checks if check.severity == "refusal"]
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


def on_n_star(
    plan: Plan, p95_pp: Sequence[float], error_pp: Sequence[float], n_star: int | None, total_items: int
) -> list[str]:
    """Warnings about how firmly n* stands: none found, or hanging on a lump or on Monte Carlo noise."""
    if n_star is None:
        return [
            f"No n*: no candidate size up to {plan.sizes[-1]} of {total_items} items has a marginal gain of at "
            f"least 0 and below tau = {plan.tau_pp:g} pp. Widen the sweep (more or larger sizes) or loosen tau."
        ]
    gains = rules.gains(p95_pp)
    at = plan.sizes.index(n_star)
    found = []
    for t in (at - 1, at):
        gain = gains[t]
        if gain is None:
            continue
        n = plan.sizes[t]
        lump = 100.0 / n
        noise = 2.0 * float(np.hypot(error_pp[t - 1], error_pp[t]))
        distance = abs(gain - plan.tau_pp)
        if distance >= max(lump, noise):
            continue
        reasons = [f"within one lump ({lump:.2f} pp at {n} items)"] if distance < lump else []
        if distance < noise:
            reasons.append(f"within 2 Monte Carlo errors ({noise:.2f} pp)")
        found.append(f"the gain at {n} is {gain:.2f} pp, {' and '.join(reasons)} of tau = {plan.tau_pp:g} pp")
    if not found:
        return []
    return [f"n* = {n_star} is not firm: {'; '.join(found)}. A neighbouring size would serve as well."]


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
