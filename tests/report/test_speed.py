from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.report import Reference, RunData, build
from mince_gui.report.speed import histogram, histograms

MakeRun = Callable[..., RunData]
MakeReference = Callable[..., Reference]
times = st.lists(st.floats(0, 1e5, allow_subnormal=False), min_size=1, max_size=300)


@settings(deadline=None)
@given(times)
def test_every_value_is_in_one_bin_of_8_to_20(values: list[float]) -> None:
    found = histogram("wall clock per item", "s", values)
    assert found is not None
    assert sum(found.counts) == len(values)
    assert 8 <= len(found.counts) <= 20
    assert list(found.edges) == sorted(set(found.edges))
    assert found.edges[0] <= min(values)
    assert max(values) <= found.edges[-1]


@settings(deadline=None)
@given(times)
def test_the_counts_are_those_of_numpy_between_the_same_edges(values: list[float]) -> None:
    found = histogram("wall clock per item", "s", values)
    assert found is not None
    assert list(found.counts) == np.histogram(values, bins=np.array(found.edges))[0].tolist()


# Values of one octave have no outlier among them that would take the outermost bin.
@settings(deadline=None)
@given(st.lists(st.floats(1, 2), min_size=2, max_size=100), st.integers(-4, 5))
def test_inner_edges_are_round_and_evenly_spaced(values: list[float], power: int) -> None:
    found = histogram("decode rate", "tok/s", [value * 10.0**power for value in values])
    assert found is not None
    inner = found.edges[1:-1]
    widths = {float(f"{high - low:.6g}") for low, high in pairwise(inner)}
    assert len(widths) == 1
    (width,) = widths
    leading = width / 10.0 ** math.floor(math.log10(width) + 1e-9)
    assert round(leading, 6) in (1.0, 2.0, 5.0)
    assert all(abs(edge / width - round(edge / width)) < 1e-6 for edge in inner)


@pytest.mark.parametrize("value", [0.0, 0.004, 7.0, 123_456.0])
def test_values_that_are_all_equal_stand_in_one_bin_between_empty_ones(value: float) -> None:
    found = histogram("wall clock per item", "s", [value] * 40)
    assert found is not None
    assert max(found.counts) == 40
    assert found.edges[0] <= value <= found.edges[-1]
    assert found.edges[0] >= 0


def test_one_item_that_hung_does_not_flatten_the_picture() -> None:
    rng = np.random.default_rng(4)
    found = histogram("wall clock per item", "s", [*rng.normal(10, 1, size=200).tolist(), 900.0])
    assert found is not None
    assert found.edges[-1] == 900.0
    assert found.counts[-1] == 1
    assert sum(count > 0 for count in found.counts) >= 8


def test_quantities_without_values_have_no_histogram(make_run: MakeRun) -> None:
    names = [found.name for found in histograms(make_run())]
    assert names == ["wall clock per item", "time to first token", "decode rate"]
    read = make_run(first_token_seconds=(), decode_rates=(math.nan,))
    assert [found.name for found in histograms(read)] == ["wall clock per item", "prefill time"]
    assert histograms(make_run(item_seconds=(), first_token_seconds=(), decode_rates=(), prefill_seconds=())) == ()


def test_the_time_saved_per_model_is_said(make_run: MakeRun, make_own: MakeReference) -> None:
    run, own = make_run(wall_seconds=3_600.0), make_own(wall_seconds=14_400.0)
    measured = build(run, own_full=own, other=None).speedup
    assert measured.words.endswith("4.0x; the subset saves 3 h per model.")
    estimate = build(run, own_full=None, other=None).speedup
    assert estimate.saved_seconds is not None
    assert "per model" in estimate.words or estimate.saved_seconds <= 0


def test_a_subset_that_took_longer_saves_nothing(make_run: MakeRun, make_own: MakeReference) -> None:
    slow = build(make_run(wall_seconds=900.0), own_full=make_own(wall_seconds=800.0), other=None).speedup
    assert "saves" not in slow.words
