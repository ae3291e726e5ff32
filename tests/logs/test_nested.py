from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.logs import nested
from mince_gui.logs.nested import Members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def members(path: Path, text: str) -> list[tuple[str, str, Any]]:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return list(Members(path, "many"))


@pytest.mark.parametrize("piece", [1, 7, 1 << 18])
@settings(max_examples=30, deadline=None)
@given(body=st.dictionaries(st.sampled_from(["a", "many", "é"]), VALUES), indent=st.sampled_from([None, 2]))
def test_members_are_those_of_the_whole_however_it_is_cut_into_pieces(
    piece: int, body: dict[str, Any], indent: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected: list[tuple[str, str, Any]] = []
    for name, value in body.items():
        if name == "many" and isinstance(value, list):
            expected += [(name, str(place), entry) for place, entry in enumerate(value)]
        elif name == "many" and isinstance(value, dict):
            expected += [(name, entry, inner) for entry, inner in value.items()]
        else:
            expected.append((name, "", value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested, "_PIECE", piece)
        text = json.dumps(body, indent=indent, ensure_ascii=False)
        assert members(tmp_path_factory.mktemp("members") / "x.json", text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: not JSON (cut off)"),
        ("[]", "there is no object"),
        ('{"a": 1', "line 1: not JSON (cut off in 'a')"),
        ('{"a": 1}\n{"a": 1}', "line 2: not JSON (there is more behind its end"),
        ('{\n"many": [1,\n2\n', "line 4: not JSON (cut off in entry 2 of many)"),
        ('{"many": {"x": 1,\n "y": tru}}', "line 2: not JSON (Expecting value in entry 'y' of many)"),
        ('{"many": {"x": 1,\n "y": "so', "line 2: not JSON (cut off in entry 'y' of many)"),
        ('{"many": [1 2]}', "a ',' or ']' is missing"),
        ('{"a" 1}', "a ':' is missing"),
        ("{7: 1}", "a name is missing"),
        ('{"a": ' + "[" * 100_000, "not JSON"),
        ('{"a": ' + "9" * 5_000 + "}", "not JSON"),
    ],
)
def test_a_broken_object_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        members(tmp_path / "x.json", text)
    assert words in caught.value.message
    assert str(tmp_path / "x.json") in caught.value.message


def test_a_value_that_no_log_has_is_refused_and_other_text_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested, "_ELEMENT_LIMIT", 1 << 20)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        members(tmp_path / "x.json", '{"a": "' + "x" * (4 << 20) + '"}')
    (tmp_path / "x.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InputError, match="not UTF-8 text"):
        list(Members(tmp_path / "x.json"))
    with pytest.raises(InputError, match="cannot be read"):
        list(Members(tmp_path / "none.json"))
