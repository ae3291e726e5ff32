"""What SQLite's errors mean for the user of a workspace."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from mince_gui.base.errors import MinceError
from mince_gui.store.copies import keep_damaged

Kind = Literal["busy", "full", "read_only", "disk", "damaged"]

_KINDS: dict[int, Kind] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_PROTOCOL: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_CANTOPEN: "read_only",
    sqlite3.SQLITE_IOERR: "disk",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_SAFE = "What was committed before is safe"


class WorkspaceError(MinceError):
    """The workspace's database refused; `kind` says in which way."""

    def __init__(self, kind: Kind, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.kind = kind


def explained(exc: sqlite3.Error, folder: Path) -> WorkspaceError | None:
    """The error in words; None for one that is a defect of ours (a wrong statement, a broken constraint).

    A damaged database is copied first, so that it is there whatever is done next.
    """
    # Errors that sqlite3 itself raises (a closed connection) have no code of SQLite's.
    code: int = getattr(exc, "sqlite_errorcode", 0)
    kind = _KINDS.get(code & 0xFF)
    if kind is None:
        return None
    database = folder / "mince.db"
    match kind:
        case "busy":
            return WorkspaceError(
                kind,
                f"Another program has held the workspace {folder} for too long: {exc}.",
                "Close what holds it (another mince, a backup or synchronising program, a database viewer), then try "
                f"again. {_SAFE}.",
            )
        case "full":
            return WorkspaceError(
                kind,
                f"The workspace {folder} cannot be written: {exc}.",
                f"Free some space on its disk, then go on. {_SAFE}.",
            )
        case "read_only":
            return read_only(folder, str(exc))
        case "disk":
            return WorkspaceError(
                kind,
                f"{database} cannot be read or written: {exc}.",
                f"Check that its disk is there, sound, and has space, then go on. {_SAFE}.",
            )
        case "damaged":
            return _damaged(database, exc)


def read_only(folder: Path, why: str) -> WorkspaceError:
    """For a write to a workspace that can only be read here."""
    return WorkspaceError(
        "read_only",
        f"The workspace {folder} cannot be written: {why}.",
        "Make the folder writable for you, or copy it to where you may write and name the copy with --workspace DIR.",
    )


def _damaged(database: Path, exc: sqlite3.Error) -> WorkspaceError:
    try:
        kept = f"It is left as it is, and a copy of it is {keep_damaged(database)}."
    except OSError as fault:
        kept = f"It is left as it is; no copy of it could be made ({fault.strerror}): copy it by hand first."
    return WorkspaceError(
        "damaged",
        f"{database} is damaged: {exc}. {kept}",
        "Go on in another folder (--workspace DIR), or restore a backup. SQLite's own tool reads what can still be "
        f"read: sqlite3 COPY .recover. Packs and frozen subsets beside it ({database.parent}) are files of their own.",
    )
