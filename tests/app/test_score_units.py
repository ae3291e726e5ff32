from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.app.score_units import Unit, percent_given, percent_typed, shares_read
from mince_gui.base.errors import InputError, UsageError

UNITS: tuple[Unit | None, ...] = (None, "percent", "share")
FLOATS = st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    ("text", "percent"), [("65.39", 65.39), ("0.8%", 0.8), ("65.39 %", 65.39), ("0", 0.0), ("100", 100.0), ("1%", 1.0)]
)
def test_what_can_be_read_in_one_way_is_taken(text: str, percent: float) -> None:
    assert percent_typed("acc", text) == percent


@pytest.mark.parametrize(("text", "other"), [("0.6539", "65.39 %"), ("1", "100 %"), ("0.5", "50 %")])
def test_what_may_be_a_share_is_refused_with_both_readings(text: str, other: str) -> None:
    with pytest.raises(UsageError) as refused:
        percent_typed("acc", text)
    assert other in refused.value.message
    assert f"{text} %" in refused.value.message
    assert f"acc={text}%" in refused.value.remedy
    assert percent_typed("acc", f"{text}%") == float(text)
    assert percent_typed("acc", text, "share") == pytest.approx(100 * float(text))
    assert percent_typed("acc", text, "percent") == float(text)


@pytest.mark.parametrize("text", ["100.1", "-1", "nan", "inf", "6539", "1e300"])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    for unit in UNITS:
        with pytest.raises(UsageError, match="is no percentage"):
            percent_typed("acc", text, unit)


def test_a_comma_for_a_point_is_told() -> None:
    with pytest.raises(UsageError, match=r"write 65\.39"):
        percent_typed("acc", "65,39")


def test_a_percentage_among_shares_is_refused() -> None:
    with pytest.raises(UsageError, match="no share of 1"):
        percent_typed("acc", "65.39", "share")
    with pytest.raises(UsageError, match="--unit says shares"):
        percent_typed("acc", "65.39%", "share")


def test_shares_of_a_file_become_percentages() -> None:
    assert shares_read("f", {"a": 0.5, "b": 0.0, "c": 1.0}) == {"a": 50.0, "b": 0.0, "c": 100.0}
    assert shares_read("f", {"a": 65.39, "b": 0.4}, "percent") == {"a": 65.39, "b": 0.4}


def test_percentages_in_a_file_are_refused_with_both_readings() -> None:
    with pytest.raises(InputError) as refused:
        shares_read("results.json, mmlu", {"acc": 65.39})
    assert "results.json, mmlu: acc is 65.39" in refused.value.message
    assert "6539 %" in refused.value.message
    assert "--unit percent" in refused.value.remedy


def test_a_whole_set_of_percentages_below_one_is_suspicious() -> None:
    with pytest.raises(InputError, match=r"no score would be above 1 % \(b is 0\.7\); as shares b is 70 %"):
        shares_read("f", {"a": 0.65, "b": 0.7}, "percent")


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 100.5])
def test_what_no_unit_explains_is_refused(value: float) -> None:
    with pytest.raises(InputError, match="no score"):
        shares_read("f", {"acc": value})


@given(FLOATS, st.sampled_from(UNITS))
def test_a_number_becomes_a_percentage_or_a_refusal(value: float, unit: Unit | None) -> None:
    try:
        percent = percent_given("acc", value, unit)
    except UsageError:
        return
    assert 0.0 <= percent <= 100.0
    assert percent == (100 * value if unit == "share" else value)
    assert unit is not None or value == 0 or value > 1


@given(st.floats(min_value=0.0, max_value=100.0))
def test_no_score_is_read_in_two_ways_without_being_asked(value: float) -> None:
    """Of the two readings at most one is taken, unless they say the same (0)."""
    taken = set()
    for unit in UNITS[1:]:
        try:
            taken.add(percent_given("acc", value, unit))
        except UsageError:
            continue
    if len(taken) == 2:
        with pytest.raises(UsageError):
            percent_given("acc", value)


@given(st.text(max_size=12))
def test_any_text_is_a_percentage_or_a_refusal(text: str) -> None:
    try:
        percent = percent_typed("acc", text)
    except UsageError:
        return
    assert 0.0 <= percent <= 100.0


@given(st.dictionaries(st.text(max_size=5), FLOATS, max_size=4), st.sampled_from(UNITS))
def test_any_scores_of_a_file_are_percentages_or_a_refusal(scores: dict[str, float], unit: Unit | None) -> None:
    try:
        read = shares_read("f", scores, unit)
    except InputError:
        return
    assert read.keys() == scores.keys()
    assert all(0.0 <= percent <= 100.0 for percent in read.values())
