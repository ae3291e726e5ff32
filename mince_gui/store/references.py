"""Stored full-benchmark scores that are not runs of this workspace."""

from __future__ import annotations

import json
from typing import Any

from mince_gui.base.errors import UsageError
from mince_gui.report.types import Ratio, Reference
from mince_gui.store.workspace import Workspace, now


def add(ws: Workspace, reference: Reference) -> None:
    """Store a reference; the same id is replaced."""
    with ws.writing() as db:
        db.execute(
            "INSERT OR REPLACE INTO stored_references VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                reference.reference_id,
                reference.kind,
                reference.benchmark,
                reference.model,
                reference.precision,
                reference.task,
                reference.model_sha256,
                json.dumps({name: [r.passed, r.trials, r.items] for name, r in reference.metrics.items()}),
                reference.source,
                reference.date,
                None if reference.rows is None else json.dumps(reference.rows),
                reference.note,
                now(),
            ),
        )


def listing(ws: Workspace, benchmark: str | None = None) -> list[Reference]:
    """All stored references, newest first."""
    rows = ws.db.execute(
        "SELECT * FROM stored_references WHERE :benchmark IS NULL OR benchmark = :benchmark ORDER BY rowid DESC",
        {"benchmark": benchmark},
    )
    return [_reference(row) for row in rows]


def get(ws: Workspace, reference_id: str) -> Reference:
    """One reference. Raises UsageError for an unknown id."""
    row = ws.db.execute("SELECT * FROM stored_references WHERE reference_id = ?", (reference_id,)).fetchone()
    if row is None:
        raise UsageError(f"There is no reference '{reference_id}'.", "`mince reference list` lists them.")
    return _reference(row)


def _reference(row: Any) -> Reference:
    rows = json.loads(row["rows"]) if row["rows"] else None
    return Reference(
        reference_id=row["reference_id"],
        kind=row["kind"],
        benchmark=row["benchmark"],
        model=row["model"],
        metrics={name: Ratio(*values) for name, values in json.loads(row["metrics"]).items()},
        source=row["source"],
        date=row["date"],
        precision=row["precision"],
        task=row["task"],
        model_sha256=row["model_sha256"],
        rows=rows and {key: {m: (p, t) for m, (p, t) in scores.items()} for key, scores in rows.items()},
        note=row["note"],
    )
