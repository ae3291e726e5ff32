from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom, norm

from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import preview
from mince_gui.sizing.draws import simulate
from mince_gui.sizing.pairs import pairs_of
from mince_gui.sizing.quantiles import drifts
from mince_gui.sizing.smooth import smooth_curve

Make = Callable[..., ScoreMatrix]


@settings(max_examples=30, deadline=None)
@given(st.integers(20, 1000), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_preview_is_the_normal_quantile_with_the_hypergeometric_spread(
    total: int, share_right: float, share_drawn: float, quantile: float
) -> None:
    right, n = round(share_right * total), max(1, round(share_drawn * (total - 1)))
    seen = np.arange(n + 1)
    weight = hypergeom.pmf(seen, total, right, n)
    spread = float(np.sqrt((weight * (seen / n - right / total) ** 2).sum()))
    expected = 100 * float(norm.ppf((1 + quantile) / 2)) * spread
    assert preview(total, [100 * right / total], [n], quantile)[0] == pytest.approx(expected, abs=1e-7)


def test_the_model_nearest_half_sets_the_preview() -> None:
    assert preview(1000, [90.0, 55.0, 20.0, float("nan")], [100, 200]) == preview(1000, [55.0], [100, 200])


def test_without_a_score_there_is_no_preview() -> None:
    assert np.isnan(preview(1000, [], [100, 200])).all()


def test_the_smooth_curve_of_plain_accuracies_is_the_preview(make_matrix: Make) -> None:
    passed = np.zeros((2, 1, 200))
    passed[0, 0, :90] = 1
    passed[1, 0, :30] = 1
    curve = smooth_curve(pairs_of(make_matrix(passed)), (20, 100), 0.95)
    assert curve.tolist() == pytest.approx(preview(200, [45.0, 15.0], [20, 100]))


def test_the_smooth_curve_of_a_ratio_metric_meets_a_long_simulation(make_matrix: Make) -> None:
    rng = np.random.default_rng(4)
    trials = rng.integers(1, 4, size=500).astype(float)
    passed = rng.binomial(trials.astype(int), 0.55).astype(float)
    pairs = pairs_of(make_matrix(passed[None, None], trials))
    sizes = (100, 250, 400)
    simulation = simulate(pairs, sizes, 60_000, 9)
    smooth = smooth_curve(pairs, sizes, 0.95)
    for t in range(len(sizes)):
        assert smooth[t] == pytest.approx(np.percentile(drifts(simulation, t, 0), 95), rel=0.03)
