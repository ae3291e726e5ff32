"""Deadlines that follow a device's measured speed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run import Deadlines

_RATES = st.floats(1e-9, 1e6)


@given(_RATES, _RATES)
def test_scaled_deadlines_stay_within_their_bounds(prefill: float, decode: float) -> None:
    usual = Deadlines()
    scaled = usual.scaled(prefill, decode)
    assert 60 <= scaled.prefill <= 10 * usual.prefill
    assert 0 < scaled.prefill_token <= 10 * usual.prefill_token
    assert 30 <= scaled.decode_token <= 10 * usual.decode_token
    assert (scaled.load, scaled.start, scaled.idle) == (usual.load, usual.start, usual.idle)


@given(st.floats(1e-6, 0.2), st.floats(1e-6, 10), st.integers(1, 32_000))
def test_a_device_may_become_much_slower_than_measured_before_it_counts_as_hung(
    prefill: float, decode: float, tokens: int
) -> None:
    scaled = Deadlines().scaled(prefill, decode)
    assert scaled.limit("prefill", tokens) > 20 * prefill * tokens
    assert scaled.limit("decode", 0) > 20 * decode


@given(_RATES, _RATES, _RATES)
def test_a_slower_device_never_gets_less(fast: float, slow: float, decode: float) -> None:
    fast, slow = sorted((fast, slow))
    quick, lame = Deadlines().scaled(fast, decode), Deadlines().scaled(slow, decode)
    assert quick.limit("prefill", 1600) <= lame.limit("prefill", 1600)
    assert Deadlines().scaled(decode, fast).decode_token <= Deadlines().scaled(decode, slow).decode_token


@pytest.mark.parametrize("rate", [None, 0.0, -1.0, math.nan, math.inf])
def test_what_was_not_measured_changes_nothing(rate: float | None) -> None:
    assert Deadlines().scaled(rate, rate) == Deadlines()


def test_deadlines_that_were_made_short_stay_short() -> None:
    assert Deadlines(decode_token=0.4, prefill=1).scaled(0.01, 0.01).decode_token == 4
