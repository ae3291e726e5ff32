from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import InputError
from mince_gui.base.paths import resources
from mince_gui.benchmarks import get
from mince_gui.subset import dataset_files, read_dataset

Rows = list[dict[str, Any]]
Write = Callable[[str, Rows], Path]

MMLU = {"question": "Which?", "choices": ["w", "x", "y", "z"], "answer": 1}


def test_items_come_in_canonical_order_under_their_keys(write_lines: Write) -> None:
    row = {"prompt": "Say it.", "instruction_id_list": ["a:b"], "kwargs": [{}]}
    path = write_lines("test.jsonl", [{"key": key, **row} for key in (13, 1000, 102)])
    assert list(read_dataset(get("ifeval"), path).items) == ["1000", "102", "13"]


def test_a_gzipped_file_and_a_folder_are_read_alike(write_lines: Write, rows: Rows) -> None:
    path = write_lines("plain/test.jsonl", rows)
    packed = path.parent.parent / "gz" / "test.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    plain = read_dataset(get("gsm8k"), path)
    assert plain.items == read_dataset(get("gsm8k"), packed).items
    assert plain.items == read_dataset(get("gsm8k"), packed.parent).items
    assert list(plain.items)[:2] == ["0", "1"]


def test_mmlu_rows_count_within_their_subject_and_letters_become_places(write_lines: Write) -> None:
    rows = [{"subject": s, **MMLU} for s in ("virology", "anatomy", "anatomy")]
    rows[1]["answer"] = "C"
    path = write_lines("test.jsonl", rows)
    write_lines("dev.jsonl", [{"subject": "anatomy", **MMLU}, {"subject": "anatomy", **MMLU, "answer": None}])
    found = read_dataset(get("mmlu"), path)
    assert list(found.items) == ["anatomy/0", "anatomy/1", "virology/0"]
    assert [doc["answer"] for doc in found.items.values()] == [2, 1, 1]
    assert {subject: len(docs) for subject, docs in found.fewshot.items()} == {"anatomy": 1}


def test_mmlu_without_its_few_shot_file_is_refused(write_lines: Write) -> None:
    path = write_lines("test.jsonl", [{"subject": "anatomy", **MMLU}])
    with pytest.raises(InputError, match=r"dev\.jsonl"):
        read_dataset(get("mmlu"), path)


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (MMLU, "line 2: no 'subject'"),
        ({**MMLU, "subject": ["anatomy"]}, "line 2: 'subject'"),
        ({**MMLU, "subject": "cooking"}, "line 2: 'cooking'"),
    ],
)
def test_a_few_shot_row_without_a_subject_is_named(write_lines: Write, row: dict[str, Any], named: str) -> None:
    path = write_lines("test.jsonl", [{"subject": "anatomy", **MMLU}])
    write_lines("dev.jsonl", [{"subject": "anatomy", **MMLU}, row])
    with pytest.raises(InputError, match=named) as caught:
        read_dataset(get("mmlu"), path)
    assert "dev.jsonl" in caught.value.message


def test_a_row_of_endless_lists_is_named(write_lines: Write, rows: Rows) -> None:
    deep: Any = []
    for _ in range(600):
        deep = [deep]
    path = write_lines("test.jsonl", [rows[0], {**rows[1], "extra": deep}])
    with pytest.raises(InputError, match="line 2 nests more than 100"):
        read_dataset(get("gsm8k"), path)


@pytest.mark.parametrize(
    ("of", "row", "named"),
    [
        ("ifeval", {"question": "1?", "answer": "1"}, "line 2: no 'key' and no 'prompt'"),
        ("gsm8k", {"question": "1?"}, "line 2: no 'answer'"),
        ("gsm8k", {"question": "1?", "answer": 3}, "line 2: 'answer'"),
        ("gsm8k", {"question": "1?", "answer": "1", "doc_id": "x"}, "line 2: 'doc_id'"),
        ("gsm8k", {"question": "1?", "answer": "1", "doc_id": 0}, "line 2: item 0 occurs a second time"),
        ("demo-choice", {"id": 5, "category": "c", **MMLU, "answer": 4}, "line 2: 'choices'"),
        ("demo-choice", {"id": 5, "category": "c", **MMLU, "answer": True}, "line 2: 'answer'"),
        ("mmlu", {"subject": "anatomy", **MMLU, "answer": "E"}, "line 2: 'choices'"),
        ("mmlu", {"subject": "cooking", **MMLU}, "line 2: 'cooking' is no subject of MMLU"),
        ("mmlu", {"subject": "anatomy", **MMLU, "answer": ""}, "line 2: 'choices'"),
    ],
)
def test_a_wrong_row_is_named_with_file_line_and_field(
    write_lines: Write, of: str, row: dict[str, Any], named: str
) -> None:
    good: dict[str, dict[str, Any]] = {
        "ifeval": {"key": 1, "prompt": "p", "instruction_id_list": ["a:b"], "kwargs": [{}]},
        "gsm8k": {"question": "1?", "answer": "1", "doc_id": 0},
        "demo-choice": {"id": 1, "category": "c", **MMLU},
        "mmlu": {"subject": "anatomy", **MMLU},
    }
    path = write_lines("test.jsonl", [good[of], row])
    with pytest.raises(InputError, match=named) as caught:
        read_dataset(get(of), path)
    assert "test.jsonl" in caught.value.message


