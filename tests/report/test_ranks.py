from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mince_gui.report.ranks import spearman

scores = st.floats(0, 100, allow_subnormal=False).map(lambda value: round(value, 1))


@settings(deadline=None)
@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=25))
def test_it_is_scipys_rho_with_ties_averaged(pairs: list[tuple[float, float]]) -> None:
    full, subset = [list(side) for side in zip(*pairs, strict=True)]
    found = spearman(full, subset)
    if len(set(full)) == 1 or len(set(subset)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(full, subset).statistic, abs=1e-12)


@pytest.mark.parametrize("models", [0, 1, 2])
def test_too_few_models_have_no_rho(models: int) -> None:
    assert spearman([1.0, 2.0][:models], [2.0, 1.0][:models]) is None


def test_an_order_that_is_kept_is_1_and_one_that_is_turned_is_minus_1() -> None:
    full = [math.sqrt(place) for place in range(9)]
    assert spearman(full, [10 * value for value in full]) == 1.0
    assert spearman(full, [-value for value in full]) == -1.0


def test_scores_of_other_models_are_refused() -> None:
    with pytest.raises(ValueError, match="same models"):
        spearman([1.0, 2.0, 3.0], [1.0, 2.0])
