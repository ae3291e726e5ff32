"""The user's own dataset, read into items by key."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mince_gui.base.canonical import canonical_json, sha256_file, sha256_text
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, Doc
from mince_gui.subset.dataset_files import REMEDY, Part, Row, files_are_logs, find_split, rows

_TEXTS = ("prompt", "question", "query", "text", "input", "problem")
_DRAW_SEED = 1234
"""lm-eval's default for the examples that it draws."""


@dataclass(frozen=True)
class Dataset:
    """A benchmark's items from files.

    `items` maps key to doc, in canonical order; `fewshot` maps a category to its example docs, in file
    order; `item_fewshot` maps a key to the examples that are drawn for this item alone. `source` names the file,
    `revision` is its SHA-256, or that of the names and SHA-256s of several files; `fewshot_source` says both of the
    examples' files.
    """

    benchmark: Benchmark
    items: Mapping[str, Doc]
    fewshot: Mapping[str, tuple[Doc, ...]]
    source: str
    revision: str
    fewshot_source: str = ""
    item_fewshot: Mapping[str, tuple[Doc, ...]] = field(default_factory=dict)


def read_dataset(benchmark: Benchmark, path: Path, *, fewshot: Path | None = None) -> Dataset:
    """The items of `benchmark` in `path`, as `read_items`, with the few-shot examples that it needs.

    Those of MMLU and demo-choice come from `fewshot`, or from the dev split beside the items; examples without an
    answer are left out. Those of GSM8K are drawn from the train split there, if there is one: only one of its tasks
    needs them. Raises InputError that names the file, and the line or row and field at fault.
    """
    dataset = read_items(benchmark, path)
    if benchmark.data.shown_by:
        examples, source = _fewshot(benchmark, path, fewshot)
        return replace(dataset, fewshot=examples, fewshot_source=source)
    if benchmark.data.drawn:
        drawn, source = _drawn(dataset, path, fewshot)
        return replace(dataset, item_fewshot=drawn, fewshot_source=source)
    return dataset


def read_items(benchmark: Benchmark, path: Path) -> Dataset:
    """The items alone, from `path`, a file or a folder in one of the layouts of `dataset_files`.

    Nulls among IFEVAL's arguments, with which Parquet fills absent ones, are dropped, and whole numbers that a copy
    made decimal are whole again: the items score alike whatever copy they are from. Raises InputError as
    `read_dataset` does.
    """
    parts = find_split(benchmark, path, "test")
    if not parts:
        raise InputError(f"{path} holds no test set of {benchmark.title} in a layout that is known.", REMEDY)
    items: dict[str, Doc] = {}
    counts: dict[str | None, int] = {}
    for part, row in _all_rows(benchmark, parts):
        doc = _checked(row, benchmark)
        subject = doc["subject"] if benchmark.key_field == "subject/doc_id" else None
        counted = counts.get(subject, 0)
        counts[subject] = counted + 1
        key = _key(benchmark, doc, row, counted, subject)
        if key not in items:
            items[key] = doc
        elif not part.is_log:
            raise InputError(f"{row.where}: item {key} occurs a second time.", "Use a test set without repeated rows.")
        elif items[key] != doc:
            # A log repeats its docs, once for each filter.
            raise InputError(f"{row.where}: item {key} was another one before.", "Choose the folder of one run.")
    if not items:
        raise InputError(f"{path} holds no items.", REMEDY)
    ordered = {key: items[key] for key in sorted(items, key=benchmark.sort_key)}
    source, revision = _named(path, parts)
    return Dataset(benchmark, ordered, {}, source, revision)


def text_of(benchmark: Benchmark, doc: Doc) -> str:
    """What an item is about, for its embedding: prompt or question, and the choices where there are some.

    Raises KeyError where the doc has no such field.
    """
    name = next((name for name in _TEXTS if isinstance(doc.get(name), str)), None)
    if name is None:
        raise KeyError(_TEXTS[0])
    choices = doc.get("choices")
    if isinstance(choices, dict):
        choices = choices.get("text")
    return "\n".join([doc[name], *map(str, choices if isinstance(choices, list) else ())])


def _all_rows(benchmark: Benchmark, parts: Sequence[Part]) -> Iterator[tuple[Part, Row]]:
    wanted = benchmark.data.fields
    for part in parts:
        for row in rows(part, (*wanted, "doc_id") if wanted else None):
            yield part, row


def _named(path: Path, parts: Sequence[Part]) -> tuple[str, str]:
    """The files in words, and the SHA-256 that stands for them."""
    base = path if path.is_dir() else path.parent
    names = [part.path.relative_to(base).as_posix() for part in parts]
    try:
        hashes = {name: sha256_file(part.path) for name, part in zip(names, parts, strict=True)}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error
    if len(names) == 1:
        return names[0], hashes[names[0]]
    return f"{names[0]} and {len(names) - 1} more files", sha256_text(canonical_json(hashes))


