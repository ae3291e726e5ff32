"""How a subset was drawn, and what its bound is called: the same words wherever a bound is shown."""

from __future__ import annotations

UNIFORM = ("uniform", "full")
"""Samplers whose subsets are uniform draws, which bound and exact intervals are computed for."""


def bound_title(sampler: str) -> str:
    """What the bound of a subset is called: "bound"; "bound of uniform draws" where another sampler drew it."""
    return "bound" if sampler in UNIFORM else "bound of uniform draws"


def bound_note(sampler: str) -> str:
    """The sentence that goes with the bound of a subset that was not drawn uniformly; "" for one that was."""
    if sampler in UNIFORM:
        return ""
    return f"The bound is the bound of uniform draws; this subset was drawn by another sampler ({sampler})."
