"""The same items in every layout in which people have them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, content_hash, get, keys_of
from mince_gui.subset import Dataset, build_pack, bundled, full_subset, read_dataset, read_items, read_subset, text_of

Rows = list[dict[str, Any]]

# Hugging Face gives the arguments of all instructions one struct with every field; absent ones are null.
_KWARGS = pa.struct(
    [
        *((name, pa.int64()) for name in (
            "num_highlights", "num_words", "num_placeholders", "num_bullets", "num_sections", "capital_frequency",
            "num_paragraphs", "let_frequency", "frequency", "num_sentences", "nth_paragraph",
        )),
        *((name, pa.string()) for name in (
            "relation", "prompt_to_repeat", "section_spliter", "capital_relation", "language", "let_relation", "letter",
            "end_phrase", "keyword", "postscript_marker", "first_word",
        )),
        *((name, pa.list_(pa.string())) for name in ("keywords", "forbidden_words")),
    ]
)  # fmt: skip
_SCHEMAS = {
    "ifeval": pa.schema(
        [
            ("key", pa.int64()),
            ("prompt", pa.string()),
            ("instruction_id_list", pa.list_(pa.string())),
            ("kwargs", pa.list_(_KWARGS)),
        ]
    ),
    "gsm8k": pa.schema([("question", pa.string()), ("answer", pa.string())]),
    "mmlu": pa.schema(
        [
            ("question", pa.string()),
            ("subject", pa.string()),
            ("choices", pa.list_(pa.string())),
            ("answer", pa.int64()),
        ]
    ),
    "arc_challenge": pa.schema(
        [
            ("id", pa.string()),
            ("question", pa.string()),
            ("choices", pa.struct([("text", pa.list_(pa.string())), ("label", pa.list_(pa.string()))])),
            ("answerKey", pa.string()),
        ]
    ),
}
_LETTERS = "ABCD"


def _own(name: str) -> tuple[Rows, Rows]:
    """Test and dev items of our own. The traps: outer blanks, None and nan as text, line breaks, quotes."""
    if name == "gsm8k":
        return [{"question": f" What is {i} + {i}? ", "answer": f"It is {2 * i}.\n#### {2 * i}"} for i in range(7)], []
    if name == "arc_challenge":
        labels = ["ABCD", "1234", "ABC", "ABCDE"]
        return [
            {
                "id": f"Own_{i}",
                "question": f"Which of {i} melts? ",
                "choices": {"text": [f"None {sign}" for sign in labels[i % 4]], "label": list(labels[i % 4])},
                "answerKey": labels[i % 4][i % 3],
            }
            for i in range(7)
        ], []
    if name == "ifeval":
        arguments: Rows = [{}, {"num_words": 30, "relation": "at least"}, {"keywords": ["a", "b"]}]
        return [
            {
                "key": int(key),
                "prompt": f"Say it {i} times.\n",
                "instruction_id_list": [
                    "punctuation:no_comma",
                    "length_constraints:number_words",
                    "keywords:existence",
                ],
                "kwargs": arguments,
            }
            for i, key in enumerate((keys_of(get("ifeval")) or ())[:7])
        ], []
    choices = [["None", "nan", "1e5", "NA"], ['"quoted", so', "two\nlines", " blank ", "ü"], ["007", "7.0", "-", "="]]
    rows = [
        {"subject": subject, "question": f"Which is {i},\nso to speak?", "choices": choices[i % 3], "answer": i % 4}
        for subject in ("anatomy", "virology")
        for i in range(5)
    ]
    return rows, [{**row, "question": f"Example: {row['question']}"} for row in rows]


def _jsonl(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def _parquet(path: Path, rows: Rows, schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [name for name in schema.names if rows and name in rows[0]]
    plain = [{name: row[name] for name in fields} for row in rows]
    pq.write_table(pa.Table.from_pylist(plain, schema=schema), path)


def _csv(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        for row in rows:
            writer.writerow([row["question"], *row["choices"], _LETTERS[row["answer"]]])


def _subjects(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["subject"], []).append(row)
    return found


def _by_subject(write: Callable[[str, str, Rows], None], test: Rows, dev: Rows) -> None:
    for split, rows in (("test", test), ("dev", dev)):
        for subject, part in _subjects(rows).items():
            write(subject, split, part)


def _hub(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    """As the dataset's page on Hugging Face offers it."""
    schema = _SCHEMAS[name]
    config = {"ifeval": "", "gsm8k": "main/", "mmlu": "all/", "arc_challenge": "ARC-Challenge/"}[name]
    split = "train" if name == "ifeval" else "test"
    half = len(test) // 2
    for part, rows in enumerate((test[:half], test[half:])):
        _parquet(folder / f"{config}{split}-0000{part}-of-00002.parquet", rows, schema)
    _parquet(folder / f"{config}validation-00000-of-00001.parquet", test[:1], schema)
    if dev:
        _parquet(folder / f"{config}dev-00000-of-00001.parquet", dev, schema)


