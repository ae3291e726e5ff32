"""Runtimes that were probed: the bundled one, and external ones under the names that their user gave them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mince_gui.run.runtime_facts import RuntimeFacts
from mince_gui.store.workspace import Workspace, now


@dataclass(frozen=True)
class StoredRuntime:
    """`signature` is whatever the facts hang on, told by who stored them; `facts` None where they are outdated."""

    name: str
    kind: Literal["bundled", "external"]
    python: Path
    facts: RuntimeFacts | None
    signature: str
    probed_at: str


def put(ws: Workspace, facts: RuntimeFacts, python: Path, signature: str = "") -> None:
    """Store what a probe found; the same name is replaced."""
    body = json.dumps({"signature": signature, "facts": facts.to_json()})
    with ws.writing() as db:
        db.execute(
            "INSERT OR REPLACE INTO runtimes VALUES (?, ?, ?, ?, ?)", (facts.name, facts.kind, str(python), body, now())
        )


def listing(ws: Workspace) -> list[StoredRuntime]:
    """All of them, in the order of their names, the bundled one (if it was probed) first."""
    rows = ws.db.execute("SELECT * FROM runtimes ORDER BY kind != 'bundled', name").fetchall()
    return [_stored(row["name"], row["kind"], row["python"], row["facts"], row["probed_at"]) for row in rows]


def get(ws: Workspace, name: str) -> StoredRuntime | None:
    """One by its name; None if there is none."""
    return next((stored for stored in listing(ws) if stored.name == name), None)


def remove(ws: Workspace, name: str) -> None:
    """Forget one."""
    with ws.writing() as db:
        db.execute("DELETE FROM runtimes WHERE name = ?", (name,))


def _stored(name: str, kind: Literal["bundled", "external"], python: str, text: str, probed_at: str) -> StoredRuntime:
    body = json.loads(text)
    facts = RuntimeFacts.from_json(body["facts"])
    return StoredRuntime(name, kind, Path(python), facts, str(body["signature"]), probed_at)
