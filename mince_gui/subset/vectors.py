"""Embeddings that the user brings: a .npy array in canonical order, or a .parquet table with a key column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark
from mince_gui.subset.clustering import Embeddings, Vectors

_KEY_NAMES = ("item_key", "item", "key", "id", "doc_id")
_LARGEST = 2 << 30
_NUMBERED = re.compile(r"(.*?)(\d{1,6})", re.ASCII | re.DOTALL)
_NAMED = 5
_DIMENSIONS = "Give one column of lists, or one number column per dimension, named d0, d1, ... under one prefix."
_REMEDY = "Give a .npy array with one row per item in canonical order, or a .parquet table with an item_key column."


def read_embeddings(path: Path, benchmark: Benchmark, item_keys: Sequence[str]) -> Embeddings:
    """The vectors of the items, in the order of `item_keys` (all of the benchmark's, canonical).

    A .npy array has one row per item in that order. A .parquet table has a key column (item_key, key, id or doc_id;
    MMLU also subject with doc_id) and either one column of lists or one number column per dimension, numbered under one
    prefix (d0, d1, ...); its rows may come in any order, and rows of other items are passed over. `source` names the
    columns that were taken. Raises InputError that names the file, and the item whose
    vector is missing, doubled or not finite.
    """
    if path.suffix.lower() not in (".npy", ".parquet"):
        raise InputError(f"{path} is neither a .npy nor a .parquet file.", _REMEDY)
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than {_LARGEST >> 30} GB.", _REMEDY)
        # What does not fit into 32 bits becomes infinite, and is named below.
        with np.errstate(over="ignore"):
            if path.suffix.lower() == ".npy":
                reading, columns = _npy(path, item_keys), {}
            else:
                reading, taken = _parquet(path, benchmark, item_keys)
                columns = {"columns": taken}
        digest = sha256_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", _REMEDY) from error
    broken = np.flatnonzero(~np.isfinite(reading).all(axis=1))
    if len(broken):
        raise InputError(
            f"{path}: the vectors of {len(broken)} items are not finite numbers, the first of item "
            f"{item_keys[int(broken[0])]}.",
            _REMEDY,
        )
    source = {"kind": path.suffix[1:].lower(), "file": path.name, "sha256": digest, "dimensions": reading.shape[1]}
    return Embeddings(reading, {**source, **columns})


def _npy(path: Path, item_keys: Sequence[str]) -> Vectors:
    try:
        # Mapped, so that a header which promises more than the file holds costs nothing; never a pickle.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path} is no .npy array of numbers: {error}.", _REMEDY) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{path} is no table of numbers with one row per item.", _REMEDY)
    if len(array) != len(item_keys):
        raise InputError(f"{path} holds {len(array)} vectors for {len(item_keys)} items.", _REMEDY)
    return np.asarray(array, dtype=np.float32)


def _parquet(path: Path, benchmark: Benchmark, item_keys: Sequence[str]) -> tuple[Vectors, str]:
    try:
        with pq.ParquetFile(path) as file:
            groups = (file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            if sum(groups) > _LARGEST:
                raise InputError(f"{path} holds more than {_LARGEST >> 30} GB.", _REMEDY)
            table = file.read()
        names = table.column_names
        columns = {name: table.column(name).to_pylist() for name in names if name in (*_KEY_NAMES, "subject")}
    except (pa.ArrowException, UnicodeDecodeError, KeyError) as error:
        raise InputError(f"{path} is no whole Parquet file with one column of each name: {error}.", _REMEDY) from error
    key_name = next((name for name in _KEY_NAMES if name in names), None)
    if key_name is None:
        raise InputError(f"{path} has no key column ({', '.join(_KEY_NAMES)}).", _REMEDY)
    keys = [str(key) for key in columns[key_name]]
    if benchmark.key_field == "subject/doc_id" and "subject" in names and key_name in ("doc_id", "id"):
        keys = [f"{subject}/{key}" for subject, key in zip(columns["subject"], keys, strict=True)]
    rows: dict[str, int] = {}
    wanted = set(item_keys)
    for row, key in enumerate(keys):
        if key in wanted and rows.setdefault(key, row) != row:
            raise InputError(f"{path}: item {key} has two vectors.", _REMEDY)
    absent = [key for key in item_keys if key not in rows]
    if absent:
        raise InputError(f"{path} lacks the vectors of {len(absent)} items, the first of item {absent[0]}.", _REMEDY)
    order = [rows[key] for key in item_keys]
    return _columns(table, path, item_keys, order)


def _columns(table: Any, path: Path, item_keys: Sequence[str], order: list[int]) -> tuple[Vectors, str]:
    """The vectors in the order of `item_keys`, and the columns that they are from."""
    lists = [field.name for field in table.schema if _is_list_of_numbers(field.type)]
    if len(lists) > 1:
        raise InputError(f"{path} has several columns of vectors: {', '.join(lists)}.", "Keep one of them.")
    if not lists:
        numbers = _numbered(table, path)
        columns = [np.asarray(table.column(name).to_pandas(), dtype=np.float32) for name in numbers]
        return np.column_stack(columns)[order], f"{numbers[0]} to {numbers[-1]}"
    vectors = table.column(lists[0]).to_pylist()
    length = next((len(vector) for vector in vectors if vector), 0)
    for key, row in zip(item_keys, order, strict=True):
        vector = vectors[row]
        if not vector or len(vector) != length:
            raise InputError(f"{path}: the vector of item {key} is not {length or 'some'} numbers long.", _REMEDY)
    # A null among the numbers becomes NaN here, and is named as such.
    return np.array([vectors[row] for row in order], dtype=np.float32), lists[0]


def _numbered(table: Any, path: Path) -> list[str]:
    """The number columns of one prefix, in the order of their numbers: other numbers (scores, ids) are no vectors."""
    groups: dict[str, dict[int, str]] = {}
    numbers = [f.name for f in table.schema if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
    for name in numbers:
        if (match := _NUMBERED.fullmatch(name)) is not None:
            groups.setdefault(match[1], {})[int(match[2])] = name
    groups = {prefix: group for prefix, group in groups.items() if len(group) > 1}
    if len(groups) != 1:
        what = "no column of vectors" if not groups else "several groups of numbered columns"
        named = ", ".join([f"{prefix}..." for prefix in groups] or numbers[:_NAMED])
        raise InputError(f"{path} has {what}{named and f' ({named})'}.", _DIMENSIONS)
    (group,) = groups.values()
    places = sorted(group)
    if places[0] not in (0, 1) or places[-1] - places[0] != len(places) - 1:
        raise InputError(
            f"{path}: {group[places[0]]} to {group[places[-1]]} are not numbered from 0 or 1 on without a gap.",
            _DIMENSIONS,
        )
    return [group[place] for place in places]


def _is_list_of_numbers(kind: Any) -> bool:
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)))
