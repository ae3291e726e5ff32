"""Runs and their items in the workspace."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import psutil

from mince_gui import benchmarks
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Cause
from mince_gui.run.types import Control, ItemResult
from mince_gui.store.workspace import Workspace, now
from mince_gui.subset.subset_file import subset_from_json, subset_to_json
from mince_gui.subset.types import FrozenSubset

RunState = Literal["started", "running", "paused", "ended", "interrupted"]


@dataclass(frozen=True)
class NewRun:
    """What is known of a run before it starts; see the table `runs`."""

    benchmark: str
    task: str
    subset: str
    total_items: int
    subset_items: int
    items: int
    model: str
    model_dir: Path
    pack_path: Path
    pack_sha256: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class StoredRun:
    """A run as it stands. `state` is interrupted where its process is gone without having said so.

    `done` and `missing` count committed items; `elapsed_seconds` is their wall clock.
    """

    run_id: str
    created_at: str
    plan: NewRun
    conditions: Mapping[str, Any] | None
    state: RunState
    cause: Cause | None
    detail: str
    pid: int | None
    ended_at: str | None
    done: int
    missing: int
    elapsed_seconds: float
    rescored_of: str
    """The run whose stored answers were scored again for this one; "" = its answers are its own."""
    origin: Mapping[str, Any]
    """Where a run that was made elsewhere came from; empty = made here."""

    @property
    def is_going_on(self) -> bool:
        """Whether a runner is at work, or about to be."""
        return self.state in ("running", "paused") or (self.state == "started" and self.pid is not None)


class StoredItem(NamedTuple):
    """A committed item with its scores; see the table `run_items`. Times in seconds.

    What an older program did not store is None (`greedy`: empty). A comparison makes tens of thousands of these.
    """

    position: int
    item_key: str
    category: str | None
    state: Literal["done", "missing"]
    text: str | None
    picked: int | None
    extracted: Mapping[str, str]
    expected: str | None
    prompt_tokens: int | None
    output_tokens: int | None
    prefill_seconds: float | None
    first_token_seconds: float | None
    decode_seconds: float | None
    wall_seconds: float | None
    elapsed_seconds: float | None
    capped: bool
    attempts: int
    cause: str | None
    finished_at: str
    logprobs: tuple[float, ...]
    greedy: tuple[bool, ...]
    prompt_sha256: str | None
    method: str | None
    finish: str | None
    leading_bos: int | None
    read_tokens: int | None
    repeats: int | None
    memory_bytes: int | None
    scores: Mapping[str, tuple[float, float]]


class DoneItem(NamedTuple):
    """What a resume must know of an item that is done: see the table `run_items`."""

    position: int
    item_key: str
    prompt_sha256: str | None
    capped: bool


def new_id() -> str:
    """The id of a run that begins now."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def create(ws: Workspace, plan: NewRun, subset: FrozenSubset) -> str:
    """A new run in state started; returns its id. `subset` is kept with the run, whatever becomes of its pack."""
    run_id = new_id()
    with ws.writing() as db:
        # The pack was verified: it counts for more than what a bundle said of a pack with its hash.
        db.execute(
            "INSERT OR REPLACE INTO pack_subsets VALUES (?, ?)",
            (plan.pack_sha256, json.dumps(subset_to_json(subset))),
        )
        db.execute(
            "INSERT INTO runs (run_id, created_at, benchmark, task, subset, total_items, subset_items, items, model,"
            " model_dir, pack_path, pack_sha256, settings, state)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'started')",
            (
                run_id,
                now(),
                plan.benchmark,
                plan.task,
                plan.subset,
                plan.total_items,
                plan.subset_items,
                plan.items,
                plan.model,
                str(plan.model_dir),
                ws.keep_path(plan.pack_path),
                plan.pack_sha256,
                json.dumps(dict(plan.settings)),
            ),
        )
    return run_id


def _alive(pid: int | None, started: float | None) -> bool:
    if pid is None or started is None:
        return False
    try:
        process = psutil.Process(pid)
        # A process id is used again in time; together with its start it is one process.
        return abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def take(ws: Workspace, run_id: str) -> None:
    """Make this process the run's runner. Raises UsageError while another one lives."""
    with ws.writing() as db:
        row = _to_be_run(db, run_id)
        # In state started the process is the one that `set_runner` named, or (Windows) the launcher above it.
        going_on = row["state"] in ("running", "paused") and row["pid"] != os.getpid()
        if going_on and _alive(row["pid"], row["pid_started"]):
            raise UsageError(f"Run {run_id} is going on in process {row['pid']}.", "Stop it first, or follow it.")
        db.execute(
            "UPDATE runs SET state = 'running', cause = NULL, detail = NULL, ended_at = NULL, pid = ?, pid_started = ?"
            " WHERE run_id = ?",
            (os.getpid(), psutil.Process().create_time(), run_id),
        )
        if row["state"] != "started":
            _forget_wishes(db, run_id)


