"""Connections to a workspace's database: to write, or where that cannot be, to read; errors come in words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mince_gui.base.errors import MinceError
from mince_gui.store.faults import WorkspaceError, explained, read_only


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        if (error := explained(exc, folder)) is not None:
            raise error from exc
        raise


class Connection(sqlite3.Connection):
    """Says in words what a statement failed of, at once: a runner on a full disk closes its run with that reason."""

    folder: Path

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """As sqlite3.Connection; raises WorkspaceError where the user can do something about it."""
        with _in_words(self.folder):
            return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """As sqlite3.Connection; raises as `execute`."""
        with _in_words(self.folder):
            return super().executemany(sql, parameters)


def connect(database: Path, busy_seconds: float, how: str = "") -> Connection:
    """A connection that waits so long for another's lock. Raises WorkspaceError.

    `how` is the query of SQLite's URI ("mode=ro"), "" = to read and write.
    """
    where: str | Path = database
    if how:
        # Not Path.as_uri: SQLite takes no server's name in the place of a host (\\server\share).
        path = quote(os.fsencode(database.as_posix()), safe="/:")
        where = f"file://{'' if path.startswith('/') else '/'}{path}?{how}"
    with _in_words(database.parent):
        db = sqlite3.connect(where, uri=bool(how), isolation_level=None, timeout=busy_seconds, factory=Connection)
    db.folder = database.parent
    db.row_factory = sqlite3.Row
    return db


def connect_to_read(database: Path, busy_seconds: float) -> Connection:
    """A connection that only reads, all that was committed. Raises MinceError where not even that can be done."""
    # Where a writer is at work, or left its files, SQLite needs them; where nobody is, the file stands still.
    for how in ("mode=ro", "immutable=1"):
        if how == "immutable=1" and has_unmerged(database):
            raise read_only(database.parent, "its latest rows lie in mince.db-wal, which must be merged first")
        db: Connection | None = None
        try:
            db = connect(database, busy_seconds, how)
            db.execute("SELECT count(*) FROM sqlite_master")
            return db
        except WorkspaceError as exc:
            if db is not None:
                db.close()
            if exc.kind != "read_only":
                raise
    raise MinceError(f"You may not read {database}.", "Name another folder with --workspace DIR.")


def has_unmerged(database: Path) -> bool:
    """Whether rows lie in the write-ahead log, as a live or killed writer leaves them."""
    log = database.with_name(f"{database.name}-wal")
    return log.is_file() and log.stat().st_size > 0
