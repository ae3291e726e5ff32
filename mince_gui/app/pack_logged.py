"""Which lm-eval log a pack's requests are taken from, and what of them is packed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark
from mince_gui.logs import Found, detect
from mince_gui.logs.lm_eval import FORMAT
from mince_gui.logs.lm_eval.requests import read_requests
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store.logs import StoredLog
from mince_gui.subset.dataset import Dataset
from mince_gui.tasks.logged import Made, definition_of

_IMPORT = "Import a log of it that was made with --log_samples: mince import LOGS."


@dataclass(frozen=True)
class LoggedContent:
    """A log's docs as a dataset, its requests and their definition. `items_meant`: how many the whole has, or None."""

    dataset: Dataset
    made: Made
    model: str
    items_meant: int | None


def has_native_task(benchmark: Benchmark) -> bool:
    """Whether the benchmark's prompts are made from its dataset."""
    return benchmark.name in BENCHMARKS


def logged_content(
    ws: Workspace,
    benchmark: Benchmark,
    logs: Path | None,
    *,
    model: str | None,
    emit: Emit,
    cancel: CancelToken | None,
) -> LoggedContent | None:
    """The requests in `logs` (None: in the files of the imported log), of `model` where several models' are there.

    None where `logs` holds no lm-eval log of the benchmark. Raises UsageError where the log to take is not clear,
    InputError where its files are gone, or cannot be run again.
    """
    with _runs(ws, benchmark, logs, model, emit, cancel) as runs:
        if not runs:
            return None
        found = max(runs, key=lambda run: run.timestamp)
        log = read_requests(found, emit=emit, cancel=cancel)
        try:
            made = definition_of(log, benchmark.name, found.task)
        except InputError as exc:
            if not has_native_task(benchmark):
                raise
            raise InputError(
                exc.message,
                f"{exc.remedy} {benchmark.title} has tasks of its own: leave --logged-prompts out.".strip(),
            ) from exc
        revision = sha256_file(found.files[0]) if len(found.files) == 1 else ""
        named = f"lm-eval log {Path(found.source).name} of {found.model}"
        docs: dict[str, Mapping[str, Any]] = {key: item.doc for key, item in log.items.items()}
        return LoggedContent(Dataset(benchmark, docs, {}, named, revision), made, found.model, log.items_meant)


@contextmanager
def _runs(
    ws: Workspace, benchmark: Benchmark, logs: Path | None, model: str | None, emit: Emit, cancel: CancelToken | None
) -> Iterator[Sequence[Found]]:
    """The runs to choose from, all of one model; their files are there as long as this lasts."""
    stored = None if logs is not None else _stored(ws, benchmark, model)
    place = logs if stored is None else _place(stored)
    assert place is not None
    with detect([place], emit=emit, cancel=cancel) as seen:
        runs = [run for run in seen.found if run.format == FORMAT and run.benchmark.name == benchmark.name]
        if stored is not None:
            same = [run for run in runs if run.timestamp == stored.timestamp and run.task == stored.task]
            runs = [run for run in same if run.source == stored.source] or same
            if not runs:
                raise InputError(
                    f"{stored.source} does not hold the log of {stored.model} on {benchmark.title} any more.",
                    "Put it back, or name where its files are now: --dataset LOGS.",
                )
        elif runs:
            models = sorted({run.model for run in runs})
            if model is not None:
                runs = [run for run in runs if run.model == model]
            if not runs or (model is None and len(models) > 1):
                raise UsageError(
                    f"{place} holds {benchmark.title} logs of {', '.join(models)}"
                    + (f", not of {model}." if not runs else "."),
                    "Say whose prompts to take: --model NAME.",
                )
        yield runs


def _stored(ws: Workspace, benchmark: Benchmark, model: str | None) -> StoredLog:
    """The imported log to take: the newest of the model, a whole one before a part."""
    listed = stored_logs.listing(ws, benchmark.name)
    own = [log for log in listed if log.format == FORMAT]
    if not own:
        raise UsageError(
            f"No lm-eval log of {benchmark.title} was imported, so there are no prompts to take.",
            "Name the logs: --dataset LOGS." if listed else _IMPORT,
        )
    models = sorted({log.model for log in own})
    if model is not None:
        own = [log for log in own if log.model == model]
    elif len(models) > 1:
        own = []
    if not own:
        raise UsageError(
            f"{benchmark.title} logs of {', '.join(models)} were imported" + (f", none of {model}." if model else "."),
            "Say whose prompts to take: --model NAME.",
        )
    return max(own, key=lambda log: (log.items == log.total_items, log.timestamp))


def _place(log: StoredLog) -> Path:
    """The file or folder that the log was imported from; of one in an archive, the archive."""
    place = Path(log.source)
    for candidate in (place, *place.parents):
        if candidate.exists():
            if candidate == place or candidate.is_file():
                return candidate
            break
    raise InputError(
        f"The log of {log.model} was imported from {log.source}, and that is gone.",
        "Put it back, or name where its files are now: --dataset LOGS.",
    )
