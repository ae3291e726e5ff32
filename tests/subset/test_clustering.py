from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.base.events import Event, Progress, Warned
from mince_gui.benchmarks import get
from mince_gui.logs import ScoreMatrix
from mince_gui.subset import (
    Clustering,
    Embeddings,
    cluster,
    clustering,
    freeze,
    read_artifact,
    read_subset,
    webster,
    write_artifact,
    write_subset,
)
from mince_gui.subset.clustering import Vectors, k_range

IFEVAL = get("ifeval")


def _blobs(groups: int, each: int, spread: float = 0.1) -> tuple[Vectors, list[int]]:
    """Vectors around `groups` far centres, in mixed order, and the group of each."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(groups, 12)) * 5
    of = rng.permutation(np.repeat(np.arange(groups), each))
    return (centres[of] + rng.normal(size=(groups * each, 12)) * spread).astype(np.float32), of.tolist()


@pytest.fixture(scope="module")
def blobs() -> tuple[Vectors, list[int]]:
    return _blobs(8, 12)


@pytest.fixture(scope="module")
def grouped(blobs: tuple[Vectors, list[int]]) -> Clustering:
    return cluster(IFEVAL, Embeddings(blobs[0]))


def test_planted_groups_are_found_with_their_number(blobs: tuple[Vectors, list[int]], grouped: Clustering) -> None:
    assert grouped.k == 8
    assert len(set(zip(grouped.labels, blobs[1], strict=True))) == 8
    assert list(grouped.silhouettes) == list(range(5, 31))
    assert max(grouped.silhouettes, key=lambda k: grouped.silhouettes[k]) == 8


def test_the_silhouette_is_the_mean_of_its_definition(blobs: tuple[Vectors, list[int]], grouped: Clustering) -> None:
    vectors, labels = blobs[0].astype(float), np.array(grouped.labels)
    values = []
    for i in range(len(vectors)):
        distances = np.linalg.norm(vectors - vectors[i], axis=1)
        inside = distances[(labels == labels[i]) & (np.arange(len(labels)) != i)].mean()
        outside = min(distances[labels == other].mean() for other in set(labels) - {labels[i]})
        values.append((outside - inside) / max(inside, outside))
    assert grouped.silhouettes[8] == pytest.approx(np.mean(values), abs=1e-5)


def test_clusters_are_numbered_as_they_first_occur(grouped: Clustering) -> None:
    assert list(dict.fromkeys(grouped.labels)) == [f"{number:02d}" for number in range(8)]


def test_the_clusters_do_not_depend_on_the_number_of_threads(grouped: Clustering) -> None:
    loose, _ = _blobs(8, 12, spread=4.0)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(cluster(IFEVAL, Embeddings(loose)))
    assert found[0] == found[1]


def test_mmlu_tries_up_to_60_clusters_and_the_others_up_to_30() -> None:
    assert k_range(get("mmlu")) == range(5, 61)
    assert k_range(IFEVAL) == k_range(get("gsm8k")) == range(5, 31)


def test_a_large_benchmark_is_judged_by_a_sample_that_is_the_same_for_every_k(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = _blobs(8, 12)
    monkeypatch.setattr(clustering, "SILHOUETTE_ITEMS", 40)
    found = cluster(IFEVAL, Embeddings(vectors))
    assert found.silhouette_items == 40
    assert found.k == 8


def test_progress_counts_the_ks_and_vectors_without_groups_get_a_warning() -> None:
    seen: list[Event] = []
    cluster(IFEVAL, Embeddings(np.random.default_rng(0).normal(size=(60, 30)).astype(np.float32)), emit=seen.append)
    assert [event.done for event in seen if isinstance(event, Progress)] == list(range(27))
    assert "hardly fall into groups" in next(event.message for event in seen if isinstance(event, Warned))


def test_few_different_vectors_limit_k_and_too_few_are_refused() -> None:
    vectors = np.repeat(np.eye(7, dtype=np.float32), 10, axis=0)
    assert list(cluster(IFEVAL, Embeddings(vectors)).silhouettes) == [5, 6]
    with pytest.raises(UsageError, match="5 different embeddings of 50 items"):
        cluster(IFEVAL, Embeddings(np.repeat(np.eye(5, dtype=np.float32), 10, axis=0)))


def test_a_cancel_ends_the_search() -> None:
    cancel = CancelToken()

    def stop(event: Event) -> None:
        if isinstance(event, Progress) and event.done == 2:
            cancel.cancel()

    with pytest.raises(CancelledError):
        cluster(IFEVAL, Embeddings(_blobs(8, 12)[0]), emit=stop, cancel=cancel)


@pytest.fixture(scope="module")
def clusters_of_1319() -> Clustering:
    """Nine uneven groups over as many items as GSM8K has."""
    labels = tuple(f"{min(9 * (i * i % 1319) // 1319, 8):02d}" for i in range(1319))
    names = {label: f"{number:02d}" for number, label in enumerate(dict.fromkeys(labels))}
    return Clustering(
        tuple(names[label] for label in labels), {8: 0.1, 9: 0.4, 10: 0.3}, 1319, {"kind": "npy", "sha256": "0" * 64}
    )


def test_every_cluster_gets_its_webster_seats(matrix: ScoreMatrix, clusters_of_1319: Clustering) -> None:
    subset = freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=clusters_of_1319)
    assert subset.name == "gsm8k-50-kmeans"
    sizes = Counter(clusters_of_1319.labels)
    found = Counter(clusters_of_1319.labels[int(key)] for key in subset.item_keys)
    assert [found[name] for name in sorted(sizes)] == list(webster([sizes[name] for name in sorted(sizes)], 50))
    evidence = subset.evidence["sampler"]
    assert (evidence["k"], evidence["silhouette"], evidence["embeddings"]["kind"]) == (9, 0.4, "npy")
    assert evidence["clusters"] == [int(clusters_of_1319.labels[int(key)]) for key in subset.item_keys]


def test_a_kmeans_subset_file_comes_back_as_it_was(
    tmp_path: Path, matrix: ScoreMatrix, clusters_of_1319: Clustering
) -> None:
    subset = freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=clusters_of_1319, seed=3)
    write_subset(tmp_path / "k.json", subset)
    assert read_subset(tmp_path / "k.json") == subset


def test_the_clusters_go_out_and_in_with_an_artifact_of_amd_quark(
    tmp_path: Path, matrix: ScoreMatrix, clusters_of_1319: Clustering
) -> None:
    subset = freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=clusters_of_1319, seed=3)
    write_artifact(tmp_path / "a.json", subset)
    found = read_artifact(tmp_path / "a.json")
    assert (found.item_keys, found.sampler, found.seed) == (subset.item_keys, "kmeans", 3)
    assert found.evidence["sampler"] == subset.evidence["sampler"]
    write_subset(tmp_path / "k.json", found)
    body = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    (tmp_path / "a.json").write_text(json.dumps({**body, "sampler": {}}), encoding="utf-8")
    with pytest.raises(InputError, match="not a list of whole numbers"):
        read_artifact(tmp_path / "a.json")


def test_kmeans_without_an_embedding_of_every_item_is_refused(
    matrix: ScoreMatrix, clusters_of_1319: Clustering
) -> None:
    short = dataclasses.replace(clusters_of_1319, labels=clusters_of_1319.labels[:-1])
    for wrong in (None, short):
        with pytest.raises(UsageError, match="embedding of every item"):
            freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=wrong)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda e: e.pop("sampler"), "does not say which clusters"),
        (lambda e: e["sampler"].update(k=8), "not groups of the 1319 items"),
        (lambda e: e["sampler"]["cluster_sizes"].__setitem__(0, 1), "not groups of the 1319 items"),
        (lambda e: e["sampler"].update(cluster_sizes="all"), "'cluster_sizes' of the evidence's sampler"),
        (lambda e: e["sampler"]["clusters"].__setitem__(0, 8 - e["sampler"]["clusters"][0]), "not shared out"),
        (lambda e: e["sampler"]["clusters"].pop(), "not groups"),
        (lambda e: e["sampler"].update(silhouettes={"9": 0.4, "10": 0.5}), "not those of the best silhouette"),
        (lambda e: e["sampler"].update(silhouettes={"9": 4}), "a number from -1 to 1"),
        (lambda e: e["sampler"].update(silhouettes={}), "not those of the best silhouette"),
        (lambda e: e["sampler"].update(silhouette=0.9), "not those of the best silhouette"),
        (lambda e: e["sampler"].pop("embeddings"), "'embeddings' of the evidence's sampler"),
    ],
)
def test_forged_clusters_are_refused_even_with_a_fitting_hash(
    tmp_path: Path,
    matrix: ScoreMatrix,
    clusters_of_1319: Clustering,
    change: Callable[[dict[str, Any]], object],
    named: str,
) -> None:
    path = tmp_path / "k.json"
    write_subset(path, freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=clusters_of_1319))
    body = json.loads(path.read_text(encoding="utf-8"))
    del body["sha256"]
    change(body["evidence"])
    path.write_text(json.dumps({**body, "sha256": sha256_text(canonical_json(body))}), encoding="utf-8")
    with pytest.raises(InputError, match=named):
        read_subset(path)


def test_a_uniform_subset_with_clusters_is_refused(
    tmp_path: Path, matrix: ScoreMatrix, clusters_of_1319: Clustering
) -> None:
    kmeans = freeze(matrix, n=50, sizing=None, sampler="kmeans", clustering=clusters_of_1319)
    uniform = freeze(matrix, n=50, sizing=None)
    with pytest.raises(InputError, match="has clusters, but its sampler is 'uniform'"):
        write_subset(tmp_path / "k.json", dataclasses.replace(uniform, evidence=kmeans.evidence))
