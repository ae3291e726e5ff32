"""Per-item logs in the workspace."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat

import numpy as np

from mince_gui import benchmarks
from mince_gui.benchmarks import Benchmark
from mince_gui.logs.types import Check, FloatArray, PerItemLog, total_items
from mince_gui.store.workspace import Workspace, now

_ROWS_PER_STATEMENT = 100
"""With five columns well below the 999 parameters that any SQLite takes."""


@dataclass(frozen=True)
class StoredLog:
    """A row of the logs table, without outcomes. `scores` in percent per metric, None where all is missing.

    `total_items` is the whole benchmark's number, None where neither its facts nor the log say it. `format` is that of
    the files, as its reader calls it.
    """

    log_id: int
    benchmark: str
    model: str
    task: str
    timestamp: str
    source: str
    metrics: tuple[str, ...]
    items: int
    total_items: int | None
    scores: dict[str, float | None]
    checks: tuple[Check, ...]
    excluded: bool
    imported_at: str
    format: str = ""


@dataclass(frozen=True)
class Run:
    """What a row of the logs table says of how whole it is; `total_items` is None where nothing says it."""

    log_id: int
    items: int
    total_items: int | None
    checks: tuple[Check, ...]


def benchmark_of(name: str) -> Benchmark:
    """The declared benchmark, or the lm-eval task that is a benchmark of its own."""
    return benchmarks.BENCHMARKS.get(name) or benchmarks.of_task(name)


def known_benchmark(ws: Workspace, name: str) -> Benchmark:
    """The benchmark by its name, also one that only imported logs know. Raises UsageError otherwise."""
    stored = ws.db.execute("SELECT 1 FROM logs WHERE benchmark = ? LIMIT 1", (name,)).fetchone()
    return benchmark_of(name) if stored else benchmarks.get(name)


@dataclass(frozen=True)
class Added:
    """What became of a log that was handed in.

    `new` is False where this evaluation was there already; `updated` is True where what is known about it (checks,
    meta, content hashes, categories) was replaced by what this reading says. `checks` are those that are stored now.
    """

    log_id: int
    new: bool
    updated: bool
    checks: tuple[Check, ...]


def add(ws: Workspace, log: PerItemLog) -> Added:
    """Store a log. The same evaluation again is stored once, and brings what is known about it up to date.

    A reading that knows less than the stored one (its results file is not beside the rows any more) changes nothing:
    a run that is known to be partial must not be taken for whole afterwards.
    """
    key = (log.benchmark.name, log.model, log.task, log.timestamp, _digest(log))
    with ws.writing() as db:
        there = db.execute(
            "SELECT log_id, format, source, meta, checks FROM logs"
            " WHERE benchmark = ? AND model = ? AND task = ? AND timestamp = ? AND sha256 = ?",
            key,
        ).fetchone()
        if there is not None:
            return _update(db, there, log)
        cursor = db.execute(
            "INSERT INTO logs (benchmark, model, task, timestamp, sha256, metrics, format, source, meta, checks,"
            " imported_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, json.dumps(list(log.metrics)), *_details(log), now()),
        )
        log_id = int(cursor.lastrowid or 0)
        _insert_items(db, log_id, log)
        for metric in log.metrics:
            outcomes = (_nulls(log.passed[metric]), _nulls(log.trials[metric]))
            columns = (repeat(log_id), repeat(metric), range(len(log.keys)), *outcomes)
            _insert(db, "INSERT INTO outcomes VALUES", columns, len(log.keys))
    return Added(log_id, new=True, updated=False, checks=log.checks)


def _update(db: sqlite3.Connection, there: sqlite3.Row, log: PerItemLog) -> Added:
    log_id = int(there["log_id"])
    if json.loads(there["meta"]).keys() - log.meta.keys():
        return Added(log_id, new=False, updated=False, checks=_checks(there["checks"]))
    details = _details(log)
    items = db.execute(
        "SELECT category, content_sha256 FROM log_items WHERE log_id = ? ORDER BY idx", (log_id,)
    ).fetchall()
    stored = [(item["category"], item["content_sha256"]) for item in items]
    # where a copy of the same rows lies tells nothing new about them
    same_details = (there["meta"], there["checks"]) == details[2:]
    same_items = stored == list(zip(log.categories, log.hashes, strict=True))
    if not same_details:
        db.execute("UPDATE logs SET format = ?, source = ?, meta = ?, checks = ? WHERE log_id = ?", (*details, log_id))
    if not same_items:
        db.execute("DELETE FROM log_items WHERE log_id = ?", (log_id,))
        _insert_items(db, log_id, log)
    return Added(log_id, new=False, updated=not (same_details and same_items), checks=log.checks)


def _details(log: PerItemLog) -> tuple[str, str, str, str]:
    """Format, source, meta and checks as the logs table has them."""
    return (
        log.format,
        log.source,
        json.dumps(dict(log.meta), default=str),
        json.dumps([dataclasses.asdict(check) for check in log.checks]),
    )


def _insert_items(db: sqlite3.Connection, log_id: int, log: PerItemLog) -> None:
    columns = (repeat(log_id), range(len(log.keys)), log.keys, log.categories, log.hashes)
    _insert(db, "INSERT INTO log_items VALUES", columns, len(log.keys))


def _insert(db: sqlite3.Connection, insert: str, columns: Sequence[Iterable[object]], count: int) -> None:
    """Run `insert` for `count` rows, given as columns; many by one statement, which takes half as long."""
    rows = zip(*columns, strict=False)
    one = f"({', '.join('?' * len(columns))})"
    for size in (_ROWS_PER_STATEMENT, 1):
        times, count = divmod(count, size)
        db.executemany(
            f"{insert} {', '.join([one] * size)}",
            (tuple(chain.from_iterable(islice(rows, size))) for _ in range(times)),
        )


def _digest(log: PerItemLog) -> str:
    """SHA-256 over keys and outcomes: undated logs are told apart by what they say."""
    digest = hashlib.sha256("\n".join(log.keys).encode("utf-8", "surrogatepass"))
    for metric in log.metrics:
        digest.update(metric.encode())
        digest.update(log.passed[metric].astype("<f8").tobytes())
        digest.update(log.trials[metric].astype("<f8").tobytes())
    return digest.hexdigest()


def _nulls(values: FloatArray) -> list[float | None]:
    numbers: list[float | None] = values.tolist()
    for place in np.flatnonzero(np.isnan(values)):
        numbers[place] = None
    return numbers


def _checks(text: str) -> tuple[Check, ...]:
    return tuple(Check(**{**body, "examples": tuple(body["examples"])}) for body in json.loads(text))


def listing(ws: Workspace, benchmark: str | None = None) -> list[StoredLog]:
    """All stored logs, by benchmark and model, newest evaluation first."""
    rows = ws.db.execute(
        "SELECT * FROM logs WHERE :benchmark IS NULL OR benchmark = :benchmark COLLATE NOCASE"
        " ORDER BY benchmark, model, timestamp DESC",
        {"benchmark": benchmark},
    ).fetchall()
    counts = dict(ws.db.execute("SELECT log_id, count(*) FROM log_items GROUP BY log_id").fetchall())
    sums = {
        (log_id, metric): 100.0 * passed / trials if trials else None
        for log_id, metric, passed, trials in ws.db.execute(
            "SELECT log_id, metric, sum(passed), sum(trials) FROM outcomes GROUP BY log_id, metric"
        )
    }
    listed = []
    for row in rows:
        metrics = tuple(json.loads(row["metrics"]))
        items = int(counts.get(row["log_id"], 0))
        listed.append(
            StoredLog(
                log_id=row["log_id"],
                benchmark=row["benchmark"],
                model=row["model"],
                task=row["task"],
                timestamp=row["timestamp"],
                source=row["source"],
                metrics=metrics,
                items=items,
                total_items=total_items(benchmark_of(row["benchmark"]), json.loads(row["meta"])),
                scores={metric: sums.get((row["log_id"], metric)) for metric in metrics},
                checks=_checks(row["checks"]),
                excluded=bool(row["excluded"]),
                imported_at=row["imported_at"],
                format=row["format"],
            )
        )
    return listed


def runs_of(ws: Workspace, benchmark: str, model: str) -> list[Run]:
    """The stored evaluations of the model on the benchmark."""
    rows = ws.db.execute(
        "SELECT log_id, meta, checks, (SELECT count(*) FROM log_items WHERE log_items.log_id = logs.log_id) AS items"
        " FROM logs WHERE benchmark = ? AND model = ?",
        (benchmark, model),
    )
    known = benchmark_of(benchmark)
    return [
        Run(row["log_id"], row["items"], total_items(known, json.loads(row["meta"])), _checks(row["checks"]))
        for row in rows
    ]


def load(ws: Workspace, log_id: int) -> PerItemLog:
    """One log with its outcomes. Raises KeyError for an unknown id."""
    row = ws.db.execute("SELECT * FROM logs WHERE log_id = ?", (log_id,)).fetchone()
    if row is None:
        raise KeyError(log_id)
    items = ws.db.execute(
        "SELECT item_key, category, content_sha256 FROM log_items WHERE log_id = ? ORDER BY idx", (log_id,)
    ).fetchall()
    metrics = json.loads(row["metrics"])
    passed: dict[str, FloatArray] = {metric: np.full(len(items), np.nan) for metric in metrics}
    trials: dict[str, FloatArray] = {metric: np.full(len(items), np.nan) for metric in metrics}
    for metric in metrics:
        pairs = ws.db.execute(
            "SELECT passed, trials FROM outcomes WHERE log_id = ? AND metric = ? ORDER BY idx", (log_id, metric)
        ).fetchall()
        # NULL arrives as None, which float64 reads as NaN: missing stays missing.
        table = np.array([tuple(pair) for pair in pairs], dtype=np.float64)
        passed[metric], trials[metric] = table[:, 0].copy(), table[:, 1].copy()
    return PerItemLog(
        model=row["model"],
        benchmark=benchmark_of(row["benchmark"]),
        task=row["task"],
        keys=tuple(item["item_key"] for item in items),
        categories=tuple(item["category"] for item in items),
        hashes=tuple(item["content_sha256"] for item in items),
        passed=passed,
        trials=trials,
        format=row["format"],
        source=row["source"],
        timestamp=row["timestamp"],
        checks=_checks(row["checks"]),
        meta=json.loads(row["meta"]),
    )


def pool(ws: Workspace, benchmark: str, models: Sequence[str] | None = None) -> list[PerItemLog]:
    """Every log of the benchmark that is not excluded, or every log of the named models.

    A model may have several: `logs.build_matrix` takes its newest whole one and says so.
    """
    wanted = [
        stored.log_id
        for stored in listing(ws, benchmark)
        if (stored.model in models if models is not None else not stored.excluded)
    ]
    return [load(ws, log_id) for log_id in wanted]


def content_hashes(ws: Workspace, benchmark: str) -> dict[str, str]:
    """Item key -> the content hash that most models' logs give it; items without one are absent.

    Excluded logs count only where no other knows the item. Of equally many the earliest imported wins.
    """
    rows = ws.db.execute(
        "SELECT item_key, content_sha256 FROM log_items JOIN logs USING (log_id)"
        " WHERE benchmark = ? AND content_sha256 IS NOT NULL GROUP BY item_key, content_sha256"
        " ORDER BY count(DISTINCT CASE excluded WHEN 0 THEN model END), count(DISTINCT model), min(log_id) DESC",
        (benchmark,),
    )
    return dict(rows.fetchall())


def set_excluded(ws: Workspace, log_id: int, excluded: bool) -> None:
    """Leave a log out of sizing, or take it in again."""
    with ws.writing() as db:
        db.execute("UPDATE logs SET excluded = ? WHERE log_id = ?", (int(excluded), log_id))
