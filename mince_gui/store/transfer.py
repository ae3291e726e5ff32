"""A run as it is handed on: taken out of one workspace whole, put into another one whole.

What says where things lie on the machine that made it (model folder, pack, template, Python) is handed on by its last
name alone. A run is the same run wherever it is: `digest` is over its plan, conditions and items, not over that.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from mince_gui.base.errors import UsageError
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredRun
from mince_gui.store.workspace import Workspace

PLAN = ("benchmark", "task", "subset", "total_items", "subset_items", "items", "model", "pack_sha256", "rescored_of")
"""Columns of `runs` that say what was to be done, besides `settings`."""

ITEM_COLUMNS = (
    "position", "item_key", "category", "state", "text", "picked", "logprobs", "extracted", "expected", "prompt_sha256",
    "prompt_tokens", "output_tokens", "prefill_seconds", "first_token_seconds", "decode_seconds", "wall_seconds",
    "elapsed_seconds", "capped", "attempts", "cause", "finished_at", "method", "finish", "greedy", "leading_bos",
    "read_tokens", "repeats", "memory_bytes",
)  # fmt: skip
"""All of `run_items` but the run's id, in the order in which a row hands them on; "scores" follows."""

_JSON_COLUMNS = ("logprobs", "extracted", "greedy")
PLACES = ("runtime", "chat_template")
"""Settings that may be paths."""

_NOBODY = (0, 0.0)
"""Id and start of a process that is no more: the run counts as interrupted."""


