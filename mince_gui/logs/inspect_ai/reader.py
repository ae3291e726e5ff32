"""Reads one inspect_ai log into a checked log: sample by sample, all epochs of a sample together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import content_sha256
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, Progress
from mince_gui.benchmarks import Benchmark, KeyFinder, content_hash
from mince_gui.logs.assemble import SALVAGE, Item, Reading, ResponseState, Row, assemble, is_name, shown
from mince_gui.logs.collect import Outcome
from mince_gui.logs.inspect_ai import library
from mince_gui.logs.inspect_ai.archive import check_members
from mince_gui.logs.inspect_ai.files import PREFIX, check_file, question
from mince_gui.logs.inspect_ai.header import checks_of, limit_of, meta_of
from mince_gui.logs.inspect_ai.scores import added, outcomes_of
from mince_gui.logs.naming import own_name
from mince_gui.logs.nested import Members
from mince_gui.logs.types import Found, PerItemLog
from mince_gui.logs.values import filled

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

_SAMPLES_PER_STEP = 200
_WORST_LAST: tuple[ResponseState, ...] = ("not stored", "given", "empty", "null")


@dataclasses.dataclass(kw_only=True)
class _Item(Item):
    """What is kept of one sample id, all its epochs together; `key` is None where no known item is recognised."""

    epochs: dict[int, list[Outcome]] = dataclasses.field(default_factory=dict)


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read the log. Raises InputError that names file and sample, CancelledError."""
    (path,) = found.files
    check_file(path)
    head = library.header(path)
    reading = Reading(found, emit, cancel, salvage)
    finder = KeyFinder(found.benchmark)
    items: dict[str, _Item] = {}
    for sample in _samples(path, reading):
        _take(items, sample, path, reading, finder)
    rows = _rows(items, head.eval.config.epochs or 1)
    log = assemble(reading, rows, own_name=own_name(PREFIX, found.task), meta=meta_of(head), limit=limit_of(head))
    return dataclasses.replace(log, checks=(*log.checks, *checks_of(head)))


def _samples(path: Path, reading: Reading) -> Iterator[EvalSample]:
    """Every sample that is whole, in the file's order. Raises InputError, CancelledError."""
    if path.suffix != ".eval":
        yield from _of_json(path, reading)
        reading.finished(path)
        return
    check_members(path, reading.cancel, samples=True, salvage=reading.salvage)
    ids = library.sample_ids(path)
    size = path.stat().st_size
    for first in range(0, len(ids), _SAMPLES_PER_STEP):
        if reading.cancel is not None:
            reading.cancel.check()
        step = ids[first : first + _SAMPLES_PER_STEP]
        try:
            yield from library.samples(path, step)
        except InputError:
            # one by one: to name the sample, and to keep what is in front of it
            for one in step:
                try:
                    yield from library.samples(path, [one])
                except InputError as exc:
                    if not reading.salvage:
                        raise
                    reading.broken = exc.message
                    return
        done = first + len(step)
        reading.emit(Progress(size * done // len(ids), size, f"{path.name}: {done} samples"))


def _of_json(path: Path, reading: Reading) -> Iterator[EvalSample]:
    """The samples of a .json log, one at a time. Raises InputError that names file and line or sample."""
    members = Members(path, "samples")
    try:
        for member, entry, body in members:
            if member == "samples" and body is not None:
                yield _sample(path, entry, body)
                reading.step(path, members.position)
    except InputError as exc:
        if not reading.salvage:
            raise InputError(exc.message, f"{exc.remedy} {SALVAGE}".lstrip()) from exc
        reading.broken = exc.message


def _sample(path: Path, entry: str, body: Any) -> EvalSample:
    if not isinstance(body, dict):
        raise InputError(f"{path}, entry {shown(entry)} of samples: {shown(body)} is no sample.", "Evaluate again.")
    return library.sample_of(path, body)


def _take(items: dict[str, _Item], sample: EvalSample, path: Path, reading: Reading, finder: KeyFinder) -> None:
    own_key = str(sample.id)
    where = f"{path}, {library.place(sample.id, sample.epoch)}"
    if not is_name(own_key):
        raise InputError(f"{where}: the id is {shown(sample.id)}, which names no item.", "Leave this file out.")
    item = items.get(own_key)
    if item is None:
        item = items[own_key] = _item(sample, own_key, where, reading.found.benchmark, finder)
    # an invalidated sample was taken back by its author
    scores = sample.scores if sample.invalidation is None else None
    outcomes = outcomes_of(scores, reading)
    if item.epochs.setdefault(sample.epoch, outcomes) is not outcomes:
        raise InputError(f"{where}: comes a second time.", "Two runs are mixed in one file: keep one of them.")
    response = _response(sample)
    item.response = max(item.response, response, key=_WORST_LAST.index)
    if item.answer is None:
        item.answer = sample.output.completion if sample.output.choices else None


def _item(sample: EvalSample, own_key: str, where: str, benchmark: Benchmark, finder: KeyFinder) -> _Item:
    text, subject, choices = question(sample)
    category = subject if subject is not None else sample.metadata.get("category")
    key = finder.key(text, subject, choices)
    content = _content(sample, benchmark if key is not None else None, text)
    return _Item(
        where=where, own_key=own_key, key=key, content=content, category=category if is_name(category) else None
    )


def _content(sample: EvalSample, benchmark: Benchmark | None, text: str) -> str | None:
    """The item's content hash: the benchmark's where its item is recognised, else over what the sample shows."""
    try:
        if benchmark is not None:
            return content_hash(benchmark, _doc(sample, text))
        body = sample.input if isinstance(sample.input, str) else [[part.role, part.text] for part in sample.input]
        return content_sha256({"input": body, "choices": sample.choices, "target": sample.target})
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _doc(sample: EvalSample, text: str) -> Mapping[str, Any]:
    """The fields that IFEVAL's, GSM8K's and MMLU's items are made of, as inspect_evals hands them through."""
    doc: dict[str, Any] = {"prompt": text, "question": text, "choices": sample.choices, "answer": sample.target}
    given = sample.metadata
    if isinstance(ids := given.get("instruction_id_list"), list):
        doc["instruction_id_list"] = ids
        arguments = given.get("kwargs")
        if isinstance(arguments, dict):
            arguments = [arguments.get(str(place), {}) for place in range(len(ids))]
        doc["kwargs"] = arguments
    if isinstance(reasoning := given.get("reasoning"), str) and isinstance(sample.target, str):
        doc["answer"] = f"{reasoning}\n#### {sample.target}"
    return doc


def _response(sample: EvalSample) -> ResponseState:
    if not sample.output.choices:
        return "null"
    return "given" if sample.output.completion.strip() else "empty"


def _rows(items: Mapping[str, _Item], epochs: int) -> list[Row]:
    found: list[list[Outcome]] = []
    for item in items.values():
        meant = dict.fromkeys((*range(1, epochs + 1), *item.epochs))
        found.append(added([item.epochs.get(epoch, []) for epoch in meant]))
    return [
        item.row(outcomes)
        for item, outcomes in zip(items.values(), filled(found), strict=True)
    ]  # fmt: skip
