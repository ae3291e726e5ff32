"""What a run's items took: rates, medians, spread and sums, in standard and in fast mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.app.item_rows import csv_of, item_json
from mince_gui.app.timing import decode_rates, prefill_rates, timing_of
from mince_gui.report.speed import DECODE_RATE, ITEM_WALL, OUTPUT_TOKENS, TIME_TO_FIRST
from mince_gui.store.runs import NewRun, StoredItem, StoredRun


def _item(**changed: Any) -> StoredItem:
    facts: dict[str, Any] = dict.fromkeys(StoredItem._fields)
    facts |= {
        "position": 0, "item_key": "k", "state": "done", "prompt_tokens": 100, "prefill_seconds": 0.5, "capped": False,
        "attempts": 1, "extracted": {}, "logprobs": (), "greedy": (), "scores": {},
    }  # fmt: skip
    return StoredItem(**{**facts, **changed})


def _run(**conditions: Any) -> StoredRun:
    plan = NewRun("mmlu", "mmlu", "mmlu-9", 14_042, 9, 9, "small", Path("m"), Path("p"), "", {})
    return StoredRun(
        "r", "2026-01-02T03:04:05+00:00", plan, conditions, "ended", "done", "", 1, None, 9, 0, 12.5, "", {}
    )


def test_choices_of_several_tokens_have_no_prefill_rate() -> None:
    items = [_item(method=method) for method in (None, "last_logits", "row_before", "all_rows", "fresh")]
    assert prefill_rates(items) == (200.0, 200.0, 200.0)


def test_the_rate_of_an_item_behind_a_kept_prefix_is_of_the_tokens_that_were_read() -> None:
    items = [_item(method="kept_prefix", read_tokens=20), _item(method="last_logits", read_tokens=100)]
    assert prefill_rates(items) == (40.0, 200.0)
    timing = timing_of(_run(timing="fast"), items)
    assert (timing.input_tokens, timing.read_tokens, timing.prefill_rate) == (200, 120, 120.0)
    several = _item(method="all_rows", read_tokens=100)
    timing = timing_of(_run(timing="standard"), [several, *items])
    assert (timing.input_tokens, timing.read_tokens, timing.prefill_rate) == (300, 220, 120.0)


def test_what_an_older_program_stored_was_read_whole() -> None:
    assert prefill_rates([_item(read_tokens=None)]) == (200.0,)


def test_a_decode_rate_takes_two_tokens() -> None:
    items = [_item(text="a", output_tokens=n, decode_seconds=s) for n, s in ((11, 2.0), (1, None), (0, None))]
    assert decode_rates(items) == (5.0,)


def test_median_and_spread_agree_with_numpy_and_missing_items_have_no_part() -> None:
    seconds = np.random.default_rng(1).lognormal(size=41)
    items = [
        _item(position=i, elapsed_seconds=float(s), first_token_seconds=float(s) / 3, text="a", output_tokens=i)
        for i, s in enumerate(seconds)
    ]
    lost = _item(state="missing", elapsed_seconds=900.0, first_token_seconds=None, prompt_tokens=None)
    timing = timing_of(_run(timing="standard", threads=4, load_seconds=3.0, warmup_seconds=0.5), [*items, lost])
    wall = timing.of(ITEM_WALL)
    assert wall is not None
    shown = [wall.lowest, wall.p05, wall.p25, wall.median, wall.p75, wall.p95, wall.highest]
    assert shown == pytest.approx(np.percentile(seconds, [0, 5, 25, 50, 75, 95, 100]))
    assert timing.median(TIME_TO_FIRST) == pytest.approx(float(np.median(seconds)) / 3)
    assert (timing.output_tokens, timing.median(OUTPUT_TOKENS)) == (sum(range(41)), 20)
    assert (timing.wall_seconds, timing.load_seconds, timing.warmup_seconds, timing.threads) == (12.5, 3.0, 0.5, 4)


def test_choices_tell_their_prefill_time_in_the_place_of_a_time_to_first_token() -> None:
    several = _item(method="all_rows", first_token_seconds=None, prefill_seconds=0.4)
    told = timing_of(_run(timing="standard"), [several, _item(first_token_seconds=None, prefill_seconds=0.2)]).to_json()
    assert (told["first_token_seconds"], told["prefill_seconds"]) == (None, pytest.approx(0.3))
    assert told["per_item"]["prefill_seconds"]["items"] == 2
    assert "first_token_seconds" not in told["per_item"]


def test_a_run_without_items_has_no_numbers_and_none_is_zero() -> None:
    told = timing_of(_run(), []).to_json()
    assert json.loads(json.dumps(told)) == told
    assert told["per_item"] == {}
    assert {told[name] for name in ("wall_seconds", "input_tokens", "output_tokens", "first_token_seconds")} == {None}
    assert timing_of(_run(), [_item()]).of(DECODE_RATE) is None


def test_every_stored_fact_of_an_item_is_in_its_row() -> None:
    """A column that somebody adds to the workspace must not be forgotten."""
    renamed = {"item_key": "key", "wall_seconds": "seconds"}
    row = item_json(_item())
    assert {renamed.get(name, name) for name in StoredItem._fields} == set(row)


def test_a_table_of_items_keeps_numbers_and_disarms_texts() -> None:
    item = _item(
        item_key="=1+1", text="@SUM(A1)", logprobs=(-0.5, -2.0), greedy=(True, False), repeats=2, memory_bytes=5_000,
        finished_at="2026-01-02T03:04:05+00:00", read_tokens=20, finish="time", capped=True,
    )  # fmt: skip
    head, row = (line.split(",") for line in csv_of([item]).splitlines())
    cells = dict(zip(head, row, strict=True))
    assert (cells["item of the run"], cells["answer"], cells["logprobs"]) == ("'=1+1", "'@SUM(A1)", "'-0.5 -2.0")
    assert (cells["repeats"], cells["memory_bytes"], cells["read_tokens"], cells["greedy"]) == (
        "2",
        "5000",
        "20",
        "1 0",
    )
    assert (cells["finish"], cells["capped"], cells["cause"]) == ("time", "1", "")
