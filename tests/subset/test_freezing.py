from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.paths import bundled_subsets
from mince_gui.benchmarks import get, keys_of, of_task
from mince_gui.logs import ScoreMatrix
from mince_gui.sizing import SizingResult, make_plan, size
from mince_gui.subset import (
    Dataset,
    bundled,
    draw_stratified,
    draw_uniform,
    freeze,
    full_subset,
    read_subset,
    write_subset,
)


@pytest.fixture
def sizing(matrix: ScoreMatrix) -> SizingResult:
    return size(matrix, make_plan(matrix, sizes=(10, 20, 30), tau_pp=30.0))


def test_a_frozen_subset_holds_the_drawn_items_with_their_hashes(matrix: ScoreMatrix, sizing: SizingResult) -> None:
    subset = freeze(matrix, n=20, sizing=sizing)
    drawn = draw_uniform(1319, 20, 42)
    assert subset.item_keys == tuple(matrix.keys[i] for i in drawn)
    assert subset.hashes == tuple(matrix.hashes[i] for i in drawn)
    assert (subset.n, subset.total_items, subset.seed, subset.sampler) == (20, 1319, 42, "uniform")


def test_the_stratified_sampler_draws_by_category(matrix: ScoreMatrix) -> None:
    subset = freeze(matrix, n=20, sizing=None, sampler="stratified", seed=3)
    drawn = draw_stratified(matrix.categories, 20, 3)
    assert subset.item_keys == tuple(matrix.keys[i] for i in drawn)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "gsm8k-20"),
        ({"seed": 7}, "gsm8k-20-s7"),
        ({"sampler": "stratified"}, "gsm8k-20-stratified"),
        ({"sampler": "stratified", "seed": 7}, "gsm8k-20-stratified-s7"),
        ({"name": "mine", "seed": 7}, "mine"),
    ],
)
def test_the_name_says_what_is_unusual(matrix: ScoreMatrix, arguments: dict[str, Any], name: str) -> None:
    assert freeze(matrix, n=20, sizing=None, **arguments).name == name


def test_the_evidence_says_which_sizing_justified_n(matrix: ScoreMatrix, sizing: SizingResult) -> None:
    evidence = freeze(matrix, n=20, sizing=sizing).evidence
    assert evidence["p95_pp"] == sizing.bound_at(20)
    assert evidence["gain_pp"] == sizing.gain_pp[1]
    assert dict(zip(evidence["sizes"], evidence["curve_pp"], strict=True))[20] == evidence["p95_pp"]
    assert evidence["rule"] == "per-model"
    assert (evidence["method"], evidence["draws"], evidence["seed"]) == ("exact", None, None)
    assert evidence["pool"] == ["a", "b", "c"]
    assert evidence["n_star"] == sizing.n_star


def test_an_n_that_was_no_candidate_has_no_bound_and_says_so(matrix: ScoreMatrix, sizing: SizingResult) -> None:
    subset = freeze(matrix, n=25, sizing=sizing)
    assert subset.p95_pp is None
    assert any("25 was no candidate size" in warning for warning in subset.evidence["warnings"])
    assert freeze(matrix, n=25, sizing=None).evidence == {}


