from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix
from mince_gui.subset import (
    Dataset,
    FrozenSubset,
    Pack,
    PackItem,
    build_logged_pack,
    build_pack,
    bundled,
    freeze,
    full_subset,
    pack_file,
    read_dataset,
    read_pack,
    read_subset,
    write_pack,
)

Members = dict[str, bytes]


@pytest.fixture
def subset(matrix: ScoreMatrix) -> FrozenSubset:
    return freeze(matrix, n=20, sizing=None)


@pytest.fixture
def pack(subset: FrozenSubset, dataset: Dataset) -> Pack:
    return build_pack(subset, dataset)


def changed(dataset: Dataset, key: str) -> Dataset:
    doc = {**dataset.items[key], "answer": "Another one.\n#### 1"}
    return dataclasses.replace(dataset, items={**dataset.items, key: doc})


def test_a_pack_holds_the_docs_of_the_subset_in_its_order(pack: Pack, subset: FrozenSubset, dataset: Dataset) -> None:
    assert tuple(item.key for item in pack.items) == subset.item_keys
    assert all(item.doc == dataset.items[item.key] for item in pack.items)
    assert pack.licence == "openai/gsm8k: MIT"
    assert pack.unverified == pack.accepted_differences == ()


def test_an_item_that_reads_differently_is_refused_by_its_key(subset: FrozenSubset, dataset: Dataset) -> None:
    key = subset.item_keys[3]
    with pytest.raises(InputError, match=rf"1 of the 20 items.*: {key}\.") as caught:
        build_pack(subset, changed(dataset, key))
    assert "--accept-revision" in caught.value.remedy


def test_an_accepted_difference_is_recorded_and_survives_the_file(
    tmp_path: Path, subset: FrozenSubset, dataset: Dataset
) -> None:
    key = subset.item_keys[3]
    pack = build_pack(subset, changed(dataset, key), accept_revision=True)
    assert pack.accepted_differences == (key,)
    write_pack(tmp_path / "p.mincepack", pack)
    assert read_pack(tmp_path / "p.mincepack") == pack


def test_a_dataset_of_which_more_than_half_differs_is_another_and_never_accepted(
    subset: FrozenSubset, dataset: Dataset
) -> None:
    half = subset.n // 2
    for key in subset.item_keys[:half]:
        dataset = changed(dataset, key)
    assert len(build_pack(subset, dataset, accept_revision=True).accepted_differences) == half
    for accept in (False, True):
        with pytest.raises(InputError, match="another dataset, not another revision") as caught:
            build_pack(subset, changed(dataset, subset.item_keys[half]), accept_revision=accept)
        assert f"{half + 1} of the {subset.n} items" in caught.value.message
        assert "--accept-revision" not in caught.value.remedy


def test_a_difference_outside_the_subset_does_not_matter(subset: FrozenSubset, dataset: Dataset) -> None:
    outside = next(key for key in dataset.items if key not in subset.item_keys)
    assert build_pack(subset, changed(dataset, outside)).accepted_differences == ()


def test_items_without_a_hash_are_noted_as_unverified(matrix: ScoreMatrix, dataset: Dataset) -> None:
    bare = freeze(dataclasses.replace(matrix, hashes=(None,) * 1319), n=20, sizing=None)
    pack = build_pack(bare, changed(dataset, bare.item_keys[0]))
    assert pack.unverified == bare.item_keys


def test_a_dataset_that_lacks_an_item_is_refused_by_its_key(subset: FrozenSubset, dataset: Dataset) -> None:
    gone = subset.item_keys[-1]
    short = dataclasses.replace(dataset, items={k: d for k, d in dataset.items.items() if k != gone})
    with pytest.raises(InputError, match=rf"lacks 1 of the 20 items.*: {gone}\."):
        build_pack(subset, short)


def test_a_dataset_of_another_benchmark_is_refused(subset: FrozenSubset, dataset: Dataset) -> None:
    with pytest.raises(InputError, match="demo-math"):
        build_pack(subset, dataclasses.replace(dataset, benchmark=get("demo-math")))


def test_few_shot_examples_are_those_of_the_items_categories(dataset: Dataset) -> None:
    benchmark = get("mmlu")
    doc = {"question": "Which?", "choices": ["w", "x", "y", "z"], "answer": 1}
    items = {f"{subject}/{i}": doc for subject in ("anatomy", "virology") for i in range(3)}
    examples = {subject: ({**doc, "subject": subject},) for subject in ("anatomy", "virology", "marketing")}
    mmlu = Dataset(benchmark, items, examples, "test.jsonl", "0" * 64)
    whole = full_subset(dataclasses.replace(benchmark, total_items=None), items, known={})
    assert set(build_pack(whole, mmlu).fewshot) == {"anatomy", "virology"}
    del examples["virology"]
    with pytest.raises(InputError, match="no few-shot examples for virology"):
        build_pack(whole, mmlu)


