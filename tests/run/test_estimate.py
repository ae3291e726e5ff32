"""How long a run will take, from rates and prompts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run.estimate import estimate, span
from mince_gui.run.types import TimingMode
from mince_gui.tasks.types import Request


@dataclass(frozen=True)
class Measured:
    prefill_seconds_per_token: float | None = 0.01
    decode_seconds_per_token: float | None = 0.1


def _text(characters: int, budget: int = 256) -> Request:
    return Request("generate", "x" * characters, until=("\n",), max_new_tokens=budget)


def _choice(characters: int, prefix: str = "", choices: tuple[str, ...] = (" A", " B")) -> Request:
    return Request("choice", prefix + "x" * characters, choices=choices, prefix=prefix)


_REQUESTS = st.lists(
    st.builds(_text, st.integers(1, 9_000), st.integers(1, 1_280))
    | st.builds(_choice, st.integers(1, 900), st.sampled_from(["", "a" * 3_000, "b" * 3_000])),
    max_size=20,
)


def test_generation_reads_every_prompt_and_writes_a_short_answer_to_the_whole_budget() -> None:
    found = estimate([_text(400), _text(800, budget=20)], Measured(), timing="standard", chars_per_token=4.0)
    assert found.low == pytest.approx(300 * 0.01 + (32 + 20) * 0.1)
    assert found.high == pytest.approx(300 * 0.01 + (256 + 20) * 0.1)


def test_choices_of_one_letter_take_one_pass_over_the_prompt() -> None:
    found = estimate([_choice(4_000)], Measured(decode_seconds_per_token=None), timing="standard", chars_per_token=4.0)
    assert found.low == found.high == pytest.approx(10.0)


def test_longer_choices_take_one_pass_to_one_pass_each() -> None:
    found = estimate(
        [_choice(400, choices=("a long one", "another one"))], Measured(), timing="standard", chars_per_token=1.0
    )
    assert found.low == pytest.approx(4.21)
    assert found.high == pytest.approx(8.21)


def test_a_choice_with_a_prompt_of_its_own_reads_every_prompt() -> None:
    request = Request("choice", "abc", choices=("d", "e"), contexts=("abc", "xyzw"))
    found = estimate([request], Measured(), timing="standard", chars_per_token=1.0)
    assert found.low == found.high == pytest.approx(0.09)


def test_fast_timing_reads_a_shared_prefix_once_for_a_series() -> None:
    a, b = "a" * 3_000, "b" * 3_000
    series = [_choice(100, prefix) for prefix in (a, a, a, b, a)]
    fast = estimate(series, Measured(), timing="fast", chars_per_token=1.0)
    assert fast.low == pytest.approx(0.01 * (3 * 3_000 + 5 * 100))
    standard = estimate(series, Measured(), timing="standard", chars_per_token=1.0)
    assert standard.low == pytest.approx(0.01 * (5 * 3_100))


@given(_REQUESTS, st.sampled_from(["standard", "fast"]))
def test_the_range_is_one_and_fast_timing_is_never_slower(requests: list[Request], timing: TimingMode) -> None:
    found = estimate(requests, Measured(), timing=timing)
    standard = estimate(requests, Measured(), timing="standard")
    assert found.low is not None
    assert found.high is not None
    assert standard.low is not None
    assert standard.high is not None
    assert 0 <= found.low <= found.high
    assert found.low <= standard.low + 1e-9
    assert found.high <= standard.high + 1e-9


@pytest.mark.parametrize("rates", [Measured(None, 0.1), Measured(0.01, None)])
def test_without_a_rate_that_is_needed_nothing_is_claimed(rates: Measured) -> None:
    found = estimate([_text(400)], rates, timing="standard")
    assert (found.low, found.high) == (None, None)
    assert "not known" in found.words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (860, 1_840, "about 14 to 31 min"), (2.2, 2.4, "about 2 s"), (0.01, 0.02, "about 1 s"),
        (40, 700, "about 40 s to 12 min"), (59.7, 60.2, "about 1 min"),
        (4_000, 7_000, "about 67 min to 1 h 57 min"),
        (7_200, 36_000, "about 2 to 10 h"), (7_500, 7_510, "about 2 h 5 min"), (180_000, 360_000, "about 50 to 100 h"),
    ],
)  # fmt: skip
def test_a_range_is_said_no_finer_than_it_is_known(low: float, high: float, words: str) -> None:
    assert span(low, high) == words