def _to_be_run(db: sqlite3.Connection, run_id: str) -> sqlite3.Row:
    """Process and state of a run that may be run here. Raises UsageError for an unknown one, and one from elsewhere."""
    row: sqlite3.Row | None = db.execute(
        "SELECT pid, pid_started, state, origin FROM runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    if row is None:
        raise UsageError(f"There is no run {run_id}.", "`mince runs` lists them.")
    if row["origin"]:
        machine = json.loads(row["origin"])["machine"]
        raise UsageError(
            f"Run {run_id} was made on {machine} and came here in a bundle: it can be resumed only there.",
            "Resume it there and import its new bundle, or start a new run here.",
        )
    return row


def _forget_wishes(db: sqlite3.Connection, run_id: str) -> None:
    """Wishes for an earlier runner are not meant for the next one."""
    db.execute("UPDATE controls SET taken_at = ? WHERE run_id = ? AND taken_at IS NULL", (now(), run_id))


def await_runner(ws: Workspace, run_id: str) -> None:
    """Say that a runner is about to be started; wishes from now on are for it. Raises UsageError while one lives."""
    with ws.writing() as db:
        row = _to_be_run(db, run_id)
        if row["state"] != "ended" and _alive(row["pid"], row["pid_started"]):
            raise UsageError(f"Run {run_id} is going on in process {row['pid']}.", "Follow it.")
        db.execute(
            "UPDATE runs SET state = 'started', cause = NULL, detail = NULL, ended_at = NULL, pid = NULL,"
            " pid_started = NULL WHERE run_id = ?",
            (run_id,),
        )
        _forget_wishes(db, run_id)


def set_runner(ws: Workspace, run_id: str, pid: int) -> None:
    """Name the process that was started after `await_runner`, unless it has called `take` by itself already."""
    try:
        started = psutil.Process(pid).create_time()
    except psutil.Error:
        # It is gone already: any time but its own makes the run count as interrupted.
        started = 0.0
    with ws.writing() as db:
        db.execute(
            "UPDATE runs SET pid = ?, pid_started = ? WHERE run_id = ? AND state = 'started' AND pid IS NULL",
            (pid, started, run_id),
        )


def set_conditions(ws: Workspace, run_id: str, conditions: Mapping[str, Any]) -> None:
    """Store what was run on what."""
    with ws.writing() as db:
        db.execute("UPDATE runs SET conditions = ? WHERE run_id = ?", (json.dumps(dict(conditions)), run_id))


def conditions_of_others(ws: Workspace, run_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(run id, conditions) of every other run whose model was loaded, newest first."""
    rows = ws.db.execute(
        "SELECT run_id, conditions FROM runs WHERE conditions IS NOT NULL AND run_id != ?"
        " ORDER BY created_at DESC, rowid DESC",
        (run_id,),
    )
    return ((row["run_id"], json.loads(row["conditions"])) for row in rows)


def set_state(ws: Workspace, run_id: str, state: Literal["running", "paused"]) -> None:
    """Running or paused."""
    with ws.writing() as db:
        db.execute("UPDATE runs SET state = ? WHERE run_id = ?", (state, run_id))


def end(ws: Workspace, run_id: str, cause: Cause, detail: str) -> None:
    """Close the run with its cause."""
    with ws.writing() as db:
        db.execute(
            "UPDATE runs SET state = 'ended', cause = ?, detail = ?, ended_at = ? WHERE run_id = ?",
            (cause, detail, now(), run_id),
        )


_ADD_ITEM = """
INSERT INTO run_items (
    run_id, position, item_key, category, state, text, picked, logprobs, extracted, expected, prompt_sha256,
    prompt_tokens, output_tokens, prefill_seconds, first_token_seconds, decode_seconds, wall_seconds, elapsed_seconds,
    capped, attempts, cause, finished_at, method, finish, greedy, leading_bos, read_tokens, repeats, memory_bytes
) VALUES (
    :run_id, :position, :item_key, :category, :state, :text, :picked, :logprobs, :extracted, :expected, :prompt_sha256,
    :prompt_tokens, :output_tokens, :prefill_seconds, :first_token_seconds, :decode_seconds, :wall_seconds,
    :elapsed_seconds, :capped, :attempts, :cause, :finished_at, :method, :finish, :greedy, :leading_bos, :read_tokens,
    :repeats, :memory_bytes
)
"""


def add_item(ws: Workspace, run_id: str, result: ItemResult, elapsed_seconds: float) -> None:
    """Commit one item. A missing one may be tried again later; a done one is never replaced."""
    timing = result.timing
    scored = result.scored
    with ws.writing() as db:
        db.execute(
            "DELETE FROM run_items WHERE run_id = ? AND position = ? AND state = 'missing'", (run_id, result.position)
        )
        values = {
            "run_id": run_id,
            "position": result.position,
            "item_key": result.key,
            "category": result.category,
            "state": result.state,
            # SQLite text is UTF-8: a lone surrogate from a broken output is kept as an escape.
            "text": None if result.text is None else result.text.encode("utf-8", "backslashreplace").decode(),
            "picked": result.picked,
            "logprobs": json.dumps(list(result.logprobs)) if result.logprobs else None,
            "extracted": json.dumps(dict(scored.extracted)) if scored else None,
            "expected": scored.expected if scored else None,
            "prompt_sha256": result.prompt_sha256 or None,
            "prompt_tokens": timing.prompt_tokens if timing else None,
            "output_tokens": timing.output_tokens if timing else None,
            "prefill_seconds": timing.prefill_seconds if timing else None,
            "first_token_seconds": timing.first_token_seconds if timing else None,
            "decode_seconds": timing.decode_seconds if timing else None,
            "wall_seconds": timing.wall_seconds if timing else None,
            "elapsed_seconds": elapsed_seconds,
            "capped": int(result.capped),
            "attempts": result.attempts,
            "cause": result.cause or None,
            "finished_at": now(),
            "method": result.method or None,
            "finish": result.finish or None,
            "greedy": json.dumps(list(result.greedy)) if result.greedy else None,
            "leading_bos": result.leading_bos,
            "read_tokens": timing.read_tokens if timing else None,
            "repeats": result.repeats,
            "memory_bytes": result.memory_bytes,
        }
        db.execute(_ADD_ITEM, values)
        if scored is not None:
            db.executemany(
                "INSERT INTO run_scores VALUES (?, ?, ?, ?, ?)",
                ((run_id, result.position, metric, p, t) for metric, (p, t) in scored.scores.items()),
            )


def ask(ws: Workspace, run_id: str, control: Control) -> None:
    """Write a wish for the runner; it is taken at the next item boundary."""
    with ws.writing() as db:
        db.execute("INSERT INTO controls (run_id, control, asked_at) VALUES (?, ?, ?)", (run_id, control, now()))


def asked(ws: Workspace, run_id: str) -> tuple[int, Control] | None:
    """The newest wish that was not taken yet, with its number."""
    row = ws.db.execute(
        "SELECT control_id, control FROM controls WHERE run_id = ? AND taken_at IS NULL"
        " ORDER BY control_id DESC LIMIT 1",
        (run_id,),
    ).fetchone()
    return (row["control_id"], row["control"]) if row else None


def took(ws: Workspace, run_id: str, control_id: int) -> None:
    """Stamp the wish of that number, and every older one, as taken; a newer one stays open."""
    with ws.writing() as db:
        db.execute(
            "UPDATE controls SET taken_at = ? WHERE run_id = ? AND taken_at IS NULL AND control_id <= ?",
            (now(), run_id, control_id),
        )


def _run(ws: Workspace, row: Any) -> StoredRun:
    state: RunState = row["state"]
    if state != "ended" and not _alive(row["pid"], row["pid_started"]) and row["pid"] is not None:
        state = "interrupted"
    return StoredRun(
        run_id=row["run_id"],
        created_at=row["created_at"],
        plan=NewRun(
            benchmark=row["benchmark"],
            task=row["task"],
            subset=row["subset"],
            total_items=row["total_items"],
            subset_items=row["subset_items"],
            items=row["items"],
            model=row["model"],
            model_dir=Path(row["model_dir"]),
            pack_path=ws.find_path(row["pack_path"]),
            pack_sha256=row["pack_sha256"],
            settings=json.loads(row["settings"]),
        ),
        conditions=json.loads(row["conditions"]) if row["conditions"] else None,
        state=state,
        cause=row["cause"],
        detail=row["detail"] or "",
        pid=row["pid"],
        ended_at=row["ended_at"],
        done=row["done"] or 0,
        missing=row["missing"] or 0,
        elapsed_seconds=row["elapsed"] or 0.0,
        rescored_of=row["rescored_of"] or "",
        origin=json.loads(row["origin"]) if row["origin"] else {},
    )


_SELECT = (
    "SELECT runs.*, count(*) FILTER (WHERE i.state = 'done') AS done,"
    " count(*) FILTER (WHERE i.state = 'missing') AS missing, sum(i.elapsed_seconds) AS elapsed"
    " FROM runs LEFT JOIN run_items AS i USING (run_id)"
)


def runs(ws: Workspace) -> list[StoredRun]:
    """All runs, newest first."""
    rows = ws.db.execute(f"{_SELECT} GROUP BY run_id ORDER BY created_at DESC, runs.rowid DESC")
    return [_run(ws, row) for row in rows]


def get(ws: Workspace, run_id: str) -> StoredRun:
    """One run; a beginning that fits only one id is enough. Raises UsageError for an unknown one."""
    rows = ws.db.execute(f"{_SELECT} WHERE substr(run_id, 1, ?) = ? GROUP BY run_id", (len(run_id), run_id)).fetchall()
    exact = [row for row in rows if row["run_id"] == run_id] or rows
    if len(exact) != 1:
        what = "fits several runs" if exact else "is not a run of this workspace"
        raise UsageError(f"'{run_id}' {what}.", "`mince runs` lists them.")
    return _run(ws, exact[0])


def items(ws: Workspace, run_id: str, *, after: int = -1) -> list[StoredItem]:
    """Committed items by position, from the one after `after`."""
    # One join would read every answer once per metric.
    which = "WHERE run_id = ? AND position > ? ORDER BY position"
    scores: dict[int, dict[str, tuple[float, float]]] = {}
    with ws.snapshot() as db:
        rows = db.execute(f"SELECT {', '.join(_ITEM_COLUMNS)} FROM run_items {which}", (run_id, after)).fetchall()  # noqa: S608 - ours
        cells = db.execute(
            f"SELECT position, metric, passed, trials FROM run_scores {which}",  # noqa: S608 - ours
            (run_id, after),
        ).fetchall()
    for position, metric, passed, trials in cells:
        scores.setdefault(position, {})[metric] = (passed, trials)
    return [_item(row, scores.get(row["position"], {})) for row in rows]


_ITEM_COLUMNS = tuple(name for name in StoredItem._fields if name != "scores")


_EXTRACTED, _CAPPED = _ITEM_COLUMNS.index("extracted"), _ITEM_COLUMNS.index("capped")
_LISTS = tuple(_ITEM_COLUMNS.index(name) for name in ("logprobs", "greedy"))


def _item(row: sqlite3.Row, scores: Mapping[str, tuple[float, float]]) -> StoredItem:
    values = [*row, scores]
    values[_EXTRACTED] = json.loads(values[_EXTRACTED]) if values[_EXTRACTED] else {}
    values[_CAPPED] = bool(values[_CAPPED])
    for place in _LISTS:
        values[place] = tuple(json.loads(values[place])) if values[place] else ()
    return StoredItem._make(values)


def done_items(ws: Workspace, run_id: str) -> dict[int, DoneItem]:
    """The done items by position; of a large run many times faster than `items`."""
    rows = ws.db.execute(
        "SELECT position, item_key, prompt_sha256, capped FROM run_items WHERE run_id = ? AND state = 'done'", (run_id,)
    )
    return {position: DoneItem(position, key, sha256, bool(capped)) for position, key, sha256, capped in rows}


def done_keys(ws: Workspace, run_id: str) -> frozenset[str]:
    """The keys of the done items."""
    rows = ws.db.execute("SELECT item_key FROM run_items WHERE run_id = ? AND state = 'done'", (run_id,))
    return frozenset(row["item_key"] for row in rows)


def subset_of(ws: Workspace, run: StoredRun) -> FrozenSubset:
    """The subset that the run was made for, as its pack had it then."""
    row = ws.db.execute("SELECT body FROM pack_subsets WHERE pack_sha256 = ?", (run.plan.pack_sha256,)).fetchone()
    return subset_from_json(json.loads(row["body"]), f"the subset of run {run.run_id}")


def totals(ws: Workspace, run_id: str) -> dict[str, tuple[float, float]]:
    """Metric -> (passed, trials) summed over the done items, in the benchmark's order of metrics."""
    rows = ws.db.execute(
        "SELECT benchmark, metric, sum(passed) AS p, sum(trials) AS t FROM run_scores JOIN runs USING (run_id)"
        " WHERE run_id = ? GROUP BY metric",
        (run_id,),
    ).fetchall()
    declared = benchmarks.BENCHMARKS.get(rows[0]["benchmark"]) if rows else None
    order = {metric.name: i for i, metric in enumerate(declared.metrics)} if declared else {}
    rows.sort(key=lambda row: (order.get(row["metric"], len(order)), row["metric"]))
    return {row["metric"]: (row["p"], row["t"]) for row in rows}


def delete(ws: Workspace, run_id: str) -> None:
    """Remove a run with its items and event file. Raises UsageError while it is going on."""
    run = get(ws, run_id)
    if run.is_going_on:
        raise UsageError(f"Run {run.run_id} is going on.", "Stop it first.")
    with ws.writing() as db:
        db.execute("DELETE FROM runs WHERE run_id = ?", (run.run_id,))
    for file in (ws.events_file(run.run_id), ws.runner_log(run.run_id)):
        # A window on Windows may still read it; a leftover file harms nobody.
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
