"""Objects of JSON from elsewhere: the quick reading and the careful one say the same, and refuse the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.subset.jsonfile import parse_object

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**38), 10**38) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


def _parsed(raw: bytes) -> dict[str, Any]:
    return parse_object(raw, "here", "Mend it.")


def _same(left: object, right: object) -> bool:
    """Equal, and whole numbers still whole: 1 and 1.0 are equal in Python."""
    return repr(left) == repr(right)


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.booleans())
def test_every_object_comes_back_as_it_was_written(value: dict[str, Any], ascii_only: bool) -> None:
    try:
        raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        # A lone surrogate cannot be written but as an escape.
        raw = json.dumps(value).encode()
    assert _same(_parsed(raw), value)


@pytest.mark.parametrize("whole", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**39, 1 - 10**39, 0, -1])
def test_whole_numbers_beyond_64_bits_keep_every_digit(whole: int) -> None:
    for raw in (f'{{"n": {whole}}}', f'{{"in": [["deep", {{"n": {whole}}}]], "x": 0.5}}'):
        assert _same(_parsed(raw.encode()), json.loads(raw))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"n": NaN}', "NaN is no JSON number"),
        (b'{"n": [-Infinity]}', "-Infinity is no JSON number"),
        (b'{"n": 1e999}', "1e999 is too large"),
        (b'{"n": -1e999}', "-1e999 is too large"),
        (b'{"n": ' + b"9" * 41 + b"}", "too long for a number"),
        (b'{"n": 1', "not valid JSON: .*column"),
        (b'{"n": "\xff"}', "not UTF-8 text .byte 7."),
        (b"", "not valid JSON"),
        (b"null", "no JSON object"),
        (b"[1]", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nests more than 100"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "here is not valid JSON|nests more than 100"),
    ],
)
def test_what_is_no_object_of_numbers_and_texts_is_refused_with_its_place(raw: bytes, words: str) -> None:
    with pytest.raises(InputError, match=rf"^here.*{words}|{words}") as caught:
        _parsed(raw)
    assert caught.value.remedy == "Mend it."


def test_a_mark_of_byte_order_and_a_lone_surrogate_are_taken() -> None:
    assert _parsed(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert _parsed(b'{"a": "\\ud800"}') == {"a": "\ud800"}
    assert _parsed(b'{"a": 1, "a": 2}') == {"a": 2}


def test_many_brackets_that_are_text_are_no_depth() -> None:
    assert _parsed(json.dumps({"a": "[" * 500}).encode()) == {"a": "[" * 500}
