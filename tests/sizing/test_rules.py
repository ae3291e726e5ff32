from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from mince_gui.logs import ScoreMatrix
from mince_gui.logs.types import FloatArray
from mince_gui.sizing import gains, make_plan, n_star, size

Make = Callable[..., ScoreMatrix]

# Two models, two metrics (the second a ratio), eight items: every subset can be listed.
PASSED = np.array(
    [
        [[1, 0, 1, 1, 0, 0, 1, 0], [2, 0, 1, 1, 1, 0, 3, 0]],
        [[0, 0, 1, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 2, 3, 1]],
    ],
    dtype=float,
)
TRIALS = np.array([[1] * 8, [2, 1, 1, 1, 2, 2, 3, 1]], dtype=float)


def all_drifts(n: int) -> FloatArray:
    """|drift| in pp of every subset of n, shape (subsets, pairs)."""
    rows = []
    for chosen in combinations(range(8), n):
        part = PASSED[:, :, chosen].sum(axis=2) / TRIALS[:, chosen].sum(axis=1)
        rows.append(100 * np.abs(part - PASSED.sum(axis=2) / TRIALS.sum(axis=1)).reshape(-1))
    return np.array(rows)


def between(values: FloatArray, quantile: float, slack: float = 0.01) -> tuple[float, float]:
    """The true quantile's range when a simulation may miss the probability by `slack`."""
    ordered = np.sort(values)
    low, high = (int(np.ceil(len(ordered) * (quantile + s))) - 1 for s in (-slack, slack))
    return ordered[max(low, 0)] - 1e-9, ordered[min(high, len(ordered) - 1)] + 1e-9


@pytest.mark.parametrize("quantile", [0.6, 0.83])
def test_both_rules_agree_with_the_list_of_all_subsets(make_matrix: Make, quantile: float) -> None:
    matrix = make_matrix(PASSED, TRIALS)
    sizes = (2, 4, 5)
    for worst in ("per-model", "joint"):
        plan = make_plan(matrix, sizes=sizes, draws=20_000, quantile=quantile, worst=worst)
        result = size(matrix, plan, by_seed=False)
        assert result.method == "draws"
        for t, n in enumerate(sizes):
            drifts = all_drifts(n)
            for c in range(4):
                low, high = between(drifts[:, c], quantile)
                assert low <= result.curves_pp[c // 2, c % 2, t] <= high
            if worst == "joint":
                low, high = between(drifts.max(axis=1), quantile)
                assert low <= result.p95_pp[t] <= high
            else:
                assert result.p95_pp[t] == result.curves_pp[:, :, t].max()


@pytest.mark.parametrize(
    ("p95", "expected"),
    [
        ((9.0, 6.0, 5.1, 4.9), 30),  # 3.0, 0.9
        ((9.0, 8.5), 20),  # the second size already
        ((9.0, 7.0, 6.0), None),  # 2.0 and exactly tau: not below it
        ((9.0, 9.5, 7.0), None),  # a negative gain is no sign of a plateau
        ((9.0, 9.5, 9.4), 30),
        ((5.0, 5.0), 20),  # a gain of exactly 0 counts
        ((5.0, 5.0 + 1e-13), 20),  # equal but for the last digits
        ((1.3, 0.3), None),  # 1.0 in decimals, a little less in binary
    ],
)
def test_n_star_is_the_first_size_with_a_gain_of_at_least_0_and_below_tau(
    p95: tuple[float, ...], expected: int | None
) -> None:
    assert n_star(tuple(range(10, 10 * len(p95) + 1, 10)), p95, 1.0) == expected


def test_the_first_size_has_no_gain() -> None:
    assert gains((3.0, 2.5, 2.75)) == (None, 0.5, -0.25)
