"""What a workspace does when its file is damaged, held by another, or cannot be written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mince_gui.base.errors import MinceError
from mince_gui.run.types import ItemResult
from mince_gui.store import Workspace, runs
from mince_gui.store.faults import WorkspaceError
from mince_gui.store.runs import NewRun, StoredItem
from mince_gui.subset.types import FrozenSubset
from mince_gui.tasks.types import Scored

_ITEMS = 60
_NOBODY = 65534


def _result(position: int) -> ItemResult:
    scored = Scored({"acc": (1.0, 1.0)}, {"none": "A"}, "A")
    return ItemResult(position, f"k{position}", None, "done", scored, "four " * 40, None, (), None)


def _filled(folder: Path) -> str:
    """A workspace with a run of some pages; returns the run's id."""
    subset = FrozenSubset("s", "gsm8k", 1319, 3, 42, "uniform", ("1", "2", "3"), (None, None, None), "d")
    plan = NewRun(
        "gsm8k", "gsm8k", "s", 1319, 3, _ITEMS, "m", folder / "model", folder / "s.mincepack", "0" * 64, {"limit": None}
    )
    with Workspace(folder) as ws:
        run_id = runs.create(ws, plan, subset)
        for position in range(_ITEMS):
            runs.add_item(ws, run_id, _result(position), 0.1)
    return run_id


def _kept(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("mince.db.corrupt-*")) if not file.name.endswith("-wal")]


@pytest.mark.parametrize("left", [0, 1, 50, 99, 100, 512, 4095, 4096, 9000])
def test_a_file_cut_short_is_never_taken_for_a_workspace_and_never_touched(tmp_path: Path, left: int) -> None:
    run_id = _filled(tmp_path)
    database = tmp_path / "mince.db"
    database.write_bytes(cut := database.read_bytes()[:left])
    if left < 2:
        # SQLite takes an empty file, or one byte, for a new one; there is nothing in it to lose.
        Workspace(tmp_path).close()
        return
    with pytest.raises(WorkspaceError, match=r"mince\.db is damaged") as caught, Workspace(tmp_path) as ws:
        runs.items(ws, run_id)
    assert database.read_bytes() == cut
    (copy,) = _kept(tmp_path)
    assert copy.read_bytes() == cut
    assert str(copy) in caught.value.message


def test_an_empty_file_beside_a_full_log_is_not_begun_anew(tmp_path: Path) -> None:
    _filled(tmp_path)
    log = tmp_path / "mince.db-wal"
    log.write_bytes(b"rows that are not in the file yet" * 100)
    (tmp_path / "mince.db").write_bytes(b"")
    with pytest.raises(MinceError, match="it is empty"):
        Workspace(tmp_path)
    assert log.stat().st_size > 0


def test_a_file_that_is_no_database_is_kept_and_named(tmp_path: Path) -> None:
    raw = b"this is not a database, not at all" * 100
    (tmp_path / "mince.db").write_bytes(raw)
    for _ in range(2):
        with pytest.raises(WorkspaceError, match="file is not a database"):
            Workspace(tmp_path)
    assert (tmp_path / "mince.db").read_bytes() == raw
    # The same damage is copied once, however often it is met.
    assert [copy.read_bytes() for copy in _kept(tmp_path)] == [raw]


def _read_through(folder: Path, run_id: str, true: list[StoredItem]) -> WorkspaceError | None:
    try:
        with Workspace(folder) as ws:
            assert runs.get(ws, run_id).done == _ITEMS
            assert runs.items(ws, run_id) == true
    except WorkspaceError as exc:
        return exc
    return None


def test_any_page_overwritten_gives_the_true_rows_or_a_clear_word_and_no_page_is_written(tmp_path: Path) -> None:
    run_id = _filled(tmp_path / "whole")
    whole = (tmp_path / "whole" / "mince.db").read_bytes()
    with Workspace(tmp_path / "whole") as ws:
        true = runs.items(ws, run_id)
        page = int(ws.db.execute("PRAGMA page_size").fetchone()[0])
    seen = 0
    for number in range(len(whole) // page):
        folder = tmp_path / str(number)
        folder.mkdir()
        damaged = whole[: number * page] + b"\xa5" * page + whole[(number + 1) * page :]
        (folder / "mince.db").write_bytes(damaged)
        fault = _read_through(folder, run_id, true)
        if fault is not None:
            seen += 1
            assert fault.kind == "damaged"
            (copy,) = _kept(folder)
            assert copy.read_bytes() == damaged
        assert (folder / "mince.db").read_bytes() == damaged
    assert seen > 3


def test_damage_met_by_a_write_ends_it_and_what_was_committed_before_stays(tmp_path: Path) -> None:
    run_id = _filled(tmp_path)
    database = tmp_path / "mince.db"
    with Workspace(tmp_path) as ws:
        root = ws.db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'run_scores'").fetchone()[0]
        page = ws.db.execute("PRAGMA page_size").fetchone()[0]
    with database.open("r+b") as file:
        file.seek((root - 1) * page)
        file.write(b"\xa5" * page)
    with Workspace(tmp_path) as ws:
        with pytest.raises(WorkspaceError, match="is damaged"):
            runs.add_item(ws, run_id, _result(_ITEMS), 0.1)
        assert len(runs.done_items(ws, run_id)) == _ITEMS


def test_a_workspace_that_another_program_holds_is_named_and_can_be_used_after_it(tmp_path: Path) -> None:
    run_id = _filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "mince.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Workspace(tmp_path, busy_seconds=0.05) as ws:
            assert len(runs.items(ws, run_id)) == _ITEMS
            with pytest.raises(WorkspaceError, match="Another program has held") as caught:
                runs.add_item(ws, run_id, _result(_ITEMS), 0.1)
            assert caught.value.kind == "busy"
            other.execute("ROLLBACK")
            runs.add_item(ws, run_id, _result(_ITEMS), 0.1)
            assert len(runs.done_items(ws, run_id)) == _ITEMS + 1


def test_reading_a_locked_file_without_wal_says_who_is_in_the_way(tmp_path: Path) -> None:
    """As on a network folder, where there is no write-ahead log and a writer keeps readers out."""
    _filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "mince.db", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(WorkspaceError, match="Another program has held"):
            Workspace(tmp_path, busy_seconds=0.05)
        other.execute("ROLLBACK")


def test_every_connection_survives_power_loss_and_keeps_its_references(tmp_path: Path) -> None:
    for _ in range(2):
        with Workspace(tmp_path) as ws:
            pragmas = {name: ws.db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "foreign_keys")}
            assert pragmas == {"synchronous": 2, "foreign_keys": 1}
            assert ws.db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