def test_another_samplers_subset_says_in_its_file_whose_bound_it_has(
    tmp_path: Path, matrix: ScoreMatrix, sizing: SizingResult
) -> None:
    subset = freeze(matrix, n=20, sizing=sizing, sampler="stratified")
    assert subset.bound_title == "bound of uniform draws"
    write_subset(tmp_path / "s.json", subset)
    assert read_subset(tmp_path / "s.json").evidence["warnings"][-1] == (
        "The bound is the bound of uniform draws; this subset was drawn by another sampler (stratified)."
    )
    uniform = freeze(matrix, n=20, sizing=sizing)
    assert (uniform.bound_title, uniform.rule) == ("bound", "per-model")
    without = freeze(matrix, n=25, sizing=sizing, sampler="stratified")
    for other in (uniform, without):
        assert not any("uniform draws" in warning for warning in other.evidence["warnings"])


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", "a:b", "a\n"])
def test_a_name_that_no_file_can_have_is_refused(matrix: ScoreMatrix, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        freeze(matrix, n=20, sizing=None, name=name)


def test_the_drift_table_is_signed_and_leaves_out_pairs_with_missing_items(matrix: ScoreMatrix) -> None:
    subset = freeze(matrix, n=20, sizing=None)
    drawn = list(draw_uniform(1319, 20, 42))
    full, part, drift = subset.drift_table["b"]["exact_match,strict-match"]
    assert full == pytest.approx(100 * matrix.passed[1, 0].mean())
    assert part == pytest.approx(100 * matrix.passed[1, 0, drawn].mean())
    assert drift == part - full
    assert set(subset.drift_table["c"]) == {"exact_match,strict-match"}


def test_freezing_the_whole_or_by_an_unknown_sampler_or_a_foreign_sizing_is_refused(
    matrix: ScoreMatrix, sizing: SizingResult
) -> None:
    with pytest.raises(UsageError, match="whole"):
        freeze(matrix, n=1319, sizing=None)
    with pytest.raises(UsageError, match="kmeans"):
        freeze(matrix, n=20, sizing=None, sampler="kmeans")
    with pytest.raises(UsageError, match="mmlu"):
        freeze(matrix, n=20, sizing=dataclasses.replace(sizing, benchmark="mmlu"))


def test_a_full_subset_needs_every_item(dataset: Dataset) -> None:
    few = dict(list(dataset.items.items())[:60])
    with pytest.raises(InputError, match="1319 items, but the dataset holds 60"):
        full_subset(get("gsm8k"), few, known={})
    subset = full_subset(of_task("my_task"), few, known={})
    assert (subset.sampler, subset.n, subset.total_items, subset.seed) == ("full", 60, 60, None)
    assert subset.item_keys == tuple(str(i) for i in range(60))


def test_a_full_subset_has_the_known_hashes_and_none_from_the_docs(tmp_path: Path, dataset: Dataset) -> None:
    subset = full_subset(get("gsm8k"), dataset.items, known={"7": "a" * 64}, revision=dataset.revision)
    assert {key: value for key, value in zip(subset.item_keys, subset.hashes, strict=True) if value} == {"7": "a" * 64}
    assert subset.revision == dataset.revision
    write_subset(tmp_path / "full.json", subset)
    assert read_subset(tmp_path / "full.json") == subset


def test_a_subset_file_comes_back_as_it_was(tmp_path: Path, matrix: ScoreMatrix, sizing: SizingResult) -> None:
    for n, seed, sampler in ((20, 42, "uniform"), (25, 0, "stratified")):
        subset = freeze(matrix, n=n, seed=seed, sampler=sampler, sizing=sizing)
        path = tmp_path / f"{subset.name}.json"
        write_subset(path, subset)
        assert read_subset(path) == subset


def test_a_subset_file_carries_no_item_text(tmp_path: Path, matrix: ScoreMatrix) -> None:
    path = tmp_path / "subset.json"
    write_subset(path, freeze(matrix, n=20, sizing=None))
    assert "What is" not in path.read_text(encoding="utf-8")


def _sealed(body: dict[str, Any]) -> dict[str, Any]:
    """The body with a self-hash that fits: what a forger would write."""
    rest = {name: value for name, value in body.items() if name != "sha256"}
    return {**rest, "sha256": sha256_text(canonical_json(rest))}


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda body: body.update(name="mine"), "changed after freezing"),
        (lambda body: body["evidence"].update(note="x"), "changed after freezing"),
        (lambda body: body["hashes"].__setitem__(3, "0" * 64), "changed after freezing"),
        (lambda body: body["item_keys"].__setitem__(0, "0x"), "'0x' is no item of GSM8K"),
        (lambda body: body.update(sha256="0" * 64), "changed after freezing"),
        (lambda body: body.pop("sha256"), "'sha256' is missing"),
    ],
)
def test_a_changed_file_is_refused(tmp_path: Path, matrix: ScoreMatrix, change: Change, named: str) -> None:
    path = tmp_path / "subset.json"
    write_subset(path, freeze(matrix, n=20, sizing=None))
    body = json.loads(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(InputError, match=named) as caught:
        read_subset(path)
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda body: body.update(kind="other"), "not a subset file"),
        (lambda body: body.update(schema=2), "schema 2"),
        (lambda body: body.update(n=19), "n = 19 but lists 20"),
        (lambda body: body["hashes"].pop(), "19 hashes"),
        (lambda body: body.update(total_items=20), "says that GSM8K has 20 items; it has 1319"),
        (lambda body: body.update(benchmark="my_task", total_items=10), "more than the 10 items"),
        (lambda body: body.update(sampler="bogus"), "no sampler 'bogus'"),
        (lambda body: body.update(seed=None), "sampler 'uniform' with seed None"),
        (lambda body: body.update(seed=43), "not those that seed 43 draws"),
        (lambda body: body["item_keys"].__setitem__(-1, "1318"), "not those that seed 42 draws"),
        (lambda body: body["item_keys"].__setitem__(1, body["item_keys"][0]), "is listed twice"),
        (lambda body: body["item_keys"].reverse(), "out of canonical order"),
        (lambda body: body["item_keys"].__setitem__(0, "9" * 5000), "9999' is no item of GSM8K"),
        (lambda body: body["item_keys"].__setitem__(-1, "1319"), "'1319' is no item"),
        (lambda body: body["item_keys"].__setitem__(-1, "01318"), "'01318' is no item"),
        (lambda body: body["item_keys"].__setitem__(-1, "x/y/7"), "'x/y/7' is no item"),
        (lambda body: body["item_keys"].__setitem__(0, 7), "'item_keys'"),
        (lambda body: body["hashes"].__setitem__(0, "abc"), "hash number 1"),
        (lambda body: body.update(sampler="full"), "sampler 'full' with 20 of 1319"),
        (lambda body: body.update(name="../up"), "name of a file"),
        (lambda body: body.update(seed="42"), "'seed'"),
        (lambda body: body.update(evidence={"p95_pp": "low"}), "'p95_pp' of the evidence is not a number"),
        (lambda body: body.update(evidence={"n_star": 2.5}), "'n_star' of the evidence is not a whole number"),
        (lambda body: body.update(evidence={"pool": "a"}), "'pool' of the evidence"),
        (lambda body: body.update(evidence={"warnings": [1]}), "'warnings' of the evidence"),
        (lambda body: body["evidence"].update(p95_pp=-5.0), "'p95_pp' of the evidence is below 0"),
        (lambda body: body["evidence"].update(p95_pp=0.1), "'p95_pp' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].update(p95_pp=None), "'p95_pp' of the evidence is not what its curve gives"),
        (lambda body: body.update(evidence={"p95_pp": 3.0}), "'p95_pp' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].update(tau_pp=-1), "'tau_pp' of the evidence is below 0"),
        (lambda body: body["evidence"].update(quantile=95), "'quantile' of the evidence does not lie between"),
        (lambda body: body["evidence"].update(rule="best"), "'rule' of the evidence is 'best'"),
        (lambda body: body["evidence"].update(method="auto"), "'method' of the evidence is 'auto'"),
        (lambda body: body["evidence"]["curve_pp"].pop(), "'curve_pp' of the evidence"),
        (lambda body: body["evidence"]["sizes"].reverse(), "'sizes' of the evidence do not rise"),
        (lambda body: body["evidence"].update(n_star=25), "'n_star' of the evidence is none of its sizes"),
        (lambda body: body["evidence"].update(n_star=10), "'n_star' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].update(tau_pp=1e-9), "'n_star' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].pop("tau_pp"), "'n_star' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].update(gain_pp=0.0001), "'gain_pp' of the evidence is not what its curve gives"),
        (lambda body: body["evidence"].update(gain_pp=None), "'gain_pp' of the evidence is not what its curve gives"),
        (lambda body: body["drift_table"].update(z={"m": [50, 60, 10]}), "drift table has 'z', which is no model of"),
        (lambda body: body["drift_table"]["a"].update(m=[50, 60, 0.1]), "drift table of a, m is not two scores"),
        (lambda body: body["drift_table"]["a"].update(m=[50, 160, 110]), "drift table of a, m is not two scores"),
        (lambda body: body.update(drift_table={"a": {"m": [1, 2]}}), "drift table of a, m"),
        (lambda body: body.update(drift_table={"a": [1]}), "drift table of a"),
        (lambda body: body.pop("benchmark"), "'benchmark' is missing"),
    ],
)
def test_a_wrong_file_is_refused_even_with_a_fitting_hash(
    tmp_path: Path, matrix: ScoreMatrix, sizing: SizingResult, change: Change, named: str
) -> None:
    path = tmp_path / "subset.json"
    write_subset(path, freeze(matrix, n=20, sizing=sizing))
    body = json.loads(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(_sealed(body)), encoding="utf-8")
    with pytest.raises(InputError, match=named) as caught:
        read_subset(path)
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("medicine/1", "'medicine/1' is no item of MMLU"),
        ("anatomy/x", "'anatomy/x' is no item"),
        ("anatomy/14042", "no item"),
        ("7", "'7' is no item"),
    ],
)
def test_mmlu_keys_are_a_known_subject_and_a_number(tmp_path: Path, key: str, named: str) -> None:
    path = tmp_path / "subset.json"
    body = json.loads((bundled_subsets() / "mmlu-1500.json").read_text(encoding="utf-8"))
    body["item_keys"][0] = key
    path.write_text(json.dumps(_sealed(body)), encoding="utf-8")
    with pytest.raises(InputError, match=named):
        read_subset(path)


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("ifeval-250", lambda body: body.update(seed=43), "not those that seed 43 draws: 1005 stands in place of"),
        (
            "ifeval-250",
            lambda body: body["item_keys"].__setitem__(0, "1000"),
            "seed 42 draws: 1000 stands in place of 1005",
        ),
        ("ifeval-250", lambda body: body["item_keys"].__setitem__(0, "1002"), "'1002' is no item of IFEVAL"),
        ("mmlu-1500", lambda body: body.update(seed=1), "not those that seed 1 draws"),
        ("mmlu-1500", lambda body: body.update(sampler="stratified"), "not those that seed 42 draws"),
        ("mmlu-1500", lambda body: body["item_keys"].__setitem__(0, "abstract_algebra/0"), "abstract_algebra/0 stands"),
        (
            "mmlu-1500",
            lambda body: body["item_keys"].__setitem__(-1, "world_religions/171"),
            "'world_religions/171' is no",
        ),
    ],
)
def test_items_that_the_seed_does_not_draw_are_named_where_the_benchmarks_items_are_known(
    tmp_path: Path, name: str, change: Change, named: str
) -> None:
    path = tmp_path / "subset.json"
    body = json.loads((bundled_subsets() / f"{name}.json").read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(_sealed(body)), encoding="utf-8")
    with pytest.raises(InputError, match=named):
        read_subset(path)


