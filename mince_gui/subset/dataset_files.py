"""A benchmark's dataset as people have it: which files of a folder are it, and their rows.

Layouts that are known, by their place under the folder that the user names:
- JSON lines, plain or gzipped: test.jsonl, dev.jsonl, train.jsonl; what the benchmark's publisher calls them otherwise;
- Parquet as on Hugging Face: test-00000-of-00001.parquet or test/0000.parquet, in the folder itself or in that of a
  configuration (main, all, default, data, as the benchmark declares); MMLU also in one folder per subject;
- the original CSV tree of MMLU: test/<subject>_test.csv and dev/<subject>_dev.csv, no header;
- lm-eval logs that carry the docs: samples_<task>_<time>.jsonl.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark
from mince_gui.subset.jsonfile import parse_object

Split = Literal["test", "dev", "train"]

REMEDY = (
    "Choose the benchmark's own test set: JSON lines (.jsonl, .jsonl.gz), Parquet, MMLU's CSV files, or lm-eval logs "
    "with docs."
)
_LARGEST = 1 << 30
_CSV_COLUMNS = 6
_BATCH = 1_000


@dataclass(frozen=True)
class Row:
    """One row: where it stands, its object, and what the file around it says of its id and subject (or None)."""

    where: str
    body: dict[str, Any]
    doc_id: int | None = None
    subject: str | None = None


@dataclass(frozen=True)
class Part:
    """One file. `subject` is what its name or folder says; `is_log` that its rows are lm-eval's."""

    path: Path
    subject: str | None = None
    is_log: bool = False


def find_split(benchmark: Benchmark, path: Path, split: Split) -> tuple[Part, ...]:
    """The files of the split in `path`, a file or a folder, in order; empty where there are none."""
    if not path.is_dir():
        return (_part(benchmark, path, split),)
    data = benchmark.data
    names, own_names = (data.test_splits, data.own_names) if split == "test" else ((split,), ())
    for config, name in itertools.product(data.folders, names):
        if found := _in_config(path / config, name, own_names):
            return tuple(Part(file) for file in found)
    if benchmark.subjects:
        return _by_subject(benchmark, path, split) or _csv_tree(path, split) or _logs(benchmark, path, split)
    return _logs(benchmark, path, split)


def files_are_logs(parts: Sequence[Part]) -> bool:
    """Whether the files are logs, which carry the items that were run and no others."""
    return any(part.is_log for part in parts)


def rows(part: Part, columns: Sequence[str] | None) -> Iterator[Row]:
    """The rows of one file, in order. Of Parquet only `columns` are read, where they are given.

    Raises InputError that names the file and line or row.
    """
    name = part.path.name.lower()
    try:
        if name.endswith(".parquet"):
            yield from _parquet_rows(part, columns)
        elif name.endswith(".csv"):
            yield from _csv_rows(part)
        else:
            yield from _json_rows(part)
    except OSError as error:
        raise InputError(
            f"{part.path} cannot be read: {error.strerror or error}.", "Check the path and its permissions."
        ) from error


def _in_config(folder: Path, split: str, own: Sequence[str]) -> list[Path]:
    for name in (f"{split}.jsonl", f"{split}.jsonl.gz", *own, f"{split}.parquet"):
        if (folder / name).is_file():
            return [folder / name]
    return sorted(folder.glob(f"{split}-*-of-*.parquet")) or sorted((folder / split).glob("*.parquet"))


def _by_subject(benchmark: Benchmark, folder: Path, split: Split) -> tuple[Part, ...]:
    return tuple(
        Part(file, subject) for subject in benchmark.subjects for file in _in_config(folder / subject, split, ())
    )


def _csv_tree(folder: Path, split: Split) -> tuple[Part, ...]:
    suffix = f"_{split}.csv"
    for place in (folder / split, folder / "data" / split, folder):
        if found := sorted(place.glob(f"*{suffix}")):
            return tuple(Part(file, file.name.removesuffix(suffix)) for file in found)
    return ()


