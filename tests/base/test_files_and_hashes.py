from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.base import crash, paths
from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import canonical_json, content_sha256, sha256_file, sha256_text
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
