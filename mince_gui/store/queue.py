"""The queue of runs to be made: entries in order, each with its own end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.base.events import Cause
from mince_gui.store.workspace import Workspace, now


@dataclass(frozen=True)
class StoredEntry:
    """An entry as it stands; see the table `queue`. `order` is what app.run.RunOrder.to_json gave."""

    entry_id: int
    order: Mapping[str, Any]
    run_id: str | None
    state: Literal["waiting", "running", "ended"]
    cause: Cause | None
    detail: str
    added_at: str
    ended_at: str | None


def _entry(row: Any) -> StoredEntry:
    return StoredEntry(**{**row, "order": json.loads(row["order"])})


_SELECT = "SELECT entry_id, run_order AS 'order', run_id, state, cause, detail, added_at, ended_at FROM queue"


def add(ws: Workspace, orders: Sequence[Mapping[str, Any]]) -> list[int]:
    """Put orders at the end, all or none; returns the entries' numbers."""
    with ws.writing() as db:
        added = []
        for order in orders:
            put = db.execute(
                "INSERT INTO queue (run_order, state, added_at) VALUES (?, 'waiting', ?)",
                (json.dumps(dict(order)), now()),
            )
            assert put.lastrowid is not None
            added.append(put.lastrowid)
        return added


def entries(ws: Workspace) -> list[StoredEntry]:
    """All entries in order."""
    return [_entry(row) for row in ws.db.execute(f"{_SELECT} ORDER BY entry_id")]


def begin_next(ws: Workspace) -> StoredEntry | None:
    """Mark the first entry that has not ended as running; None where every one has.

    The caller is the only queue runner: an entry in state running was left so by one that was killed, and is next.
    """
    with ws.writing() as db:
        row = db.execute(f"{_SELECT} WHERE state != 'ended' ORDER BY entry_id LIMIT 1").fetchone()
        if row is None:
            return None
        db.execute("UPDATE queue SET state = 'running' WHERE entry_id = ?", (row["entry_id"],))
        return _entry({**row, "state": "running"})


def set_run(ws: Workspace, entry_id: int, run_id: str) -> None:
    """Name the run that was made for the entry."""
    with ws.writing() as db:
        db.execute("UPDATE queue SET run_id = ? WHERE entry_id = ?", (run_id, entry_id))


def put_back(ws: Workspace, entry_id: int) -> StoredEntry:
    """Let the entry wait again, in its old place and with its run; returns it so."""
    with ws.writing() as db:
        db.execute("UPDATE queue SET state = 'waiting' WHERE entry_id = ?", (entry_id,))
        return _entry(db.execute(f"{_SELECT} WHERE entry_id = ?", (entry_id,)).fetchone())


def end(ws: Workspace, entry_id: int, cause: Cause, detail: str) -> StoredEntry:
    """Close the entry with its cause; returns it so."""
    with ws.writing() as db:
        db.execute(
            "UPDATE queue SET state = 'ended', cause = ?, detail = ?, ended_at = ? WHERE entry_id = ?",
            (cause, detail, now(), entry_id),
        )
        return _entry(db.execute(f"{_SELECT} WHERE entry_id = ?", (entry_id,)).fetchone())


def remove(ws: Workspace, *, entry_id: int | None = None, ended: bool = False, running: bool) -> list[StoredEntry]:
    """Take entries out: one, or those that have ended, or all; returns them. Their runs stay.

    The one that is running is left in, unless `running`: its runner is gone.
    """
    with ws.writing() as db:
        chosen = [
            entry
            for entry in entries(ws)
            if entry_id in (None, entry.entry_id)
            and (running or entry.state != "running")
            and (not ended or entry.state == "ended")
        ]
        db.executemany("DELETE FROM queue WHERE entry_id = ?", [(entry.entry_id,) for entry in chosen])
        return chosen