def _logs(benchmark: Benchmark, folder: Path, split: Split) -> tuple[Part, ...]:
    if split != "test":
        return ()
    found = (_log_part(benchmark, file) for file in sorted(folder.glob("samples_*.jsonl*")))
    return tuple(part for part in found if part is not None)


def _log_part(benchmark: Benchmark, file: Path) -> Part | None:
    """The file as a log of the benchmark; None where its name says another task."""
    task = file.name.removeprefix("samples_").rpartition("_")[0]
    if task not in benchmark.tasks or file.suffix not in (".jsonl", ".gz"):
        return None
    return Part(file, task.removeprefix(f"{benchmark.name}_") if benchmark.subjects else None, is_log=True)


def _part(benchmark: Benchmark, file: Path, split: Split) -> Part:
    if file.name.startswith("samples_") and (log := _log_part(benchmark, file)) is not None:
        return log
    suffix = f"_{split}.csv"
    return Part(file, file.name.removesuffix(suffix) if file.name.endswith(suffix) else None)


def _json_rows(part: Part) -> Iterator[Row]:
    file, read, number = part.path, 0, 0
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            # A line is asked for with a limit, so that a small archive cannot fill the memory.
            while raw := lines.readline(_LARGEST - read + 1):
                number += 1
                read += len(raw)
                if read > _LARGEST:
                    raise InputError(f"{file} holds more than {_LARGEST >> 20} MB of text.", REMEDY)
                if raw.strip():
                    where = f"{file}, line {number}"
                    body = parse_object(raw, where, REMEDY)
                    yield _log_row(body, where, part) if part.is_log else Row(where, body, subject=part.subject)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file} is not a whole gzip file: {error}.", "Copy or download it again.") from error


def _log_row(body: dict[str, Any], where: str, part: Part) -> Row:
    doc, doc_id = body.get("doc"), body.get("doc_id")
    if not isinstance(doc, dict) or not doc:
        raise InputError(
            f"{where}: the log carries no doc.", "Choose a log that was written with docs, or the dataset itself."
        )
    if not isinstance(doc_id, int) or isinstance(doc_id, bool) or doc_id < 0:
        raise InputError(f"{where}: 'doc_id' is not a whole number.", REMEDY)
    return Row(where, doc, doc_id, part.subject)


def _parquet_rows(part: Part, columns: Sequence[str] | None) -> Iterator[Row]:
    # Loaded here: most datasets are not Parquet, and every command would pay for it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    file, number = part.path, 0
    try:
        with pq.ParquetFile(file) as table:
            groups = (table.metadata.row_group(i).total_byte_size for i in range(table.metadata.num_row_groups))
            if sum(groups) > _LARGEST:
                raise InputError(f"{file} holds more than {_LARGEST >> 20} MB.", REMEDY)
            there = None if columns is None else [name for name in columns if name in table.schema_arrow.names]
            for batch in table.iter_batches(_BATCH, columns=there):
                for body in batch.to_pylist():
                    number += 1
                    yield Row(f"{file}, row {number}", body, subject=part.subject)
    except UnicodeDecodeError as error:
        raise InputError(f"{file}, after row {number}: a text is not UTF-8.", "Copy or download it again.") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{file} is not a whole Parquet file: {error}.", "Copy or download it again.") from error


def _csv_rows(part: Part) -> Iterator[Row]:
    """Question, four choices, letter. Everything is text: a choice may read None, nan or 1e5."""
    file = part.path
    if part.subject is None:
        raise InputError(f"{file}: the name does not say the subject.", "MMLU's files are named <subject>_test.csv.")
    line = 0
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, strict=True)
            for cells in reader:
                line = reader.line_num
                where = f"{file}, line {line}"
                if not cells:
                    continue
                if len(cells) != _CSV_COLUMNS:
                    raise InputError(f"{where}: {len(cells)} columns in place of {_CSV_COLUMNS}.", REMEDY)
                question, *choices, answer = cells
                body = {"subject": part.subject, "question": question, "choices": choices, "answer": answer}
                yield Row(where, body, subject=part.subject)
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not UTF-8 text (byte {error.start}).", REMEDY) from error
    except csv.Error as error:
        raise InputError(f"{file}, after line {line}: {error}.", REMEDY) from error