def test_a_broken_line_is_named(tmp_path: Path, rows: Rows) -> None:
    path = tmp_path / "test.jsonl"
    path.write_text(json.dumps(rows[0]) + '\n\n{"question": "cut', encoding="utf-8")
    with pytest.raises(InputError, match="line 3 is not valid JSON"):
        read_dataset(get("gsm8k"), path)


@pytest.mark.parametrize("kept", [5, 60])
def test_a_cut_gzip_file_is_named(tmp_path: Path, rows: Rows, kept: int) -> None:
    path = tmp_path / "test.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())[:kept])
    with pytest.raises(InputError, match=r"test\.jsonl\.gz"):
        read_dataset(get("gsm8k"), path)


def test_what_is_no_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl.gz"
    path.write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a whole gzip file"):
        read_dataset(get("gsm8k"), path)


def test_a_small_archive_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_files, "_LARGEST", 1 << 20)
    path = tmp_path / "test.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(InputError, match="more than 1 MB"):
        read_dataset(get("gsm8k"), path)


def test_an_empty_file_a_missing_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    for path, named in (
        (tmp_path / "empty.jsonl", "no items"),
        (tmp_path / "gone.jsonl", "cannot be read"),
        (tmp_path, "holds no test set of GSM8K"),
    ):
        with pytest.raises(InputError, match=named):
            read_dataset(get("gsm8k"), path)


def test_the_demo_datasets_are_whole() -> None:
    for name in ("demo-choice", "demo-math"):
        found = read_dataset(get(name), resources() / "demo" / name)
        assert len(found.items) == get(name).total_items
        assert all(len(docs) == 2 for docs in found.fewshot.values())


def _problems(count: int, name: str = "train") -> Rows:
    return [{"question": f"{name} {i}?", "answer": f"Own.\n#### {i}"} for i in range(count)]


def test_gsm8k_items_have_training_examples_of_their_own_where_the_training_set_is_there(write_lines: Write) -> None:
    path = write_lines("test.jsonl", _problems(40, "test"))
    write_lines("train.jsonl", _problems(30))
    found = read_dataset(get("gsm8k"), path.parent)
    assert list(found.item_fewshot) == list(found.items)
    assert {len({doc["question"] for doc in docs}) for docs in found.item_fewshot.values()} == {5}
    assert found.fewshot_source.startswith("train.jsonl (SHA-256 ")
    assert found.fewshot_source.endswith("), 5 of 30 rows drawn for each item")
    assert read_dataset(get("gsm8k"), path) == found


def test_the_drawn_examples_are_those_that_lm_eval_draws_in_a_run_of_all_items(write_lines: Write) -> None:
    """Rows of as many as GSM8K has, as lm-eval 0.4.13 drew them; test_oracle_tasks.py draws with lm-eval itself."""
    path = write_lines("test.jsonl", _problems(1_319, "test"))
    train = _problems(7_473)
    write_lines("train.jsonl", train)
    places = {doc["question"]: place for place, doc in enumerate(train)}
    found = read_dataset(get("gsm8k"), path).item_fewshot
    drawn = [[places[doc["question"]] for doc in docs] for docs in found.values()]
    assert drawn[:2] == [[6374, 3610, 957, 61, 742], [7462, 6610, 4769, 286, 5501]]
    assert drawn[-1] == [220, 4179, 6064, 5599, 5541]
    assert sha256_text(canonical_json(drawn)) == "f21436e42f1b4dd092dcc03530cb90c7875e6b77fe8091e0236e7670a3b8d0af"


def test_a_log_of_some_items_draws_what_all_items_would(write_lines: Write, tmp_path: Path) -> None:
    whole = write_lines("whole/test.jsonl", _problems(9, "test"))
    shots = write_lines("train.jsonl", _problems(30))
    log = tmp_path / "samples_gsm8k_2026-01-01T00-00-00.000001.jsonl"
    rows = [{"doc_id": i, "doc": doc} for i, doc in enumerate(_problems(9, "test")) if i in (3, 8)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    every = read_dataset(get("gsm8k"), whole, fewshot=shots).item_fewshot
    some = read_dataset(get("gsm8k"), log, fewshot=shots).item_fewshot
    assert some == {key: every[key] for key in ("3", "8")}


def test_gsm8k_without_a_training_set_has_items_and_no_examples(write_lines: Write) -> None:
    found = read_dataset(get("gsm8k"), write_lines("test/test.jsonl", _problems(4, "test")))
    assert (len(found.items), found.item_fewshot, found.fewshot_source) == (4, {}, "")


@pytest.mark.parametrize("train", [_problems(4), [{"question": "no answer?"}]])
def test_a_training_set_that_is_none_is_refused(write_lines: Write, train: Rows) -> None:
    path = write_lines("test.jsonl", _problems(4, "test"))
    write_lines("train.jsonl", train)
    with pytest.raises(InputError, match=r"4 training examples; 5 are drawn|line 1: no 'answer'"):
        read_dataset(get("gsm8k"), path)


def test_the_hubs_training_set_is_found_from_its_folder_and_from_its_test_file(tmp_path: Path) -> None:
    for split, rows in (("test", _problems(4, "test")), ("train", _problems(30))):
        file = tmp_path / "main" / f"{split}-00000-of-00001.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), file)
    by_folder = read_dataset(get("gsm8k"), tmp_path)
    by_file = read_dataset(get("gsm8k"), tmp_path / "main" / "test-00000-of-00001.parquet")
    assert len(by_folder.item_fewshot) == 4
    assert by_file.item_fewshot == by_folder.item_fewshot
