"""Full-benchmark scores to hold runs against: imported, typed in, or published."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mince_gui.app.reference_facts import from_log, from_results, identity
from mince_gui.app.run_data import said_precision
from mince_gui.app.score_units import Unit, percent_given
from mince_gui.app.stream import stream
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.benchmarks import BENCHMARKS, of_task
from mince_gui.logs import detect, read
from mince_gui.logs.lm_eval.results import Results
from mince_gui.logs.types import PerItemLog
from mince_gui.report.published import published
from mince_gui.report.types import Ratio, Reference, ReferenceKind
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import references as stored_references

CHAT_USES = ("applied", "none")
"""Whether prompts went through the model's chat template."""
_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


def typed_in(
    workspace: Path,
    *,
    benchmark: str,
    model: str,
    scores: Mapping[str, float],
    source: str,
    on: str | None = None,
    precision: str = "",
    task: str = "",
    task_version: str = "",
    few_shot: int | None = None,
    lm_eval_version: str = "",
    chat_template: str = "",
    runtime: str = "",
    device: str = "",
    machine: str = "",
    seconds: float | None = None,
    note: str = "",
    unit: Unit | None = None,
) -> Reference:
    """Store scores that somebody read elsewhere, per metric in percent, or in shares with `unit` "share".

    `on` is the day of the measurement ("2026-03-01", "2026-03" or "2026"; None = today), `seconds` its wall clock on
    `machine`. What is not known stays "" or None. Raises UsageError for an unknown metric, for a score that is out of
    range or may be a share as well as a percentage, for a date or precision that is none, and for another benchmark's
    task.
    """
    precision = said_precision(precision)
    with Workspace(workspace) as ws:
        known = stored_logs.known_benchmark(ws, benchmark)
        names = [metric.name for metric in known.metrics]
        if not scores:
            raise UsageError("A reference needs at least one score.", "Add --metric NAME=PERCENT.")
        for name in scores:
            if names and name not in names:
                raise UsageError(f"{known.title} has no metric '{name}'.", f"It has: {', '.join(names)}.")
        percents = {name: percent_given(name, value, unit) for name, value in scores.items()}
        for what, text in (("model", model), ("source", source)):
            if not text.strip():
                raise UsageError(f"A reference needs a {what}.", f"Name it: --{what} TEXT")
        if task and of_task(task).name != known.name and of_task(task).name in BENCHMARKS:
            raise UsageError(f"{task} is a task of {of_task(task).title}, not of {known.title}.", "Check --task.")
        if chat_template not in ("", *CHAT_USES):
            raise UsageError(f"'{chat_template}' is no use of a chat template.", f"Say {' or '.join(CHAT_USES)}.")
        if few_shot is not None and few_shot < 0:
            raise UsageError(f"{few_shot} is no number of examples.", "Say 0 or more with --few-shot.")
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise UsageError(f"{seconds:g} seconds is no wall clock.", "Say more than 0 with --seconds.")
        if seconds is not None and not machine.strip():
            raise UsageError("A wall clock means nothing without its machine.", "Add --machine NAME.")
        total = known.total_items or max(
            (stored.total_items or stored.items for stored in stored_logs.listing(ws, known.name)), default=0
        )
        if not total:
            raise UsageError(f"The size of {known.title} is not known.", "Import its logs first.")
        reference = Reference(
            reference_id=f"typed-{identity(known.name, model, percents, source, precision)}",
            kind="typed in",
            benchmark=known.name,
            model=model,
            # Only the percentage is known, and no count is invented for it.
            metrics={name: Ratio(percent, 100.0, total) for name, percent in percents.items()},
            source=source,
            date=_date(on),
            precision=precision,
            note=note or "aggregate scores only",
            task=task,
            task_version=task_version,
            few_shot=few_shot,
            lm_eval_version=lm_eval_version,
            chat_template=chat_template,
            runtime=runtime,
            device=device,
            machine=machine,
            wall_seconds=seconds,
        )
        stored_references.add(ws, reference)
        return reference


def _date(on: str | None) -> str:
    """The day, month or year as given. Raises UsageError for what is none, or lies ahead."""
    today = datetime.date.today()  # noqa: DTZ011 - the user's own day
    if on is None:
        return today.isoformat()
    no_date = UsageError(f"'{on}' is no date.", "Write it as 2026-03-01, 2026-03 or 2026.")
    if not _DAY.fullmatch(on):
        raise no_date
    try:
        day = datetime.date.fromisoformat(f"{on}-01-01"[:10])
    except ValueError:
        raise no_date from None
    if day > today:
        raise UsageError(f"{on} has not come yet.", "Say when the scores were measured.")
    return on