def _converted(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    """As Hugging Face's own conversion to Parquet has it."""
    config = {"ifeval": "default", "gsm8k": "main", "mmlu": "all", "arc_challenge": "ARC-Challenge"}[name]
    split = "train" if name == "ifeval" else "test"
    _parquet(folder / config / split / "0000.parquet", test, _SCHEMAS[name])
    if dev:
        _parquet(folder / config / "dev" / "0000.parquet", dev, _SCHEMAS[name])


def _lines(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    """JSON lines; google/IFEval's own file has another name, and nulls among the arguments."""
    if name == "ifeval":
        nulls = [{**row, "kwargs": [{"num_words": None, **entry} for entry in row["kwargs"]]} for row in test]
        _jsonl(folder / "ifeval_input_data.jsonl", nulls)
        return
    _jsonl(folder / "test.jsonl.gz", test)
    if dev:
        _jsonl(folder / "dev.jsonl", dev)


def _subject_folders(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    schema = _SCHEMAS[name]
    _by_subject(
        lambda s, split, rows: _parquet(folder / s / f"{split}-00000-of-00001.parquet", rows, schema), test, dev
    )


def _csv_tree(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    _by_subject(lambda s, split, rows: _csv(folder / "data" / split / f"{s}_{split}.csv", rows), test, dev)


def _logs(folder: Path, name: str, test: Rows, dev: Rows) -> None:
    """lm-eval logs with docs, one row per filter; the few-shot examples, which logs lack, as a file beside them."""
    parts = _subjects(test) if name == "mmlu" else {"": test}
    for subject, rows in parts.items():
        task = f"mmlu_{subject}" if subject else name
        logged = [
            {"doc_id": i, "doc": row, "filter": one, "exact_match": 1.0}
            for one in ("strict-match", "flexible-extract")
            for i, row in reversed(list(enumerate(rows)))
        ]
        _jsonl(folder / f"samples_{task}_2026-01-01T00-00-00.000001.jsonl", logged)
    if dev:
        _jsonl(folder / "dev.jsonl", dev)


_LAYOUTS: dict[str, tuple[Callable[[Path, str, Rows, Rows], None], ...]] = {
    "ifeval": (_hub, _converted, _lines, _logs),
    "gsm8k": (_hub, _converted, _lines, _logs),
    "mmlu": (_hub, _converted, _lines, _subject_folders, _csv_tree, _logs),
    "arc_challenge": (_hub, _converted, _lines, _logs),
}
_CASES = [pytest.param(name, write, id=f"{name}-{write.__name__[1:]}") for name in _LAYOUTS for write in _LAYOUTS[name]]


def _facts(dataset: Dataset) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Content hashes of items and examples."""
    benchmark = dataset.benchmark
    return (
        {key: content_hash(benchmark, doc) for key, doc in dataset.items.items()},
        {category: [content_hash(benchmark, doc) for doc in docs] for category, docs in dataset.fewshot.items()},
    )


@pytest.mark.parametrize(("name", "write"), _CASES)
def test_every_layout_gives_the_same_items_and_examples(
    tmp_path: Path, name: str, write: Callable[[Path, str, Rows, Rows], None]
) -> None:
    test, dev = _own(name)
    _jsonl(tmp_path / "plain" / "test.jsonl", test)
    _jsonl(tmp_path / "plain" / "dev.jsonl", dev)
    plain = read_dataset(get(name), tmp_path / "plain")
    write(tmp_path / "other", name, test, dev)
    other = read_dataset(get(name), tmp_path / "other")
    assert list(other.items) == list(plain.items)
    assert _facts(other) == _facts(plain)
    assert json.loads(json.dumps(list(other.items.values()))) == list(other.items.values())


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ifeval", "train-00000-of-00001.parquet"),
        ("gsm8k", "test-00000-of-00001.parquet"),
        ("mmlu", "test-00000-of-00001.parquet"),
        ("arc_challenge", "test.parquet"),
    ],
)
def test_one_parquet_file_may_be_named_itself(tmp_path: Path, name: str, file: str) -> None:
    test, dev = _own(name)
    _parquet(tmp_path / file, test, _SCHEMAS[name])
    if dev:
        _parquet(tmp_path / "dev-00000-of-00001.parquet", dev, _SCHEMAS[name])
    found = read_dataset(get(name), tmp_path / file)
    assert len(found.items) == len(test)
    assert found.source == file


def test_the_test_folder_of_the_csv_tree_may_be_named_itself(tmp_path: Path) -> None:
    test, dev = _own("mmlu")
    _csv_tree(tmp_path, "mmlu", test, dev)
    found = read_dataset(get("mmlu"), tmp_path / "data" / "test")
    assert found.items["anatomy/0"]["choices"] == ["None", "nan", "1e5", "NA"]
    assert found.items["anatomy/1"]["choices"][1:3] == ["two\nlines", " blank "]
    assert found.source == "anatomy_test.csv and 1 more files"
    assert "dev/anatomy_dev.csv" in found.fewshot_source


def test_arguments_lose_their_nulls_and_whole_numbers_stay_whole(tmp_path: Path) -> None:
    row = {
        "key": 1000,
        "prompt": "p",
        "instruction_id_list": ["a:b", "c:d"],
        "kwargs": [None, {"num_words": 300.0, "relation": None, "keywords": ["k"]}],
    }
    _jsonl(tmp_path / "test.jsonl", [row])
    (doc,) = read_dataset(get("ifeval"), tmp_path).items.values()
    assert doc["kwargs"] == [{}, {"num_words": 300, "keywords": ["k"]}]
    assert isinstance(doc["kwargs"][1]["num_words"], int)


def test_columns_that_no_item_needs_are_not_read(tmp_path: Path) -> None:
    test, _ = _own("gsm8k")
    table = pa.Table.from_pylist(test).append_column("picture", pa.array([b"\xff"] * len(test)))
    pq.write_table(table, tmp_path / "test.parquet")
    assert set(read_dataset(get("gsm8k"), tmp_path).items["0"]) == {"question", "answer"}


def test_logs_of_mmlu_say_that_the_examples_are_missing_and_take_them_from_elsewhere(tmp_path: Path) -> None:
    test, dev = _own("mmlu")
    _logs(tmp_path / "run" / "logs", "mmlu", test, [])
    with pytest.raises(InputError, match=r"few-shot examples .*lm-eval logs do not carry them") as caught:
        read_dataset(get("mmlu"), tmp_path / "run" / "logs")
    assert "--fewshot" in caught.value.remedy
    _csv_tree(tmp_path / "tree", "mmlu", [], dev)
    _jsonl(tmp_path / "shots.jsonl", dev)
    for fewshot in (tmp_path / "tree", tmp_path / "shots.jsonl"):
        found = read_dataset(get("mmlu"), tmp_path / "run" / "logs", fewshot=fewshot)
        assert {subject: len(docs) for subject, docs in found.fewshot.items()} == {"anatomy": 5, "virology": 5}


def test_logs_whose_docs_disagree_or_are_missing_are_refused(tmp_path: Path) -> None:
    stamp = "2026-01-0{}T00-00-00.000001"
    rows = [{"doc_id": 0, "doc": {"question": "1?", "answer": "1"}}]
    _jsonl(tmp_path / f"samples_gsm8k_{stamp.format(1)}.jsonl", rows)
    _jsonl(
        tmp_path / f"samples_gsm8k_{stamp.format(2)}.jsonl", [{"doc_id": 0, "doc": {"question": "2?", "answer": "1"}}]
    )
    with pytest.raises(InputError, match="line 1: item 0 was another one before"):
        read_dataset(get("gsm8k"), tmp_path)
    bare = tmp_path / "bare" / f"samples_gsm8k_{stamp.format(1)}.jsonl"
    _jsonl(bare, [{"doc_id": 0, "doc": {}}])
    with pytest.raises(InputError, match="line 1: the log carries no doc"):
        read_dataset(get("gsm8k"), bare)


def test_other_logs_beside_are_passed_over(tmp_path: Path) -> None:
    _jsonl(tmp_path / "samples_mmlu_pro_biology_2026-01-01T00-00-00.jsonl", [{"doc_id": 0, "doc": {"x": 1}}])
    with pytest.raises(InputError, match="no test set of MMLU"):
        read_items(get("mmlu"), tmp_path)


@pytest.mark.parametrize(
    ("name", "raw", "named"),
    [
        ("anatomy_test.csv", b"q,a,b,c,d,A\nq,a,b,c,A\n", "line 2: 5 columns in place of 6"),
        ("anatomy_test.csv", b"q,a,b,c,d,E\n", "line 1: 'choices'"),
        ("anatomy_test.csv", b'q,a,b,c,d,A\n"q,a,b\n', "after line 1"),
        ("anatomy_test.csv", b"q,a,b,c,d,A\n\xff,a,b,c,d,A\n", "not UTF-8"),
        ("cooking_test.csv", b"q,a,b,c,d,A\n", "line 1: 'cooking' is no subject"),
        ("mmlu.csv", b"q,a,b,c,d,A\n", "does not say the subject"),
        ("test.parquet", b"PAR1", "not a whole Parquet file"),
        ("test.parquet", b"PAR1" + b"\0" * 50 + b"PAR1", "not a whole Parquet file"),
        ("gone.parquet", None, "cannot be read"),
        ("gone_test.csv", None, "cannot be read"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, name: str, raw: bytes | None, named: str) -> None:
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(InputError, match=named) as caught:
        read_items(get("mmlu"), tmp_path / name)
    assert name in caught.value.message


def test_a_cut_parquet_file_is_named(tmp_path: Path) -> None:
    test, _ = _own("gsm8k")
    _parquet(tmp_path / "test.parquet", test, _SCHEMAS["gsm8k"])
    whole = (tmp_path / "test.parquet").read_bytes()
    for kept in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "test.parquet").write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"test\.parquet is not a whole Parquet file"):
            read_items(get("gsm8k"), tmp_path)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_damaged_parquet_files_are_read_or_refused_with_their_name(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(_SCHEMAS)))
    path = tmp_path_factory.mktemp("fuzz") / "test.parquet"
    _parquet(path, _own(name)[0], _SCHEMAS[name])
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        read_items(get(name), path)
    except InputError as error:
        if str(path) not in error.message:
            raise


def test_a_text_that_is_not_utf_8_is_named_with_its_file(tmp_path: Path) -> None:
    wrong = pa.array([b"\xff\xfe", b"b"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"question": wrong, "answer": ["1", "2"]}), tmp_path / "test.parquet")
    with pytest.raises(InputError, match=r"test\.parquet, after row 0: a text is not UTF-8"):
        read_items(get("gsm8k"), tmp_path)


def test_a_row_of_another_subject_than_its_folder_is_named(tmp_path: Path) -> None:
    test, _ = _own("mmlu")
    _parquet(tmp_path / "virology" / "test-00000-of-00001.parquet", test, _SCHEMAS["mmlu"])
    with pytest.raises(InputError, match="row 1: 'subject' is not virology"):
        read_dataset(get("mmlu"), tmp_path)


def test_a_task_that_is_not_declared_takes_what_can_be_written_as_json(tmp_path: Path) -> None:
    from mince_gui.benchmarks import of_task

    pq.write_table(pa.table({"query": ["a", "b"], "picture": [b"x", b"y"]}), tmp_path / "test.parquet")
    with pytest.raises(InputError, match="row 1 holds what no pack can"):
        read_items(of_task("my_task"), tmp_path)
    _jsonl(tmp_path / "test.jsonl", [{"query": "a"}, {"query": "b"}])
    found = read_items(of_task("my_task"), tmp_path)
    assert [text_of(found.benchmark, doc) for doc in found.items.values()] == ["a", "b"]


def test_the_text_of_an_item_is_its_prompt_or_question_with_the_choices() -> None:
    assert text_of(get("ifeval"), {"prompt": "p", "question": "q"}) == "p"
    assert text_of(get("mmlu"), {"question": "q", "choices": ["a", "b"]}) == "q\na\nb"
    assert text_of(get("arc_challenge"), {"question": "q", "choices": {"text": ["a"], "label": ["1"]}}) == "q\na"
    with pytest.raises(KeyError):
        text_of(get("gsm8k"), {"answer": "1"})


def _republished(benchmark: Benchmark, row: dict[str, Any]) -> dict[str, Any]:
    """As copies trim and drop: no outer blanks, no nulls."""
    tidy = {name: value.strip() if isinstance(value, str) else value for name, value in row.items()}
    if benchmark.name == "mmlu":
        tidy["choices"] = [choice.strip() for choice in row["choices"]]
    return tidy


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu"])
def test_genuine_and_republished_files_hash_alike_and_fit_the_bundled_subset(
    shared: Path, tmp_path: Path, name: str
) -> None:
    benchmark = get(name)
    found = read_dataset(benchmark, shared / "data" / name)
    rows: Rows = [dict(doc) for doc in found.items.values()]
    dev: Rows = [dict(doc) for docs in found.fewshot.values() for doc in docs]
    # Blanks that the copy at hand has lost, as a genuine file may have them.
    padded = [{n: f" {v}\n" if n in ("prompt", "question") else v for n, v in row.items()} for row in rows]
    _hub(tmp_path / "hub", name, padded, dev)
    hub = read_dataset(benchmark, tmp_path / "hub")
    _jsonl(tmp_path / "copy" / "test.jsonl", [_republished(benchmark, row) for row in rows])
    _jsonl(tmp_path / "copy" / "dev.jsonl", dev)
    copy = read_dataset(benchmark, tmp_path / "copy")
    assert _facts(hub) == _facts(copy) == _facts(found)
    subset = next(s for s in map(read_subset, bundled()) if s.benchmark == name)
    pack = build_pack(subset, hub)
    assert (pack.accepted_differences, pack.unverified) == ((), ())
    known = {key: value for key, value in zip(subset.item_keys, subset.hashes, strict=True) if value}
    whole = build_pack(full_subset(benchmark, hub.items, known=known), hub)
    assert len(whole.items) == benchmark.total_items
    assert len(whole.unverified) == subset.total_items - subset.n


@pytest.mark.shared
def test_the_real_csv_tree_of_mmlu_keeps_every_choice_as_text(shared: Path, tmp_path: Path) -> None:
    found = read_dataset(get("mmlu"), shared / "data" / "mmlu")
    rows = [dict(doc) for doc in found.items.values()]
    _csv_tree(tmp_path, "mmlu", rows, [dict(doc) for docs in found.fewshot.values() for doc in docs])
    again = read_dataset(get("mmlu"), tmp_path)
    assert _facts(again) == _facts(found)
    assert sum("None" in doc["choices"] for doc in again.items.values()) >= 10


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ifeval", "gsm8k"])
def test_rows_in_another_order_are_refused_with_the_item_named(shared: Path, tmp_path: Path, name: str) -> None:
    benchmark = get(name)
    rows = [dict(doc) for doc in read_items(benchmark, shared / "data" / name).items.values()]
    # Places that the bundled subset draws, and the one after each.
    first = {"ifeval": 10, "gsm8k": 6}[name]
    if name == "ifeval":
        # Rows may stand in any order, since each names its key; a key may not be another's.
        rows[first]["key"], rows[first + 1]["key"] = rows[first + 1]["key"], rows[first]["key"]
    else:
        rows[first], rows[first + 1] = rows[first + 1], rows[first]
    _jsonl(tmp_path / "test.jsonl", rows)
    subset = next(s for s in map(read_subset, bundled()) if s.benchmark == name)
    key = (keys_of(benchmark) or ())[first]
    assert key in subset.item_keys
    with pytest.raises(InputError, match=f"at the place of item {key} what is item"):
        build_pack(subset, read_dataset(benchmark, tmp_path), accept_revision=True)