# Below: who may not write. Root may always, so the code runs in a child that gave up being root.

_CHILD = """
import os, sys
import mince_gui.cli.run, mince_gui.cli.runs
from mince_gui.cli.main import main
if hasattr(os, "setuid") and os.geteuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
sys.exit(main(sys.argv[1:]))
"""
unix = pytest.mark.skipif(os.name == "nt", reason="Windows has no folders that a mode makes read-only")


def _mince(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of a user who owns nothing."""
    return subprocess.run(
        [sys.executable, "-c", _CHILD.format(nobody=_NOBODY), *map(str, words)],
        capture_output=True, text=True, check=False, timeout=120, cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that others may look into; pytest's own are for their owner only."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o755)
    shutil.rmtree(folder)


def _closed_to_writers(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) | stat.S_IROTH)


@unix
def test_a_read_only_workspace_can_be_read_and_refuses_a_run_before_anything_is_done(readable: Path) -> None:
    workspace = readable / "a 100% #1 ? ws"
    run_id = _filled(workspace)
    _closed_to_writers(workspace)
    listed = _mince("runs", "--workspace", workspace)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert run_id in listed.stdout
    refused = _mince("run", "--resume", run_id, "--workspace", workspace)
    assert refused.returncode == 1
    assert f"The workspace {workspace} cannot be written" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert sorted(file.name for file in workspace.iterdir()) == ["mince.db"]


@unix
def test_a_read_only_file_in_a_folder_that_may_be_written_is_read_too(readable: Path) -> None:
    workspace = readable / "ws"
    run_id = _filled(workspace)
    (workspace / "mince.db").chmod(0o444)
    workspace.chmod(0o777)
    assert run_id in _mince("runs", "--workspace", workspace).stdout
    assert "cannot be written" in _mince("run", "--resume", run_id, "--workspace", workspace).stderr


@unix
def test_a_reader_without_rights_sees_what_a_writer_has_just_committed(readable: Path) -> None:
    workspace = readable / "ws"
    run_id = _filled(workspace)
    with Workspace(workspace) as ws:
        runs.add_item(ws, run_id, _result(_ITEMS), 0.1)
        _closed_to_writers(workspace)
        listed = _mince("runs", "--json", "--workspace", workspace)
    assert f'"done": {_ITEMS + 1}' in listed.stdout


@unix
def test_rows_that_lie_in_a_log_alone_are_not_passed_over_in_silence(readable: Path) -> None:
    workspace, copy = readable / "ws", readable / "copy"
    run_id = _filled(workspace)
    copy.mkdir()
    with Workspace(workspace) as ws:
        runs.add_item(ws, run_id, _result(_ITEMS), 0.1)
        # A crash leaves the log; the -shm file does not always come along when a folder is copied.
        for name in ("mince.db", "mince.db-wal"):
            shutil.copy(workspace / name, copy / name)
    _closed_to_writers(copy)
    listed = _mince("runs", "--workspace", copy)
    assert listed.returncode == 1
    assert "mince.db-wal" in listed.stderr


@unix
def test_a_workspace_that_may_not_even_be_read_is_named(readable: Path) -> None:
    workspace = readable / "ws"
    _filled(workspace)
    (workspace / "mince.db").chmod(0o600)
    workspace.chmod(0o755)
    if os.geteuid() == 0:
        told = _mince("runs", "--workspace", workspace)
    else:
        (workspace / "mince.db").chmod(0o000)
        told = _mince("runs", "--workspace", workspace)
    assert told.returncode == 1
    assert str(workspace / "mince.db") in told.stderr
    assert "Traceback" not in told.stderr
