"""Per-item logs in the workspace."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mince_gui import benchmarks
from mince_gui.benchmarks import Benchmark
from mince_gui.logs.types import Check, FloatArray, PerItemLog
from mince_gui.store.workspace import Workspace, now


@dataclass(frozen=True)
class StoredLog:
    """A row of the logs table, without outcomes. `scores` in percent per metric, None where all is missing."""

    log_id: int
    benchmark: str
    model: str
    task: str
    timestamp: str
    source: str
    metrics: tuple[str, ...]
    items: int
    total_items: int
    scores: dict[str, float | None]
    checks: tuple[Check, ...]
    excluded: bool
    imported_at: str


def benchmark_of(name: str) -> Benchmark:
    """The declared benchmark, or the lm-eval task that is a benchmark of its own."""
    return benchmarks.BENCHMARKS.get(name) or benchmarks.of_task(name)


def known_benchmark(ws: Workspace, name: str) -> Benchmark:
    """The benchmark by its name, also one that only imported logs know. Raises UsageError otherwise."""
    stored = ws.db.execute("SELECT 1 FROM logs WHERE benchmark = ? LIMIT 1", (name,)).fetchone()
    return benchmark_of(name) if stored else benchmarks.get(name)


def add(ws: Workspace, log: PerItemLog) -> tuple[int, bool]:
    """Store a log; returns its id and whether it is new. The same evaluation again changes nothing."""
    key = (log.benchmark.name, log.model, log.task, log.timestamp, _digest(log))
    with ws.writing() as db:
        there = db.execute(
            "SELECT log_id FROM logs WHERE benchmark = ? AND model = ? AND task = ? AND timestamp = ? AND sha256 = ?",
            key,
        ).fetchone()
        if there is not None:
            return int(there["log_id"]), False
        cursor = db.execute(
            "INSERT INTO logs (benchmark, model, task, timestamp, sha256, format, source, metrics, meta, checks,"
            " imported_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *key,
                log.format,
                log.source,
                json.dumps(list(log.metrics)),
                json.dumps(dict(log.meta), default=str),
                json.dumps([dataclasses.asdict(check) for check in log.checks]),
                now(),
            ),
        )
        log_id = int(cursor.lastrowid or 0)
        db.executemany(
            "INSERT INTO log_items VALUES (?, ?, ?, ?, ?)",
            ((log_id, i, *row) for i, row in enumerate(zip(log.keys, log.categories, log.hashes, strict=True))),
        )
        for metric in log.metrics:
            pairs = zip(log.passed[metric].tolist(), log.trials[metric].tolist(), strict=True)
            db.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)",
                ((log_id, metric, i, _null(p), _null(t)) for i, (p, t) in enumerate(pairs)),
            )
    return log_id, True


def _digest(log: PerItemLog) -> str:
    """SHA-256 over keys and outcomes: undated logs are told apart by what they say."""
    digest = hashlib.sha256("\n".join(log.keys).encode("utf-8", "surrogatepass"))
    for metric in log.metrics:
        digest.update(metric.encode())
        digest.update(log.passed[metric].astype("<f8").tobytes())
        digest.update(log.trials[metric].astype("<f8").tobytes())
    return digest.hexdigest()


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


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
                total_items=benchmark_of(row["benchmark"]).total_items or items,
                scores={metric: sums.get((row["log_id"], metric)) for metric in metrics},
                checks=_checks(row["checks"]),
                excluded=bool(row["excluded"]),
                imported_at=row["imported_at"],
            )
        )
    return listed


def runs_of(ws: Workspace, benchmark: str, model: str) -> int:
    """How many evaluations of the model on the benchmark are stored."""
    found = ws.db.execute("SELECT count(*) FROM logs WHERE benchmark = ? AND model = ?", (benchmark, model)).fetchone()
    return int(found[0])


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
