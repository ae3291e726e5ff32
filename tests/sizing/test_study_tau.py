from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from mince_gui.base.errors import UsageError
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import make_plan, size
from mince_gui.sizing.studies import tau_sweep

Make = Callable[..., ScoreMatrix]


def pool(make_matrix: Make, models: int = 4, items: int = 600) -> ScoreMatrix:
    shares = np.linspace(0.3, 0.7, models)[:, None, None]
    return make_matrix((np.random.default_rng(5).random((models, 1, items)) < shares).astype(float))


def test_every_row_is_what_a_sizing_at_that_tau_gives(make_matrix: Make) -> None:
    matrix = pool(make_matrix)
    study = tau_sweep(size(matrix, make_plan(matrix, step=50)), [0.5, 1.0, 2.5])
    assert [row.tau_pp for row in study.rows] == [0.5, 1.0, 2.5]
    for row in study.rows:
        own = size(matrix, make_plan(matrix, step=50, tau_pp=row.tau_pp))
        assert (row.n_star, row.n_star_smooth) == (own.n_star, own.n_star_smooth)
        assert row.n_star is not None
        assert row.p95_pp == own.bound_at(row.n_star)
        assert row.reduction_percent == pytest.approx(100 * (600 - row.n_star) / 600)
        assert row.gain_pp is not None
        assert 0 <= row.gain_pp < row.tau_pp
        assert row.notes == own.n_star_warnings


def test_an_n_star_is_as_firm_as_a_sizing_by_draws_at_that_tau_says(make_matrix: Make) -> None:
    # Lumps hardly move a gain at these sizes, so what is said hangs on its Monte Carlo error.
    rng = np.random.default_rng(2)
    trials = rng.integers(1, 40, size=3000).astype(float)
    matrix = make_matrix(rng.binomial(trials.astype(int), 0.5, size=(3, 1, 3000)).astype(float), trials)
    plan = make_plan(matrix, step=300, draws=400, method="draws")
    sizing = size(matrix, plan, by_seed=False)
    taus = np.linspace(0.02, 1.2, 40).tolist()
    for row in tau_sweep(sizing, taus).rows:
        own = size(matrix, dataclasses.replace(plan, tau_pp=row.tau_pp), by_seed=False)
        assert row.notes == own.n_star_warnings


def test_the_bound_s_column_bears_the_plan_s_quantile(make_matrix: Make) -> None:
    matrix = pool(make_matrix)
    study = tau_sweep(size(matrix, make_plan(matrix, step=50, quantile=0.5)), [1.0])
    assert "p50_pp" in study.table().columns
    assert "p95_pp" not in study.table().columns
    assert study.to_json()["rows"][0]["p50_pp"] == study.rows[0].p95_pp


def test_a_tau_without_n_star_has_no_figures_and_says_why(make_matrix: Make) -> None:
    matrix = pool(make_matrix)
    study = tau_sweep(size(matrix, make_plan(matrix, sizes=[10, 20, 40])), [0.01])
    row = study.rows[0]
    assert (row.n_star, row.reduction_percent, row.p95_pp, row.gain_pp) == (None, None, None, None)
    assert any("No n*" in text for text in study.summary())
    assert study.to_json()["rows"][0]["p95_pp"] is None


def test_warnings_about_the_sizing_s_own_n_star_are_left_to_the_rows(make_matrix: Make) -> None:
    matrix = pool(make_matrix, models=2)
    sizing = size(matrix, make_plan(matrix, step=50))
    study = tau_sweep(sizing, [1.0])
    assert any("only 2 models" in warning for warning in study.warnings)
    assert not set(study.warnings) & set(sizing.n_star_warnings)


@pytest.mark.parametrize("taus", [[], [0.0], [1.0, -1.0], [float("nan")]])
def test_a_tau_that_is_none_is_refused(make_matrix: Make, taus: list[float]) -> None:
    matrix = pool(make_matrix)
    with pytest.raises(UsageError, match="above 0"):
        tau_sweep(size(matrix, make_plan(matrix, step=50)), taus)
