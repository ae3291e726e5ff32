"""What a log, or lm-eval's results file alone, tells of the run that made it: a Reference with all it knows."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mince_gui.app.score_units import Unit, shares_read
from mince_gui.base.canonical import canonical_json
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, of_task
from mince_gui.logs.lm_eval.results import Results
from mince_gui.logs.naming import storable, tidy_name
from mince_gui.logs.types import PerItemLog
from mince_gui.report.names import precision_of
from mince_gui.report.types import Ratio, Reference, ReferenceKind
from mince_gui.store import logs as stored_logs

_MOST_SHOTS = 1 << 20
_GPU = re.compile(r"^GPU \d+: *(\S.*?)(?: \(UUID.*)?$", re.MULTILINE)
_DTYPE = re.compile(r"(?:^|[,{\s\"'])dtype[\"']?\s*[=:]\s*[\"']?([a-z0-9]+)")
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
# Their --device does not reach the model: lm-eval writes its own default, cuda:0, whatever it ran on.
_DEVICE_NOT_TOLD = ("onnxruntime-genai", "local-completions", "local-chat-completions", "openai-chat-completions")


def identity(*parts: object) -> str:
    """Eight hex digits that tell references of equal kind apart."""
    return hashlib.sha256(canonical_json([str(part) for part in parts]).encode()).hexdigest()[:8]


def from_log(
    log: PerItemLog,
    kind: ReferenceKind,
    *,
    results: Path | None = None,
    model: str | None = None,
    precision: str = "",
    model_sha256: str = "",
) -> Reference:
    """A per-item log as a reference, with its rows, so that paired work is possible.

    `results` is the results file beside the log; `model` and `precision` are what the user says, before all else.
    """
    metrics = {}
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for metric in log.metrics:
        passed, trials = log.passed[metric].tolist(), log.trials[metric].tolist()
        have = [(key, p, t) for key, p, t in zip(log.keys, passed, trials, strict=True) if not math.isnan(t)]
        metrics[metric] = Ratio(sum(p for _, p, _ in have), sum(t for _, _, t in have), len(have))
        for key, p, t in have:
            rows.setdefault(key, {})[metric] = (p, t)
    told = Results.load(results) if results is not None else Results(Path())
    return Reference(
        reference_id=f"log-{identity(log.benchmark.name, model or log.model, precision, log.task, rows)}",
        kind=kind,
        benchmark=log.benchmark.name,
        model=model or log.model,
        metrics=metrics,
        # A document goes elsewhere: the file and its folder, without the rest of this machine's path.
        source=f"{'/'.join(Path(log.source).parts[-2:])}{_by(log.meta)}",
        date=_day(log.meta.get("date")) or log.timestamp[:10],
        task=log.task,
        model_sha256=model_sha256,
        rows=rows,
        note="per-item outcomes",
        categories=dict(zip(log.keys, log.categories, strict=True)) if any(log.categories) else {},
        **_facts(log.meta, told, log.model, (log.task,), precision),
    )


def from_results(
    path: Path, *, model: str | None = None, precision: str = "", unit: Unit | None = None
) -> list[Reference]:
    """The aggregates of an lm-eval results file, one reference for each benchmark that is known by name.

    Raises InputError for a file that is none, for scores of a part of a benchmark, and for scores whose unit is not
    what lm-eval writes (see `score_units`).
    """
    results = Results.load(path)
    if results.fault or not results.part("results"):
        fault = results.fault or 'it has no object "results"'
        raise InputError(f"{path} is no lm-eval results file: {fault}.", "Give results_*.json.")
    groups = results.groups()
    references = []
    for task in results.part("results"):
        known = stored_logs.benchmark_of("mmlu" if task == "mmlu" else of_task(task).name)
        if known.total_items is None or (known.subjects and task != known.name):
            continue
        tasks = groups.get(task, (task,))
        _require_whole(results, known, task, tasks)
        values = results.part("results", task)
        found = {metric.name: values.get(metric.name, values.get(f"{metric.name},none")) for metric in known.metrics}
        shares = {name: share for name, value in found.items() if (share := _number(value)) is not None}
        if not shares:
            continue
        percents = shares_read(f"{path}, {task}", shares, unit)
        name = model or results.model_name or tidy_name(path.parent.name)
        meta = results.meta(tasks, task)
        references.append(
            Reference(
                reference_id=f"results-{identity(known.name, name, precision, path.name, shares)}",
                kind="imported",
                benchmark=known.name,
                model=name,
                metrics={
                    metric.name: _counted(percents[metric.name], known.total_items, ratio=metric.ratio)
                    for metric in known.metrics
                    if metric.name in percents
                },
                source=f"{storable(path.name)}{_by(meta)}",
                date=_day(meta.get("date")),
                task=task,
                note="aggregate scores only",
                **_facts(meta, results, results.model_name or name, (task, *tasks), precision),
            )
        )
    return references


def _number(value: Any) -> float | None:
    """A score as the file has it, None where there is none; what no float can hold is infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _require_whole(results: Results, known: Benchmark, task: str, tasks: Sequence[str]) -> None:
    """Raise InputError for scores of a part of the benchmark, as far as the file tells."""
    total = known.total_items or 0
    counts = [results.part("n-samples", one).get("effective") for one in tasks]
    whole = [count for count in counts if isinstance(count, int) and type(count) is not bool]
    told = len(whole) == len(tasks)
    limit = results.part("config").get("limit")
    chosen = results.part("config").get("samples")
    if (told and sum(whole) < total) or (not told and (limit is not None or chosen)):
        part = f"{sum(whole):,} of {total:,} items" if told else f"a part of its items (--limit {limit or chosen})"
        raise InputError(
            f"{results.path}: {task} was scored on {part}.",
            "A reference needs the full benchmark: run lm-eval without --limit.",
        )


