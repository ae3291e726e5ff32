"""Freeze a subset: draw it once, write its file, remember it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.size import calibration
from mince_gui.app.stream import stream
from mince_gui.base.events import Emit, Warned, ignore
from mince_gui.store import Workspace
from mince_gui.store import subsets as stored_subsets
from mince_gui.subset import freeze as draw
from mince_gui.subset import write_subset
from mince_gui.subset.types import FrozenSubset


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
    out: Path | None = None,
    emit: Emit = ignore,
) -> Frozen:
    """Draw `n` items of the benchmark and write them to `out` (default: the workspace's subsets folder).

    The pool, and so the evidence, is that of the newest sizing; without one the subset has no bound,
    and a warning says so. Frozen again, the same items get the newer evidence. Raises UsageError for an `n`
    outside 1..N and where the workspace has other items under the name, InputError where `out` holds something else.
    """
    with stream(emit, "freeze", detail=benchmark), Workspace(workspace) as ws:
        sizing = stored_subsets.latest_sizing(ws, benchmark.lower()) or stored_subsets.latest_sizing(ws, benchmark)
        matrix = calibration(ws, benchmark, sizing.models if sizing else None)
        subset = draw(matrix, n=n, seed=seed, sampler=sampler, sizing=sizing)
        if sizing is None:
            emit(Warned(f"{benchmark} was not sized: the subset has no drift bound.", "Run mince size first."))
        elif subset.p95_pp is None:
            emit(Warned(f"{n} is no candidate size of the last sizing: the subset has no drift bound."))
        path = out or ws.subsets_dir / f"{subset.name}.json"
        stored_subsets.check_name(ws, subset)
        write_subset(path, subset)
        stored_subsets.add_subset(ws, subset, path)
        return Frozen(subset, path)
