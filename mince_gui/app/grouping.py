"""The items of a pool in groups of like texts, for the kmeans sampler."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import canonical_json, sha256_file, sha256_text
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.base.files import write_atomic
from mince_gui.logs.types import ScoreMatrix
from mince_gui.subset import (
    SUFFIX,
    Clustering,
    Dataset,
    Embeddings,
    cluster,
    differing_items,
    read_items,
    read_pack,
    text_of,
)
from mince_gui.subset.clustering import Vectors


def clustering(
    matrix: ScoreMatrix,
    embeddings: Path | None,
    embedding_model: Path | None,
    dataset: Path | None,
    *,
    cache: Path | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Clustering:
    """The items of the matrix in groups of like texts, as `freeze` describes it.

    Vectors that a model made are kept in the folder `cache`, under the hash of model and texts, and taken from there
    the next time: for MMLU it takes minutes to compute them. Raises UsageError unless exactly one source of embeddings
    is given, InputError for a dataset whose items are not those of the logs, CancelledError.
    """
    if (embeddings is None) == (embedding_model is None):
        raise UsageError(
            "The kmeans sampler needs the embedding of every item, from one source.",
            "Give --embeddings FILE, or --embedding-model DIR with --dataset PATH.",
        )
    if embeddings is not None and dataset is not None:
        raise UsageError("--dataset would serve --embedding-model alone.", "Leave it out beside --embeddings.")
    # Loaded here: Parquet and ONNX Runtime are for this sampler alone.
    if embeddings is not None:
        from mince_gui.subset.vectors import read_embeddings

        found = read_embeddings(embeddings, matrix.benchmark, matrix.keys)
    elif dataset is None or embedding_model is None:
        raise UsageError("Nothing says what the items' texts are.", "Give --dataset PATH too.")
    else:
        found = _computed(matrix, embedding_model, dataset, cache, emit, cancel)
    return cluster(matrix.benchmark, found, emit=emit, cancel=cancel)


def _computed(
    matrix: ScoreMatrix, folder: Path, dataset: Path, cache: Path | None, emit: Emit, cancel: CancelToken | None
) -> Embeddings:
    from mince_gui.subset.embeddings import embed, find_model

    texts, source = _texts(matrix, dataset)
    model = find_model(folder)
    content = sha256_text(canonical_json([dict(model.source), texts]))
    kept = cache / f"{content[:32]}.npy" if cache is not None else None
    vectors = _kept(kept, len(texts))
    if vectors is None:
        vectors = embed(model, texts, emit=emit, cancel=cancel)
        if kept is not None:
            raw = io.BytesIO()
            np.save(raw, vectors, allow_pickle=False)
            write_atomic(kept, raw.getvalue())
    return Embeddings(vectors, {**model.source, "dimensions": vectors.shape[1], "texts": source})


def _kept(file: Path | None, count: int) -> Vectors | None:
    """The vectors of an earlier time; None where there are none, or the file is not what was written."""
    if file is None or not file.is_file():
        return None
    try:
        vectors = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    whole = vectors.dtype == np.float32 and vectors.ndim == 2 and len(vectors) == count
    return vectors if whole and np.isfinite(vectors).all() else None


def _texts(matrix: ScoreMatrix, path: Path) -> tuple[list[str], str]:
    """The items' texts in the matrix's order, and where they are from."""
    benchmark = matrix.benchmark
    if path.suffix == SUFFIX:
        pack = read_pack(path)
        if pack.subset.benchmark != benchmark.name:
            raise InputError(f"{path} is a pack of {pack.subset.benchmark}, not of {benchmark.name}.")
        items = {item.key: item.doc for item in pack.items}
        content = Dataset(benchmark, items, {}, path.name, sha256_file(path))
    else:
        content = read_items(benchmark, path)
    absent = [key for key in matrix.keys if key not in content.items]
    if absent:
        raise InputError(
            f"{path} lacks {len(absent)} of the {matrix.total_items} items of {benchmark.title}; "
            f"the first is {absent[0]}.",
            "Give the whole test set, or a pack of the whole benchmark.",
        )
    differing = differing_items(content, matrix.keys, matrix.hashes)
    if differing:
        raise InputError(
            f"{len(differing)} items of {path} read differently than in the logs, the first is {differing[0]}.",
            "Give the revision of the dataset that the logs are of, or embeddings of your own (--embeddings).",
        )
    try:
        texts = [text_of(benchmark, content.items[key]) for key in matrix.keys]
    except KeyError as error:
        raise InputError(f"The items of {path} have no text that is known ({error}).", "Give --embeddings.") from error
    return texts, f"{content.source} (SHA-256 {content.revision})"
