"""A database that is damaged while a run is on: a clear end, a copy, and committed items that can still be read."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.events import Ended, Event, ItemDone
from mince_gui.store.faults import WorkspaceError

ITEMS = 40


class _Damaging(list[Event]):
    """Overwrites the page of one table in the file once five items are done."""

    def __init__(self, database: Path, table: str) -> None:
        super().__init__()
        self._database = database
        self._table = table

    def append(self, event: Event) -> None:
        super().append(event)
        if isinstance(event, ItemDone) and event.done == 5:
            with closing(sqlite3.connect(self._database)) as db:
                # From the log into the file, and the log begun anew: the runner must read the page again.
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                page = db.execute("PRAGMA page_size").fetchone()[0]
                root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (self._table,)).fetchone()[0]
            with self._database.open("r+b") as file:
                file.seek((root - 1) * page)
                file.write(b"\xa5" * page)
            with closing(sqlite3.connect(self._database)) as db:
                db.execute("CREATE TABLE makes_others_read_anew (x)")


@pytest.mark.parametrize("table", ["run_scores", "controls"])
def test_damage_in_mid_run_ends_it_with_a_copy_and_committed_items_can_be_read(
    prepared: Path, tmp_path: Path, table: str
) -> None:
    workspace = tmp_path / "ws"
    shutil.copytree(prepared, workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-full", limit=ITEMS))
    events = _Damaging(workspace / "mince.db", table)
    with pytest.raises(WorkspaceError, match="is damaged") as caught:
        execute(workspace, run_id, emit=events.append)
    assert isinstance(events[-1], Ended)
    assert "is damaged" in events[-1].detail
    copies = [file for file in workspace.glob("mince.db.corrupt-*") if not file.name.endswith("-wal")]
    assert any(str(copy) in caught.value.message for copy in copies)
    told = {event.item_key for event in events if isinstance(event, ItemDone)}
    with closing(sqlite3.connect(workspace / "mince.db")) as db:
        rows = db.execute("SELECT item_key FROM run_items WHERE run_id = ?", (run_id,)).fetchall()
    assert told <= {row[0] for row in rows}
    assert len(told) >= 5
