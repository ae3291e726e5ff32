"""amd-quark's frozen artifacts: read, checked and written."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError, UsageError
from mince_gui.benchmarks import get, keys_of
from mince_gui.subset import (
    FrozenSubset,
    Pack,
    PackItem,
    bundled,
    draw_stratified,
    is_artifact,
    read_artifact,
    read_subset,
    samples_map,
    write_artifact,
    write_subset,
)

NAMES = ("ifeval", "gsm8k", "mmlu")


def _bundled(benchmark: str) -> FrozenSubset:
    return next(subset for subset in map(read_subset, bundled()) if subset.benchmark == benchmark)


def _artifact(benchmark: str, n: int, seed: int = 42) -> dict[str, Any]:
    """What amd-quark's freeze writes, from its source: the draw over all items, and every item's id."""
    keys = keys_of(get(benchmark)) or ()
    indices = sorted(np.random.default_rng(seed).choice(len(keys), size=n, replace=False).tolist())
    items: list[dict[str, Any]] = []
    for index in indices:
        if benchmark == "ifeval":
            item = {"key": int(keys[index]), "stratum": "s", "prompt": "the first characters"}
        else:
            subject, _, number = keys[index].rpartition("/")
            item = {
                "doc_id": int(number),
                "question": "the first characters",
                **({"subject": subject} if subject else {}),
            }
        items.append({**item, "index": index})
    metric = {"ifeval": "inst_loose", "gsm8k": "exact_match", "mmlu": "acc"}[benchmark]
    return {
        "benchmark": benchmark,
        "models": ["org__a", "org__b"],
        "n": n,
        "total_items": len(keys),
        "reduction_pct": 50.0,
        "seed": seed,
        "strategy": "random",
        "generated": "2026-01-01T00:00:00",
        "lm_eval_version": "0.4.13",
        "indices": indices,
        "items": items,
        "drift": {"org__a": {metric: {"full": 0.5, "subset": 0.48, "drift": 0.02}}},
    }


def _write(path: Path, body: object) -> Path:
    path.write_text(json.dumps(body, indent=2), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_an_artifact_becomes_the_subset_of_the_same_items(tmp_path: Path, name: str) -> None:
    ours = _bundled(name)
    path = _write(tmp_path / "artifact.json", _artifact(name, ours.n))
    assert is_artifact(path)
    known = {ours.item_keys[0]: "a" * 64, "elsewhere": "b" * 64}
    found = read_artifact(path, hashes=known)
    assert found.item_keys == ours.item_keys
    assert (found.name, found.sampler, found.seed) == (f"{ours.name}-quark", "uniform", 42)
    assert found.hashes == ("a" * 64, *[None] * (ours.n - 1))
    assert found.p95_pp is None
    assert found.evidence["pool"] == ["org__a", "org__b"]
    assert found.evidence["artifact"]["lm_eval_version"] == "0.4.13"
    (row,) = found.drift_table["org__a"].values()
    assert row == pytest.approx((50.0, 48.0, -2.0))
    write_subset(tmp_path / "subset.json", found)
    assert read_subset(tmp_path / "subset.json") == found
    assert "first characters" not in (tmp_path / "subset.json").read_text(encoding="utf-8")


def test_metrics_come_under_lm_evals_names(tmp_path: Path) -> None:
    for name, metric in (
        ("ifeval", "inst_level_loose_acc"),
        ("gsm8k", "exact_match,flexible-extract"),
        ("mmlu", "acc"),
    ):
        found = read_artifact(_write(tmp_path / "a.json", _artifact(name, 20)))
        assert list(found.drift_table["org__a"]) == [metric]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(NAMES), st.integers(1, 300), st.integers(0, 2**31))
def test_what_is_written_is_read_as_the_same_items(
    tmp_path_factory: pytest.TempPathFactory, name: str, n: int, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("artifact")
    found = read_artifact(_write(folder / "theirs.json", _artifact(name, n, seed)))
    write_artifact(folder / "ours.json", found)
    assert is_artifact(folder / "ours.json")
    again = read_artifact(folder / "ours.json")
    assert (again.item_keys, again.seed, again.n) == (found.item_keys, seed, n)
    for model, rows in found.drift_table.items():
        for metric, row in rows.items():
            assert again.drift_table[model][metric] == pytest.approx(row)


def test_other_samplers_and_whole_benchmarks_survive_the_way_out_and_in(tmp_path: Path) -> None:
    keys = keys_of(get("mmlu")) or ()
    drawn = draw_stratified([key.rpartition("/")[0] for key in keys], 100, 7)
    base = dataclasses.replace(_bundled("mmlu"), hashes=(None,) * 100, evidence={}, drift_table={}, n=100)
    stratified = dataclasses.replace(
        base, name="s", item_keys=tuple(keys[i] for i in drawn), seed=7, sampler="stratified"
    )
    whole = dataclasses.replace(
        base, name="w", item_keys=keys, hashes=(None,) * len(keys), n=len(keys), seed=None, sampler="full"
    )
    for subset in (stratified, whole):
        write_artifact(tmp_path / "a.json", subset)
        found = read_artifact(tmp_path / "a.json")
        assert (found.item_keys, found.sampler, found.seed) == (subset.item_keys, subset.sampler, subset.seed)


def test_a_stratified_artifact_of_items_without_categories_is_refused(tmp_path: Path) -> None:
    body = {**_artifact("gsm8k", 20), "strategy": "stratified"}
    with pytest.raises(InputError, match="items of GSM8K have no categories"):
        read_artifact(_write(tmp_path / "a.json", body))


def test_a_drift_of_a_model_that_the_artifact_does_not_list_is_refused(tmp_path: Path) -> None:
    body = _artifact("gsm8k", 20)
    body["drift"]["org__z"] = body["drift"]["org__a"]
    with pytest.raises(InputError, match="'org__z', which is no model of"):
        read_artifact(_write(tmp_path / "a.json", body))
    del body["models"]
    assert read_artifact(_write(tmp_path / "a.json", body)).evidence["pool"] == ["org__a", "org__z"]


def test_item_texts_are_written_only_from_a_pack_and_shortened(tmp_path: Path) -> None:
    subset = _bundled("ifeval")
    write_artifact(tmp_path / "bare.json", subset)
    bare = json.loads((tmp_path / "bare.json").read_text(encoding="utf-8"))
    assert set(bare["items"][0]) == {"key", "index"}
    items = tuple(PackItem(key, "length:words", {"prompt": f"{key} " + "x" * 200}) for key in subset.item_keys)
    write_artifact(tmp_path / "full.json", subset, pack=Pack(subset, items, {}))
    first = json.loads((tmp_path / "full.json").read_text(encoding="utf-8"))["items"][0]
    assert first["stratum"] == "length:words"
    assert first["prompt"].startswith(subset.item_keys[0])
    assert len(first["prompt"]) == 120


def test_a_benchmark_that_amd_quark_does_not_know_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="knows no demo-choice"):
        write_artifact(tmp_path / "a.json", dataclasses.replace(_bundled("gsm8k"), benchmark="demo-choice"))


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("gsm8k", lambda a: a["items"][3].update(doc_id=5), "item 5 has place 5 in GSM8K"),
        ("gsm8k", lambda a: a["items"][3].update(index=5), "says index 5, but 'indices' has"),
        ("gsm8k", lambda a: a["indices"].__setitem__(3, 23), "says index .*, but 'indices' has 23"),
        ("gsm8k", lambda a: a["items"][3].update(doc_id="6"), "item number 4 .*names no item"),
        ("gsm8k", lambda a: a["items"].pop(), "20 indices and 19 items"),
        ("gsm8k", lambda a: a.update(n=19), "n = 19 but lists 20"),
        ("gsm8k", lambda a: a.update(n=2000), "n = 2000 is more than the 1319"),
        ("gsm8k", lambda a: (a["items"].reverse(), a["indices"].reverse()), "not in ascending order"),
        ("gsm8k", lambda a: a.update(seed=43), "not among the items that seed 43 draws"),
        ("gsm8k", lambda a: a.update(seed=None), "'seed'"),
        ("gsm8k", lambda a: a.update(total_items=1000), "has 1000 items; it has 1319"),
        ("gsm8k", lambda a: a.update(strategy="best"), "strategy 'best' is not known"),
        ("gsm8k", lambda a: a.update(benchmark="mmlu_pro"), "artifacts of 'mmlu_pro' are not known"),
        ("gsm8k", lambda a: a.update(items={}), "not both lists"),
        ("gsm8k", lambda a: a["items"].__setitem__(2, 7), "item number 3 is not an object"),
        ("gsm8k", lambda a: a["indices"].__setitem__(-1, 1319), "no place among 1319 items"),
        ("gsm8k", lambda a: a["drift"]["org__a"]["exact_match"].update(drift=0.5), "not two shares"),
        ("gsm8k", lambda a: a["drift"]["org__a"]["exact_match"].update(full="x"), "not three numbers"),
        ("gsm8k", lambda a: a["drift"].update(org__b=[1]), "drift of org__b is not an object"),
        ("gsm8k", lambda a: a.pop("strategy"), "'strategy' is missing"),
        ("ifeval", lambda a: a["items"][0].update(key=13), "item 13 has place"),
        ("ifeval", lambda a: a["items"][0].update(key=14), "IFEVAL has no item 14"),
        ("mmlu", lambda a: a["items"][0].update(subject="virology"), "item virology/.* has place"),
        ("mmlu", lambda a: a["items"][0].update(subject="cooking"), "item number 1 .*names no item of MMLU"),
        ("mmlu", lambda a: a["items"][-1].update(doc_id=13_000), "MMLU has no item .*13000"),
        ("mmlu", lambda a: a["items"][-1].pop("subject"), "names no item of MMLU"),
    ],
)
def test_a_wrong_artifact_is_refused_with_the_item_named(tmp_path: Path, name: str, change: Change, named: str) -> None:
    body = _artifact(name, 20)
    change(body)
    path = _write(tmp_path / "a.json", body)
    with pytest.raises(InputError, match=named) as caught:
        read_artifact(path)
    assert str(path) in caught.value.message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=50, deadline=None)
@given(st.data(), _JSON)
def test_any_value_in_any_place_is_taken_or_refused_with_the_file_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: Any
) -> None:
    body = _artifact(data.draw(st.sampled_from(NAMES)), 5)
    place: Any = body
    while True:
        name = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[name], dict | list) or data.draw(st.booleans()):
            place[name] = value
            break
        place = place[name]
    path = _write(tmp_path_factory.mktemp("fuzz") / "a.json", body)
    try:
        found = read_artifact(path)
    except InputError as error:
        if str(path) not in error.message:
            raise
    else:
        write_subset(path.with_name("subset.json"), found)


def test_what_is_no_artifact_is_told_from_one(tmp_path: Path) -> None:
    for file in bundled():
        assert not is_artifact(file)
    rows = [{"benchmark": 1, "n": 1, "total_items": 1, "seed": 1, "strategy": 1, "indices": 1, "items": 1}]
    for name, body in (("array.json", rows), ("samples.json", {"gsm8k": [1, 2]}), ("text.json", "benchmark n seed")):
        assert not is_artifact(_write(tmp_path / name, body))
    (tmp_path / "photo.json").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "empty.json").write_bytes(b"")
    for name in ("photo.json", "empty.json", "gone.json", "."):
        assert not is_artifact(tmp_path / name)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b'{"benchmark": NaN}'])
def test_what_is_no_json_object_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a.json").write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.json"):
        read_artifact(tmp_path / "a.json")


_MODELS = {
    "ifeval": ("gpt-4o-2024-08-06", "CohereForAI__aya-23-8B"),
    "gsm8k": ("6b_finetuning", "175b_verification"),
    "mmlu": ("gpt-4-1106-preview", "mistralai__Mixtral-8x7B-Instruct-v0.1"),
}


@pytest.fixture
def plain_logs(shared: Path, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Real logs of a benchmark in amd-quark's reach: unpacked, and with the filter that it asks for."""

    def copy(name: str) -> dict[str, str]:
        for model in _MODELS[name]:
            target = tmp_path / "logs" / model
            target.mkdir(parents=True)
            for file in (shared / "data" / "logs" / "lm_eval" / model).glob(f"samples_{name}*"):
                text = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode()
                if name == "gsm8k":
                    rows = [{**json.loads(line), "filter": "flexible-extract"} for line in text.splitlines()]
                    text = "".join(json.dumps(row) + "\n" for row in rows)
                (target / file.name.removesuffix(".gz")).write_text(text, encoding="utf-8")
        return {model: str(tmp_path / "logs" / model) for model in _MODELS[name]}

    return copy


