"""Model folders that were seen, with their hashes: gigabytes are not read twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.store.workspace import Workspace, now


def _signature(folder: Path) -> str:
    """Changes whenever a file of the folder does: names, sizes and times of change."""
    facts = [
        (file.relative_to(folder).as_posix(), file.stat().st_size, file.stat().st_mtime_ns)
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]
    return sha256_text(canonical_json(facts))


def folder_sha256(ws: Workspace, folder: Path, name: str, compute: Callable[[Path], str]) -> str:
    """The folder's content hash: the one that was kept while no file has changed since, else computed and kept."""
    where = str(folder.absolute())
    signature = _signature(folder)
    row = ws.db.execute("SELECT sha256, facts FROM models WHERE path = ?", (where,)).fetchone()
    if row is not None and row["sha256"] and json.loads(row["facts"]).get("signature") == signature:
        return str(row["sha256"])
    digest = compute(folder)
    with ws.writing() as db:
        db.execute(
            "INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?, ?)",
            (where, name, digest, json.dumps({"signature": signature}), now()),
        )
    return digest
