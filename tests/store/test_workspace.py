from __future__ import annotations

import dataclasses
import os
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from mince_gui import benchmarks
from mince_gui.base.errors import MinceError, UsageError
from mince_gui.logs.types import Check, PerItemLog
from mince_gui.report.types import Ratio, Reference
from mince_gui.run.types import ItemResult, ItemTiming
from mince_gui.store import Workspace, logs, references, runs
from mince_gui.store.runs import NewRun
from mince_gui.subset.types import FrozenSubset
from mince_gui.tasks.types import Scored


def _log(model: str = "m", timestamp: str = "t1") -> PerItemLog:
    return PerItemLog(
        model=model,
        benchmark=benchmarks.get("gsm8k"),
        task="gsm8k",
        keys=("0", "1", "2"),
        categories=(None, None, None),
        hashes=("a", None, "c"),
        passed={"exact_match,strict-match": np.array([1.0, np.nan, 0.0])},
        trials={"exact_match,strict-match": np.array([1.0, np.nan, 1.0])},
        format="lm-eval",
        source="somewhere",
        timestamp=timestamp,
        checks=(Check("null_responses", "warning", "one null", 1, ("1",)),),
        meta={"n_shot": 0},
    )


SUBSET = FrozenSubset(
    name="gsm8k-3", benchmark="gsm8k", total_items=1319, n=3, seed=42, sampler="uniform",
    item_keys=("117", "863", "1020"), hashes=(None, None, None), dataset="openai/gsm8k",
)  # fmt: skip


def _plan(items: int = 3) -> NewRun:
    return NewRun(
        benchmark="gsm8k",
        task="gsm8k",
        subset="gsm8k-3",
        total_items=1319,
        subset_items=3,
        items=items,
        model="m",
        model_dir=Path("m"),
        pack_path=Path("p.mincepack"),
        pack_sha256="0" * 64,
        settings={"limit": None},
    )


def _result(position: int, state: str = "done", passed: float = 1.0) -> ItemResult:
    done = state == "done"
    return ItemResult(
        position=position,
        key=str(position),
        category=None,
        state="done" if done else "missing",
        scored=Scored({"exact_match,strict-match": (passed, 1.0)}, {"strict-match": "4"}, "4") if done else None,
        text="four \ud83d" if done else None,
        picked=None,
        logprobs=(),
        timing=ItemTiming(10, 10, 5, 0.1, 0.2, 0.4, 0.6) if done else None,
        cause="" if done else "worker crashed: SIGKILL",
    )