@pytest.mark.oracle
@pytest.mark.shared
@pytest.mark.parametrize("name", NAMES)
def test_amd_quarks_freeze_draws_the_bundled_subset(
    tmp_path: Path, plain_logs: Callable[[str], dict[str, str]], name: str
) -> None:
    mince: Any = importlib.import_module("quark.contrib.mince")
    ours = _bundled(name)
    artifact, _ = mince.build_frozen_subset(mince.BENCHMARKS[name], plain_logs(name), ours.n, 42)
    found = read_artifact(_write(tmp_path / "theirs.json", artifact))
    assert found.item_keys == ours.item_keys
    # Their code takes our artifact, and makes the map that we make.
    write_artifact(tmp_path / "ours.json", ours)
    mine = json.loads((tmp_path / "ours.json").read_text(encoding="utf-8"))
    assert mine["indices"] == artifact["indices"]
    task = None if name == "mmlu" else name
    assert mince.build_samples(mine) == mince.build_samples(artifact) == samples_map(ours, task)
    # The drift that they report of these models on these items is the one that is read.
    for model, rows in artifact["drift"].items():
        sizes = sorted(100 * row["drift"] for row in rows.values())
        assert sorted(abs(row[2]) for row in found.drift_table[model].values()) == pytest.approx(sizes)