def test_a_stratified_subset_of_mmlu_is_drawn_again_on_reading(tmp_path: Path) -> None:
    keys = keys_of(get("mmlu")) or ()
    drawn = draw_stratified([key.rpartition("/")[0] for key in keys], 300, 5)
    bundle = read_subset(bundled_subsets() / "mmlu-1500.json")
    subset = dataclasses.replace(
        bundle, name="s", n=300, seed=5, sampler="stratified", item_keys=tuple(keys[i] for i in drawn),
        hashes=(None,) * 300, evidence={}, drift_table={},
    )  # fmt: skip
    write_subset(tmp_path / "s.json", subset)
    assert read_subset(tmp_path / "s.json") == subset


def test_a_frozen_file_is_written_once_and_only_its_evidence_may_become_newer(
    tmp_path: Path, matrix: ScoreMatrix, sizing: SizingResult
) -> None:
    path = tmp_path / "subset.json"
    write_subset(path, freeze(matrix, n=20, sizing=None))
    again = freeze(matrix, n=20, sizing=sizing)
    write_subset(path, again)
    before = path.read_bytes()
    other_content = dataclasses.replace(again, hashes=("f" * 64, *again.hashes[1:]))
    for other in (freeze(matrix, n=20, sizing=None, seed=43), freeze(matrix, n=21, sizing=None), other_content):
        with pytest.raises(InputError, match="is there already and holds other items") as caught:
            write_subset(path, other)
        assert "--out" in caught.value.remedy
        assert path.read_bytes() == before
    assert read_subset(path) == again


