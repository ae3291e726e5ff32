"""Opening a workspace: its folder, its database, its schema version."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import psutil

from mince_gui.base.errors import MinceError
from mince_gui.base.paths import expanded
from mince_gui.store.connection import Connection, connect, connect_to_read, has_unmerged
from mince_gui.store.copies import keep_before_migration
from mince_gui.store.faults import WorkspaceError, explained, read_only
from mince_gui.store.schema import MIGRATIONS, TABLES, VERSION

_NETWORK = {"nfs", "nfs4", "cifs", "smbfs", "smb3", "fuse.sshfs", "9p", "afpfs", "ncpfs"}
_log = logging.getLogger(__name__)


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

    A folder or file that cannot be written is opened to read (`read_only`); `writing` then refuses. `busy_seconds` is
    how long another program's lock is waited for.

    Raises MinceError where the folder cannot be made or read, where the file is no workspace, is damaged, or was made
    by a newer version. A workspace of an older schema is brought up to date; a copy of it as it was stays beside it.
    """

    def __init__(self, folder: Path, *, busy_seconds: float = 15.0) -> None:
        self.folder = expanded(folder).absolute()
        self.read_only = False
        self._busy_seconds = busy_seconds
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise MinceError(
                f"The workspace {self.folder} cannot be opened: {exc}.",
                "Name a folder that you may write with --workspace DIR.",
            ) from exc
        self._refuse_empty()
        self.db = self._open()

    def _open(self) -> Connection:
        """A connection that is ready: it writes, or where that cannot be, reads."""
        try:
            return self._prepared(connect(self._database, self._busy_seconds))
        except WorkspaceError as exc:
            if exc.kind != "read_only" or not self._database.is_file():
                raise
        self.read_only = True
        return self._prepared(connect_to_read(self._database, self._busy_seconds))

    def _refuse_empty(self) -> None:
        if has_unmerged(self._database) and self._database.is_file() and self._database.stat().st_size == 0:
            # SQLite would take it for a new file and delete the log, which is all that is left.
            raise MinceError(
                f"{self._database} is damaged: it is empty, but mince.db-wal beside it is not.",
                "Name another folder with --workspace DIR, or restore a copy of both files.",
            )

    @property
    def _database(self) -> Path:
        return self.folder / "mince.db"

    def _prepared(self, db: Connection) -> Connection:
        self.db = db
        try:
            self._prepare()
        except sqlite3.Error as exc:
            db.close()
            raise MinceError(
                f"{self._database} cannot be used: {exc}.",
                "Name another folder with --workspace DIR, or restore a copy of this file.",
            ) from exc
        except MinceError:
            db.close()
            raise
        return db

    def _prepare(self) -> None:
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA synchronous = FULL")
        found = self._version()
        if found > VERSION:
            raise MinceError(
                f"The workspace {self.folder} was made by a newer mince-gui: schema {found}, this one knows {VERSION}.",
                "Update mince-gui, or name another folder with --workspace DIR.",
            )
        if self.read_only:
            if found < VERSION:
                raise read_only(self.folder, f"it has the older schema {found} and must be brought up to date first")
            return
        if found < VERSION:
            self._bring_up_to_date()
        if self.db.execute("PRAGMA journal_mode").fetchone()[0] != "wal" and not _on_network(self.folder):
            self._write_ahead()

    def _write_ahead(self) -> None:
        try:
            self.db.execute("PRAGMA journal_mode = WAL")
        except WorkspaceError as exc:
            # SQLite does not wait for others here. One that opens the new file too does the same for all.
            if exc.kind != "busy":
                raise

    def _bring_up_to_date(self) -> None:
        with self.writing():
            # Another process may have done it while this one waited for the lock.
            found = self._version()
            if found == 0:
                self._make_tables()
            elif found < VERSION:
                kept = self._keep_as_it_was(found)
                for version in range(found, VERSION):
                    self._run_all(MIGRATIONS[version])
                _log.warning(
                    "The workspace %s is brought from schema %d to %d. As it was, it is kept: %s",
                    self.folder, found, VERSION, kept,
                )  # fmt: skip
            self.db.execute(f"PRAGMA user_version = {VERSION}")

    def _make_tables(self) -> None:
        if self.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise MinceError(
                f"{self._database} is another program's database.", "Name another folder with --workspace DIR."
            )
        self._run_all(TABLES)

    def _keep_as_it_was(self, version: int) -> Path:
        try:
            return keep_before_migration(self._database, version)
        except (OSError, sqlite3.Error) as exc:
            raise MinceError(
                f"The workspace {self.folder} has the older schema {version}, and no copy of it as it is could be made "
                f"before it is brought up to date: {exc}. Nothing was changed.",
                f"Free {self._database.stat().st_size / 1e6:,.0f} MB on its disk, or name another folder with "
                "--workspace DIR.",
            ) from exc

    def _run_all(self, statements: str) -> None:
        for statement in statements.split(";\n"):
            if statement.strip():
                self.db.execute(statement)

    def _version(self) -> int:
        return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is committed, or nothing.

        Raises WorkspaceError for a full disk, a workspace that can only be read, or that another program holds.
        """
        self.require_writable()
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            # After some errors (a full disk) SQLite has rolled back by itself; a failed COMMIT has not.
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several statements that see one state, whatever is committed meanwhile, as inside `writing` anyway."""
        if self.db.in_transaction:
            yield self.db
            return
        self.db.execute("BEGIN")
        try:
            yield self.db
        finally:
            self.db.execute("ROLLBACK")

    def require_writable(self) -> None:
        """Raise WorkspaceError where it can only be read: for work that is long before it writes."""
        if self.read_only:
            raise read_only(self.folder, "it can only be read here")

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
        # Damage may show only when a later row of an answer is fetched.
        if isinstance(exc, sqlite3.Error) and (error := explained(exc, self.folder)) is not None:
            raise error from exc

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
