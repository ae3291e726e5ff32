from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import of_task, step_for
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import candidate_sizes, make_plan

Make = Callable[..., ScoreMatrix]


def test_candidate_sizes_stop_below_the_whole() -> None:
    assert candidate_sizes(541, 50) == tuple(range(50, 501, 50))
    assert candidate_sizes(200, 50) == (50, 100, 150)
    assert candidate_sizes(50, 50) == ()


def test_the_default_step_is_the_benchmarks_own(make_matrix: Make) -> None:
    plan = make_plan(make_matrix(np.ones((1, 1, 1319))))
    assert (plan.step, plan.default_step, plan.sizes[:2]) == (100, 100, (100, 200))


def test_listed_sizes_are_sorted_and_their_even_step_is_known(make_matrix: Make) -> None:
    matrix = make_matrix(np.ones((1, 1, 100)))
    assert make_plan(matrix, sizes=[30, 10, 20]).sizes == (10, 20, 30)
    assert make_plan(matrix, sizes=[30, 10, 20]).step == 10
    assert make_plan(matrix, sizes=[10, 20, 50]).step is None


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"step": 0}, "step"),
        ({"step": -5}, "step"),
        ({"step": 60}, "step"),
        ({"step": 10, "sizes": [10, 20]}, "--sizes"),
        ({"sizes": []}, "sizes"),
        ({"sizes": [10]}, "sizes"),
        ({"sizes": [0, 10]}, "--sizes holds 0"),
        ({"sizes": [10, 100]}, "--sizes holds 100"),
        ({"sizes": [10, 20, 10]}, "10 twice"),
        ({"draws": 0}, "--draws"),
        ({"draws": 10_000_000}, "--draws"),
        ({"tau_pp": 0.0}, "--tau"),
        ({"tau_pp": float("nan")}, "--tau"),
        ({"quantile": 1.0}, "--quantile"),
        ({"quantile": 95}, "--quantile"),
        ({"quantile": 1 - 1e-9}, "--quantile must lie between 0 and 0.999999, not 0.999999999"),
        ({"quantile": float("nan")}, "--quantile"),
        ({"worst": "mean"}, "--worst"),
        ({"method": "guess"}, "--method"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(make_matrix: Make, wrong: dict[str, Any], named: str) -> None:
    arguments: dict[str, Any] = {"step": 10, **wrong} if "sizes" not in wrong else wrong
    with pytest.raises(UsageError, match=named):
        make_plan(make_matrix(np.ones((1, 1, 100))), **arguments)


@pytest.mark.parametrize("total", [3, 10, 25, 26, 50, 51])
def test_a_small_unknown_benchmark_has_sizes_enough_at_its_default_step(make_matrix: Make, total: int) -> None:
    matrix = dataclasses.replace(make_matrix(np.ones((1, 1, total))), benchmark=of_task("tiny"))
    plan = make_plan(matrix)
    assert len(plan.sizes) >= 2
    assert plan.step == plan.default_step == step_for(total)


def test_the_largest_quantile_that_is_allowed_is_planned(make_matrix: Make) -> None:
    assert make_plan(make_matrix(np.ones((1, 1, 100))), step=10, quantile=0.999999).quantile == 0.999999
