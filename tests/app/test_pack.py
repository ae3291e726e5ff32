from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.app.freeze import freeze
from mince_gui.app.pack import differing_words, pack
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Event, Warned
from mince_gui.base.paths import resources
from mince_gui.benchmarks import content_hash, get
from mince_gui.logs.types import PerItemLog
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.subset import bundled, read_subset, write_subset

Rows = list[dict[str, Any]]
GSM8K = get("gsm8k")


@pytest.fixture
def rows() -> Rows:
    return [{"question": f"What is {i} + {i}?", "answer": f"#### {2 * i}"} for i in range(1319)]


def _dataset(folder: Path, rows: Rows) -> Path:
    path = folder / "test.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _store_log(workspace: Path, rows: Rows, known: int) -> None:
    """A full log in which the first `known` items carry their docs."""
    verdicts = np.array([float(i % 2) for i in range(len(rows))])
    log = PerItemLog(
        model="m", benchmark=GSM8K, task="gsm8k", keys=tuple(str(i) for i in range(len(rows))),
        categories=(None,) * len(rows),
        hashes=tuple(content_hash(GSM8K, row) if i < known else None for i, row in enumerate(rows)),
        passed={"exact_match,strict-match": verdicts}, trials={"exact_match,strict-match": np.ones(len(rows))},
        format="made", source="here", timestamp="t",
    )  # fmt: skip
    with Workspace(workspace) as ws:
        stored_logs.add(ws, log)


def test_a_whole_benchmark_is_checked_against_the_logs_of_the_workspace(tmp_path: Path, rows: Rows) -> None:
    _store_log(tmp_path / "ws", rows, known=1319)
    made = pack(tmp_path / "ws", _dataset(tmp_path, rows), all_of="gsm8k").pack
    assert made.unverified == ()
    assert made.subset.revision in made.source
    forged = [{**row, "answer": "#### 1"} for row in rows]
    with pytest.raises(InputError, match="1319 of the 1319 items of gsm8k-full read differently"):
        pack(tmp_path / "ws", _dataset(tmp_path, forged), all_of="gsm8k")
    with pytest.raises(InputError, match="another dataset, not another revision"):
        pack(tmp_path / "ws", _dataset(tmp_path, forged), all_of="gsm8k", accept_revision=True)


def test_accepted_differences_are_counted_in_one_warning_with_a_few_keys(tmp_path: Path, rows: Rows) -> None:
    _store_log(tmp_path / "ws", rows, known=1200)
    revised = [{**row, "answer": "#### 1"} if i < 500 else row for i, row in enumerate(rows)]
    with Workspace(tmp_path / "ws") as ws:
        ws.db.execute("UPDATE log_items SET content_sha256 = NULL WHERE item_key = '0'")
    seen: list[Event] = []
    taken = pack(
        tmp_path / "ws", _dataset(tmp_path, revised), all_of="gsm8k", accept_revision=True, emit=seen.append
    ).pack
    said = [event.message for event in seen if isinstance(event, Warned) and "accepted" in event.message]
    words = differing_words(taken)
    told = 1319 - len(taken.unverified)
    assert words == f"{len(taken.accepted_differences)} of {told:,} items differ in content from what was frozen"
    keys = ", ".join(taken.accepted_differences[:5])
    assert said == [f"{words}, and were accepted: {keys} and {len(taken.accepted_differences) - 5} more."]


def test_without_logs_a_whole_benchmark_is_checked_against_the_subset_that_ships(tmp_path: Path, rows: Rows) -> None:
    with pytest.raises(InputError, match="400 of the 1319 items"):
        pack(tmp_path / "ws", _dataset(tmp_path, rows), all_of="gsm8k")


def test_items_that_nothing_proves_are_counted_in_a_warning(tmp_path: Path, rows: Rows) -> None:
    shipped = next(s for s in map(read_subset, bundled()) if s.benchmark == "gsm8k")
    _store_log(tmp_path / "ws", rows, known=1319)
    with Workspace(tmp_path / "ws") as ws:
        ws.db.execute("UPDATE log_items SET content_sha256 = NULL WHERE item_key = '0'")
    assert "0" not in shipped.item_keys
    seen: list[Event] = []
    made = pack(tmp_path / "ws", _dataset(tmp_path, rows), all_of="gsm8k", emit=seen.append).pack
    assert made.unverified == ("0",)
    assert any("content of 1 of the 1319 items" in e.message for e in seen if isinstance(e, Warned))


def test_freezing_the_same_again_is_fine_and_other_items_under_the_name_are_refused(tmp_path: Path, rows: Rows) -> None:
    _store_log(tmp_path / "ws", rows, known=1319)
    first = freeze(tmp_path / "ws", "gsm8k", 20)
    assert freeze(tmp_path / "ws", "gsm8k", 20) == first
    with pytest.raises(InputError, match="holds other items"):
        freeze(tmp_path / "ws", "gsm8k", 21, out=first.path)
    assert read_subset(first.path) == first.subset


def test_a_subset_file_of_a_taken_name_with_other_items_is_not_packed(tmp_path: Path, rows: Rows) -> None:
    _store_log(tmp_path / "ws", rows, known=1319)
    freeze(tmp_path / "ws", "gsm8k", 20)
    foreign = tmp_path / "foreign.json"
    other = freeze(tmp_path / "ws", "gsm8k", 20, seed=7).subset
    write_subset(foreign, dataclasses.replace(other, name="gsm8k-20"))
    with pytest.raises(UsageError, match="another subset gsm8k-20, with other items"):
        pack(tmp_path / "ws", _dataset(tmp_path, rows), subset=str(foreign))


def test_few_shot_examples_may_come_from_elsewhere_and_categories_with_fewer_are_named(tmp_path: Path) -> None:
    demo = resources() / "demo" / "demo-choice"
    examples = (demo / "dev.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "test.jsonl.gz").write_bytes((demo / "test.jsonl.gz").read_bytes())
    (tmp_path / "shots.jsonl").write_text("".join(examples[1:]), encoding="utf-8")
    with pytest.raises(InputError, match="needs its few-shot examples"):
        pack(tmp_path / "ws", tmp_path / "alone", all_of="demo-choice")
    seen: list[Event] = []
    made = pack(
        tmp_path / "ws", tmp_path / "alone", all_of="demo-choice", fewshot=tmp_path / "shots.jsonl", emit=seen.append
    ).pack
    short = json.loads(examples[0])["category"]
    assert sum(map(len, made.fewshot.values())) == len(examples) - 1
    assert "few-shot shots.jsonl (SHA-256" in made.source
    said = [event.message for event in seen if isinstance(event, Warned)]
    assert any(f"1 categories have fewer than 2 few-shot examples: {short} (1)" in message for message in said)
