"""Sleep and clock jumps. The clocks are given, since no test can send the machine to sleep."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.guards.clock import Clocks, JumpClock, read_clocks

_SECONDS = st.floats(0, 1e5)


def _clock(*steps: Sequence[float]) -> JumpClock:
    """A clock whose readings advance by (awake, always, wall) from one to the next."""
    now = [1000.0, 5000.0, 1.7e9]
    readings = [Clocks(*now)]
    for step in steps:
        now = [before + passed for before, passed in zip(now, step, strict=True)]
        readings.append(Clocks(*now))
    return JumpClock(iter(readings).__next__)


@given(_SECONDS, st.floats(-4.9, 4.9))
def test_time_that_passes_is_no_jump(seconds: float, adjusted: float) -> None:
    assert _clock((seconds, seconds, seconds + adjusted)).jumped() == 0.0


@given(_SECONDS, st.floats(1.01, 1e6))
def test_sleep_is_what_the_clock_that_stood_still_lacks(seconds: float, slept: float) -> None:
    clock = _clock((seconds, seconds + slept, seconds + slept), (1, 1, 1))
    assert clock.jumped() == pytest.approx(slept, abs=1e-3)
    # It is told once.
    assert clock.jumped() == 0.0


@given(_SECONDS, st.floats(1, 1e6), st.sampled_from((-1, 1)))
def test_a_clock_that_was_set_is_a_jump_either_way(seconds: float, more: float, sign: int) -> None:
    jump = sign * (5 + 0.001 * seconds + more)
    assert _clock((seconds, seconds, seconds + jump)).jumped() == pytest.approx(abs(jump), abs=1e-3)


def test_a_wall_clock_that_drifts_over_a_long_pause_is_no_jump() -> None:
    assert _clock((36_000, 36_000, 36_018)).jumped() == 0.0


def test_the_systems_clocks_go_on_together() -> None:
    clock = JumpClock()
    first, second = read_clocks(), read_clocks()
    assert first.awake <= second.awake
    assert first.always <= second.always
    assert clock.jumped() == 0.0
