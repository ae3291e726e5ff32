from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError, UsageError
from mince_gui.logs import check_encoding, lines
from mince_gui.logs.lines import JsonLines

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | TEXT
    | st.sampled_from(["\ud83d", math.inf]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def refused(path: Path) -> tuple[str, int, int]:
    """What a refusal says, how many rows came before it, and how many bytes were taken in."""
    count = 0
    with JsonLines(path) as rows:
        try:
            for _ in rows:
                count += 1
        except InputError as exc:
            return exc.message, count, rows.position
    pytest.fail("the file was read")


def read(path: Path, encoding: str = "") -> list[dict[str, Any]]:
    with JsonLines(path, encoding) as rows:
        return [row for _, row in rows]


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.dictionaries(TEXT, VALUE, max_size=3), max_size=5), escaped=st.booleans())
def test_every_row_is_what_the_standard_library_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], escaped: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    written = [json.dumps(row, ensure_ascii=escaped).encode("utf-8", "surrogatepass") for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in written))
    with JsonLines(path) as found:
        exact = [found.exact() for _ in found]
    expected = [json.loads(line.decode("utf-8", "surrogatepass")) for line in written]
    assert exact == expected
    # the quick parser differs in nothing but whole numbers beyond 64 bits, which it makes floats
    assert json.dumps(read(path), default=float) == json.dumps(expected) or any(
        abs(number) >= 2**63 for number in _whole_numbers(expected)
    )


def _whole_numbers(value: Any) -> list[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for inner in value for number in _whole_numbers(inner)]
    return [value] if isinstance(value, int) else []


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-8-sig", ""), ("utf-16", ""), ("utf-16-be", "utf-16-be"), ("cp1252", "cp1252"), ("utf-32", "")],
)
def test_what_a_bom_or_the_user_says_is_decoded(tmp_path: Path, encoding: str, named: str) -> None:
    rows = [{"a": f"caf\u00e9 \u20ac {i}"} for i in range(3)]
    path = tmp_path / "x.jsonl"
    path.write_bytes("\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode(encoding))
    assert read(path, named) == rows
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert read(path, named) == rows


def test_gbk_is_read_when_named_and_refused_with_its_line_when_not(tmp_path: Path) -> None:
    rows = [{"a": "plain"}, {"a": "\u4f60\u597d"}]
    path = tmp_path / "x.jsonl"
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("gbk"))
    assert read(path, "gbk") == rows
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: not UTF-8 text") as caught:
        read(path)
    assert "--encoding cp1252" in caught.value.remedy


def test_a_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n{"a": "\x81"}\n')
    with pytest.raises(InputError, match=r"x\.jsonl, line 3: not cp1252 text"):
        read(path, "cp1252")


@pytest.mark.parametrize("name", ["nope", "base64", "rot13", "", "cp1252\0", "idna", "punycode"])
def test_an_encoding_that_is_none_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="no text encoding"):
        check_encoding(name)


@pytest.mark.parametrize("name", ["cp1252", "GBK", "utf-16", "latin-1", "shift_jis"])
def test_an_encoding_that_is_one_is_let_pass(name: str) -> None:
    check_encoding(name)


@pytest.mark.parametrize("start", [b'{"a": "', b'[{"a": "', '{"a": "'.encode("utf-16")])
def test_a_row_beyond_the_limit_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(lines, "LINE_LIMIT", 1 << 20)
    path = tmp_path / "x.jsonl"
    path.write_bytes(start + b"xx" * (2 << 20) + b'"}\n')
    message, _, taken = refused(path)
    assert f"{path}, line 1: longer than 1 MiB" in message
    assert taken <= (2 << 20) + (1 << 19)


def test_a_200_mb_line_is_refused_after_64_mib(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": "')
        file.truncate(200_000_000)
    message, _, taken = refused(path)
    assert f"{path}, line 1: longer than 64 MiB" in message
    assert taken <= (65 << 20)


def test_a_bomb_of_line_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(gzip.compress(b"\n" * 2_000_000))
    with pytest.raises(InputError, match=r"line 100001: nothing but blank lines"):
        read(path)


def test_what_was_whole_in_a_cut_gzip_file_comes_before_the_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    body = "".join(json.dumps({"i": i, "x": str(i * 7_919) * 9}) + "\n" for i in range(3_000))
    path.write_bytes(gzip.compress(body.encode())[:-4_000])
    message, count, _ = refused(path)
    assert count > 1_000
    assert f"{path}, line {count + 1}: the compressed file is cut off" in message


@settings(max_examples=50, deadline=None)
@given(
    body=st.lists(st.sampled_from([b'{"a": 1}', b'{"b": "\xc3\xa9"}', b'{"c": NaN}', b"", b" ", b"\r", b"[]", b"{"])),
    ended=st.booleans(),
    size=st.integers(1, 40),
)
def test_where_a_file_is_cut_into_pieces_makes_no_difference(
    tmp_path_factory: pytest.TempPathFactory, body: list[bytes], ended: bool, size: int
) -> None:
    def numbered(piece: int) -> tuple[list[str], str]:
        found: list[str] = []
        with pytest.MonkeyPatch.context() as patch, JsonLines(path) as rows:
            patch.setattr(lines, "_PIECE", piece)
            try:
                found += [f"{number} {row}" for number, row in rows]
            except InputError as exc:
                return found, exc.message
        return found, ""

    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    path.write_bytes(b'{"first": 0}\n' + b"\n".join(body) + b"\n" * ended)
    assert numbered(size) == numbered(1 << 16)