def test_a_pack_file_comes_back_as_it_was_and_equal_packs_give_equal_bytes(tmp_path: Path, pack: Pack) -> None:
    odd = dataclasses.replace(pack, fewshot={"": ({"text": "é\n\u2028 \ud800"},)})
    for number, one in enumerate((pack, odd)):
        first, second = tmp_path / f"{number}a.mincepack", tmp_path / f"{number}b.mincepack"
        write_pack(first, one)
        write_pack(second, one)
        assert read_pack(first) == one
        assert first.read_bytes() == second.read_bytes()


def _members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _rebuild(path: Path, members: Members) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)


def _manifest(members: Members, **changes: Any) -> Members:
    body = {**json.loads(members["manifest.json"]), **changes}
    return {**members, "manifest.json": json.dumps(body).encode()}


def _forged_item(members: Members) -> Members:
    """One answer changed, with file sizes and hashes that fit again."""
    rows = [json.loads(line) for line in members["items.jsonl"].splitlines()]
    rows[0]["doc"]["answer"] = "#### 0"
    return _resealed(members, rows)


def _resealed(members: Members, rows: list[Any]) -> Members:
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
    files = json.loads(members["manifest.json"])["files"]
    files["items.jsonl"] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return _manifest({**members, "items.jsonl": raw}, files=files)


def _rows(members: Members) -> list[Any]:
    return [json.loads(line) for line in members["items.jsonl"].splitlines()]


def _keys(members: Members) -> list[str]:
    return [row["key"] for row in _rows(members)]


def _without(members: Members, name: str) -> Members:
    return {key: raw for key, raw in members.items() if key != name}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: {**m, "../evil.py": b"x"}, "evil.py"),
        (lambda m: {**m, "/etc/evil": b"x"}, "evil"),
        (lambda m: {**m, "extra.txt": b"x"}, "extra.txt"),
        (lambda m: _without(m, "items.jsonl"), r"no items\.jsonl"),
        (lambda m: _without(m, "manifest.json"), r"no manifest\.json"),
        (lambda m: {**m, "items.jsonl": m["items.jsonl"] + b"\n"}, "items.jsonl is not what the manifest says"),
        (lambda m: {**m, "fewshot.jsonl": b"{}\n"}, "fewshot.jsonl is not what the manifest says"),
        (lambda m: {**m, "manifest.json": b"{}"}, "no pack manifest"),
        (lambda m: {**m, "manifest.json": b"\x00"}, r"manifest\.json is not valid JSON"),
        (lambda m: _manifest(m, schema=9), "schema 9"),
        (lambda m: _manifest(m, logged={}), "a logged task belongs to pack schema 2"),
        (lambda m: _manifest(m, subset={}), "subset is not a subset file"),
        (lambda m: _manifest(m, accepted_differences="all"), "accepted_differences"),
        (lambda m: _manifest(m, accepted_differences=["0"]), "accepted_differences' does not list"),
        (lambda m: _manifest(m, accepted_differences=[_rows(m)[0]["key"]]), "accepted_differences' does not list"),
        (lambda m: _forged_item(_manifest(m, accepted_differences=_keys(m))), "accepted_differences' does not list"),
        (lambda m: _manifest(m, unverified=_keys(m)), "'unverified' does not list"),
        (lambda m: _resealed(m, [{**_rows(m)[0], "category": "x"}, *_rows(m)[1:]]), "not of the category 'x'"),
        (_forged_item, "the content of item"),
        (lambda m: _resealed(m, _rows(m)[1:]), "holds 19 items"),
        (lambda m: _resealed(m, _rows(m)[::-1]), "where the subset has"),
        (lambda m: _resealed(m, [{"key": "1"}, *_rows(m)[1:]]), "line 1: 'doc' is missing"),
        (lambda m: _resealed(m, [{**_rows(m)[0], "doc": {}}, *_rows(m)[1:]]), "no readable content"),
    ],
)
def test_a_wrong_pack_is_refused_with_what_is_wrong(
    tmp_path: Path, pack: Pack, change: Callable[[Members], Members], named: str
) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, pack)
    _rebuild(path, change(_members(path)))
    with pytest.raises(InputError, match=named) as caught:
        read_pack(path)
    assert str(path) in caught.value.message


