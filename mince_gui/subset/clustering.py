"""Items grouped by the meaning of their texts: k-means on sentence embeddings, k by the best silhouette."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Progress, Warned, ignore
from mince_gui.benchmarks import Benchmark

Vectors = npt.NDArray[np.float32]

SILHOUETTE_ITEMS = 4_000
"""Above that many items the silhouette is that of a sample of so many, the same for every k."""
_SEED = 0
_STARTS = 4
_NO_STRUCTURE = 0.25  # Kaufman and Rousseeuw's reading of the silhouette: up to there no substantial structure
_LEAST_K = 5
_MOST_K = {"mmlu": 60}
_USUAL_MOST_K = 30


@dataclass(frozen=True)
class Embeddings:
    """One vector per item: `vectors` (N, d) in canonical order, finite.

    `source` says in a dict, fit for JSON, where they come from (kind, file or model, SHA-256).
    """

    vectors: Vectors
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Clustering:
    """`labels[i]` ("00", "01", ...) is the cluster of item i; numbered as they first occur in canonical order.

    `silhouettes` maps every k that was tried to its mean silhouette (-1 to 1) over `silhouette_items` items.
    """

    labels: tuple[str, ...]
    silhouettes: Mapping[int, float]
    silhouette_items: int
    source: Mapping[str, Any] = field(default_factory=dict)

    @property
    def k(self) -> int:
        """How many clusters."""
        return len(set(self.labels))


def k_range(benchmark: Benchmark) -> range:
    """The numbers of clusters that are tried: 5 to 30, for MMLU 5 to 60."""
    return range(_LEAST_K, _MOST_K.get(benchmark.name, _USUAL_MOST_K) + 1)


def cluster(
    benchmark: Benchmark, embeddings: Embeddings, *, emit: Emit = ignore, cancel: CancelToken | None = None
) -> Clustering:
    """Group the items by their vectors.

    Every k of the benchmark's range is tried (the best of four k-means++ starts, of one above 4,000 items; fixed seed,
    so that the seed of a draw does not change the groups) and the best silhouette wins, of equal ones the smaller k.
    One thread, so that sums are rounded alike however many the machine has; another processor's linear algebra may
    still round otherwise. Emits Progress (ks), and a warning where the best silhouette says that there are no groups.
    Raises UsageError where the vectors are too few or too alike to be grouped, CancelledError.
    """
    # Loaded here: a second that every command would spend otherwise.
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances
    from threadpoolctl import threadpool_limits

    vectors = np.ascontiguousarray(embeddings.vectors, dtype=np.float32)
    distinct = len(np.unique(vectors, axis=0))
    ks = [k for k in k_range(benchmark) if k < distinct]
    if not ks:
        raise UsageError(
            f"{distinct} different embeddings of {len(vectors)} items cannot be grouped into {_LEAST_K} clusters.",
            "Use --sampler uniform, or embeddings that tell the items apart.",
        )
    sample = _sample(len(vectors))
    starts = _STARTS if len(sample) == len(vectors) else 1
    tried: dict[int, tuple[float, npt.NDArray[np.int32]]] = {}
    best = ks[0]
    with threadpool_limits(limits=1):
        distances = pairwise_distances(vectors[sample])
        np.fill_diagonal(distances, 0.0)
        for done, k in enumerate(ks):
            if cancel is not None:
                cancel.check()
            emit(Progress(done, len(ks), f"{k} clusters"))
            labels = KMeans(n_clusters=k, n_init=starts, random_state=_SEED, algorithm="lloyd").fit_predict(vectors)
            tried[k] = (_silhouette(distances, labels[sample]), labels)
            if tried[k][0] > tried[best][0]:
                best = k
    emit(Progress(len(ks), len(ks), f"{best} clusters chosen"))
    if tried[best][0] <= _NO_STRUCTURE:
        emit(
            Warned(
                f"The embeddings hardly fall into groups: the best silhouette, at {best} clusters, is "
                f"{tried[best][0]:.2f} (1 is best, up to {_NO_STRUCTURE:.2f} there is no substantial structure).",
                "The clusters still serve as strata, but expect little from them.",
            )
        )
    silhouettes = {k: score for k, (score, _) in tried.items()}
    return Clustering(_named(tried[best][1]), silhouettes, len(sample), embeddings.source)


def sampler_evidence(clustering: Clustering, positions: tuple[int, ...]) -> dict[str, Any]:
    """What a subset file keeps of the clusters: their number and why, and enough to check every stratum's seats.

    k, silhouette, silhouette_items, silhouettes {k: mean silhouette}, cluster_sizes (of the clusters "00", "01", ...),
    clusters (that of each subset item), embeddings (their source).
    """
    names = sorted(set(clustering.labels))
    numbers = {name: number for number, name in enumerate(names)}
    sizes = [0] * len(names)
    for label in clustering.labels:
        sizes[numbers[label]] += 1
    return {
        "k": len(names),
        "silhouette": clustering.silhouettes[len(names)],
        "silhouette_items": clustering.silhouette_items,
        "silhouettes": {str(k): score for k, score in clustering.silhouettes.items()},
        "cluster_sizes": sizes,
        "clusters": [numbers[clustering.labels[position]] for position in positions],
        "embeddings": dict(clustering.source),
    }


def _sample(total: int) -> npt.NDArray[np.int64]:
    if total <= SILHOUETTE_ITEMS:
        return np.arange(total)
    return np.sort(np.random.default_rng(_SEED).choice(total, size=SILHOUETTE_ITEMS, replace=False))


def _silhouette(distances: npt.NDArray[np.float32], labels: npt.NDArray[np.int32]) -> float:
    """The mean silhouette; -1, the worst, where the sample met one cluster only or each item alone."""
    from sklearn.metrics import silhouette_score

    if not 1 < len(np.unique(labels)) < len(labels):
        return -1.0
    return float(silhouette_score(distances, labels, metric="precomputed"))


def _named(labels: npt.NDArray[np.int32]) -> tuple[str, ...]:
    """Two-digit names in the order of first occurrence: k-means numbers its clusters as it likes."""
    names: dict[int, str] = {}
    return tuple(names.setdefault(int(label), f"{len(names):02d}") for label in labels)
