"""Freeze a subset: draw it once, write its file, remember it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.grouping import clustering
from mince_gui.app.size import calibration, check_is_of
from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.draws import bound_note
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Emit, Warned, ignore
from mince_gui.sizing import at_tau
from mince_gui.store import Workspace
from mince_gui.store import subsets as stored_subsets
from mince_gui.subset import FrozenSubset, bundled, check_request, read_subset, same_items, write_subset
from mince_gui.subset import freeze as draw


@dataclass(frozen=True)
class Frozen:
    """The subset and where its file lies."""

    subset: FrozenSubset
    path: Path


def freeze(
    workspace: Path,
    benchmark: str,
    n: int,
    *,
    seed: int = 42,
    sampler: str = "uniform",
    name: str | None = None,
    out: Path | None = None,
    tau_pp: float | None = None,
    embeddings: Path | None = None,
    embedding_model: Path | None = None,
    dataset: Path | None = None,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Frozen:
    """Draw `n` items of the benchmark and write them to `out` (default: the workspace's subsets folder).

    The pool, and so the evidence, is that of the newest sizing; without one the subset has no bound,
    and a warning says so. With `tau_pp` (pp per step) the evidence has the n* that the sizing's curve gives at that
    tau, in place of the one it was asked with. Frozen again, the same items get the newer evidence. `name` is the
    subset's in place of the usual one, which tells n, sampler and seed.

    The sampler kmeans groups the items by `embeddings` (a .npy or .parquet file), or by those that `embedding_model`
    (an ONNX folder) gives the texts of `dataset` (the benchmark's own files, or a pack of the whole benchmark); then
    Progress is emitted and `cancel` looked at. Raises
    UsageError for an `n` outside 1..N, for a tau that is none and where the workspace has other items under the
    name, InputError where `out` holds something else.
    """
    if tau_pp is not None and not (math.isfinite(tau_pp) and tau_pp > 0):
        raise UsageError(f"tau must be a number of pp above 0, not {tau_pp}.", "1.0 is the usual one.")
    if sampler != "kmeans":
        given = {"--embeddings": embeddings, "--embedding-model": embedding_model, "--dataset": dataset}
        if unused := [option for option, path in given.items() if path is not None]:
            raise UsageError(f"{', '.join(unused)} would serve the kmeans sampler alone.", "Use --sampler kmeans.")
    with stream(emit, "freeze", detail=benchmark), Workspace(workspace) as ws:
        ws.require_writable()
        sizing = stored_subsets.latest_sizing(ws, benchmark.lower()) or stored_subsets.latest_sizing(ws, benchmark)
        if sizing is not None and tau_pp is not None:
            sizing = at_tau(sizing, tau_pp)
        matrix = calibration(ws, benchmark, sizing.models if sizing else None)
        if sizing is not None:
            check_is_of(sizing, matrix)
        check_request(matrix, n=n, sizing=sizing)
        grouped = None
        if sampler == "kmeans":
            grouped = clustering(
                matrix, embeddings, embedding_model, dataset, cache=ws.folder / "embeddings", emit=emit, cancel=cancel
            )
        subset = draw(matrix, n=n, seed=seed, sampler=sampler, sizing=sizing, clustering=grouped, name=name)
        _check_own_name(subset, name)
        if sizing is None:
            emit(Warned(f"{benchmark} was not sized: the subset has no drift bound.", "Run mince size first."))
        elif subset.p95_pp is None:
            emit(Warned(f"{n} is no candidate size of the last sizing: the subset has no drift bound."))
        elif note := bound_note(sampler):
            emit(Warned(note))
        path = (out or ws.subsets_dir / f"{subset.name}.json").absolute()
        stored_subsets.check_name(ws, subset)
        write_subset(path, subset)
        stored_subsets.add_subset(ws, subset, path)
        return Frozen(subset, path)


def _check_own_name(subset: FrozenSubset, name: str | None) -> None:
    """Raise UsageError where a name that the user gave already means something else wherever mince runs."""
    shipped = {file.stem: file for file in bundled()}
    other = name in shipped and not same_items(read_subset(shipped[name]), subset)
    if other or name == f"{subset.benchmark}-full":
        what = "a subset that comes with mince" if other else "the whole benchmark"
        raise UsageError(f"{name} is the name of {what}.", "Give another --name.")
