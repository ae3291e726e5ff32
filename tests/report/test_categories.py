from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from mince_gui.benchmarks import BENCHMARKS, keys_of
from mince_gui.report import RunData, finite_population_interval
from mince_gui.report.categories import categories_of
from mince_gui.report.model import Categories
from mince_gui.report.scores import MetricFacts
from mince_gui.report.types import Reference

MakeRun = Callable[..., RunData]
ACC = MetricFacts("acc", "accuracy", ratio=False)
RATIO = MetricFacts("acc", "accuracy", ratio=True)
NAMES = ("algebra", "law", "virology")


@pytest.fixture
def full() -> Reference:
    """A full run of 300 items in three categories of 200, 80 and 20 items."""
    rng = np.random.default_rng(1)
    rows = {str(place): {"acc": (float(rng.random() < 0.6), 1.0)} for place in range(300)}
    names = ["algebra"] * 200 + ["law"] * 80 + ["virology"] * 20
    return Reference(
        reference_id="full", kind="own full run", benchmark="our-task", model="m", metrics={}, source="", date="",
        rows=rows, categories=dict(zip(rows, names, strict=True)),
    )  # fmt: skip


@pytest.fixture
def run(make_run: MakeRun, full: Reference) -> RunData:
    """Every third item of it: 67, 27 and 6 items."""
    assert full.rows is not None
    keys = tuple(key for key in full.rows if int(key) % 3 == 0)
    return replace(
        make_run(), benchmark="our-task", subset_keys=keys, total_items=300,
        rows={key: full.rows[key] for key in keys}, categories={key: full.categories[key] for key in keys},
    )  # fmt: skip


def shown(found: Categories | None) -> Categories:
    assert found is not None
    return found


def test_a_category_has_the_exact_interval_of_its_own_population(run: RunData, full: Reference) -> None:
    found = shown(categories_of(run, ACC, full))
    algebra, law = found.lines
    assert [(line.category, line.subset.items, line.total) for line in found.lines] == [
        ("algebra", 67, 200), ("law", 27, 80),
    ]  # fmt: skip
    for line in (algebra, law):
        assert line.interval is not None
        assert line.total is not None
        expected = finite_population_interval(round(line.subset.passed), line.subset.items, line.total)
        assert (line.interval.low, line.interval.high) == expected
        assert line.interval.method == "exact hypergeometric"
        assert line.full is not None
        assert line.full.items == line.total
    assert algebra.full is not None
    assert full.rows is not None
    assert algebra.full.passed == sum(full.rows[str(place)]["acc"][0] for place in range(200))


def test_categories_with_fewer_than_ten_items_are_named_and_not_scored(run: RunData, full: Reference) -> None:
    assert shown(categories_of(run, ACC, full)).small == ("virology",)


def test_without_the_population_the_interval_is_the_exact_binomial(run: RunData) -> None:
    for line in shown(categories_of(run, ACC, None)).lines:
        assert (line.total, line.full) == (None, None)
        assert line.interval is not None
        assert line.interval.method == "exact binomial"
        oracle = binomtest(round(line.subset.passed), line.subset.items).proportion_ci(0.95, "exact")
        assert (line.interval.low, line.interval.high) == pytest.approx((100 * oracle.low, 100 * oracle.high))


def test_a_full_run_that_lacks_items_counts_no_category(run: RunData, full: Reference) -> None:
    assert full.rows is not None
    short = replace(full, rows={key: row for key, row in full.rows.items() if key != "1"})
    assert all(line.total is None and line.full is None for line in shown(categories_of(run, ACC, short)).lines)


def test_a_full_run_knows_its_own_categories(run: RunData, full: Reference) -> None:
    assert full.rows is not None
    whole = replace(run, subset_keys=tuple(full.rows), rows=full.rows, categories=full.categories)
    found = shown(categories_of(whole, ACC, None))
    assert [line.total for line in found.lines] == [200, 80, 20]
    assert all(line.interval is not None and line.interval.low == line.interval.high for line in found.lines)
    assert found.caution == ""


def test_ratio_metrics_have_a_wider_interval_where_the_population_is_not_known(run: RunData, full: Reference) -> None:
    pairs = zip(shown(categories_of(run, RATIO, full)).lines, shown(categories_of(run, RATIO, None)).lines, strict=True)
    for known, unknown in pairs:
        assert known.interval is not None
        assert unknown.interval is not None
        assert known.interval.method == unknown.interval.method == "approximate, linearised"
        assert unknown.interval.low < known.interval.low < known.interval.high < unknown.interval.high


def test_another_sampler_makes_the_intervals_approximate(run: RunData, full: Reference) -> None:
    drawn = replace(run, sampler="stratified")
    for own in (full, None):
        lines = shown(categories_of(drawn, ACC, own)).lines
        assert {line.interval and line.interval.method for line in lines} == {"approximate, as if drawn uniformly"}


def test_the_caution_counts_the_intervals_that_miss_by_chance(make_run: MakeRun) -> None:
    keys = tuple(str(place) for place in range(570))
    rows = {key: {"acc": (float(int(key) % 2), 1.0)} for key in keys}
    run = replace(
        make_run(), benchmark="our-task", subset_keys=keys, total_items=5700, rows=rows,
        categories={key: f"subject {int(key) % 57:02}" for key in keys},
    )  # fmt: skip
    found = shown(categories_of(run, ACC, None))
    assert len(found.lines) == 57
    assert found.caution.startswith("57 categories, each with its own 95 % interval: about 3 of them miss")


def test_mmlus_subjects_are_counted_from_the_benchmark_itself(make_run: MakeRun) -> None:
    listed = keys_of(BENCHMARKS["mmlu"])
    assert listed is not None
    keys = tuple(key for key in listed if key.startswith(("anatomy/", "virology/")))[::5]
    run = replace(
        make_run(), benchmark="mmlu", subset_keys=keys, total_items=14_042,
        rows={key: {"acc": (1.0, 1.0)} for key in keys}, categories={key: key.partition("/")[0] for key in keys},
    )  # fmt: skip
    assert {line.category: line.total for line in shown(categories_of(run, ACC, None)).lines} == {
        "anatomy": 135, "virology": 166,
    }  # fmt: skip


@pytest.mark.parametrize("categories", [{}, {str(place): "one" for place in range(300)}])
def test_without_two_categories_there_is_nothing_to_show(run: RunData, categories: dict[str, str]) -> None:
    assert categories_of(replace(run, categories=categories), ACC, None) is None
