"""A run whose stored answers were scored again: a record of its own, beside the run that it was made from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mince_gui.base.events import Cause
from mince_gui.store import runs as stored_runs
from mince_gui.store.workspace import Workspace
from mince_gui.tasks.types import Scored


@dataclass(frozen=True)
class Judged:
    """A new verdict on the item at `position`; without `scored` it is missing, with `cause`."""

    position: int
    scored: Scored | None
    cause: str = ""


def add(
    ws: Workspace, source_id: str, rescored: Mapping[str, Any], judged: Sequence[Judged], cause: Cause, detail: str
) -> str:
    """Copy a run with its answers, times and conditions, and the new verdicts in place of its own; returns the new id.

    `rescored` says what scored, and when; its "of" is the run that the answers are of. Items that `judged` does not
    name are copied as they are.
    """
    run_id = stored_runs.new_id()
    verdicts = {verdict.position: verdict for verdict in judged}
    with ws.writing() as db:
        row = db.execute("SELECT * FROM runs WHERE run_id = ?", (source_id,)).fetchone()
        run = dict(row) | {
            "run_id": run_id, "rescored_of": rescored["of"], "state": "ended", "cause": cause, "detail": detail,
            "pid": None, "pid_started": None,
            "conditions": json.dumps({**json.loads(row["conditions"] or "{}"), "rescored": dict(rescored)}),
        }  # fmt: skip
        items, scores = list[dict[str, Any]](), list[tuple[str, int, str, float, float]]()
        for found in db.execute("SELECT * FROM run_items WHERE run_id = ? ORDER BY position", (source_id,)):
            item = dict(found) | {"run_id": run_id}
            verdict = verdicts.get(item["position"])
            if verdict is not None:
                item |= _judged(verdict)
            items.append(item)
            if verdict is not None and verdict.scored is not None:
                per_metric = verdict.scored.scores.items()
                scores += [(run_id, verdict.position, metric, p, t) for metric, (p, t) in per_metric]
        # A run that was interrupted has no end of its own: its last item is the latest that is known of it.
        run["ended_at"] = row["ended_at"] or max(item["finished_at"] for item in items)
        _insert(db, "runs", [run])
        _insert(db, "run_items", items)
        db.executemany("INSERT INTO run_scores VALUES (?, ?, ?, ?, ?)", scores)
    return run_id


def _judged(verdict: Judged) -> dict[str, Any]:
    scored = verdict.scored
    return {
        "state": "missing" if scored is None else "done",
        "extracted": None if scored is None else json.dumps(dict(scored.extracted)),
        "expected": None if scored is None else scored.expected,
        "cause": verdict.cause or None,
    }


def _insert(db: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the columns of the table as it is, whichever they are."""
    names = list(rows[0])
    places = ", ".join(f":{name}" for name in names)
    db.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", rows)  # noqa: S608 - our own names
