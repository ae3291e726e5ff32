"""Workspaces of older schemas: `schema_1.sql` and its like are the tables that earlier versions wrote."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.errors import MinceError
from mince_gui.run.types import ItemResult, ItemTiming
from mince_gui.store import Workspace, runs
from mince_gui.store.schema import MIGRATIONS, VERSION
from mince_gui.tasks.types import Scored

_ITEM: dict[str, Any] = {
    "run_id": "r", "position": 0, "item_key": "0", "state": "done", "text": "four", "extracted": "{}",
    "expected": "4", "prompt_sha256": "h", "prompt_tokens": 5, "output_tokens": 1, "prefill_seconds": 0.1,
    "wall_seconds": 0.3, "elapsed_seconds": 0.4, "capped": 0, "attempts": 1, "finished_at": "t",
}  # fmt: skip
_NEWER: dict[int, dict[str, Any]] = {
    1: {},
    2: {"method": None, "finish": "eos", "greedy": None, "leading_bos": 1},
    3: {"finish": "eos", "leading_bos": 1},
}


def _old(folder: Path, version: int) -> Path:
    """A workspace of that schema with a run, an item and its score, in WAL mode as the program left it."""
    folder.mkdir(exist_ok=True)
    database = folder / "mince.db"
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript((Path(__file__).parent / f"schema_{version}.sql").read_text(encoding="utf-8"))
        db.execute("INSERT INTO pack_subsets VALUES ('p', '{}')")
        db.execute(
            "INSERT INTO runs VALUES ('r', 't', 'gsm8k', 'gsm8k', 's', 3, 2, 2, 'm', 'd', 'p', 'p', '{}', NULL,"
            " 'started', NULL, NULL, NULL, NULL, NULL)"
        )
        item = _ITEM | _NEWER[version]
        names, marks = ", ".join(item), ", ".join("?" * len(item))
        db.execute(f"INSERT INTO run_items ({names}) VALUES ({marks})", tuple(item.values()))
        db.execute("INSERT INTO run_scores VALUES ('r', 0, 'acc', 1.0, 1.0)")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    return database


def _brought_up(folder: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Open the workspace once; returns what was told of it, which is meant and so no unexpected record."""
    Workspace(folder).close()
    told = list(caplog.messages)
    caplog.clear()
    return told


def _dump(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as db:
        return [*db.iterdump(), str(db.execute("PRAGMA user_version").fetchone()[0])]


def test_every_older_schema_has_its_sample_and_its_way_up() -> None:
    samples = {int(file.stem.removeprefix("schema_")) for file in Path(__file__).parent.glob("schema_*.sql")}
    assert samples == set(MIGRATIONS) == set(_NEWER) == set(range(1, VERSION))


@pytest.mark.parametrize("version", MIGRATIONS)
def test_an_older_workspace_is_brought_up_to_date_and_keeps_everything(
    tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    _old(tmp_path, version)
    _brought_up(tmp_path, caplog)
    with Workspace(tmp_path) as ws:
        assert ws.db.execute("PRAGMA user_version").fetchone()[0] == VERSION
        (old,) = runs.items(ws, "r")
        assert (old.text, old.prompt_sha256, old.scores) == ("four", "h", {"acc": (1.0, 1.0)})
        assert (old.finish, old.leading_bos) == tuple(_NEWER[version].get(name) for name in ("finish", "leading_bos"))
        assert (old.read_tokens, old.repeats, old.memory_bytes, old.greedy) == (None, None, None, ())
        item = ItemResult(
            1, "1", None, "done", Scored({"acc": (1.0, 1.0)}), None, 1, (-1.0, -0.5),
            ItemTiming(700, 60, 0, 0.1, None, None, 0.1), method="kept_prefix", greedy=(False, True), leading_bos=1,
            repeats=3, memory_bytes=1 << 40,
        )  # fmt: skip
        runs.add_item(ws, "r", item, 0.5)
        new = runs.items(ws, "r")[1]
        assert (new.method, new.finish, new.greedy, new.leading_bos) == ("kept_prefix", None, (False, True), 1)
        assert (new.logprobs, new.read_tokens, new.repeats, new.memory_bytes) == ((-1.0, -0.5), 60, 3, 1 << 40)
        ws.db.execute("INSERT INTO queue (run_order, state, added_at) VALUES ('{}', 'waiting', 't')")
        run = runs.get(ws, "r")
        assert (run.rescored_of, run.origin) == ("", {})


@pytest.mark.parametrize("version", MIGRATIONS)
def test_an_old_and_a_new_workspace_have_the_same_tables(
    tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    _old(tmp_path / "old", version)
    _brought_up(tmp_path / "old", caplog)
    found = []
    for name in ("old", "new"):
        with Workspace(tmp_path / name) as ws:
            tables = [row[0] for row in ws.db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
            found.append(
                {
                    table: (
                        sorted(tuple(row)[1:] for row in ws.db.execute(f"PRAGMA table_info({table})")),
                        sorted(tuple(row)[2:] for row in ws.db.execute(f"PRAGMA foreign_key_list({table})")),
                    )
                    for table in tables
                }
            )
    assert found[0] == found[1]


@pytest.mark.parametrize("version", MIGRATIONS)
def test_the_workspace_as_it_was_is_kept_whole_and_told_of(
    tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = _dump(_old(tmp_path, version))
    (told,) = _brought_up(tmp_path, caplog)
    assert _brought_up(tmp_path, caplog) == []
    (kept,) = tmp_path.glob(f"mince.db.schema-{version}-*.bak")
    assert _dump(kept) == before
    assert str(kept) in told
    assert sorted(file.name for file in tmp_path.iterdir() if "mince.db-" not in file.name) == ["mince.db", kept.name]


@pytest.mark.parametrize("version", MIGRATIONS)
def test_a_migration_that_fails_half_way_leaves_the_workspace_as_it_was(tmp_path: Path, version: int) -> None:
    database = _old(tmp_path, version)
    with closing(sqlite3.connect(database)) as db:
        # The last statement of the way up then fails, after all others.
        db.execute("ALTER TABLE stored_references ADD COLUMN categories TEXT")
    before = _dump(database)
    with pytest.raises(MinceError, match=r"mince\.db cannot be used: duplicate column name: categories"):
        Workspace(tmp_path)
    assert _dump(database) == before


def test_without_room_for_the_copy_nothing_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full at this very moment cannot be had portably: the copy's last step is refused instead."""
    before = _dump(_old(tmp_path, 2))

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(MinceError, match="Nothing was changed"):
        Workspace(tmp_path)
    assert _dump(tmp_path / "mince.db") == before
    assert [file.name for file in tmp_path.iterdir() if file.suffix not in ("-wal", "-shm")] == ["mince.db"]


def test_a_newer_workspace_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    Workspace(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "mince.db")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    before = (tmp_path / "mince.db").read_bytes()
    with pytest.raises(MinceError, match="newer mince-gui"):
        Workspace(tmp_path)
    assert (tmp_path / "mince.db").read_bytes() == before


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "mince.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(MinceError, match="another program's database"):
        Workspace(tmp_path)
    assert any("theirs" in line for line in _dump(tmp_path / "mince.db"))
    assert not any("run_items" in line for line in _dump(tmp_path / "mince.db"))
