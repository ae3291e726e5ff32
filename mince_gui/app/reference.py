"""Stored full-benchmark scores: imported or typed in."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from mince_gui.app.stream import stream
from mince_gui.base.canonical import canonical_json
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.benchmarks import of_task
from mince_gui.logs import detect, read
from mince_gui.logs.types import PerItemLog
from mince_gui.report.types import Ratio, Reference, ReferenceKind
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import references as stored_references


def _identity(*parts: object) -> str:
    return hashlib.sha256(canonical_json([str(part) for part in parts]).encode()).hexdigest()[:8]


def typed_in(
    workspace: Path,
    *,
    benchmark: str,
    model: str,
    scores: Mapping[str, float],
    source: str,
    on: str | None = None,
    precision: str = "",
) -> Reference:
    """Store scores that somebody read elsewhere, in percent per metric.

    Raises UsageError for an unknown metric and for a score outside 0..100.
    """
    with Workspace(workspace) as ws:
        known = stored_logs.known_benchmark(ws, benchmark)
        names = [metric.name for metric in known.metrics]
        if not scores:
            raise UsageError("A reference needs at least one score.", "Add --metric NAME=PERCENT.")
        for name, percent in scores.items():
            if names and name not in names:
                raise UsageError(f"{known.title} has no metric '{name}'.", f"It has: {', '.join(names)}.")
            if not 0.0 <= percent <= 100.0:
                raise UsageError(f"{name}={percent} is no percentage.", "Scores are in percent, 0 to 100.")
        total = known.total_items or max(
            (stored.total_items or stored.items for stored in stored_logs.listing(ws, known.name)), default=0
        )
        if not total:
            raise UsageError(f"The size of {known.title} is not known.", "Import its logs first.")
        # Only the percentage is known, and no count is invented for it.
        metrics = {name: Ratio(percent, 100.0, total) for name, percent in scores.items()}
        reference = Reference(
            reference_id=f"typed-{_identity(known.name, model, dict(scores), source)}",
            kind="typed in",
            benchmark=known.name,
            model=model,
            metrics=metrics,
            source=source,
            date=on or date.today().isoformat(),  # noqa: DTZ011 - the user's own day
            precision=precision,
            note="aggregate scores only",
        )
        stored_references.add(ws, reference)
        return reference


def from_log(
    log: PerItemLog, kind: ReferenceKind, *, model: str | None = None, precision: str = "", model_sha256: str = ""
) -> Reference:
    """A per-item log as a reference, with its rows, so that paired work is possible."""
    metrics = {}
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for metric in log.metrics:
        passed, trials = log.passed[metric].tolist(), log.trials[metric].tolist()
        have = [(key, p, t) for key, p, t in zip(log.keys, passed, trials, strict=True) if not math.isnan(t)]
        metrics[metric] = Ratio(sum(p for _, p, _ in have), sum(t for _, _, t in have), len(have))
        for key, p, t in have:
            rows.setdefault(key, {})[metric] = (p, t)
    return Reference(
        reference_id=f"log-{_identity(log.benchmark.name, model or log.model, precision, log.task, rows)}",
        kind=kind,
        benchmark=log.benchmark.name,
        model=model or log.model,
        metrics=metrics,
        source=f"{log.source} (lm-eval {log.meta.get('lm_eval_version', 'version unknown')})",
        date=log.timestamp,
        precision=precision,
        task=log.task,
        model_sha256=model_sha256,
        rows=rows,
        note="per-item outcomes",
    )


def import_references(
    workspace: Path,
    path: Path,
    *,
    model: str | None = None,
    precision: str = "",
    kind: ReferenceKind = "imported",
    model_sha256: str = "",
    emit: Emit = ignore,
) -> list[Reference]:
    """Store full-benchmark logs (per-item, or an lm-eval results file alone) as references.

    `model` is the name of the model whose runs they are held against, `model_sha256` the hash of the model folder
    that made them, where that is known. Raises InputError for a log that
    sizing would refuse too: a score of a part, or of answers that were not read, is no reference.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist.", "Name a folder of logs or a results_*.json.")
    with stream(emit, "reference", detail=str(path)), Workspace(workspace) as ws:
        if path.is_file() and path.suffix == ".json" and path.name.startswith("results"):
            references = _from_results(path, model, precision)
        else:
            references = []
            everything = detect([path]).found
            if model is not None and len({found.model for found in everything}) > 1:
                raise InputError(
                    f"--model names one model, but {path} holds logs of several.", "Import them one by one."
                )
            for found in everything:
                log = read(found)
                for check in log.checks:
                    if check.severity == "refusal":
                        raise InputError(
                            f"{log.model} · {log.benchmark.title} is no reference: {check.message}",
                            "A reference needs a sound log of the full benchmark.",
                        )
                references.append(from_log(log, kind, model=model, precision=precision, model_sha256=model_sha256))
        if not references:
            raise InputError(f"{path} holds no full-benchmark scores.", "Give lm-eval output, or type the scores in.")
        for reference in references:
            stored_references.add(ws, reference)
        return references


def _from_results(path: Path, model: str | None, precision: str) -> list[Reference]:
    """Aggregates of an lm-eval results file, for the benchmarks that are known by name."""
    try:
        body = json.loads(path.read_text(encoding="utf-8-sig"))
        tasks = {task: dict(values) for task, values in dict(body["results"]).items()}
        counts = dict(body.get("n-samples") or {})
    except (ValueError, KeyError, TypeError, OSError) as exc:
        raise InputError(f"{path} is no lm-eval results file: {exc}.", "Give results_*.json.") from exc
    references = []
    for task, values in tasks.items():
        known = stored_logs.benchmark_of("mmlu" if task == "mmlu" else of_task(task).name)
        if known.total_items is None or (known.name == "mmlu" and task != "mmlu"):
            continue
        count = counts.get(task)
        sampled = count.get("effective") if isinstance(count, dict) else None
        if isinstance(sampled, int) and sampled < known.total_items:
            raise InputError(
                f"{path}: {task} was scored on {sampled} of {known.total_items} items.",
                "A reference needs the full benchmark.",
            )
        metrics = {}
        for metric in known.metrics:
            value = values.get(metric.name, values.get(f"{metric.name},none"))
            if isinstance(value, int | float) and 0.0 <= value <= 1.0:
                metrics[metric.name] = Ratio(value * known.total_items, float(known.total_items), known.total_items)
        if metrics:
            name = model or str(body.get("model_name") or path.parent.name)
            references.append(
                Reference(
                    reference_id=f"results-{_identity(known.name, name, precision, path.name, values)}",
                    kind="imported",
                    benchmark=known.name,
                    model=name,
                    metrics=metrics,
                    source=f"{path.name} (lm-eval {body.get('lm_eval_version', 'version unknown')})",
                    date=str(body.get("date", "")),
                    precision=precision,
                    task=task,
                    note="aggregate scores only",
                )
            )
    return references


def listing(workspace: Path) -> list[Reference]:
    """Every stored reference."""
    with Workspace(workspace) as ws:
        return stored_references.listing(ws)
