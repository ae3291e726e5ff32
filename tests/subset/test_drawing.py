from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import UsageError
from mince_gui.subset import draw_stratified, draw_uniform, running_order, webster

populations = st.lists(st.integers(0, 60), min_size=1, max_size=12).filter(lambda sizes: sum(sizes) > 0)


def test_the_uniform_draw_is_numpys_choice_sorted() -> None:
    expected = sorted(np.random.default_rng(42).choice(541, size=250, replace=False).tolist())
    assert list(draw_uniform(541, 250, 42)) == expected


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 500), st.data(), st.integers(0, 2**40))
def test_a_draw_has_n_distinct_positions_in_order(total: int, data: st.DataObject, seed: int) -> None:
    n = data.draw(st.integers(1, total))
    drawn = draw_uniform(total, n, seed)
    assert len(set(drawn)) == n
    assert list(drawn) == sorted(drawn)
    assert drawn[0] >= 0
    assert drawn[-1] < total


@settings(max_examples=50, deadline=None)
@given(populations, st.data())
def test_webster_gives_all_seats_and_never_more_than_the_population(sizes: list[int], data: st.DataObject) -> None:
    seats = data.draw(st.integers(0, sum(sizes)))
    given_seats = webster(sizes, seats)
    assert sum(given_seats) == seats
    assert all(0 <= got <= size for got, size in zip(given_seats, sizes, strict=True))


@settings(max_examples=50, deadline=None)
@given(populations, st.data())
def test_webster_seats_are_rounded_shares_of_one_divisor(sizes: list[int], data: st.DataObject) -> None:
    """The definition: a divisor d exists with every seat count a rounding of size / d."""
    seats = data.draw(st.integers(0, sum(sizes)))
    found = webster(sizes, seats)
    most = min((size / (got - 0.5) for got, size in zip(found, sizes, strict=True) if got), default=np.inf)
    least = max((size / (got + 0.5) for got, size in zip(found, sizes, strict=True) if got < size), default=0.0)
    assert least <= most + 1e-9


def test_webster_follows_a_worked_example() -> None:
    # 53, 24, 23 and 7 seats: quotients /1, /3, /5 ... of the textbook method.
    assert webster([53, 24, 23], 7) == (3, 2, 2)
    assert webster([5, 5], 1) == (1, 0)
    assert webster([4, 6], 1) == (0, 1)


def test_more_seats_than_items_are_refused() -> None:
    with pytest.raises(ValueError, match="4 seats for 3 items"):
        webster([1, 2], 4)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=80).filter(lambda c: any(c)),
    st.data(),
    st.integers(0, 1000),
)
def test_a_stratified_draw_holds_each_categorys_seats(
    categories: list[str | None], data: st.DataObject, seed: int
) -> None:
    n = data.draw(st.integers(1, len(categories)))
    drawn = draw_stratified(categories, n, seed)
    assert len(set(drawn)) == n
    assert list(drawn) == sorted(drawn)
    names = sorted({category or "" for category in categories})
    sizes = Counter(category or "" for category in categories)
    found = Counter(categories[i] or "" for i in drawn)
    assert tuple(found[name] for name in names) == webster([sizes[name] for name in names], n)
    assert drawn == draw_stratified(categories, n, seed)


def test_inside_a_stratum_every_item_has_the_same_chance() -> None:
    counts = Counter(i for seed in range(2000) for i in draw_stratified(["a"] * 6 + ["b"] * 3, 3, seed))
    # 2,000 draws at a chance of 1/3: five standard deviations are 105.
    assert all(abs(counts[i] - 2000 / 3) < 105 for i in range(9))


@pytest.mark.parametrize("n", [0, 11, -1])
def test_an_n_outside_the_population_is_refused(n: int) -> None:
    with pytest.raises(UsageError, match="10"):
        draw_uniform(10, n, 42)
    with pytest.raises(UsageError, match="10"):
        draw_stratified(["a"] * 10, n, 42)


def test_without_categories_there_is_nothing_to_stratify() -> None:
    with pytest.raises(UsageError, match="categor"):
        draw_stratified([None, None], 1, 42)


@given(st.integers(1, 300))
def test_the_running_order_takes_every_item_once_and_is_always_the_same(n: int) -> None:
    order = running_order(n)
    assert sorted(order) == list(range(n))
    assert order == running_order(n)


def test_the_running_order_is_no_walk_through_the_categories() -> None:
    quarter = running_order(1000)[:250]
    # Of 250 of 1,000 in random order, the first half holds 125 +- 4 standard deviations of the hypergeometric law.
    assert abs(sum(place < 500 for place in quarter) - 125) < 28