def _counted(percent: float, items: int, *, ratio: bool) -> Ratio:
    """A score with the count behind it where the score leaves no doubt of it, else as a percentage."""
    right = percent * items / 100.0
    if not ratio and abs(right - round(right)) < 1e-6:
        return Ratio(float(round(right)), float(items), items)
    return Ratio(percent, 100.0, items)


def _facts(
    meta: Mapping[str, Any], results: Results, model: str, tasks: Sequence[str], precision: str
) -> dict[str, Any]:
    """The fields of a Reference that say how and on what it was made; what is not told stays "" or None."""
    own = results.part("mince_gui", "conditions")
    version = _said(meta.get("lm_eval_version"))
    shots = meta.get("n_shot")
    config = results.part("config")
    backend = _said(config.get("model")) or _said(meta.get("model"))
    transformers = _said(meta.get("transformers_version"))
    runtime = f"{backend}, transformers {transformers}" if transformers and backend == "hf" else backend
    return {
        "precision": precision or _said(own.get("precision")) or precision_of(model) or _dtype(config, meta),
        "lm_eval_version": version,
        "task_version": version_text(meta.get("task_version")),
        "few_shot": shots if type(shots) is int and 0 <= shots <= _MOST_SHOTS else None,
        "chat_template": _chat(meta, version, backend),
        "runtime": _said(own.get("runtime")) or runtime,
        "device": _said(own.get("device")) or _device(results, backend),
        "machine": _said(own.get("machine")),
        "wall_seconds": _wall(meta, results, tasks),
    }


def _said(value: Any) -> str:
    """The text, made fit to be shown and stored; "" where it is none: a file may hold anything."""
    return tidy_name(value) if isinstance(value, str) else ""


def version_text(version: Any) -> str:
    """A task's version as people write it: 4.0 is "4"; "" where there is none, or several."""
    if isinstance(version, bool) or not isinstance(version, int | float | str):
        return ""
    try:
        return f"{float(version):g}"
    except OverflowError:
        return ""
    except ValueError:
        return _said(version)


def _chat(meta: Mapping[str, Any], version: str, backend: str) -> str:
    """lm-eval names the template that it applied; behind a chat interface the server applies one, unnamed."""
    if meta.get("chat_template_sha"):
        return "applied"
    return "none" if version and "chat" not in backend else ""


def _dtype(config: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """What model_args say the weights were loaded as; a text or an object, by lm-eval's version."""
    arguments = str(config.get("model_args") or meta.get("model_args") or "").lower()
    if "load_in_4bit" in arguments or "load_in_8bit" in arguments:
        return ""
    found = _DTYPE.search(arguments)
    return _DTYPES.get(found[1], "") if found else ""


def _device(results: Results, backend: str) -> str:
    named = results.part("config").get("device")
    if not isinstance(named, str) or backend in _DEVICE_NOT_TOLD:
        return ""
    if named == "cpu":
        return "CPU"
    if not named.startswith("cuda"):
        return _said(named)
    cards = _GPU.findall(str(results.body.get("pretty_env_info") or ""))
    return f"{_said(cards[0])}{f' x {len(cards)}' if len(cards) > 1 else ''}" if cards else ""


def _wall(meta: Mapping[str, Any], results: Results, tasks: Sequence[str]) -> float | None:
    """The evaluation's seconds, loading included; None where the file holds more than this benchmark."""
    asked = results.part("n-samples") or results.part("versions")
    groups = results.groups()
    mine = {leaf for task in tasks for leaf in (task, *groups.get(task, ()))}
    if not asked or not set(asked) <= mine:
        return None
    try:
        seconds = float(meta["total_evaluation_time_seconds"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def _by(meta: Mapping[str, Any]) -> str:
    return f" (lm-eval {_said(meta.get('lm_eval_version')) or 'version unknown'})"


def _day(stamp: Any) -> str:
    """The day of a Unix time; "" where it is none."""
    try:
        return datetime.fromtimestamp(float(stamp), UTC).date().isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