@dataclass(frozen=True)
class RunRecord:
    """A run with its items and its subset. `machine` is where it was made; `model_dir` and `pack` are names alone.

    `items` are rows by position, {column: value} without what is missing, "scores" as {metric: [passed, trials]}.
    `subset` is the JSON object of its frozen subset.
    """

    run_id: str
    created_at: str
    plan: Mapping[str, Any]
    settings: Mapping[str, Any]
    conditions: Mapping[str, Any] | None
    state: Literal["ended", "interrupted"]
    cause: str | None
    detail: str
    ended_at: str | None
    machine: str
    model_dir: str
    pack: str
    items: Sequence[Mapping[str, Any]]
    subset: Mapping[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """What makes it this run, besides its items."""
        return {
            "created_at": self.created_at, **self.plan, "settings": self.settings, "conditions": self.conditions,
        }  # fmt: skip

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over canonical JSON of its facts, then of every item: the same wherever the run is."""
        sha256 = hashlib.sha256(_canonical(self.facts))
        for item in self.items:
            sha256.update(b"\n" + _canonical(item))
        return sha256.hexdigest()

    @property
    def done(self) -> dict[int, Mapping[str, Any]]:
        """The done items by position."""
        return {item["position"]: item for item in self.items if item["state"] == "done"}


def _canonical(value: Any) -> bytes:
    # In ASCII, unlike base.canonical's: what filters read in a broken answer may hold lone surrogates.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


@contextmanager
def _snapshot(ws: Workspace) -> Iterator[None]:
    """All that is read inside is of one moment, whatever other processes write meanwhile."""
    ws.db.execute("BEGIN")
    try:
        yield
    finally:
        ws.db.execute("ROLLBACK")


def last_name(path: str) -> str:
    """The last part of a path of any system."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def take_out(ws: Workspace, run_id: str) -> RunRecord:
    """The run of that id or beginning. Raises UsageError for an unknown one, and one that goes on or never began."""
    with _snapshot(ws):
        return record_of(ws, stored_runs.get(ws, run_id))


def record_of(ws: Workspace, run: StoredRun) -> RunRecord:
    """As `take_out`, inside a transaction of the caller's."""
    if run.state not in ("ended", "interrupted"):
        begun = "is going on" if run.pid is not None else "has not begun"
        raise UsageError(f"Run {run.run_id} {begun}.", "Wait until it has ended, or stop it first.")
    row = ws.db.execute("SELECT * FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()
    body = ws.db.execute("SELECT body FROM pack_subsets WHERE pack_sha256 = ?", (row["pack_sha256"],)).fetchone()
    model_dir = last_name(row["model_dir"])
    return RunRecord(
        run_id=run.run_id,
        created_at=run.created_at,
        plan={name: row[name] for name in PLAN},
        settings={
            name: last_name(value) if name in PLACES and isinstance(value, str) else value
            for name, value in run.plan.settings.items()
        },
        conditions=run.conditions,
        state="ended" if run.state == "ended" else "interrupted",
        cause=run.cause if run.state == "ended" else None,
        # An error may name the folder.
        detail=run.detail.replace(row["model_dir"], model_dir) if row["model_dir"] else run.detail,
        ended_at=run.ended_at,
        machine=str(run.origin.get("machine") or (run.conditions or {}).get("machine") or platform.node()),
        model_dir=model_dir,
        pack=str(run.origin.get("pack") or last_name(row["pack_path"])),
        items=_items(ws.db, run.run_id),
        subset=json.loads(body["body"]),
    )


def _items(db: sqlite3.Connection, run_id: str) -> list[dict[str, Any]]:
    scores: dict[int, dict[str, list[float]]] = {}
    for position, metric, passed, trials in db.execute(
        "SELECT position, metric, passed, trials FROM run_scores WHERE run_id = ? ORDER BY position, metric", (run_id,)
    ):
        scores.setdefault(position, {})[metric] = [passed, trials]
    found = []
    for row in db.execute("SELECT * FROM run_items WHERE run_id = ? ORDER BY position", (run_id,)):
        item = {name: row[name] for name in ITEM_COLUMNS if row[name] is not None}
        item.update((name, json.loads(item[name])) for name in _JSON_COLUMNS if name in item)
        item["capped"] = bool(item["capped"])
        if (own := scores.get(item["position"])) is not None:
            item["scores"] = own
        found.append(item)
    return found


def known(ws: Workspace, run_id: str) -> StoredRun | None:
    """The run of that whole id; None where the workspace has none."""
    found = ws.db.execute("SELECT count(*) FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0]
    return stored_runs.get(ws, run_id) if found else None


def same_elsewhere(ws: Workspace, record: RunRecord) -> str | None:
    """The id of a run of the workspace that has the record's digest under another id; None where there is none.

    Runs without an item are told apart by their id alone.
    """
    if not record.items:
        return None
    rows = ws.db.execute(
        "SELECT run_id FROM runs WHERE run_id != ? AND created_at = ? AND pack_sha256 = ? AND state != 'started'"
        " AND (SELECT count(*) FROM run_items AS i WHERE i.run_id = runs.run_id) = ? ORDER BY run_id",
        (record.run_id, record.created_at, record.plan["pack_sha256"], len(record.items)),
    )
    for row in rows.fetchall():
        run = stored_runs.get(ws, row["run_id"])
        if run.state in ("ended", "interrupted") and record_of(ws, run).digest == record.digest:
            return run.run_id
    return None


_PUT_RUN = """
INSERT INTO runs (
    run_id, created_at, benchmark, task, subset, total_items, subset_items, items, model, model_dir, pack_path,
    pack_sha256, settings, conditions, state, cause, detail, pid, pid_started, ended_at, rescored_of, origin
) VALUES (
    :run_id, :created_at, :benchmark, :task, :subset, :total_items, :subset_items, :items, :model, :model_dir,
    :pack_path, :pack_sha256, :settings, :conditions, :state, :cause, :detail, :pid, :pid_started, :ended_at,
    :rescored_of, :origin
) ON CONFLICT (run_id) DO UPDATE SET
    conditions = excluded.conditions, state = excluded.state, cause = excluded.cause, detail = excluded.detail,
    pid = excluded.pid, pid_started = excluded.pid_started, ended_at = excluded.ended_at, origin = excluded.origin
"""
_NAMES, _VALUES = ", ".join(ITEM_COLUMNS), ", ".join(f":{name}" for name in ITEM_COLUMNS)
_PUT_ITEM = f"INSERT INTO run_items (run_id, {_NAMES}) VALUES (:run_id, {_VALUES})"  # noqa: S608 - our own names


def subset_here(db: sqlite3.Connection, pack_sha256: str) -> dict[str, Any] | None:
    """The subset that is kept for a pack of that SHA-256, as JSON; None where no run of such a pack is known."""
    row = db.execute("SELECT body FROM pack_subsets WHERE pack_sha256 = ?", (pack_sha256,)).fetchone()
    body: dict[str, Any] | None = json.loads(row["body"]) if row is not None else None
    return body


def put_in(db: sqlite3.Connection, record: RunRecord, origin: Mapping[str, Any]) -> None:
    """Write the run as the record has it, in a transaction of the caller's; what was there of its items is replaced.

    `origin` is kept with it. Where a pack of the same SHA-256 is known, the run is put beside it.
    """
    pack_sha256 = record.plan["pack_sha256"]
    db.execute("INSERT OR IGNORE INTO pack_subsets VALUES (?, ?)", (pack_sha256, json.dumps(record.subset)))
    pack = db.execute("SELECT path FROM packs WHERE sha256 = ? ORDER BY created_at", (pack_sha256,)).fetchone()
    ended = record.state == "ended"
    db.execute(
        _PUT_RUN,
        {
            **record.plan,
            "run_id": record.run_id,
            "created_at": record.created_at,
            "model_dir": record.model_dir,
            "pack_path": pack["path"] if pack is not None else record.pack,
            "settings": json.dumps(record.settings),
            "conditions": None if record.conditions is None else json.dumps(record.conditions),
            "state": "ended" if ended else "running",
            "cause": record.cause,
            "detail": record.detail or None,
            "pid": None if ended else _NOBODY[0],
            "pid_started": None if ended else _NOBODY[1],
            "ended_at": record.ended_at,
            "origin": json.dumps({**origin, "machine": record.machine, "pack": record.pack}),
        },
    )
    db.execute("DELETE FROM run_items WHERE run_id = ?", (record.run_id,))
    db.executemany(_PUT_ITEM, (_columns(record.run_id, item) for item in record.items))
    db.executemany(
        "INSERT INTO run_scores VALUES (?, ?, ?, ?, ?)",
        (
            (record.run_id, item["position"], metric, passed, trials)
            for item in record.items
            for metric, (passed, trials) in item.get("scores", {}).items()
        ),
    )


def _columns(run_id: str, item: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: item.get(name) for name in ITEM_COLUMNS}
    row.update((name, json.dumps(item[name])) for name in _JSON_COLUMNS if name in item)
    return {**row, "run_id": run_id, "capped": int(item["capped"])}