def test_a_file_that_is_no_subset_is_not_overwritten(tmp_path: Path, matrix: ScoreMatrix) -> None:
    path = tmp_path / "notes.json"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="no whole subset file"):
        write_subset(path, freeze(matrix, n=20, sizing=None))
    assert path.read_text(encoding="utf-8") == "mine"


def test_what_no_reader_would_take_is_not_written(tmp_path: Path, matrix: ScoreMatrix) -> None:
    subset = dataclasses.replace(freeze(matrix, n=20, sizing=None), seed=7)
    with pytest.raises(InputError, match="seed 7"):
        write_subset(tmp_path / "subset.json", subset)
    assert not (tmp_path / "subset.json").exists()


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"null", id="null"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b'{"n": ' + b"[" * 600 + b"]" * 600 + b"}", id="deep, but parsed"),
        pytest.param(b'{"n": NaN}', id="NaN"),
        pytest.param(b'{"n": 1e999}', id="infinite"),
        pytest.param(b'{"n": ' + b"1" * 90 + b"}", id="long number"),
    ],
)
def test_what_is_no_json_object_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "subset.json"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"subset\.json"):
        read_subset(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.json"):
        read_subset(tmp_path / "gone.json")


def test_the_bundled_subsets_are_whole_and_draw_the_items_of_seed_42() -> None:
    subsets = {subset.name: subset for subset in map(read_subset, bundled())}
    assert set(subsets) >= {"ifeval-250", "gsm8k-400", "mmlu-1500"}
    for name in ("ifeval-250", "gsm8k-400", "mmlu-1500"):
        subset = subsets[name]
        assert (subset.seed, subset.sampler) == (42, "uniform")
        assert subset.total_items == get(subset.benchmark).total_items
        assert None not in subset.hashes
        assert subset.p95_pp is not None
    drawn = draw_uniform(1319, 400, 42)
    assert subsets["gsm8k-400"].item_keys == tuple(str(i) for i in drawn)
