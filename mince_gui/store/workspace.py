"""Opening a workspace: its folder, its database, its schema version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import psutil

from mince_gui.base.errors import MinceError
from mince_gui.store.schema import MIGRATIONS, TABLES, VERSION

_NETWORK = {"nfs", "nfs4", "cifs", "smbfs", "smb3", "fuse.sshfs", "9p", "afpfs", "ncpfs"}
_BUSY_MS = 15_000


def now() -> str:
    """The time in UTC, ISO 8601 with seconds: how every time is stored."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _on_network(folder: Path) -> bool:
    """Whether the folder lies on a network file system, where SQLite's WAL cannot share memory."""
    where = str(folder)
    if where.startswith(("\\\\", "//")):
        return True
    best, kind = "", ""
    for part in psutil.disk_partitions(all=True):
        if folder.is_relative_to(part.mountpoint) and len(part.mountpoint) >= len(best):
            best, kind = part.mountpoint, part.fstype + (",remote" if "remote" in part.opts.split(",") else "")
    return kind.split(",")[0].lower() in _NETWORK or kind.endswith(",remote")


def reports_dir(folder: Path) -> Path:
    """Where a workspace's reports go that nobody named a file for."""
    return folder / "reports"


class Workspace:
    """An open workspace. Use as a context manager; belongs to the thread that opened it.

    Raises MinceError where the folder cannot be written, the file is no workspace, or a newer version made it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.folder / "mince.db", isolation_level=None, timeout=_BUSY_MS / 1000)
        except (OSError, sqlite3.Error) as exc:
            raise MinceError(
                f"The workspace {self.folder} cannot be opened: {exc}.",
                "Name a folder that you may write with --workspace DIR.",
            ) from exc
        try:
            self._prepare()
        except sqlite3.Error as exc:
            self.db.close()
            raise MinceError(
                f"{self.folder / 'mince.db'} cannot be used: {exc}.",
                "Name another folder with --workspace DIR, or restore a copy of this file.",
            ) from exc
        except MinceError:
            self.db.close()
            raise

    def _prepare(self) -> None:
        self.db.row_factory = sqlite3.Row
        self.db.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA synchronous = FULL")
        found = self._version()
        if found > VERSION:
            raise MinceError(
                f"The workspace {self.folder} was made by a newer mince-gui: schema {found}, this one knows {VERSION}.",
                "Update mince-gui, or name another folder with --workspace DIR.",
            )
        if self.db.execute("PRAGMA journal_mode").fetchone()[0] != "wal" and not _on_network(self.folder):
            self.db.execute("PRAGMA journal_mode = WAL")
        if found < VERSION:
            with self.writing():
                # Another process may have done it while this one waited for the lock.
                for version in range(self._version(), VERSION):
                    if version == 0:
                        self._run_all(TABLES)
                        break
                    self._run_all(MIGRATIONS[version])
                self.db.execute(f"PRAGMA user_version = {VERSION}")

    def _run_all(self, statements: str) -> None:
        for statement in statements.split(";\n"):
            if statement.strip():
                self.db.execute(statement)

    def _version(self) -> int:
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is committed, or nothing. Raises MinceError for a full or read-only disk."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                # After some errors (a full disk) SQLite has rolled back by itself; a failed COMMIT has not.
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as exc:
            raise MinceError(
                f"The workspace {self.folder} cannot be written: {exc}.",
                "Free some space or close what holds the file; what was committed before is safe.",
            ) from exc

    def keep_path(self, path: Path) -> str:
        """How a path is stored: relative where it lies inside the workspace, so that the folder may be moved."""
        whole = path.absolute()
        return str(whole.relative_to(self.folder)) if whole.is_relative_to(self.folder) else str(whole)

    def find_path(self, stored: str) -> Path:
        """The path that `keep_path` stored."""
        return self.folder / stored

    def close(self) -> None:
        """Close the database; closing twice is allowed."""
        self.db.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def packs_dir(self) -> Path:
        """Where packs made here lie."""
        return self.folder / "packs"

    @property
    def subsets_dir(self) -> Path:
        """Where frozen subset files lie."""
        return self.folder / "subsets"

    def events_file(self, run_id: str) -> Path:
        """The run's event stream, for tailing."""
        return self.folder / "runs" / f"{run_id}.events.jsonl"

    def runner_log(self, run_id: str) -> Path:
        """What a detached runner wrote to stderr."""
        return self.folder / "runs" / f"{run_id}.log"
