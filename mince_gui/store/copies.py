"""Copies of a workspace's database that are kept beside it: before it is changed for good, or when it is damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path


def keep_before_migration(database: Path, version: int) -> Path:
    """A whole copy of the database as its last commit left it; returns where. The caller holds the write lock.

    Raises sqlite3.Error or OSError where there is no room for it, or no right; nothing is left behind then.
    """
    copy = database.with_name(f"{database.name}.schema-{version}-{_stamp()}.bak")
    # Another connection than the caller's: SQLite does not back up through one that is in a transaction of its own.
    with (
        _whole(copy) as temporary,
        closing(sqlite3.connect(database)) as source,
        closing(sqlite3.connect(temporary)) as target,
    ):
        source.backup(target)
        # One file alone: a copy that is opened or moved must not depend on others beside it.
        target.execute("PRAGMA journal_mode = DELETE")
    return copy


def keep_damaged(database: Path) -> Path:
    """A copy of a damaged database, byte for byte, with its write-ahead log; the same damage is copied once.

    The -shm file stays out: SQLite makes it again, and Windows locks parts of it. Raises OSError.
    """
    damaged = _facts(database)
    for earlier in sorted(database.parent.glob(f"{database.name}.corrupt-*")):
        if _facts(earlier) == damaged:
            return earlier
    copy = database.with_name(f"{database.name}.corrupt-{_stamp()}")
    if damaged[1] is not None:
        with _whole(_log_of(copy)) as temporary:
            shutil.copy2(_log_of(database), temporary)
    with _whole(copy) as temporary:
        shutil.copy2(database, temporary)
    return copy


def _facts(database: Path) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Size and time of change of the database and of its log, None where that is empty: what a copy keeps."""
    found, log = database.stat(), _log_of(database)
    of_log = (log.stat().st_size, log.stat().st_mtime_ns) if log.is_file() and log.stat().st_size else None
    return (found.st_size, found.st_mtime_ns), of_log


def _log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`, which becomes `path` at the end: whole, on the disk, or not there at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
