"""The user's own dataset files, read into items by key. JSON lines, plain or gzipped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, answer_index
from mince_gui.subset.jsonfile import parse_object

Doc = Mapping[str, Any]

_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "ifeval": {"key": int, "prompt": str, "instruction_id_list": list, "kwargs": list},
    "gsm8k": {"question": str, "answer": str},
    "mmlu": {"subject": str, "question": str, "choices": list, "answer": (int, str)},
    "demo-choice": {"id": int, "category": str, "question": str, "choices": list, "answer": int},
    "demo-math": {"id": int, "question": str, "answer": str},
}
_FEWSHOT_BY = {"mmlu": "subject", "demo-choice": "category"}
_TEST_NAMES = ("test.jsonl", "test.jsonl.gz")
_DEV_NAMES = ("dev.jsonl", "dev.jsonl.gz")
_LARGEST = 1 << 30
_REMEDY = "Choose the benchmark's own test set: one JSON object per line (.jsonl or .jsonl.gz)."


@dataclass(frozen=True)
class Dataset:
    """A benchmark's items from a file.

    `items` maps key to doc, in canonical order; `fewshot` maps a category to its example docs, in file
    order. `source` is the file's name, `revision` its SHA-256.
    """

    benchmark: Benchmark
    items: Mapping[str, Doc]
    fewshot: Mapping[str, tuple[Doc, ...]]
    source: str
    revision: str


def read_dataset(benchmark: Benchmark, path: Path) -> Dataset:
    """The items of `benchmark` in `path`, a file or a folder that holds test.jsonl (or .gz).

    Few-shot examples of MMLU and demo-choice come from dev.jsonl beside it; examples without an answer
    are left out. Raises InputError that names the file, and the line and field at fault.
    """
    file = _find(path, _TEST_NAMES) if path.is_dir() else path
    if file is None:
        raise InputError(f"{path} holds neither {_TEST_NAMES[0]} nor {_TEST_NAMES[1]}.", _REMEDY)
    items: dict[str, Doc] = {}
    counts: dict[str | None, int] = {}
    for line, row in _rows(file):
        where = f"{file}, line {line}"
        doc = _checked(row, benchmark, where)
        subject = doc["subject"] if benchmark.key_field == "subject/doc_id" else None
        counted = counts.get(subject, 0)
        counts[subject] = counted + 1
        key = _key(benchmark, doc, counted, subject, where)
        if key in items:
            raise InputError(f"{where}: item {key} occurs a second time.", "Use a test set without repeated rows.")
        items[key] = doc
    if not items:
        raise InputError(f"{file} holds no items.", _REMEDY)
    ordered = {key: items[key] for key in sorted(items, key=benchmark.sort_key)}
    return Dataset(benchmark, ordered, _fewshot(benchmark, file), file.name, sha256_file(file))


def _find(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _fewshot(benchmark: Benchmark, file: Path) -> dict[str, tuple[Doc, ...]]:
    by = _FEWSHOT_BY.get(benchmark.name)
    if by is None:
        return {}
    dev = _find(file.parent, _DEV_NAMES)
    if dev is None:
        raise InputError(
            f"{file.parent} holds no {_DEV_NAMES[0]}: {benchmark.title} needs its few-shot examples.",
            f"Put {_DEV_NAMES[0]} (or {_DEV_NAMES[1]}) beside {file.name}.",
        )
    found: dict[str, list[Doc]] = {}
    for line, doc in _rows(dev):
        if doc.get("answer") is None:
            continue
        example = _checked(doc, benchmark, f"{dev}, line {line}")
        found.setdefault(example[by], []).append(example)
    return {category: tuple(docs) for category, docs in found.items()}


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank."""
    read = 0
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            number = 0
            # A line is asked for with a limit, so that a small archive cannot fill the memory.
            while raw := lines.readline(_LARGEST - read + 1):
                number += 1
                read += len(raw)
                if read > _LARGEST:
                    raise InputError(f"{file} holds more than {_LARGEST >> 20} MB of text.", _REMEDY)
                if raw.strip():
                    yield number, parse_object(raw, f"{file}, line {number}", _REMEDY)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file} is not a whole gzip file: {error}.", "Copy or download it again.") from error
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error


def _checked(doc: Doc, benchmark: Benchmark, where: str) -> Doc:
    """The doc with the fields of its benchmark; an answer given as a letter becomes its index."""
    wanted = _FIELDS.get(benchmark.name, {})
    missing = [name for name in wanted if doc.get(name) is None]
    if missing:
        raise InputError(
            f"{where}: no {' and no '.join(repr(name) for name in missing)}; this is no {benchmark.title} item.",
            f"{benchmark.title} items have the fields {', '.join(wanted)}.",
        )
    for name, kind in wanted.items():
        if not isinstance(doc[name], kind) or isinstance(doc[name], bool):
            raise InputError(f"{where}: '{name}' is not what a {benchmark.title} item holds there.", _REMEDY)
    if benchmark.subjects and doc["subject"] not in benchmark.subjects:
        raise InputError(f"{where}: {doc['subject'][:40]!r} is no subject of {benchmark.title}.", _REMEDY)
    if "choices" in wanted:
        choices, answer = doc["choices"], doc["answer"]
        if isinstance(answer, str):
            answer = answer_index(answer)
        if not all(isinstance(choice, str) for choice in choices) or answer is None or not 0 <= answer < len(choices):
            raise InputError(f"{where}: 'choices' are not texts, or 'answer' is none of them.", _REMEDY)
        return {**doc, "answer": answer}
    return doc


def _key(benchmark: Benchmark, doc: Doc, counted: int, subject: str | None, where: str) -> str:
    """The item's key; the row's own doc_id counts where there is one, else its place (in its subject)."""
    doc_id = doc.get("doc_id", counted)
    if not isinstance(doc_id, int) or isinstance(doc_id, bool) or doc_id < 0:
        raise InputError(f"{where}: 'doc_id' is not a whole number.", _REMEDY)
    try:
        return benchmark.item_key(doc, doc_id, subject)
    except KeyError as error:
        raise InputError(f"{where}: no {error}, which makes the item's key.", _REMEDY) from error