def test_a_file_that_was_verified_before_is_read_equal_without_its_items_being_hashed_again(
    tmp_path: Path, pack: Pack, shown: Pack, logged: Pack
) -> None:
    path = tmp_path / "p.mincepack"
    for one in (pack, shown, logged):
        write_pack(path, one)
        assert read_pack(path, seen_before=True) == read_pack(path) == one
    write_pack(path, pack)
    _rebuild(path, _forged_item(_members(path)))
    # Only who knows the file's own SHA-256 may say that it was seen: a forged one is read then.
    assert read_pack(path, seen_before=True).items[0].doc["answer"] == "#### 0"
    with pytest.raises(InputError, match="not what the subset's hash says"):
        read_pack(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: {**m, "items.jsonl": m["items.jsonl"] + b" "}, "not what the manifest says"),
        (lambda m: _without(m, "fewshot.jsonl"), "holds no fewshot.jsonl"),
        (lambda m: _resealed(m, _rows(m)[1:]), "holds 19 items"),
        (lambda m: _manifest(m, unverified=["1"]), "'unverified' does not list"),
    ],
)
def test_a_file_that_does_not_hold_together_is_refused_also_where_it_was_seen_before(
    tmp_path: Path, pack: Pack, change: Callable[[Members], Members], named: str
) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, pack)
    _rebuild(path, change(_members(path)))
    with pytest.raises(InputError, match=named):
        read_pack(path, seen_before=True)


def test_a_doc_that_names_another_item_is_refused_where_no_hash_can_tell(tmp_path: Path) -> None:
    path = tmp_path / "p.mincepack"
    doc = {"question": "Which?", "choices": ["w", "x", "y", "z"], "answer": 1}
    for name, of, key, wrong in (
        ("mmlu-1500", "mmlu", "subject", "virology"),
        ("ifeval-250", "ifeval", "key", 7),
    ):
        subset = read_subset(next(file for file in bundled() if file.stem == name))
        bare = dataclasses.replace(subset, hashes=(None,) * subset.n)
        items = tuple(PackItem(k, get(of).category(doc, k), doc) for k in bare.item_keys)
        write_pack(path, Pack(bare, items, {}))
        assert read_pack(path).unverified == bare.item_keys
        # The first item is of abstract_algebra, or has the key 1005.
        forged = (dataclasses.replace(items[0], doc={**doc, key: wrong}), *items[1:])
        write_pack(path, Pack(bare, forged, {}))
        with pytest.raises(InputError, match=f"content of item {bare.item_keys[0]} is another item's"):
            read_pack(path)


def test_a_doc_nested_too_deeply_to_be_hashed_is_refused_by_its_key(subset: FrozenSubset, dataset: Dataset) -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    key = subset.item_keys[3]
    items = {**dataset.items, key: {"question": deep, "answer": "1"}}
    with pytest.raises(InputError, match=f"item {key} has no readable content"):
        build_pack(subset, dataclasses.replace(dataset, items=items))


def test_a_member_that_would_unpack_to_an_absurd_size_is_refused_unread(
    tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, pack)
    _rebuild(path, {**_members(path), "items.jsonl": b"\0" * (2 << 20)})
    monkeypatch.setitem(pack_file._LIMITS, "items.jsonl", 1 << 20)
    with pytest.raises(InputError, match=r"items\.jsonl would unpack to 2 MB"):
        read_pack(path)


def test_a_header_that_lies_about_the_size_does_not_unpack_more(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, pack)
    members = _members(path)
    big = b"\0" * (4 << 20)
    _rebuild(path, {**members, "items.jsonl": big})
    size = len(big).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (100).to_bytes(4, "little")))
    with pytest.raises(InputError):
        read_pack(path)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_a_cut_pack_is_refused(tmp_path: Path, pack: Pack, part: float) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, pack)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * part)])
    with pytest.raises(InputError, match="not a whole pack"):
        read_pack(path)


def test_a_pack_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_pack(tmp_path / "gone.mincepack")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu"])
def test_bundled_subsets_and_full_benchmarks_pack_from_the_real_dataset(
    shared: Path, tmp_path: Path, name: str
) -> None:
    dataset = read_dataset(get(name), shared / "data" / name)
    subset = next(s for s in map(read_subset, bundled()) if s.benchmark == name)
    pack = build_pack(subset, dataset)
    assert pack.unverified == ()
    write_pack(tmp_path / "p.mincepack", pack)
    assert read_pack(tmp_path / "p.mincepack") == pack
    assert len(pack.fewshot) == (57 if name == "mmlu" else 0)
    known = dict(zip(subset.item_keys, subset.hashes, strict=True))
    whole = build_pack(full_subset(get(name), dataset.items, known={k: h for k, h in known.items() if h}), dataset)
    assert len(whole.unverified) == subset.total_items - subset.n


@pytest.mark.shared
def test_a_pack_whose_items_are_swapped_is_refused_where_no_hash_can_tell(shared: Path, tmp_path: Path) -> None:
    dataset = read_dataset(get("gsm8k"), shared / "data" / "gsm8k")
    pack = build_pack(full_subset(get("gsm8k"), dataset.items, known={}), dataset)
    first, second, *others = pack.items
    swapped = (PackItem(first.key, None, second.doc), PackItem(second.key, None, first.doc), *others)
    write_pack(tmp_path / "p.mincepack", dataclasses.replace(pack, items=swapped))
    with pytest.raises(InputError, match="the content of item 0 is another item's"):
        read_pack(tmp_path / "p.mincepack")