def import_references(
    workspace: Path,
    path: Path,
    *,
    model: str | None = None,
    precision: str = "",
    kind: ReferenceKind = "imported",
    model_sha256: str = "",
    unit: Unit | None = None,
    emit: Emit = ignore,
) -> list[Reference]:
    """Store full-benchmark logs (per-item, or an lm-eval results file alone) as references.

    `model` is the name of the model whose runs they are held against, `model_sha256` the hash of the model folder
    that made them, where that is known. `unit` says what the scores of a results file are where lm-eval's shares of 1
    are not meant. Raises InputError for a log that sizing would refuse too: a score of a part, or of answers that were
    not read, is no reference; UsageError for a precision that is none.
    """
    precision = said_precision(precision)
    if not path.exists():
        raise InputError(f"{path} does not exist.", "Name a folder of logs or a results_*.json.")
    with stream(emit, "reference", detail=str(path)), Workspace(workspace) as ws:
        if path.is_file() and path.suffix == ".json" and path.name.startswith("results"):
            references = from_results(path, model=model, precision=precision, unit=unit)
        else:
            with detect([path]) as detection:
                _require_one_model(model, [found.model for found in detection.found], str(path))
                references = []
                for found in detection.found:
                    log = read(found)
                    _require_sound(log)
                    references.append(
                        from_log(
                            log,
                            kind,
                            results=found.results_file,
                            model=model,
                            precision=precision,
                            model_sha256=model_sha256,
                        )
                    )
            if not references:
                # A results file may have been given another name; in a folder only lm-eval's own is one.
                files = sorted(path.rglob("results_*.json")) if path.is_dir() else []
                files += [path] if path.is_file() and path.suffix == ".json" else []
                _require_one_model(
                    model, [Results.load(file).model_name or str(file.parent) for file in files], str(path)
                )
                references = [
                    one for file in files for one in from_results(file, model=model, precision=precision, unit=unit)
                ]
        if not references:
            raise InputError(
                f"{path} holds no full-benchmark scores.",
                "Give lm-eval's per-item logs (samples_*.jsonl), or its results_*.json with one of the tasks "
                f"{', '.join(name for name, known in BENCHMARKS.items() if known.in_lm_eval)}; or type the scores in: "
                "mince reference add --help",
            )
        for reference in references:
            stored_references.add(ws, reference)
        return references


def import_stored_logs(
    workspace: Path, logged: str, *, benchmark: str | None = None, model: str | None = None, precision: str = ""
) -> list[Reference]:
    """Store as references what logs of the workspace say of the model `logged`: its newest log of each benchmark.

    `benchmark` takes that one alone; `model` is the name of the model whose runs they are held against. Raises
    UsageError where there is no such log, InputError for one that is no sound log of the full benchmark.
    """
    precision = said_precision(precision)
    with Workspace(workspace) as ws:
        name = None if benchmark is None else stored_logs.known_benchmark(ws, benchmark).name
        newest: dict[str, int] = {}
        for stored in stored_logs.listing(ws, name):
            if stored.model.lower() == logged.lower():
                newest.setdefault(stored.benchmark, stored.log_id)
        if not newest:
            of = f" for {name}" if name else ""
            raise UsageError(f"The workspace has no log of '{logged}'{of}.", "`mince logs` lists them.")
        references = []
        for log_id in newest.values():
            log = stored_logs.load(ws, log_id)
            _require_sound(log)
            references.append(from_log(log, "imported", model=model, precision=precision))
        for reference in references:
            stored_references.add(ws, reference)
        return references


def _require_one_model(model: str | None, found: Sequence[str], where: str) -> None:
    if model is not None and len(set(found)) > 1:
        raise InputError(f"--model names one model, but {where} holds logs of several.", "Import them one by one.")


def _require_sound(log: PerItemLog) -> None:
    for check in log.checks:
        if check.severity == "refusal":
            raise InputError(
                f"{log.model} · {log.benchmark.title} is no reference: {check.message}",
                "A reference needs a sound log of the full benchmark.",
            )


def listing(workspace: Path, benchmark: str | None = None) -> list[Reference]:
    """Every reference, of one benchmark or of all: the stored ones, newest first, then those that are published.

    Raises UsageError for an unknown benchmark.
    """
    with Workspace(workspace) as ws:
        name = None if benchmark is None else stored_logs.known_benchmark(ws, benchmark).name
        return every(ws, name)


def every(ws: Workspace, benchmark: str | None = None) -> list[Reference]:
    """As `listing`, in an open workspace and by the benchmark's own name."""
    return [*stored_references.listing(ws, benchmark), *published(benchmark)]


def get(ws: Workspace, reference_id: str) -> Reference:
    """One reference, stored or published. Raises UsageError for an unknown id."""
    shipped = next((one for one in published() if one.reference_id == reference_id), None)
    return shipped or stored_references.get(ws, reference_id)


def show(workspace: Path, reference_id: str) -> Reference:
    """One reference, stored or published. Raises UsageError for an unknown id."""
    with Workspace(workspace) as ws:
        return get(ws, reference_id)


def remove(workspace: Path, reference_id: str) -> Reference:
    """Take a stored reference out of the workspace and return what it was. Raises UsageError for an unknown id.

    Published references ship with the program and cannot be removed.
    """
    with Workspace(workspace) as ws:
        reference = get(ws, reference_id)
        if reference.kind == "published":
            raise UsageError(
                f"{reference_id} is published and ships with the program.",
                "A run is held against another one with: mince report RUN --reference ID",
            )
        stored_references.remove(ws, reference_id)
        return reference
