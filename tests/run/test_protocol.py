"""The parent's side of the protocol: what it refuses, and that it names it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.run import protocol as wire

_HELLO: dict[str, Any] = {
    "protocol": 3,
    "python": "3.12.1",
    "executable": "python",
    "pid": 5,
    "platform": "Windows-11",
    "oga_version": None,
    "distribution": None,
    "ort_version": None,
    "packages": {},
    "import_seconds": 1,
    "error": "ImportError: DLL load failed",
}
_TIMING = {
    "prompt_tokens": 4,
    "read_tokens": 4,
    "output_tokens": 0,
    "prefill_seconds": 0.5,
    "first_token_seconds": None,
    "decode_seconds": None,
    "wall_seconds": 0.6,
}
_CHOICE: dict[str, Any] = {
    "logprobs": [-1.5, -2],
    "greedy": [True, False],
    "picked": 0,
    "method": "last_logits",
    "trap": False,
    "choice_ids": [[3], [4, 5]],
    "leading_bos": None,
    "timing": _TIMING,
}


def _line(**body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"Segmentation fault\n", "Segmentation fault"),
        (b"\xff\n", "not JSON"),
        (b"[]\n", "not an object"),
        (b"{}\n", "without an id"),
        (_line(id=1), "neither note nor reply"),
        (_line(id=1, ok=True), "neither note nor reply"),
        (_line(id=1, ok=False, error={"type": "oga"}), "error has the fields ['type']"),
        (_line(id=1, note={"phase": "load", "tokens": "9", "text": None}), "note.tokens is not int: '9'"),
        (_line(id=1, note={"phase": "nap", "tokens": 0, "text": None}), "unknown phase"),
        (_line(hello={**_HELLO, "protocol": 1}), "speaks protocol 1, this program 3"),
        (_line(hello={**_HELLO, "pid": None}), "hello.pid is not int"),
        (_line(hello=[]), "speaks protocol None"),
    ],
)
def test_a_bad_line_is_an_error_that_names_it(line: bytes, words: str) -> None:
    with pytest.raises(wire.ProtocolError) as caught:
        wire.parse_line(line)
    assert words in caught.value.message


@given(raw=st.binary(max_size=60))
@settings(max_examples=50, deadline=None)
def test_no_bytes_get_past_the_parser_with_another_error(raw: bytes) -> None:
    with pytest.raises(wire.ProtocolError):
        wire.parse_line(raw)


def test_hello_note_and_replies_are_typed() -> None:
    hello = wire.parse_line(_line(hello=_HELLO))
    assert isinstance(hello, wire.Hello)
    assert dataclasses.asdict(hello) == _HELLO
    note = wire.parse_line(_line(id=3, note={"phase": "decode", "tokens": 2, "text": "a"}))
    assert note == wire.NoteLine(3, wire.Note("decode", 2, "a"))
    refused = wire.parse_line(_line(id=3, ok=False, error={"type": "oga", "message": "m"}))
    assert refused == wire.ReplyLine(3, wire.ErrorReply("oga", "m"), {})
    result = wire.parse_result("choice", _CHOICE)
    assert isinstance(result, wire.ChoiceResult)
    assert result.logprobs == (-1.5, -2.0)
    assert result.timing.wall_seconds == 0.6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"logprobs": [1, "x"]}, "choice.logprobs[1] is not float"),
        ({"trap": 1}, "choice.trap is not bool"),
        ({"picked": True}, "choice.picked is not int"),
        ({"timing": {**_TIMING, "wall_seconds": None}}, "choice.timing.wall_seconds is not float"),
        ({"timing": 5}, "choice.timing is not an object"),
        ({"extra": 5}, "extra"),
    ],
)
def test_a_wrong_field_of_a_result_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(wire.ProtocolError) as caught:
        wire.parse_result("choice", {**_CHOICE, **change})
    assert words in caught.value.message


def test_a_request_line_is_one_ascii_line_whatever_the_prompt_holds() -> None:
    prompt = 'é\n\u2028"\ud800\U0001f600'
    line = wire.request_line(7, wire.EncodeRequest(prompt))
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert line.isascii()
    assert json.loads(line) == {"id": 7, "op": "encode", "text": prompt}
