from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mince_gui.benchmarks import BENCHMARKS, KeyFinder, content_hash, item_key_of, keys_of, of_task
from mince_gui.benchmarks.known_items import item_keys_of, strangers, unknown_keys

IFEVAL, GSM8K, MMLU = BENCHMARKS["ifeval"], BENCHMARKS["gsm8k"], BENCHMARKS["mmlu"]


@pytest.fixture(scope="module")
def mmlu(shared: Path) -> dict[str, dict[str, Any]]:
    lines = gzip.decompress((shared / "data" / "mmlu" / "test.jsonl.gz").read_bytes()).splitlines()
    return {f"{doc['subject']}/{doc['doc_id']}": doc for doc in map(json.loads, lines)}


@pytest.fixture(scope="module")
def ifeval(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "data" / "ifeval" / "test.jsonl").read_bytes().splitlines()
    return {str(doc["key"]): doc for doc in map(json.loads, lines)}


@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu", "demo-choice"])
def test_every_key_is_listed_once_in_canonical_order(name: str) -> None:
    of = BENCHMARKS[name]
    keys = keys_of(of)
    assert keys is not None
    assert len(keys) == len(set(keys)) == of.total_items
    assert list(keys) == sorted(keys, key=of.sort_key)
    assert all(of.is_key(key) for key in keys)
    assert unknown_keys(of, keys) == ()


def test_a_task_that_is_a_benchmark_of_its_own_has_no_listed_keys() -> None:
    task = of_task("my_task")
    assert keys_of(task) is None
    assert item_key_of(task, "How many?") is None
    assert unknown_keys(task, ["3", "a-b"]) == ()


def test_unknown_keys_are_those_that_no_item_has() -> None:
    assert unknown_keys(IFEVAL, ["1000", "1002", "x"]) == ("1002", "x")
    assert unknown_keys(MMLU, ["anatomy/134", "anatomy/135", "virology/165"]) == ("anatomy/135",)
    assert unknown_keys(GSM8K, ["1318", "1319"]) == ("1319",)


def test_a_text_that_is_no_item_has_no_key() -> None:
    assert item_key_of(GSM8K, "How many are two and one?") is None
    assert item_key_of(IFEVAL, "\ud800") is None
    assert KeyFinder(MMLU).key("Which?", "anatomy", ["a", "b", "c", "d"]) is None


@pytest.mark.shared
def test_every_prompt_and_question_finds_its_item(shared: Path, ifeval: dict[str, dict[str, Any]]) -> None:
    assert [item_key_of(IFEVAL, f"\n{doc['prompt']} ") for doc in ifeval.values()] == list(ifeval)
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_bytes().splitlines()
    assert [item_key_of(GSM8K, json.loads(line)["question"]) for line in lines] == [str(i) for i in range(1_319)]


@pytest.mark.shared
def test_both_wordings_of_a_prompt_are_known(shared: Path) -> None:
    (path,) = (shared / "data" / "logs" / "lm_eval" / "gpt-4o-2024-08-06").glob("samples_ifeval_*")
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    sent = {str(row["doc"]["key"]): row["arguments"]["gen_args_0"]["arg_0"] for row in rows}
    assert {key for key, prompt in sent.items() if item_key_of(IFEVAL, prompt) != key} == set()


@pytest.mark.shared
def test_an_mmlu_question_alone_is_ambiguous_where_another_item_has_it_too(mmlu: dict[str, dict[str, Any]]) -> None:
    alone = [key for key, doc in mmlu.items() if item_key_of(MMLU, doc["question"], doc["subject"]) is None]
    assert len(alone) == 163
    with_choices = [
        key
        for key, doc in mmlu.items()
        if item_key_of(MMLU, doc["question"], doc["subject"], doc["choices"]) not in (None, key)
    ]
    assert with_choices == []
    twins = [
        key for key, doc in mmlu.items() if len(item_keys_of(MMLU, doc["question"], doc["subject"], doc["choices"])) > 1
    ]
    assert len(twins) == 54


@pytest.mark.shared
def test_a_finder_gives_each_twin_once_in_any_order_of_the_rows(mmlu: dict[str, dict[str, Any]]) -> None:
    docs = list(mmlu.values())
    random.Random(1).shuffle(docs)
    finder = KeyFinder(MMLU)
    found = [finder.key(doc["question"], doc["subject"], doc["choices"]) for doc in docs]
    assert set(found) == set(mmlu)
    contents = {key: content_hash(MMLU, doc) for key, doc in mmlu.items()}
    assert all(
        key is not None and contents[key] == content_hash(MMLU, doc) for key, doc in zip(found, docs, strict=True)
    )
    twin = next(doc for doc in docs if len(item_keys_of(MMLU, doc["question"], doc["subject"], doc["choices"])) > 1)
    assert finder.key(twin["question"], twin["subject"], twin["choices"]) is None


@pytest.mark.shared
def test_contents_under_wrong_keys_are_told_from_another_revision(ifeval: dict[str, dict[str, Any]]) -> None:
    keys = list(ifeval)
    hashes: list[str | None] = [content_hash(IFEVAL, doc) for doc in ifeval.values()]
    assert strangers(IFEVAL, keys, hashes).other == strangers(IFEVAL, keys, hashes).swapped == ()
    hashes[3], hashes[7] = hashes[7], hashes[3]
    hashes[5], hashes[6] = "0" * 64, None
    found = strangers(IFEVAL, keys, hashes)
    assert found.swapped == (keys[3], keys[7])
    assert found.other == (keys[5],)


@pytest.mark.shared
def test_the_resource_is_what_its_script_makes(shared: Path, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    script = root / "packaging" / "build_known_items.py"
    done = subprocess.run(
        [sys.executable, str(script), str(shared / "data"), "--out", str(tmp_path / "items.json")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "items.json").read_bytes() == (root / "resources" / "items.json").read_bytes()


def test_the_resource_holds_hashes_and_ids_only() -> None:
    text = (Path(__file__).resolve().parent.parent.parent / "resources" / "items.json").read_text(encoding="utf-8")
    body = json.loads(text)["items"]
    assert set(body) == {"ifeval", "mmlu", "gsm8k"}
    for entry in body.values():
        for group in entry["texts"].values():
            hashes = group.values() if isinstance(group, dict) else group
            assert all(len(h) == 16 and int(h, 16) >= 0 for h in hashes)
        assert int(entry["contents"], 16) >= 0
