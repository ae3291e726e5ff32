from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.base.events import Ended, Event, ItemDone, Progress, Started, Warned, from_json, to_json

_FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)
_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Started, action=st.text(), total=st.none() | st.integers(), unit=st.text(), detail=st.text()),
    st.builds(Progress, done=st.integers(), total=st.none() | st.integers(), note=st.text()),
    st.builds(Warned, message=st.text(), detail=st.text()),
    st.builds(Ended, cause=st.sampled_from(["done", "failed", "hung"]), detail=st.text()),
    st.builds(
        ItemDone,
        run_id=st.text(),
        done=st.integers(),
        total=st.integers(),
        item_key=st.text(),
        category=st.none() | st.text(),
        state=st.sampled_from(["done", "missing"]),
        scores=st.dictionaries(st.text(), st.tuples(_FLOATS, _FLOATS)),
        running=st.dictionaries(st.text(), _FLOATS),
        prompt_tokens=st.none() | st.integers(),
        output_tokens=st.none() | st.integers(),
        prefill_seconds=st.none() | _FLOATS,
        first_token_seconds=st.none() | _FLOATS,
        decode_rate=st.none() | _FLOATS,
        wall_seconds=_FLOATS,
        seconds_left=st.none() | _FLOATS,
    ),
)


@given(_EVENTS)
def test_an_event_comes_back_equal_from_its_line(event: Event) -> None:
    line = to_json(event)
    assert "\n" not in line
    assert from_json(line) == event


@pytest.mark.parametrize("line", ["[]", "{}", '{"type":"Other"}', '{"type":"Progress","nope":1}', "no json"])
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        from_json(line)


def test_a_lone_surrogate_survives_as_ascii() -> None:
    line = to_json(Warned("cut \ud83d"))
    assert line.isascii()
    assert json.loads(line)["message"] == "cut \ud83d"
