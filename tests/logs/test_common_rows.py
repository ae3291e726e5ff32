"""Rows of the common shape are taken many at once: the log must be the one that they give row by row."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.logs import detect, read
from mince_gui.logs.lm_eval import common, reader
from mince_gui.logs.types import PerItemLog

Change = Callable[[dict[str, Any]], object]
SUBJECT = "anatomy"

CHANGES: list[Change] = [
    lambda row: row.update(acc=True),
    lambda row: row.update(acc=0),
    lambda row: row.update(acc="True"),
    lambda row: row.update(acc=0.5),
    lambda row: row.update(acc=1.5),
    lambda row: row.update(acc=None),
    lambda row: row.update(acc=float("nan")),
    lambda row: row.update(acc=[True, False]),
    lambda row: row.pop("acc"),
    lambda row: row.update(metrics=["acc", "acc_norm"], acc_norm=1.0),
    lambda row: row.update(metrics=["acc", "acc,none"]),
    lambda row: row.update(metrics=["acc", "perplexity"], perplexity=12.5),
    lambda row: row.update(metrics="acc"),
    lambda row: row.update(metrics=[]),
    lambda row: row.pop("metrics"),
    lambda row: row.update(filter="other"),
    lambda row: row.update(filter=None),
    lambda row: row.update(filter=["none"]),
    lambda row: row.pop("filter"),
    lambda row: row.update(doc_id=0),
    lambda row: row.update(doc_id=-1),
    lambda row: row.update(doc_id=True),
    lambda row: row.update(doc_id=2**70),
    lambda row: row.update(doc_id=1.0),
    lambda row: row.pop("doc_id"),
    lambda row: row.update(resps=[[["-1", None]]]),
    lambda row: row.update(resps=[[None]]),
    lambda row: row.update(resps=[None]),
    lambda row: row.update(resps=None),
    lambda row: row.update(resps=[]),
    lambda row: row.update(resps=""),
    lambda row: row.update(resps=[["an answer"]]),
    lambda row: row.update(resps=[[" "]]),
    lambda row: row.update(resps=[[["-1", "True"]], [" "]]),
    lambda row: row.update(resps=[[["-1", "True"], None]]),
    lambda row: row.update(resps={"a": None}),
    lambda row: row.pop("resps"),
    lambda row: row.update(response_null=True),
    lambda row: row.update(doc=None),
    lambda row: row.update(doc=[]),
    lambda row: row.update(doc="text"),
    lambda row: row.update(doc={}),
    lambda row: row["doc"].update(answer="C"),
    lambda row: row["doc"].update(answer=True),
    lambda row: row["doc"].update(choices=[1, None]),
    lambda row: row["doc"].update(question="\ud83d"),
    lambda row: row["doc"].update(question="another"),
    lambda row: row["doc"].pop("choices"),
]


def mmlu_row(number: int) -> dict[str, Any]:
    return {
        "doc_id": number,
        "doc": {"question": f"Which is {number}? ", "choices": ["a", "b", "c", "d"], "answer": number % 4},
        "resps": [[["-1.5", "False"]], [["-0.5", "True"]]],
        "filter": "none",
        "metrics": ["acc"],
        "acc": float(number % 3 == 0),
    }


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder = folder / "lab__model"
    folder.mkdir()
    path = folder / f"samples_mmlu_{SUBJECT}_2026-01-02T03-04-05.678901.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def outcome(folder: Path, *, salvage: bool) -> PerItemLog | str:
    (found,) = detect([folder]).found
    try:
        return read(found, salvage=salvage)
    except InputError as exc:
        return str(exc)


def assert_equal(quick: PerItemLog | str, slow: PerItemLog | str) -> None:
    if isinstance(quick, str) or isinstance(slow, str):
        assert quick == slow
        return
    for name in ("keys", "categories", "hashes", "checks", "meta", "metrics"):
        assert getattr(quick, name) == getattr(slow, name), name
    for metric in slow.metrics:
        np.testing.assert_array_equal(quick.passed[metric], slow.passed[metric])
        np.testing.assert_array_equal(quick.trials[metric], slow.trials[metric])


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every piece that was looked at: whether its rows were of the common shape."""
    seen: list[bool] = []

    def spy(*args: Any) -> common.Columns | None:
        found = common.columns_of(*args)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(reader, "columns_of", spy)
    return seen


def test_the_rows_of_mmlu_are_taken_at_once(tmp_path: Path, taken: list[bool]) -> None:
    write(tmp_path, [mmlu_row(i) for i in range(135)])
    log = outcome(tmp_path, salvage=False)
    assert isinstance(log, PerItemLog)
    assert len(log.keys) == 135
    assert taken
    assert all(taken)


@settings(max_examples=50, deadline=None)
@given(
    count=st.integers(1, 12),
    changes=st.dictionaries(st.integers(0, 11), st.sampled_from(CHANGES), max_size=2),
    piece=st.sampled_from([1, 400, 1_000, 1 << 16]),
    salvage=st.booleans(),
)
def test_taken_at_once_or_row_by_row_the_log_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, count: int, changes: dict[int, Change], piece: int, salvage: bool
) -> None:
    rows = [mmlu_row(i) for i in range(count)]
    for place, change in changes.items():
        if place < count:
            change(rows[place])
    folder = tmp_path_factory.mktemp("log")
    write(folder, rows)
    with mock.patch("mince_gui.logs.lines._PIECE", piece):
        quick = outcome(folder, salvage=salvage)
        with mock.patch.object(reader, "columns_of", return_value=None):
            slow = outcome(folder, salvage=salvage)
    assert_equal(quick, slow)


@pytest.mark.parametrize("place", range(len(CHANGES)))
def test_every_uncommon_row_among_common_ones_counts_as_it_does_alone(tmp_path: Path, place: int) -> None:
    rows = [mmlu_row(i) for i in range(6)]
    CHANGES[place](rows[3])
    write(tmp_path, rows)
    quick = outcome(tmp_path, salvage=True)
    with mock.patch.object(reader, "columns_of", return_value=None):
        slow = outcome(tmp_path, salvage=True)
    assert_equal(quick, slow)
