"""The worker's pure parts: stop strings in growing text, trap lengths, the source itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.run import worker

_PIECES = [b"a", b"b", b"\n", b"\n\n", b" ", b"Q", b":", b" Question", b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", b"###"]


def _decode(ids: Sequence[int]) -> str:
    return b"".join(_PIECES[i] for i in ids).decode("utf-8", "replace")


def _decode_dropping_the_first_blank(ids: Sequence[int]) -> str:
    """As sentencepiece tokenizers do."""
    return _decode(ids).removeprefix(" ")


@pytest.mark.parametrize("decode", [_decode, _decode_dropping_the_first_blank])
@given(
    ids=st.lists(st.integers(0, len(_PIECES) - 1), max_size=120),
    until=st.lists(st.text("ab\n Q:é€#", min_size=0, max_size=6), max_size=3),
)
@settings(max_examples=50, deadline=None)
def test_a_stop_is_seen_at_the_very_token_that_completes_it(
    decode: worker.Decode, ids: list[int], until: list[str]
) -> None:
    watch = worker.StopWatch(decode, until)
    seen = next((n for n in range(1, len(ids) + 1) if watch.hit(ids[:n])), None)
    brute = next((n for n in range(1, len(ids) + 1) if any(s in decode(ids[:n]) for s in until if s)), None)
    assert seen == brute


def test_a_stop_is_seen_far_behind_the_beginning_across_a_token_border() -> None:
    ids = [0] * 500 + [2, 5, 6]
    watch = worker.StopWatch(_decode, ["\nQ:"])
    assert [n for n in range(1, len(ids) + 1) if watch.hit(ids[:n])] == [503]


def test_only_the_tail_of_a_long_text_is_decoded() -> None:
    lengths: list[int] = []

    def decode(ids: Sequence[int]) -> str:
        lengths.append(len(ids))
        return _decode(ids)

    watch = worker.StopWatch(decode, ["\nQ:"])
    ids: list[int] = []
    for _ in range(2000):
        ids.append(0)
        watch.hit(ids)
    assert max(lengths) < 100


@given(text=st.text("abc", max_size=20), until=st.lists(st.text("abc", max_size=3), max_size=4))
@settings(max_examples=50, deadline=None)
def test_the_earliest_stop_string_is_found_and_empty_ones_never_stop(text: str, until: list[str]) -> None:
    found = worker.find_stop(text, until)
    places = [i for i in range(len(text)) if any(s and text.startswith(s, i) for s in until)]
    assert found == (places[0] if places else None)


def test_trap_lengths_are_those_measured_in_the_reference() -> None:
    assert [n for n in range(1, 600) if worker.is_trap_length(n)] == [129, 257, 385, 513]


@pytest.mark.parametrize("shape", [(1, 1, 5), (1, 5), (1, 3, 5), (5,)])
def test_the_last_row_is_one_row_of_float32_whatever_shape_the_graph_gives(shape: tuple[int, ...]) -> None:
    logits = np.arange(np.prod(shape), dtype=np.float16).reshape(shape)
    row = worker._last_row(logits)
    assert row.shape == (1, 5)
    assert row.dtype == np.float32
    assert row[0, -1] == logits.max()


def test_a_masked_vocabulary_is_sound_and_nan_or_overflow_is_not() -> None:
    assert not worker._broken(np.array([0.0, -np.inf]))
    assert worker._broken(np.array([0.0, np.nan]))
    assert worker._broken(np.array([0.0, np.inf]))
    assert worker._broken(np.array([-np.inf, -np.inf]))
    assert worker._broken(np.array([[0.0, 1.0], [-np.inf, -np.inf]]))


def test_the_source_is_valid_for_python_310_and_imports_nothing_else() -> None:
    tree = ast.parse(Path(worker.__file__).read_text(encoding="utf-8"), feature_version=(3, 10))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= set(sys.stdlib_module_names) | {"numpy", "__future__"}
