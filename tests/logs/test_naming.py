"""Names from files, made fit to be shown and stored."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.logs.naming import NAME_LIMIT, tidy_name
from mince_gui.logs.results_file import ResultsFile


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lab/model", "lab/model"), ("  two\n lines\t", "two lines"), ("red\x1b[31m", "red [31m"), ("\x00\u202e", ""),
        ("caf\u00e9 \u6a21\u578b", "caf\u00e9 \u6a21\u578b"), ("\udc80", "\\udc80"),
    ],
)  # fmt: skip
def test_a_name_has_one_line_and_no_control_characters(text: str, name: str) -> None:
    assert tidy_name(text) == name


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=2 * NAME_LIMIT))
def test_any_text_becomes_a_name_that_stays_as_it_is(text: str) -> None:
    name = tidy_name(text)
    assert name.isprintable()
    assert len(name) <= NAME_LIMIT
    assert tidy_name(name) == name
    name.encode()


def test_a_results_file_is_read_gzipped_too_and_its_faults_are_said(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for body, said in ((b"{}", "not a JSON results file"), (b"[", "not a JSON"), (b"\x1f\x8b", "cannot be read")):
        path.write_bytes(body)
        assert said in ResultsFile.load(path).fault
    path.write_bytes(gzip.compress(b'{"a": {"b": {"c": 1}}, "d": 2}'))
    results = ResultsFile.load(path)
    assert (results.fault, results.part("a", "b"), results.part("d")) == ("", {"c": 1}, {})