def test_a_log_comes_back_equal_and_missing_stays_missing(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        added = logs.add(ws, _log())
        back = logs.load(ws, added.log_id)
        assert added.new
        np.testing.assert_array_equal(back.passed["exact_match,strict-match"], [1.0, np.nan, 0.0])
        assert (back.keys, back.hashes, back.checks, back.meta) == (
            _log().keys,
            _log().hashes,
            _log().checks,
            {"n_shot": 0},
        )
        null = ws.db.execute("SELECT count(*) FROM outcomes WHERE passed IS NULL AND trials IS NULL").fetchone()[0]
        assert null == 1
        assert logs.listing(ws)[0].scores == {"exact_match,strict-match": 50.0}


def test_the_same_evaluation_is_stored_once_and_a_rerun_beside_it(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        first = logs.add(ws, _log())
        again = logs.add(ws, _log())
        rerun = logs.add(ws, _log(timestamp="t2"))
        assert again == logs.Added(first.log_id, new=False, updated=False, checks=_log().checks)
        assert rerun.log_id != first.log_id
        assert [log.timestamp for log in logs.pool(ws, "gsm8k")] == ["t2", "t1"]


def test_every_item_of_a_log_of_many_is_stored_under_its_own_place(tmp_path: Path) -> None:
    count = 257
    rng = np.random.default_rng(1)
    passed = np.where(rng.random(count) < 0.1, np.nan, rng.integers(0, 2, count))
    many = dataclasses.replace(
        _log(),
        keys=tuple(map(str, range(count))),
        categories=tuple(f"c{i % 3}" for i in range(count)),
        hashes=tuple(None if i % 5 == 0 else f"h{i}" for i in range(count)),
        passed={"exact_match,strict-match": passed, "exact_match,flexible-extract": 1.0 - passed},
        trials=dict.fromkeys(
            ("exact_match,strict-match", "exact_match,flexible-extract"), np.where(np.isnan(passed), np.nan, 1.0)
        ),
    )
    with Workspace(tmp_path) as ws:
        back = logs.load(ws, logs.add(ws, many).log_id)
    assert (back.keys, back.categories, back.hashes) == (many.keys, many.categories, many.hashes)
    for metric in many.metrics:
        np.testing.assert_array_equal(back.passed[metric], many.passed[metric])
        np.testing.assert_array_equal(back.trials[metric], many.trials[metric])


def test_a_reading_that_knows_more_of_the_same_evaluation_brings_it_up_to_date(tmp_path: Path) -> None:
    partial = Check("partial", "refusal", "3 of 1319 items.")
    better = dataclasses.replace(
        _log(), checks=(partial,), meta={"n_shot": 0, "limit": 3}, hashes=("a", "b", "x"), categories=("u", "v", "w"),
        source="elsewhere",
    )  # fmt: skip
    with Workspace(tmp_path) as ws:
        first = logs.add(ws, _log())
        logs.set_excluded(ws, first.log_id, True)
        assert logs.add(ws, better) == logs.Added(first.log_id, new=False, updated=True, checks=(partial,))
        back = logs.load(ws, first.log_id)
        assert (back.checks, back.meta, back.hashes) == ((partial,), better.meta, better.hashes)
        assert (back.categories, back.source) == (better.categories, "elsewhere")
        np.testing.assert_array_equal(back.passed["exact_match,strict-match"], [1.0, np.nan, 0.0])
        (listed,) = logs.listing(ws)
        assert (listed.items, listed.excluded) == (3, True)
        assert logs.add(ws, better) == logs.Added(first.log_id, new=False, updated=False, checks=(partial,))


def test_a_reading_that_knows_less_changes_nothing_and_says_what_is_stored(tmp_path: Path) -> None:
    partial = Check("partial", "refusal", "3 of 1319 items.")
    better = dataclasses.replace(_log(), checks=(partial,), meta={"n_shot": 0, "limit": 3})
    with Workspace(tmp_path) as ws:
        first = logs.add(ws, better)
        assert logs.add(ws, _log()) == logs.Added(first.log_id, new=False, updated=False, checks=(partial,))
        assert logs.load(ws, first.log_id).checks == (partial,)


def test_two_undated_evaluations_of_one_model_are_both_kept(tmp_path: Path) -> None:
    other = dataclasses.replace(_log(timestamp=""), passed={"exact_match,strict-match": np.array([0.0, np.nan, 0.0])})
    with Workspace(tmp_path) as ws:
        first = logs.add(ws, _log(timestamp=""))
        second = logs.add(ws, other)
        assert second.new
        assert second.log_id != first.log_id


def test_an_excluded_log_leaves_the_pool_unless_it_is_named(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        log_id = logs.add(ws, _log()).log_id
        logs.set_excluded(ws, log_id, True)
        assert logs.pool(ws, "gsm8k") == []
        assert [log.model for log in logs.pool(ws, "gsm8k", ["m"])] == ["m"]


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MinceError, match="cannot be opened"):
        Workspace(tmp_path / "file")


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.add_item(ws, run_id, _result(0), 1.0)
        with pytest.raises(sqlite3.IntegrityError):
            runs.add_item(ws, run_id, _result(0, passed=0.0), 1.0)
        assert runs.totals(ws, run_id) == {"exact_match,strict-match": (1.0, 1.0)}


def test_eight_threads_open_a_new_workspace_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(i: int) -> None:
        try:
            with Workspace(tmp_path) as ws:
                logs.add(ws, _log(model=f"m{i}"))
        except BaseException as exc:  # noqa: BLE001 - shown by the assert below
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Workspace(tmp_path) as ws:
        assert len(logs.listing(ws)) == 8


def test_a_missing_item_may_be_done_later_and_a_done_one_is_never_replaced(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.add_item(ws, run_id, _result(1, "missing"), 1.0)
        assert runs.get(ws, run_id).missing == 1
        runs.add_item(ws, run_id, _result(1), 1.0)
        run = runs.get(ws, run_id)
        assert (run.done, run.missing, run.elapsed_seconds) == (1, 0, 1.0)
        item = runs.items(ws, run_id)[0]
        assert item.scores == {"exact_match,strict-match": (1.0, 1.0)}
        assert item.text == "four \\ud83d"


def test_a_wish_that_came_while_another_was_obeyed_stays_open(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        assert runs.asked(ws, run_id) is None
        runs.ask(ws, run_id, "skip")
        skip = runs.asked(ws, run_id)
        assert skip is not None
        runs.ask(ws, run_id, "stop")
        runs.took(ws, run_id, skip[0])
        stop = runs.asked(ws, run_id)
        assert stop is not None
        assert (skip[1], stop[1]) == ("skip", "stop")
        runs.took(ws, run_id, stop[0])
        assert runs.asked(ws, run_id) is None


def test_a_wish_made_while_the_runner_starts_is_kept_and_one_for_an_earlier_runner_is_not(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.ask(ws, run_id, "pause")
        runs.await_runner(ws, run_id)
        assert runs.asked(ws, run_id) is None
        runs.ask(ws, run_id, "stop")
        runs.take(ws, run_id)
        asked = runs.asked(ws, run_id)
        assert asked is not None
        assert asked[1] == "stop"


def test_naming_a_runner_that_has_ended_already_keeps_its_end(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.await_runner(ws, run_id)
        runs.take(ws, run_id)
        runs.end(ws, run_id, "failed", "the reason")
        runs.set_runner(ws, run_id, os.getpid())
        run = runs.get(ws, run_id)
        assert (run.state, run.cause, run.detail) == ("ended", "failed", "the reason")


def test_a_run_keeps_the_subset_it_was_made_for(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run = runs.get(ws, runs.create(ws, _plan(), SUBSET))
        assert runs.subset_of(ws, run) == SUBSET


def test_a_full_disk_is_named_and_the_next_write_works(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        pages = ws.db.execute("PRAGMA page_count").fetchone()[0]
        ws.db.execute(f"PRAGMA max_page_count = {pages}")

        def fill() -> None:
            for position in range(1000):
                runs.add_item(ws, run_id, _result(position), 1.0)

        with pytest.raises(MinceError, match="database or disk is full"):
            fill()
        ws.db.execute("PRAGMA max_page_count = 100000")
        runs.end(ws, run_id, "failed", "disk full")
        assert runs.get(ws, run_id).detail == "disk full"


def test_a_workspace_that_was_moved_finds_its_packs(tmp_path: Path) -> None:
    with Workspace(tmp_path / "a") as ws:
        inside, outside = ws.packs_dir / "x.mincepack", tmp_path / "y.mincepack"
        kept = [ws.keep_path(inside), ws.keep_path(outside)]
    (tmp_path / "a").rename(tmp_path / "b")
    with Workspace(tmp_path / "b") as ws:
        assert [ws.find_path(path) for path in kept] == [tmp_path / "b" / "packs" / "x.mincepack", outside]


def test_a_run_whose_process_is_gone_counts_as_interrupted(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.take(ws, run_id)
        assert runs.get(ws, run_id).state == "running"
        # This process's id with another start time is another process.
        ws.db.execute("UPDATE runs SET pid_started = pid_started - 1000")
        assert runs.get(ws, run_id).state == "interrupted"


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        assert runs.get(ws, run_id[:-1]).run_id == run_id
        for wrong in ("%", "nope", "_" * len(run_id)):
            with pytest.raises(UsageError):
                runs.get(ws, wrong)


def test_deleting_a_run_deletes_its_items_and_files(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan(), SUBSET)
        runs.add_item(ws, run_id, _result(0), 1.0)
        ws.events_file(run_id).parent.mkdir()
        ws.events_file(run_id).write_text("{}\n")
        runs.delete(ws, run_id)
        assert runs.runs(ws) == []
        assert ws.db.execute("SELECT count(*) FROM run_scores").fetchone()[0] == 0
        assert not ws.events_file(run_id).exists()


def test_a_reference_comes_back_equal(tmp_path: Path) -> None:
    reference = Reference(
        reference_id="r1",
        kind="typed in",
        benchmark="gsm8k",
        model="m",
        metrics={"exact_match,strict-match": Ratio(862.3, 1319.0, 1319)},
        source="a paper",
        date="2026-01-01",
        precision="bf16",
        rows={"0": {"exact_match,strict-match": (1.0, 1.0)}},
        categories={"0": None},
        task="gsm8k_cot",
        task_version="3",
        lm_eval_version="0.4.13",
        few_shot=0,
        chat_template="none",
        runtime="hf",
        device="CPU",
        machine="lab",
        wall_seconds=12.5,
        timing="standard",
    )
    with Workspace(tmp_path) as ws:
        references.add(ws, reference)
        assert references.listing(ws) == [reference]
        assert references.get(ws, "r1") == reference
        with pytest.raises(UsageError):
            references.get(ws, "r2")
        references.remove(ws, "r1")
        assert references.listing(ws) == []
        with pytest.raises(UsageError):
            references.remove(ws, "r1")
