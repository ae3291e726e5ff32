"""The worker's memory and when it is recycled."""

from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.guards.memory import MemoryWatch, resident_bytes

MIB = 1 << 20
_FIRST = st.lists(st.integers(1, 4000 * MIB), min_size=8, max_size=8)


@given(_FIRST, st.lists(st.floats(0, 1), max_size=50))
def test_memory_within_its_bounds_is_no_reason(first: list[int], later: list[float]) -> None:
    watch = MemoryWatch()
    most = 1.5 * max(first) + 512 * MIB
    assert [watch.look(value) for value in first] == [None] * 8
    assert all(watch.look(int(share * most)) is None for share in later)


@given(_FIRST, st.integers(1, 10_000 * MIB))
def test_growth_past_the_bound_is_told_with_both_figures_and_the_watch_begins_anew(first: list[int], more: int) -> None:
    watch = MemoryWatch()
    for value in first:
        assert watch.look(value) is None
    grown = int(1.5 * max(first) + 512 * MIB) + more
    words = watch.look(grown)
    assert words is not None
    assert f"{grown / MIB:,.0f} MiB" in words
    assert f"{max(first) / MIB:,.0f} MiB" in words
    assert [watch.look(grown) for _ in range(30)] == [None] * 30


def test_the_first_items_are_the_baseline_however_they_grow() -> None:
    watch = MemoryWatch()
    assert [watch.look(value * 1000 * MIB) for value in range(1, 9)] == [None] * 8


def test_a_limit_that_was_given_holds_before_the_growth_does() -> None:
    watch = MemoryWatch(limit_bytes=1200 * MIB)
    for _ in range(8):
        assert watch.look(1000 * MIB) is None
    assert watch.look(1200 * MIB) is None
    words = watch.look(1201 * MIB)
    assert words is not None
    assert "the limit of 1,200 MiB" in words


def test_a_limit_below_what_the_model_needs_does_not_recycle_for_ever() -> None:
    watch = MemoryWatch(limit_bytes=500 * MIB)
    assert [watch.look(1000 * MIB) for _ in range(100)] == [None] * 100


def test_unknown_memory_says_nothing() -> None:
    watch = MemoryWatch(limit_bytes=1)
    assert [watch.look(None) for _ in range(20)] == [None] * 20
    # And is no item of the baseline.
    assert [watch.look(value) for value in (1, 2, 3, 4, 5, 6, 7, 8000 * MIB)] == [None] * 8


def test_resident_memory_of_a_process_is_read_and_of_one_that_is_gone_unknown() -> None:
    mine = resident_bytes(os.getpid())
    assert mine is not None
    assert mine > MIB
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    assert resident_bytes(gone.pid) is None
