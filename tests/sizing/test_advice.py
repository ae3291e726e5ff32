from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.logs import Check, ScoreMatrix, Severity
from mince_gui.sizing import Plan, make_plan, rules, size
from mince_gui.sizing.advice import on_n_star, on_the_draws

Make = Callable[..., ScoreMatrix]
SIZES = (100, 200, 300, 400)


def advice(p95: Sequence[float], error: float = 0.0, lumps: Sequence[float] | None = None) -> list[str]:
    plan = Plan(SIZES, 100, 100)
    errors = [None, *[error] * (len(p95) - 1)]
    lumps = [100 / n for n in SIZES] if lumps is None else lumps
    return on_n_star(plan, p95, errors, lumps, rules.n_star(SIZES, p95, 1.0), 1319)


def test_a_gain_just_below_0_within_its_noise_is_named() -> None:
    (warning,) = advice([9, 7.01, 7.02, 6.9], error=0.425)
    assert "n* = 400 is not firm" in warning
    assert (
        "the gain at 300 is -0.01 pp, within one lump (0.33 pp at 300 items) and within 2 Monte Carlo errors" in warning
    )
    assert "(0.85 pp) of 0" in warning
    assert "300" in warning.rpartition("could as well be")[2]


def test_a_near_miss_two_sizes_before_n_star_is_named() -> None:
    (warning,) = advice([9, 7.98, 5, 4.7])
    assert (
        "n* = 400 is not firm: the gain at 200 is 1.02 pp, within one lump (0.50 pp at 200 items) of tau = 1 pp"
        in warning
    )
    assert warning.endswith("n* could as well be 200.")


def test_a_gain_of_n_star_near_either_edge_points_to_a_larger_size() -> None:
    (high,) = advice([9, 8.2, 7, 6])
    assert (
        "the gain at 200 is 0.80 pp, within one lump (0.50 pp at 200 items) of tau = 1 pp. n* could as well be a la"
        in high
    )
    (low,) = advice([9, 8.9, 7, 6])
    assert (
        "the gain at 200 is 0.10 pp, within one lump (0.50 pp at 200 items) of 0. n* could as well be a larger" in low
    )
    (both,) = advice([9, 8.5, 7, 6], error=0.705)
    assert "of tau = 1 pp and within 2 Monte Carlo errors (1.41 pp) of 0" in both


def test_where_gains_equal_tau_that_there_is_no_n_star_is_not_firm() -> None:
    none, warning = advice([9, 8, 7, 6])
    assert none.startswith("No n*")
    assert warning.startswith("That there is no n* is not firm: the gain at 200 is 1.00 pp, within one lump")
    assert warning.endswith("n* could as well be 200, 300 or 400.")


def test_a_clear_n_star_and_a_clear_none_get_no_such_warning() -> None:
    assert advice([12, 9, 7, 6.5]) == []
    assert len(advice([16, 13, 10, 7])) == 1


def test_of_many_gains_near_an_edge_the_first_few_are_named() -> None:
    sizes = tuple(range(10, 110, 10))
    p95, lumps = [30.0 - t for t in range(10)], [100 / n for n in sizes]
    _, warning = on_n_star(Plan(sizes, 10, 10), p95, [None, *[0.0] * 9], lumps, None, 200)
    assert warning.count("the gain at") == 3
    assert "; 6 more. n*" in warning
    assert warning.endswith("n* could as well be 20, 30, 40, 50, 60, 70, 80, 90 or 100.")


def test_a_gain_near_tau_is_firm_where_the_lump_is_small_and_where_there_is_none() -> None:
    near = [9, 7.98, 5, 4.7]
    assert advice(near)
    assert advice(near, lumps=[0.01] * 4) == []
    assert advice(near, lumps=[0.0] * 4) == []
    (warning,) = advice(near, lumps=[0.04] * 4)
    assert "within one lump (0.04 pp at 200 items) of tau = 1 pp" in warning
    (warning,) = advice(near, error=0.02, lumps=[0.0] * 4)
    assert "lump" not in warning


@pytest.mark.parametrize(
    ("draws", "quantile", "least"), [(100, 0.99, "1,000"), (100, 0.95, "200"), (900, 0.999, "10,000")]
)
def test_a_quantile_that_hangs_on_a_few_draws_is_named_with_the_draws_it_needs(
    draws: int, quantile: float, least: str
) -> None:
    (warning,) = on_the_draws(Plan(SIZES, 100, 100, draws=draws, quantile=quantile))
    assert warning.endswith(f"Use at least {least} draws.")
    assert on_the_draws(Plan(SIZES, 100, 100, draws=int(least.replace(",", "")), quantile=quantile)) == []


def test_only_a_sizing_by_draws_warns_of_too_few_of_them(make_matrix: Make) -> None:
    passed = (np.random.default_rng(2).random((3, 1, 400)) < 0.5).astype(float)
    matrix = make_matrix(passed)
    by_draws = size(matrix, make_plan(matrix, step=50, draws=100, method="draws", quantile=0.99), by_seed=False)
    assert any("P99 leaves only about 1 of 100 draws beyond it" in text for text in by_draws.warnings)
    exact = size(matrix, make_plan(matrix, step=50, draws=100, quantile=0.99))
    assert not any("draws" in text for text in exact.warnings)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0, 12), min_size=4, max_size=4),
    st.floats(0, 0.5),
    st.lists(st.floats(-0.99, 0.99), min_size=4, max_size=4),
)
def test_without_a_warning_no_shift_within_lump_and_noise_changes_n_star(
    p95: list[float], error: float, parts: list[float]
) -> None:
    """Oracle: the rule itself on gains that are moved by a part of what they may be wrong by."""
    if any("not firm" in warning for warning in advice(p95, error)):
        return
    moved = []
    for n, gain, part in zip(SIZES, rules.gains(p95), parts, strict=True):
        reach = max(100.0 / n, 2.0 * error)
        moved.append(None if gain is None else gain + part * reach)
    found = next((n for n, g in zip(SIZES, moved, strict=True) if g is not None and 0 <= g < 1.0), None)
    assert found == rules.n_star(SIZES, p95, 1.0)


@pytest.mark.parametrize(("severity", "said"), [("warning", True), ("refusal", True), ("info", False)])
def test_what_the_pools_checks_found_reaches_the_result_but_for_mere_notes(
    make_matrix: Make, severity: Severity, said: bool
) -> None:
    passed = (np.random.default_rng(2).random((3, 1, 400)) < 0.5).astype(float)
    check = Check("mixed_setup", severity, "The logs are of different tasks: a, b.")
    matrix = dataclasses.replace(make_matrix(passed), checks=(check,))
    assert (check.message in size(matrix, make_plan(matrix, step=50)).warnings) == said
