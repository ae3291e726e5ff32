"""The paper's tables from logs with its published accuracies.

What depends on the accuracies alone is exact here, and no seed enters it: n*, the tau table and leave-one-out of
plain metrics. Which items are right is made up, so drift on a frozen subset can only be compared as a distribution.
No seed is chosen: where one is needed it is the method's own, 42, and the spread over seeds stands beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import candidate_sizes, make_plan, n_star, seed_curves, size
from mince_gui.sizing.pairs import pairs_of
from mince_gui.sizing.studies import (
    Drawing,
    compare_samplers,
    drifts,
    leave_out,
    ranks,
    seeds_study,
    spearman,
    tau_sweep,
)
from mince_gui.subset import draw_uniform

pytestmark = pytest.mark.shared

Load = Callable[[str], ScoreMatrix]
Plain = Callable[[ScoreMatrix], ScoreMatrix]
Paper = dict[str, Any]
BENCHMARKS = ("ifeval", "mmlu", "gsm8k")

DIFFERENT = {
    ("ifeval", 0.5): "the exact gain at 400 is 0.66 pp; one lump there is 0.25 pp. None of the sizes is below 0.5",
    ("ifeval", 0.75): "the exact gain at 300 is 0.78 pp, 0.03 pp above tau; one lump there is 0.33 pp",
    ("gsm8k", 0.5): "the exact gain at 600 is 0.53 pp, 0.03 pp above tau; one lump there is 0.17 pp",
    ("mmlu", 1.25): "the exact gain at 1000 is 1.20 pp, 0.05 pp below tau; one lump there is 0.10 pp",
}
"""Cells of the tau table whose exact n* is another than the published one, and why."""


def uniform(matrix: ScoreMatrix) -> Drawing:
    def draw(n: int, seed: int) -> Sequence[int]:
        return draw_uniform(matrix.total_items, n, seed)

    return draw


IFEVAL_METRICS = {
    "prompt_strict": "prompt_level_strict_acc",
    "prompt_loose": "prompt_level_loose_acc",
    "inst_strict": "inst_level_strict_acc",
    "inst_loose": "inst_level_loose_acc",
}


def published_full(paper: Paper, matrix: ScoreMatrix) -> dict[str, list[float]]:
    """Full scores in percent per metric; for IFEVAL they follow from subset scores and drift."""
    if matrix.benchmark.name != "ifeval":
        return {matrix.metrics[0]: paper["table1"][matrix.benchmark.name]["full"]}
    table = paper["table6_ifeval"]
    return {
        metric: (np.array(table["subset"][title]) - np.array(table["delta"][title])).tolist()
        for title, metric in IFEVAL_METRICS.items()
    }


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_made_logs_have_the_published_scores(paper: Paper, made: Load, name: str) -> None:
    matrix = made(name)
    for metric, scores in published_full(paper, matrix).items():
        # Published to two digits, and a difference of two such for IFEVAL.
        assert matrix.scores()[:, matrix.metrics.index(metric)] == pytest.approx(scores, abs=0.0151)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_n_star_of_the_published_accuracies_is_exactly_the_published_one(
    paper: Paper, made: Load, plain: Plain, name: str
) -> None:
    matrix = plain(made(name))
    result = size(matrix, make_plan(matrix, method="exact"))
    assert result.n_star is not None
    assert result.n_star == result.n_star_smooth == paper["table1"]["n_star"][name]
    assert round(100 * (1 - result.n_star / result.total_items)) == paper["table1"]["reduction_pct"][name]
    gain = result.gain_pp[result.plan.sizes.index(result.n_star)]
    # Figure 2 is read to 0.1 pp.
    assert gain == pytest.approx(paper["figure2_gain_at_n_star_pp"][name], abs=0.1)


def test_fourteen_of_the_eighteen_cells_of_the_tau_table_agree_exactly(paper: Paper, made: Load, plain: Plain) -> None:
    table = paper["table7_tau"]
    different = {}
    for benchmark in BENCHMARKS:
        matrix = plain(made(benchmark))
        sizing = size(matrix, make_plan(matrix, method="exact"))
        study = tau_sweep(sizing, table["tau_pp"])
        for row, published, reduction in zip(
            study.rows, table[benchmark]["n_star"], table[benchmark]["reduction_pct"], strict=True
        ):
            if row.n_star == published:
                assert row.reduction_percent is not None
                assert round(row.reduction_percent) == reduction
                continue
            different[benchmark, row.tau_pp] = row
            # Ours and the published n* part at the smaller of the two: there the gain is on the other side of tau.
            parting = min(published, row.n_star or published)
            gain = sizing.gain_pp[sizing.plan.sizes.index(parting)]
            assert gain is not None
            assert abs(gain - row.tau_pp) < 100 / parting, "the parting gain lies within one lump of tau"
            assert row.notes, "the study itself says that this n* is not firm"
    assert set(different) == set(DIFFERENT)


@pytest.mark.parametrize("name", ["mmlu", "gsm8k"])
def test_without_lumps_all_cells_of_mmlu_and_gsm8k_agree(paper: Paper, made: Load, name: str) -> None:
    # The cells at 0.5 pp of GSM8K and at 1.25 pp of MMLU differ by a lump alone.
    matrix = made(name)
    table = paper["table7_tau"]
    study = tau_sweep(size(matrix, make_plan(matrix)), table["tau_pp"])
    assert [row.n_star_smooth for row in study.rows] == table[name]["n_star"]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_by_draws_every_published_cell_of_the_tau_table_comes_up_for_some_seed(
    paper: Paper, made: Load, plain: Plain, name: str
) -> None:
    # The four that are not the exact ones as well: they are what the published seed happened to give. n* is the first
    # size with a small gain, so the sizes above the largest published one are left out for MMLU, to save time.
    matrix = plain(made(name))
    table = paper["table7_tau"]
    step = paper["settings"]["step"][name]
    below = candidate_sizes(matrix.total_items, step)[: max(table[name]["n_star"]) // step + 1]
    plan = make_plan(matrix, sizes=below if name == "mmlu" else None, method="draws")
    study = seeds_study(matrix, plan, seeds=range(20), worst=("per-model",))
    for tau, published in zip(table["tau_pp"], table[name]["n_star"], strict=True):
        assert published in {n_star(plan.sizes, row.curve_pp, tau) for row in study.rows}, tau


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_published_p95_is_met_within_a_fifth_of_a_pp(paper: Paper, made: Load, plain: Plain, name: str) -> None:
    matrix = plain(made(name))
    result = size(matrix, make_plan(matrix, method="exact"))
    table = paper["table7_tau"][name]
    for n, published in zip(table["n_star"], table["p95_pp"], strict=True):
        assert result.bound_at(n) == pytest.approx(published, abs=0.2)


def test_with_all_four_metrics_of_ifeval_seeds_move_p95_by_less_than_a_lump(paper: Paper, made: Load) -> None:
    matrix = made("ifeval")
    plan = make_plan(matrix)
    curves = seed_curves(matrix, plan, [plan.seed, *range(20)])["per-model"]
    table = paper["table7_tau"]["ifeval"]
    for n, published in zip(table["n_star"], table["p95_pp"], strict=True):
        bounds = curves[:, plan.sizes.index(n)]
        assert bounds[0] == pytest.approx(published, abs=0.25)
        assert np.median(bounds) == pytest.approx(published, abs=0.25)
        assert bounds == pytest.approx(np.full(21, published), abs=100 / n), "no seed is a lump away"
    # Around tau = 1 pp a lump at 200 items decides, so n* is 250 for some seeds and 300 for the others.
    found = Counter(n_star(plan.sizes, curve.tolist(), 1.0) for curve in curves[1:])
    assert set(found) == {250, 300}
    assert found[250] == pytest.approx(9, abs=2)


@pytest.mark.parametrize("name", ["mmlu", "gsm8k"])
def test_leave_out_of_mmlu_and_gsm8k_is_stable_in_all_ways(paper: Paper, made: Load, name: str) -> None:
    matrix = made(name)
    study = leave_out(matrix, make_plan(matrix), uniform(matrix))
    table = paper["table3_leave_out"]
    assert len(study.rows) == table["combinations"]
    assert study.stable == table["stable"][name]
    assert study.n_star == table["n_star_7"][name]
    for part in study.by_count:
        assert [part.n_star_least, part.n_star_most] == table["n_star_3"][name]


def test_leave_out_of_ifeval_is_unstable_only_without_both_models_near_half(
    paper: Paper, made: Load, plain: Plain
) -> None:
    # Exact, with the prompt-level metrics, 93 of 98 are stable (published: 87).
    matrix = plain(made("ifeval"))
    study = leave_out(matrix, make_plan(matrix, method="exact"), uniform(matrix))
    table = paper["table3_leave_out"]
    both = {model.lower() for model in table["ifeval_unstable_all_remove"]}
    assert study.n_star == table["n_star_7"]["ifeval"]
    assert study.stable == 93
    assert study.stable >= table["stable"]["ifeval"]
    assert all(both <= set(row.removed) for row in study.unstable)
    found = {row.removed: row.n_star for row in study.rows}
    for row in paper["table4_ifeval_unstable"]:
        removed = {model.lower() for model in row["also_out"]} | both
        ours = next(n for names, n in found.items() if set(names) == removed)
        if row["n_star"] < study.n_star:
            assert ours == row["n_star"], "all that published as smaller are smaller here, to the item"
        else:
            # Published 300, exactly 250: the gain at 250 lies within one lump of tau.
            curve = size(matrix.select([m for m in matrix.models if m not in removed]), make_plan(matrix)).gain_pp
            gain = curve[make_plan(matrix).sizes.index(250)]
            assert ours == 250
            assert gain is not None
            assert abs(gain - 1.0) < 100 / 250


def test_with_all_four_metrics_of_ifeval_what_is_unstable_hangs_on_the_pool_s_own_n_star(
    paper: Paper, made: Load
) -> None:
    # By draws n* of the whole pool is 250 or 300 with the seed. Where it is the published 250, what is unstable is
    # as published; where it is 300, that is because of Mistral-7B's lump at 200, and all that is unstable removes it.
    matrix = made("ifeval")
    both = {model.lower() for model in paper["table3_leave_out"]["ifeval_unstable_all_remove"]}
    for seed in (42, *range(5)):
        study = leave_out(matrix, make_plan(matrix, seed=seed), uniform(matrix))
        shared = set.intersection(*(set(row.removed) for row in study.unstable))
        if study.n_star == paper["table3_leave_out"]["n_star_7"]["ifeval"]:
            assert both <= shared
            assert study.stable is not None
            assert study.stable >= paper["table3_leave_out"]["stable"]["ifeval"]
        else:
            assert study.n_star == 300
            assert shared == {"mistral-7b-instruct"}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_largest_drift_of_a_removed_model_is_of_the_published_size(paper: Paper, made: Load, name: str) -> None:
    # Which items are right is made up, so only the size can be compared: in the middle 90 of a hundred draws, at the
    # sizes that the published combinations have.
    table = paper["table3_leave_out"]
    matrix = made(name)
    pairs = pairs_of(matrix)
    draw = uniform(matrix)
    sizes = {*table["n_star_3"][name], table["n_star_7"][name]}
    largest = [max(float(np.abs(drifts(pairs, draw(n, seed))).max()) for n in sizes) for seed in range(100)]
    least, most = np.percentile(largest, [5, 95])
    assert least < table["max_drift"][name] < most
    study = leave_out(matrix, make_plan(matrix), draw)
    assert study.largest is not None
    assert study.largest.drift_pp is not None
    assert least < abs(study.largest.drift_pp) < most


@pytest.mark.parametrize(("name", "mean"), [("ifeval", 1.40), ("mmlu", 0.90), ("gsm8k", 1.54)])
def test_uniform_draws_over_a_hundred_seeds_have_the_mean_drift_of_figure_3(
    paper: Paper, made: Load, name: str, mean: float
) -> None:
    matrix = made(name)
    n = paper["table1"]["n_star"][name]
    first, last = paper["figure3_samplers"]["seeds"]
    sizing = size(matrix, make_plan(matrix, draws=100), by_seed=False)
    study = compare_samplers(matrix, sizing, n, 0.0, {"uniform": uniform(matrix)}, seeds=range(first, last + 1))
    low, high = paper["figure3_samplers"]["mean_drift_range"][name]
    near = paper["figure3_samplers"]["max_difference_pp"]
    assert low - near <= study.samplers[0].mean_pp <= high + near
    assert study.samplers[0].mean_pp == pytest.approx(mean, abs=0.05)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_published_drift_lies_among_that_of_a_hundred_uniform_draws(paper: Paper, made: Load, name: str) -> None:
    matrix = made(name)
    table = paper["table1"]["ifeval_inst_strict" if name == "ifeval" else name]
    pairs = pairs_of(matrix)
    metric = matrix.metrics.index(IFEVAL_METRICS["inst_strict"]) if name == "ifeval" else 0
    chosen = [c for c, (_, m) in enumerate(pairs.places) if m == metric]
    n = paper["table1"]["n_star"][name]
    size_of = np.abs([drifts(pairs, uniform(matrix)(n, seed))[chosen] for seed in range(100)])
    assert size_of.mean(axis=1).min() < table["mean"] < size_of.mean(axis=1).max()
    assert size_of.max(axis=1).min() < table["max"] < size_of.max(axis=1).max()


def test_spearman_of_the_published_scores_is_the_published_one(paper: Paper) -> None:
    for benchmark, name in (("ifeval", "ifeval_inst_strict"), ("mmlu", "mmlu"), ("gsm8k", "gsm8k")):
        table = paper["table1"][name]
        rho = spearman(np.array(table["full"]), np.array(table["subset"]))
        assert rho == pytest.approx(paper["table1"]["spearman"][benchmark], abs=0.005)


@pytest.mark.parametrize(("name", "mean"), [("ifeval", 0.985), ("mmlu", 0.970), ("gsm8k", 0.980)])
def test_over_a_hundred_seeds_the_ranks_are_kept_about_as_published(
    paper: Paper, made: Load, name: str, mean: float
) -> None:
    matrix = made(name)
    sizing = size(matrix, make_plan(matrix, draws=100), by_seed=False)
    study = ranks(matrix, sizing, paper["table1"]["n_star"][name], uniform(matrix), seeds=range(100))
    for row in study.metrics:
        assert row.seeds_without_rho == 0
        assert row.rho_by_seed.mean() == pytest.approx(mean, abs=0.005)
        assert row.rho_by_seed.min() < paper["table1"]["spearman"][name] <= row.rho_by_seed.max() + 1e-9


def test_our_frozen_ifeval_subset_has_as_many_instructions_as_the_paper_s(paper: Paper, made: Load) -> None:
    # Published instruction scores are fractions of the subset's instructions: of 300 to 450, only 382 fits them.
    matrix = made("ifeval")
    table = paper["table6_ifeval"]["subset"]
    scores = np.array([*table["inst_strict"], *table["inst_loose"]])

    def fits(count: int) -> bool:
        return bool((np.abs(100 * np.round(scores * count / 100) / count - scores) < 0.0051).all())

    assert [count for count in range(300, 451) if fits(count)] == [382]
    items = list(draw_uniform(matrix.total_items, paper["table1"]["n_star"]["ifeval"], paper["settings"]["seed"]))
    metric = matrix.metrics.index("inst_level_strict_acc")
    assert matrix.trials[0, metric, items].sum() == 382
