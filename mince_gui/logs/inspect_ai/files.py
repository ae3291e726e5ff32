"""Which files are inspect_ai logs, and what their headers say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, KeyFinder, of_task
from mince_gui.logs.inspect_ai import library
from mince_gui.logs.inspect_ai.archive import check_members
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.naming import candidate, dated, own_name, tidy_name
from mince_gui.logs.types import Claim, Found

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

FORMAT = "inspect_ai"
PREFIX = "inspect"
JSON_LIMIT = 512 << 20
"""Bytes of a .json log: the library takes one in as a whole for its header where it holds a NaN."""

_ZIP = b"PK\x03\x04"
_HEAD = 4096
_LOOKED_AT = 3
# "The order of these fields is important for the log file format", says the library of version, status, eval.
_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:\s*\{')
_INDEX = re.compile(rb'\s*\{\s*"[^"\n]{1,400}\.(?:eval|json)"\s*:\s*\{\s*"(?:version|status|eval)"')
_BESIDE = ("eval-set.json", ".eval-set-id")


def _head(path: Path) -> bytes:
    try:
        return first_bytes(path, _HEAD)
    except (OSError, EOFError, ValueError):
        return b""  # whoever comes next says why


def claim(files: Sequence[Path]) -> Claim:
    """The .eval files and the .json files that begin as a log does; an index of logs is refused."""
    found: list[Found] = []
    refused: dict[Path, str] = {}
    beside: set[Path] = set()
    for path in files:
        if path.suffix == ".eval":
            is_log = True
        elif path.suffix == ".json":
            head = _head(path)
            is_log = _LOG.match(head) is not None
            if _INDEX.match(head):
                refused[path] = "an index of inspect_ai logs: it has their headers only, import the logs themselves"
        else:
            is_log = False
        if is_log:
            try:
                found.append(_found(path))
            except InputError as exc:
                refused[path] = _reason(path, exc)
    folders = {run.files[0].parent for run in found}
    beside = {path for path in files if path.name in _BESIDE and path.parent in folders}
    return Claim(tuple(found), refused, frozenset(beside))


def _reason(path: Path, exc: InputError) -> str:
    message = exc.message.removeprefix(str(path)).lstrip(":, ").rstrip(".")
    return f"{message}: {exc.remedy[0].lower()}{exc.remedy[1:].rstrip('.')}" if exc.remedy else message


def check_file(path: Path) -> None:
    """Refuse what must not be given to the library. Raises InputError."""
    if "::" in str(path):
        raise InputError(f"{path}: inspect_ai takes '::' in a path for an address.", "Rename the file or its folder.")
    if path.suffix == ".eval":
        if not _head(path).startswith(_ZIP):
            raise InputError(f"{path}: not an .eval file (no zip).", "Take a whole copy of it.")
        check_members(path, None, samples=False)
        return
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise InputError(f"{path}: cannot be opened ({exc.strerror}).", "Look for the logs again.") from exc
    if size > JSON_LIMIT:
        raise InputError(
            f"{path}: a .json log of more than {JSON_LIMIT >> 20} MiB, which may have to be read as a whole.",
            "Convert it: inspect log convert --to eval --output-dir DIR FILE",
        )


def _found(path: Path) -> Found:
    if not library.installed():
        raise InputError(f"{path}: a log of inspect_ai, which is not installed.", library.EXTRA)
    check_file(path)
    head = library.header(path)
    benchmark, told = _benchmark(head, path)
    return Found(
        format=FORMAT,
        model=tidy_name(head.eval.model) or "unnamed",
        benchmark=benchmark,
        task=task_of(head),
        files=(path,),
        results_file=None,
        timestamp=dated(str(head.eval.created)),
        why=f"inspect_ai reads it ({'one zip' if path.suffix == '.eval' else 'JSON'}); the model's name is from its "
        f"header; {told}",
    )


def task_of(head: EvalLog) -> str:
    """The task's name without the package it comes from."""
    return tidy_name(head.eval.task.rpartition("/")[2]) or "unnamed"


def _benchmark(head: EvalLog, path: Path) -> tuple[Benchmark, str]:
    """The benchmark as far as the header and the first samples tell, and how that is known."""
    task = task_of(head)
    known = candidate(task)
    own = of_task(own_name(PREFIX, task))
    if known is None:
        return own, f"its task {task} is a benchmark of its own"
    for sample in _first_samples(head, path):
        if KeyFinder(known).key(*question(sample)) is None:
            return own, f"sample {ascii(sample.id)[:40]} is none of {known.title}, so {task} is a benchmark of its own"
    return known, f"the items are those of {known.title}, told by their texts"


def _first_samples(head: EvalLog, path: Path) -> list[EvalSample]:
    """A few samples of an .eval file; none of a .json file, which is read from its beginning on."""
    if path.suffix != ".eval":
        return []
    samples: list[EvalSample] = []
    for sample_id in (head.eval.dataset.sample_ids or [])[:_LOOKED_AT]:
        try:
            samples += library.samples(path, [(sample_id, 1)])
        except InputError:
            continue  # a sample that was never run; a broken one is named when the log is read
    return samples


def question(sample: EvalSample) -> tuple[str, str | None, tuple[str, ...] | None]:
    """What tells which item it is: the question's text, its subject and its choices, where there are any."""
    text = sample.input if isinstance(sample.input, str) else next(
        (message.text for message in reversed(sample.input) if message.role == "user"), ""
    )  # fmt: skip
    subject = sample.metadata.get("subject")
    return text, subject if isinstance(subject, str) else None, tuple(sample.choices) if sample.choices else None