def _fewshot(benchmark: Benchmark, path: Path, given: Path | None) -> tuple[dict[str, tuple[Doc, ...]], str]:
    """The examples by category, and their files in words."""
    by = benchmark.data.shown_by
    folder = path if path.is_dir() else path.parent
    places = [folder, folder.parent] if given is None else [given]
    place, dev = next(((place, dev) for place in places if (dev := find_split(benchmark, place, "dev"))), (folder, ()))
    if not dev:
        why = (
            "lm-eval logs do not carry them"
            if files_are_logs(find_split(benchmark, path, "test"))
            else "no dev.jsonl, dev-*.parquet or dev/<subject>_dev.csv is there"
        )
        raise InputError(
            f"{given or folder}: {benchmark.title} needs its few-shot examples (the dev set), and {why}.",
            "Put the dev set beside the test set, or name it with --fewshot PATH.",
        )
    found: dict[str, list[Doc]] = {}
    for _, row in _all_rows(benchmark, dev):
        if "answer" in benchmark.data.fields and row.body.get("answer") is None:
            continue
        example = _checked(row, benchmark)
        found.setdefault(example[by], []).append(example)
    name, revision = _named(place, dev)
    return {category: tuple(docs) for category, docs in found.items()}, f"{name} (SHA-256 {revision})"


def _drawn(dataset: Dataset, path: Path, given: Path | None) -> tuple[dict[str, tuple[Doc, ...]], str]:
    """The examples by item key as lm-eval draws them in a run of all items, and their files in words.

    One generator goes on from item to item in the order of doc_id, so that each item has the same examples however many
    of the items are run here; lm-eval itself draws others where `--samples` leaves items out before it.
    """
    benchmark, n = dataset.benchmark, dataset.benchmark.data.drawn
    folder = path if path.is_dir() else path.parent
    places = [given] if given is not None else [folder, folder.parent] if folder.name == "test" else [folder]
    place, train = next(((at, found) for at in places if (found := find_split(benchmark, at, "train"))), (folder, ()))
    if not train and given is None:
        return {}, ""
    docs = [_checked(row, benchmark) for _, row in _all_rows(benchmark, train)]
    if len(docs) < n:
        raise InputError(
            f"{place}: {len(docs)} training examples; {n} are drawn for each item of {benchmark.title}.",
            "Put the training set beside the test set, or name it with --fewshot PATH.",
        )
    draw = random.Random(_DRAW_SEED)
    last = max(int(key) for key in dataset.items)
    examples = [tuple(docs[place] for place in draw.sample(range(len(docs)), n)) for _ in range(last + 1)]
    name, revision = _named(place, train)
    drawn = {key: examples[int(key)] for key in dataset.items}
    return drawn, f"{name} (SHA-256 {revision}), {n} of {len(docs):,} rows drawn for each item"


def _checked(row: Row, benchmark: Benchmark) -> Doc:
    """The doc with the fields of its benchmark, in the form that the tasks take."""
    doc, where = row.body, row.where
    wanted = benchmark.data.fields
    if not wanted:
        return _plain(doc, where)
    if benchmark.subjects and row.subject is not None:
        if doc.get("subject") not in (None, "", row.subject):
            raise InputError(f"{where}: 'subject' is not {row.subject}, as the file's name or folder says.", REMEDY)
        doc = {**doc, "subject": row.subject}
    missing = [name for name in wanted if doc.get(name) is None]
    if missing:
        raise InputError(
            f"{where}: no {' and no '.join(repr(name) for name in missing)}; this is no {benchmark.title} item.",
            f"{benchmark.title} items have the fields {', '.join(wanted)}.",
        )
    for name, kind in wanted.items():
        if not isinstance(doc[name], kind) or isinstance(doc[name], bool):
            raise InputError(f"{where}: '{name}' is not what a {benchmark.title} item holds there.", REMEDY)
    if benchmark.subjects and doc["subject"] not in benchmark.subjects:
        raise InputError(f"{where}: {doc['subject'][:40]!r} is no subject of {benchmark.title}.", REMEDY)
    try:
        return benchmark.data.tidied(doc)
    except ValueError as error:
        raise InputError(f"{where}: {error}.", REMEDY) from error


def _plain(doc: dict[str, Any], where: str) -> Doc:
    """The doc of a task that is not declared, if it can be written as JSON."""
    try:
        json.dumps(doc, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where} holds what no pack can: {error}.", "Export the dataset as JSON lines.") from error
    return doc


def _key(benchmark: Benchmark, doc: Doc, row: Row, counted: int, subject: str | None) -> str:
    """The item's key; the row's own doc_id counts where there is one, else its place (in its subject)."""
    doc_id = row.doc_id if row.doc_id is not None else doc.get("doc_id", counted)
    if not isinstance(doc_id, int) or isinstance(doc_id, bool) or doc_id < 0:
        raise InputError(f"{row.where}: 'doc_id' is not a whole number.", REMEDY)
    try:
        key = benchmark.item_key(doc, doc_id, subject)
    except KeyError as error:
        raise InputError(f"{row.where}: no {error}, which makes the item's key.", REMEDY) from error
    if not benchmark.is_key(key):
        raise InputError(f"{row.where}: {benchmark.title} has no item {key[:40]!r}.", REMEDY)
    return key
