"""Stored full-benchmark scores that are not runs of this workspace."""

from __future__ import annotations

import json
from typing import Any

from mince_gui.base.errors import UsageError
from mince_gui.report.types import Ratio, Reference
from mince_gui.store.workspace import Workspace, now


def add(ws: Workspace, reference: Reference) -> None:
    """Store a reference; the same id is replaced."""
    values = {
        "reference_id": reference.reference_id,
        "kind": reference.kind,
        "benchmark": reference.benchmark,
        "model": reference.model,
        "precision": reference.precision,
        "task": reference.task,
        "model_sha256": reference.model_sha256,
        "metrics": json.dumps({name: [r.passed, r.trials, r.items] for name, r in reference.metrics.items()}),
        "source": reference.source,
        "date": reference.date,
        "rows": None if reference.rows is None else json.dumps(reference.rows),
        "note": reference.note,
        "created_at": now(),
        "task_version": reference.task_version,
        "lm_eval_version": reference.lm_eval_version,
        "few_shot": reference.few_shot,
        "chat_template": reference.chat_template,
        "runtime": reference.runtime,
        "device": reference.device,
        "machine": reference.machine,
        "wall_seconds": reference.wall_seconds,
        "timing": reference.timing,
        "categories": json.dumps(dict(reference.categories)) if reference.categories else None,
    }
    names = ", ".join(values)
    places = ", ".join(f":{name}" for name in values)
    with ws.writing() as db:
        db.execute(f"INSERT OR REPLACE INTO stored_references ({names}) VALUES ({places})", values)  # noqa: S608 - ours


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


def remove(ws: Workspace, reference_id: str) -> None:
    """Delete a reference. Raises UsageError for an unknown id."""
    get(ws, reference_id)
    with ws.writing() as db:
        db.execute("DELETE FROM stored_references WHERE reference_id = ?", (reference_id,))


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
        task_version=row["task_version"],
        lm_eval_version=row["lm_eval_version"],
        few_shot=row["few_shot"],
        chat_template=row["chat_template"],
        runtime=row["runtime"],
        device=row["device"],
        machine=row["machine"],
        wall_seconds=row["wall_seconds"],
        timing=row["timing"],
        categories=json.loads(row["categories"]) if row["categories"] else {},
    )