@pytest.mark.shared
def test_a_real_dataset_of_another_benchmark_is_named_as_wrong(shared: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: no 'question' and no 'answer'; this is no GSM8K item"):
        read_dataset(get("gsm8k"), shared / "data" / "ifeval")


@pytest.fixture
def logged(subset: FrozenSubset, dataset: Dataset) -> Pack:
    asked = {key: {"task": "gsm8k", "prompts": [f"Q {key}"]} for key in dataset.items}
    return build_logged_pack(subset, dataset, asked, {"kind": "a definition", "name": "gsm8k"})


@pytest.fixture
def shown(pack: Pack) -> Pack:
    """Two items with examples of their own, one of which they share."""
    first, second = pack.items[0].key, pack.items[5].key
    docs = tuple({"question": f"{i}?", "answer": f"#### {i}"} for i in range(3))
    return dataclasses.replace(pack, item_fewshot={first: (docs[2], docs[0]), second: (docs[0], docs[1])})


def test_only_packs_with_logged_requests_or_own_examples_are_of_the_second_schema(
    tmp_path: Path, pack: Pack, logged: Pack, shown: Pack
) -> None:
    for made, schema, added in ((pack, 1, set()), (logged, 2, {"asked"}), (shown, 2, {"examples"})):
        path = tmp_path / "p.mincepack"
        write_pack(path, made)
        assert read_pack(path) == made
        members = _members(path)
        manifest = json.loads(members["manifest.json"])
        assert manifest["schema"] == schema
        assert ("logged" in manifest) == (made is logged)
        assert _rows(members)[0].keys() - {"key", "category", "doc"} == added
        write_pack(tmp_path / "again", read_pack(path))
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_an_example_that_several_items_share_is_written_once(tmp_path: Path, shown: Pack) -> None:
    write_pack(tmp_path / "p.mincepack", shown)
    assert len(_members(tmp_path / "p.mincepack")["fewshot.jsonl"].splitlines()) == 3


def test_a_packs_own_examples_are_those_of_its_items(subset: FrozenSubset, dataset: Dataset) -> None:
    drawn = {key: ({"question": key, "answer": "#### 1"},) for key in dataset.items}
    made = build_pack(subset, dataclasses.replace(dataset, item_fewshot=drawn))
    assert tuple(made.item_fewshot) == subset.item_keys


def test_requests_of_a_log_without_docs_run_unverified_and_never_where_a_hash_asks_for_proof(
    matrix: ScoreMatrix, subset: FrozenSubset, dataset: Dataset
) -> None:
    bare = dataclasses.replace(dataset, items={key: {} for key in dataset.items})
    asked: dict[str, dict[str, Any]] = {key: {"task": "gsm8k"} for key in dataset.items}
    with pytest.raises(InputError, match="carries no docs"):
        build_logged_pack(subset, bare, asked, {})
    unhashed = freeze(dataclasses.replace(matrix, hashes=(None,) * 1319), n=20, sizing=None)
    assert build_logged_pack(unhashed, bare, asked, {}).unverified == unhashed.item_keys


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda m: _manifest(m, logged=[]), "'logged' is not an object"),
        (lambda m: _resealed(m, [{**_rows(m)[0], "asked": "x"}, *_rows(m)[1:]]), "line 1: 'asked' is not an object"),
        (lambda m: _resealed(m, [{**_rows(m)[0], "doc": {}}, *_rows(m)[1:]]), "no readable content"),
    ],
)
def test_a_wrong_logged_pack_is_refused(
    tmp_path: Path, logged: Pack, change: Callable[[Members], Members], named: str
) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, logged)
    _rebuild(path, change(_members(path)))
    with pytest.raises(InputError, match=named):
        read_pack(path)


@pytest.mark.parametrize("examples", [[3], [-1], ["0"], "0", [True]])
def test_examples_that_are_not_in_the_pack_are_refused(tmp_path: Path, shown: Pack, examples: Any) -> None:
    path = tmp_path / "p.mincepack"
    write_pack(path, shown)
    members = _members(path)
    _rebuild(path, _resealed(members, [{**_rows(members)[0], "examples": examples}, *_rows(members)[1:]]))
    with pytest.raises(InputError, match="names what is not in the pack"):
        read_pack(path)


def test_a_pack_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, logged: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pack_file._LIMITS, "items.jsonl", 500)
    with pytest.raises(InputError, match="is the most that a pack holds"):
        write_pack(tmp_path / "p.mincepack", logged)
    assert not (tmp_path / "p.mincepack").exists()