@pytest.mark.oracle
def test_their_rendering_takes_the_positions_of_our_artifact(tmp_path: Path) -> None:
    """`build_subset_inputs` asks lm-eval's task for the docs at the positions; a stand-in for that one import."""
    stub = tmp_path / "lm_eval" / "tasks"
    stub.mkdir(parents=True)
    (tmp_path / "lm_eval" / "__init__.py").write_text("", encoding="utf-8")
    (stub / "__init__.py").write_text(
        "class TaskManager: pass\n"
        "class Task:\n"
        "    eval_docs = [f'doc {i}' for i in range(1319)]\n"
        "    def set_fewshot_seed(self, seed): pass\n"
        "    def fewshot_context(self, doc, n): return doc\n"
        "    def doc_to_target(self, doc): return ''\n"
        "def get_task_dict(names, manager): return {name: Task() for name in names}\n",
        encoding="utf-8",
    )
    ours = _bundled("gsm8k")
    write_artifact(tmp_path / "ours.json", ours)
    code = (
        "import json, sys; from quark.contrib.mince import build_samples, build_subset_inputs;"
        f"sys.path.insert(0, {str(tmp_path)!r});"
        f"found = build_subset_inputs(build_samples(json.load(open({str(tmp_path / 'ours.json')!r}))));"
        "print(json.dumps([row['input'] for row in found['gsm8k']]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [f"doc {key}" for key in ours.item_keys]
