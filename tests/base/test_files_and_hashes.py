from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base import crash, paths
from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import canonical_json, content_sha256, plain_json, sha256_file, sha256_text
from mince_gui.base.errors import CancelledError, InputError, MinceError
from mince_gui.base.files import write_atomic

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), _JSON, max_size=4))
def test_key_order_outer_blanks_and_null_fields_do_not_change_the_content_hash(doc: dict[str, object]) -> None:
    other = dict(reversed([(k, f"  {v}\n" if isinstance(v, str) else v) for k, v in doc.items()]))
    other["absent"] = None
    if "absent" not in doc:
        assert content_sha256(other) == content_sha256(doc)


_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["\x7f", "\x1b\x00", "\u2028", "/", '"\\', "\ud83d", "\U00010348", "\ue000"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from(["\ue000", "\U00010348"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=50, deadline=None)
@given(_ANY)
def test_the_quick_canonical_json_has_the_same_bytes_or_gives_way(value: object) -> None:
    quick = plain_json(value)
    if quick is not None and not _has_float(value):
        assert quick == canonical_json(value).encode("utf-8", "surrogatepass")


def _has_float(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_float, value.values()))
    return any(map(_has_float, value)) if isinstance(value, list) else isinstance(value, float)


def _slow_hash(value: object) -> str:
    """The definition, without any short cut."""

    def tidy(inner: object) -> object:
        if isinstance(inner, str):
            return inner.strip()
        if isinstance(inner, dict):
            return {key: tidy(entry) for key, entry in inner.items() if entry is not None}
        if isinstance(inner, list):
            return [tidy(entry) for entry in inner]
        return int(inner) if isinstance(inner, float) and inner.is_integer() else inner

    text = json.dumps(tidy(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@settings(max_examples=50, deadline=None)
@given(_ANY)
def test_the_content_hash_is_that_of_the_definition(value: object) -> None:
    assert content_sha256(value) == _slow_hash(value)


@pytest.mark.parametrize("value", [1e-7, 1e22, 0.1, -0.0, 1e16, 2.5, [None], {"a": [None, 1e-9]}, 2**64, -(2**63) - 1])
def test_numbers_that_two_writers_write_differently_hash_as_json_writes_them(value: object) -> None:
    assert content_sha256({"q": value}) == _slow_hash({"q": value})


def test_nan_has_no_content_hash() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_sha256({"score": float("nan")})


def test_inner_blanks_change_the_content_hash() -> None:
    assert content_sha256({"q": "a b"}) != content_sha256({"q": "a  b"})


def test_canonical_json_refuses_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"score": float("nan")})


def test_a_file_hashes_like_its_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomic(file, "zwölf\n")
    assert sha256_file(file) == sha256_text("zwölf\n")


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomic(file, "old")
    (tmp_path / "a.txt.d").mkdir()
    with pytest.raises(TypeError):
        write_atomic(file, 3)  # type: ignore[arg-type]
    assert file.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["a.txt"]


def test_a_cancelled_token_raises_at_the_next_check() -> None:
    token = CancelToken()
    token.check()
    token.cancel()
    with pytest.raises(CancelledError):
        token.check()


def test_an_error_shows_what_happened_and_then_what_to_do() -> None:
    assert str(InputError("x.jsonl, line 3: cut", "Import it again.")) == "x.jsonl, line 3: cut\nImport it again."
    assert InputError.exit_code == 3
    assert MinceError("only this").remedy == ""


def test_a_crash_report_holds_the_place_but_not_the_message(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("the secret prompt")
    text = crash.write_report(caught.value, tmp_path).read_text()
    assert "ValueError" in text
    assert "test_files_and_hashes.py" in text
    # The line of source code shows; the values of the error do not.
    assert "invalid literal" not in text


def test_the_workspace_follows_its_variable(tmp_path: Path) -> None:
    assert paths.default_workspace() == tmp_path / "workspace"
    assert (paths.resources() / "demo").is_dir()
    assert paths.bundled_subsets().is_dir()
