from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from mince_gui.base.events import Event, Progress
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import Plan, make_plan, pair_curves, seed_curves, size, worst_curves

Make = Callable[..., ScoreMatrix]


@pytest.fixture
def ratios(make_matrix: Make) -> ScoreMatrix:
    rng = np.random.default_rng(3)
    trials = np.stack([np.ones(300), rng.integers(1, 4, size=300).astype(float)])
    shares = np.linspace(0.25, 0.75, 4)[:, None, None]
    passed = rng.binomial(trials.astype(int), np.broadcast_to(shares, (4, 2, 300))).astype(float)
    return make_matrix(passed, trials)


@pytest.fixture
def plain(make_matrix: Make) -> ScoreMatrix:
    shares = np.linspace(0.2, 0.65, 4)[:, None, None]
    return make_matrix((np.random.default_rng(2).random((4, 1, 400)) < shares).astype(float))


POOLS = [pool for left in (2, 3, 4) for pool in combinations(range(4), left)]


def test_exact_curves_of_every_pool_are_those_of_sizing_that_pool(plain: ScoreMatrix) -> None:
    plan = make_plan(plain, step=50)
    found = worst_curves(plain, plan, POOLS)
    for pool, row in zip(POOLS, found, strict=True):
        alone = size(plain.select([plain.models[k] for k in pool]), plan)
        assert row.tolist() == list(alone.p95_pp)


@pytest.mark.parametrize("worst", ["per-model", "joint"])
def test_drawn_curves_of_the_whole_pool_are_those_of_sizing_it(ratios: ScoreMatrix, worst: str) -> None:
    plan = make_plan(ratios, step=50, draws=2000, worst="joint" if worst == "joint" else "per-model")
    found = worst_curves(ratios, plan, [*POOLS, []])
    assert found[POOLS.index((0, 1, 2, 3))].tolist() == list(size(ratios, plan, by_seed=False).p95_pp)
    assert (found[:-1] <= found[POOLS.index((0, 1, 2, 3))] + 1e-12).all()
    assert np.isnan(found[-1]).all()


def test_pools_share_their_draws_where_the_rule_is_joint_even_if_pairs_alone_were_cheaper(make_matrix: Make) -> None:
    passed = (np.random.default_rng(4).random((3, 1, 9000)) < 0.5).astype(float)
    matrix = make_matrix(passed)
    plan = make_plan(matrix, sizes=[500, 1000], draws=1000, worst="joint")
    found = worst_curves(matrix, plan, [(0, 1, 2)])
    assert found[0].tolist() == list(size(matrix, plan, by_seed=False).p95_pp)


def test_pair_curves_have_their_places_and_the_worst_of_some_models(ratios: ScoreMatrix) -> None:
    plan = make_plan(ratios, step=50, draws=2000)
    curves = pair_curves(ratios, plan)
    result = size(ratios, plan, by_seed=False)
    assert not curves.exact
    assert curves.pp.tolist() == result.curves_pp[curves.models, curves.metrics].tolist()
    assert curves.worst().tolist() == list(result.p95_pp)
    assert curves.worst([1, 3]).tolist() == np.nanmax(result.curves_pp[[1, 3]], axis=(0, 1)).tolist()
    assert np.isnan(curves.worst([])).all()
    assert pair_curves(ratios, plan, seed=7).pp.tolist() != curves.pp.tolist()


def test_curves_over_seeds_are_those_of_sizing_with_each_seed(ratios: ScoreMatrix) -> None:
    told: list[Event] = []
    plan = make_plan(ratios, step=100, draws=1000)
    found = seed_curves(ratios, plan, (42, 5), emit=told.append)
    for number, seed in enumerate((42, 5)):
        for worst, rows in found.items():
            alone = Plan(plan.sizes, plan.step, plan.default_step, 1000, worst=worst, seed=seed)
            assert rows[number].tolist() == list(size(ratios, alone, by_seed=False).p95_pp)
    counts = [event.done for event in told if isinstance(event, Progress)]
    assert counts == sorted(counts)
    assert counts[-1] == 2000


def test_curves_over_seeds_are_drawn_even_where_they_could_be_exact(plain: ScoreMatrix) -> None:
    plan = make_plan(plain, step=100, draws=1000)
    first, second = seed_curves(plain, plan, (1, 2))["per-model"]
    assert first.tolist() != second.tolist()
    assert first == pytest.approx(list(size(plain, plan).p95_pp), rel=0.2)
