"""Endless repetition at the end of an answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.guards.repetition import one_token_only, repeating

_TOKENS = st.integers(0, 9)


def _by_definition(ids: list[int]) -> int | None:
    for period in range(1, 65):
        needed = max(64, 8 * period)
        end = ids[-needed:]
        if len(end) == needed and all(end[i] == end[i - period] for i in range(period, needed)):
            return period
    return None


@given(st.lists(_TOKENS, max_size=80), st.lists(_TOKENS, min_size=1, max_size=64), st.integers(1, 80), st.data())
def test_the_period_is_the_one_of_the_definition(
    head: list[int], block: list[int], times: int, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(block) - 1))
    ids = head + block * times + block[:cut]
    assert repeating(ids) == _by_definition(ids)


@given(st.lists(_TOKENS, max_size=300), st.integers(1, 64), st.integers(0, 63))
def test_a_block_that_is_repeated_to_the_end_is_found_wherever_the_end_cuts_it(
    head: list[int], size: int, cut: int
) -> None:
    block = list(range(100, 100 + size))
    times = max(8, -(-64 // size))
    assert repeating(head + block * times + block[: cut % size]) == size


@given(st.integers(1, 64))
def test_one_block_less_is_a_list_or_a_refrain(size: int) -> None:
    block = list(range(size))
    times = max(8, -(-64 // size))
    assert repeating([*range(1000, 1010), *block * (times - 1)]) is None


@given(st.integers(), st.integers(0, 2000))
def test_tokens_by_chance_are_no_repetition(seed: int, length: int) -> None:
    numbers = random.Random(seed)
    assert repeating([numbers.randrange(50) for _ in range(length)]) is None


def test_a_repetition_that_was_left_again_is_not_endless() -> None:
    assert repeating([5] * 500 + [1, 2, 3]) is None


@pytest.mark.parametrize(("ids", "broken"), [([2, 10, *[0] * 14], True), ([0] * 15, False), ([0] * 16, True)])
def test_an_answer_of_one_token_is_told_from_sixteen_on(ids: list[int], broken: bool) -> None:
    assert one_token_only(ids) is broken


@given(st.lists(_TOKENS, max_size=7), st.integers(0, 100))
def test_an_answer_of_one_token_may_begin_otherwise(head: list[int], times: int) -> None:
    assert one_token_only(head + [77] * times) is (len(head) + times >= 16)


@given(st.lists(_TOKENS, max_size=60), st.lists(_TOKENS, min_size=2, max_size=60).filter(lambda end: len(set(end)) > 1))
def test_an_answer_that_changes_behind_its_eighth_token_is_not_one_token(head: list[int], end: list[int]) -> None:
    assert not one_token_only([*range(100, 107), *head, *end])
