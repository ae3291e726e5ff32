from __future__ import annotations

import dataclasses
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
from mince_gui.store.schema import VERSION
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


def _plan(items: int = 3) -> NewRun:
    return NewRun(
        "gsm8k", "gsm8k", "gsm8k-3", 1319, items, "m", Path("m"), Path("p.mincepack"), "0" * 64, {"limit": None}
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
        timing=ItemTiming(10, 5, 0.1, 0.2, 0.4, 0.6) if done else None,
        cause="" if done else "worker crashed: SIGKILL",
    )


def test_a_log_comes_back_equal_and_missing_stays_missing(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        log_id, new = logs.add(ws, _log())
        back = logs.load(ws, log_id)
        assert new
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
        first, _ = logs.add(ws, _log())
        again, new = logs.add(ws, _log())
        rerun, _ = logs.add(ws, _log(timestamp="t2"))
        assert (again, new) == (first, False)
        assert rerun != first
        assert [log.timestamp for log in logs.pool(ws, "gsm8k")] == ["t2", "t1"]


def test_two_undated_evaluations_of_one_model_are_both_kept(tmp_path: Path) -> None:
    other = dataclasses.replace(_log(timestamp=""), passed={"exact_match,strict-match": np.array([0.0, np.nan, 0.0])})
    with Workspace(tmp_path) as ws:
        first, _ = logs.add(ws, _log(timestamp=""))
        second, new = logs.add(ws, other)
        assert new
        assert second != first


def test_an_excluded_log_leaves_the_pool_unless_it_is_named(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        log_id, _ = logs.add(ws, _log())
        logs.set_excluded(ws, log_id, True)
        assert logs.pool(ws, "gsm8k") == []
        assert [log.model for log in logs.pool(ws, "gsm8k", ["m"])] == ["m"]


def test_a_newer_workspace_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Workspace(tmp_path).close()
    db = sqlite3.connect(tmp_path / "mince.db")
    db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    with pytest.raises(MinceError, match="newer mince-gui"):
        Workspace(tmp_path)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "mince.db").write_bytes(b"this is not a database, not at all" * 100)
    with pytest.raises(MinceError, match=r"mince\.db cannot be used"):
        Workspace(tmp_path)


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MinceError, match="cannot be opened"):
        Workspace(tmp_path / "file")


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan())
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
        run_id = runs.create(ws, _plan())
        runs.add_item(ws, run_id, _result(1, "missing"), 1.0)
        assert runs.get(ws, run_id).missing == 1
        runs.add_item(ws, run_id, _result(1), 1.0)
        run = runs.get(ws, run_id)
        assert (run.done, run.missing, run.elapsed_seconds) == (1, 0, 1.0)
        item = runs.items(ws, run_id)[0]
        assert item.scores == {"exact_match,strict-match": (1.0, 1.0)}
        assert item.text == "four \\ud83d"


def test_wishes_are_taken_newest_first_and_once(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan())
        assert runs.asked(ws, run_id) is None
        runs.ask(ws, run_id, "pause")
        runs.ask(ws, run_id, "stop")
        assert runs.asked(ws, run_id) == "stop"
        runs.took(ws, run_id)
        assert runs.asked(ws, run_id) is None


def test_a_run_whose_process_is_gone_counts_as_interrupted(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan())
        runs.take(ws, run_id)
        assert runs.get(ws, run_id).state == "running"
        # This process's id with another start time is another process.
        ws.db.execute("UPDATE runs SET pid_started = pid_started - 1000")
        assert runs.get(ws, run_id).state == "interrupted"


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan())
        assert runs.get(ws, run_id[:-1]).run_id == run_id
        for wrong in ("%", "nope", "_" * len(run_id)):
            with pytest.raises(UsageError):
                runs.get(ws, wrong)


def test_deleting_a_run_deletes_its_items_and_files(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        run_id = runs.create(ws, _plan())
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
    )
    with Workspace(tmp_path) as ws:
        references.add(ws, reference)
        assert references.listing(ws) == [reference]
        assert references.get(ws, "r1") == reference
        with pytest.raises(UsageError):
            references.get(ws, "r2")
