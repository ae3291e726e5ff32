from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import get
from mince_gui.subset.vectors import read_embeddings

GSM8K, MMLU = get("gsm8k"), get("mmlu")
KEYS = ("0", "1", "2", "3")
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def _parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64])
def test_an_array_has_one_row_per_item_in_canonical_order(tmp_path: Path, kind: type[np.generic]) -> None:
    np.save(tmp_path / "e.npy", VECTORS.astype(kind))
    found = read_embeddings(tmp_path / "e.npy", GSM8K, KEYS)
    assert found.vectors.tolist() == VECTORS.tolist()
    assert found.source == {
        "kind": "npy",
        "file": "e.npy",
        "sha256": sha256_file(tmp_path / "e.npy"),
        "dimensions": 3,
    }


class _Evil:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return (pytest.fail, ("a pickle was executed",))


def _broken_header() -> bytes:
    """A header that promises a million rows, and no rows."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**4)})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (pickle.dumps(_Evil()), "no .npy array"),
        (b"", "no .npy array"),
        (b"\x93NUMPY", "no .npy array"),
        (_broken_header(), "no .npy array"),
    ],
)
def test_what_is_no_array_is_refused_and_no_pickle_is_opened(tmp_path: Path, raw: bytes, named: str) -> None:
    (tmp_path / "e.npy").write_bytes(raw)
    with pytest.raises(InputError, match=named) as caught:
        read_embeddings(tmp_path / "e.npy", GSM8K, KEYS)
    assert "e.npy" in caught.value.message


@pytest.mark.parametrize(
    ("array", "named"),
    [
        (np.array([{"a": 1}], dtype=object), "no .npy array"),
        (VECTORS[:3], "3 vectors for 4 items"),
        (VECTORS[0], "no table of numbers"),
        (VECTORS[:, :0], "no table of numbers"),
        (VECTORS.astype(str), "no table of numbers"),
        (np.where(VECTORS == 7, np.nan, VECTORS), "vectors of 1 items are not finite numbers, the first of item 2"),
        (np.where(VECTORS == 2, 1e300, VECTORS.astype(float)), "not finite numbers, the first of item 0"),
    ],
)
def test_a_wrong_array_is_refused_with_what_is_wrong(tmp_path: Path, array: Any, named: str) -> None:
    np.save(tmp_path / "e.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=named):
        read_embeddings(tmp_path / "e.npy", GSM8K, KEYS)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 3)])
def test_a_table_is_joined_by_its_keys_whatever_its_order(tmp_path: Path, kind: pa.DataType) -> None:
    order = [2, 0, 3, 1]
    path = _parquet(
        tmp_path / "e.parquet",
        doc_id=[*order, 99],
        embedding=pa.array([*VECTORS[order].tolist(), [9.0, 9.0, 9.0]], type=kind),
    )
    assert read_embeddings(path, GSM8K, KEYS).vectors.tolist() == VECTORS.tolist()


def test_a_table_may_have_one_column_per_dimension(tmp_path: Path) -> None:
    order = [3, 2, 1, 0]
    columns = {f"d{i}": VECTORS[order, i] for i in range(3)}
    path = _parquet(tmp_path / "e.parquet", item_key=[str(i) for i in order], **columns)
    assert read_embeddings(path, GSM8K, KEYS).vectors.tolist() == VECTORS.tolist()


def test_other_numbers_are_no_dimensions_and_the_columns_taken_are_named(tmp_path: Path) -> None:
    columns = {"d2": VECTORS[:, 1].astype(int), "d10": VECTORS[:, 2], "d1": VECTORS[:, 0]}
    filled = {f"d{i}": np.zeros(4) for i in range(3, 10)}
    extra = {"score": np.ones(4), "id2": np.ones(4), "doc_id": np.arange(4)}
    found = read_embeddings(_parquet(tmp_path / "e.parquet", **extra, **columns, **filled), GSM8K, KEYS)
    assert found.vectors[:, [0, 1, 9]].tolist() == VECTORS.tolist()
    assert (found.source["columns"], found.source["dimensions"]) == ("d1 to d10", 10)
    lists = _parquet(tmp_path / "l.parquet", key=[*KEYS], score=np.ones(4), vector=VECTORS.tolist())
    assert read_embeddings(lists, GSM8K, KEYS).source["columns"] == "vector"


def test_mmlu_keys_may_be_two_columns(tmp_path: Path) -> None:
    keys = ("anatomy/0", "anatomy/1", "virology/0", "virology/1")
    path = _parquet(
        tmp_path / "e.parquet",
        subject=["virology", "anatomy", "virology", "anatomy"],
        doc_id=[1, 0, 0, 1],
        vector=VECTORS[[3, 0, 2, 1]].tolist(),
    )
    assert read_embeddings(path, MMLU, keys).vectors.tolist() == VECTORS.tolist()


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"name": ["0", "1", "2", "3"], "v": VECTORS.tolist()}, "no key column"),
        ({"key": ["0", "1", "2"], "v": VECTORS[:3].tolist()}, "lacks the vectors of 1 items, the first of item 3"),
        ({"key": ["0", "1", "2", "3", "2"], "v": VECTORS[[0, 1, 2, 3, 2]].tolist()}, "item 2 has two vectors"),
        ({"key": ["0", "1", "2", "3"]}, "no column of vectors"),
        ({"key": [*KEYS], "v": VECTORS.tolist(), "w": VECTORS.tolist()}, "several columns of vectors: v, w"),
        ({"key": [*KEYS], "v": [[1.0, 2.0], [1.0], [1.0, 2.0], [1.0, 2.0]]}, "item 1 is not 2 numbers long"),
        ({"key": [*KEYS], "v": [[1.0, 2.0], None, [1.0, 2.0], [1.0, 2.0]]}, "item 1 is not 2 numbers long"),
        ({"key": [*KEYS], "v": [[1.0], [2.0], [None], [3.0]]}, "not finite numbers, the first of item 2"),
        ({"key": [*KEYS], "v0": [1.0, None, 2.0, 3.0], "v1": [1.0] * 4}, "not finite numbers, the first of item 1"),
        ({"key": [*KEYS], "score": [1.0] * 4, "id2": [2.0] * 4}, r"no column of vectors \(score, id2\)"),
        ({"key": [*KEYS], "d0": [1.0] * 4, "d2": [1.0] * 4}, "d0 to d2 are not numbered from 0 or 1 on without a gap"),
        (
            {"key": [*KEYS], "d0": [1.0] * 4, "d1": [1.0] * 4, "q1": [1.0] * 4, "q2": [1.0] * 4},
            r"several groups of numbered columns \(d\.\.\., q\.\.\.\)",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_the_item_named(tmp_path: Path, columns: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        read_embeddings(_parquet(tmp_path / "e.parquet", **columns), GSM8K, KEYS)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(KEYS), pa.array(KEYS), pa.array(VECTORS.tolist())], ["key", "key", "v"])
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(InputError, match="one column of each name"):
        read_embeddings(tmp_path / "e.parquet", GSM8K, KEYS)


@pytest.mark.parametrize(
    ("name", "raw"), [("e.parquet", b"PAR1 no table"), ("e.parquet", b""), ("e.txt", b"1 2 3"), ("e.npz", b"PK")]
)
def test_what_is_neither_is_refused(tmp_path: Path, name: str, raw: bytes) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InputError, match=name):
        read_embeddings(tmp_path / name, GSM8K, KEYS)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.npy cannot be read"):
        read_embeddings(tmp_path / "gone.npy", GSM8K, KEYS)
