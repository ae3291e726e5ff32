"""Draws once and keeps what justified it: the sizing, and the calibration models' drift on the very items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mince_gui import __version__
from mince_gui.base.draws import bound_note
from mince_gui.base.errors import InputError, UsageError
from mince_gui.benchmarks import Benchmark
from mince_gui.logs.types import ScoreMatrix
from mince_gui.sizing.types import SizingResult
from mince_gui.subset.clustering import Clustering, sampler_evidence
from mince_gui.subset.drawing import draw_stratified, draw_uniform
from mince_gui.subset.types import FrozenSubset

DEFAULT_SEED = 42
SAMPLERS = ("uniform", "stratified", "kmeans")


def freeze(
    matrix: ScoreMatrix,
    *,
    n: int,
    sizing: SizingResult | None,
    seed: int = DEFAULT_SEED,
    sampler: str = "uniform",
    clustering: Clustering | None = None,
    name: str | None = None,
) -> FrozenSubset:
    """Draw `n` items of the matrix's benchmark and freeze them with their evidence.

    `sizing` is the result that justified n, None where there is none. `clustering` groups the items for the kmeans
    sampler: its clusters are the strata. Raises UsageError for an n outside 1..N-1, an unknown sampler, kmeans without
    a clustering of these items, a sizing of something else, or a name that no file can have.
    """
    total = matrix.total_items
    if name is not None and not is_name(name):
        raise UsageError(f"{name!r} cannot be the name of a file.", "Give a --name of letters, digits, - and _.")
    check_request(matrix, n=n, sizing=sizing)
    if sampler == "uniform":
        positions = draw_uniform(total, n, seed)
    elif sampler == "stratified":
        positions = draw_stratified(matrix.categories, n, seed)
    elif sampler == "kmeans":
        if clustering is None or len(clustering.labels) != total:
            raise UsageError(
                "The kmeans sampler needs an embedding of every item.",
                "Give --embeddings FILE, or --embedding-model DIR with --dataset PATH.",
            )
        positions = draw_stratified(clustering.labels, n, seed)
    else:
        raise UsageError(f"There is no sampler '{sampler}'.", f"Known: {', '.join(SAMPLERS)}.")
    evidence = {} if sizing is None else evidence_of(sizing, n)
    if evidence.get("p95_pp") is not None and (note := bound_note(sampler)):
        evidence["warnings"].append(note)
    if sampler == "kmeans" and clustering is not None:
        evidence["sampler"] = sampler_evidence(clustering, positions)
    return FrozenSubset(
        name=name or default_name(matrix.benchmark.name, n, seed, sampler),
        benchmark=matrix.benchmark.name,
        total_items=total,
        n=n,
        seed=seed,
        sampler=sampler,
        item_keys=tuple(matrix.keys[i] for i in positions),
        hashes=tuple(matrix.hashes[i] for i in positions),
        dataset=matrix.benchmark.dataset,
        evidence=evidence,
        drift_table=drift_table(matrix, positions),
        tool_version=__version__,
    )


def check_request(matrix: ScoreMatrix, *, n: int, sizing: SizingResult | None) -> None:
    """Whether `freeze` can serve this at all: cheap, to be asked before embeddings are computed. Raises UsageError."""
    total = matrix.total_items
    if n == total:
        raise UsageError(f"{n} items are the whole of {matrix.benchmark.title}.", "Run the full benchmark instead.")
    if not 1 <= n < total:
        raise UsageError(f"A subset of {n} items cannot be drawn from {total}.", "Give --n within that range.")
    if sizing is not None and (sizing.benchmark, sizing.total_items) != (matrix.benchmark.name, total):
        raise UsageError(
            f"The sizing is of {sizing.benchmark} with {sizing.total_items} items, "
            f"not of {matrix.benchmark.name} with {total}.",
            "Size this pool first.",
        )


def full_subset(
    benchmark: Benchmark, items: Mapping[str, Mapping[str, Any]], *, known: Mapping[str, str], revision: str = ""
) -> FrozenSubset:
    """The whole benchmark as a subset (sampler "full"). `items` maps key to doc, in canonical order.

    `known` maps key to content hash, from logs and frozen subsets: never from the docs themselves, which
    would then prove nothing. Items that it lacks have no hash and stay unverified. `revision` is that of
    the dataset, where it is known.

    Raises InputError where the number of items is not the benchmark's.
    """
    if benchmark.total_items is not None and len(items) != benchmark.total_items:
        raise InputError(
            f"{benchmark.title} has {benchmark.total_items} items, but the dataset holds {len(items)}.",
            "Use the benchmark's complete test set.",
        )
    return FrozenSubset(
        name=f"{benchmark.name}-full",
        benchmark=benchmark.name,
        total_items=len(items),
        n=len(items),
        seed=None,
        sampler="full",
        item_keys=tuple(items),
        hashes=tuple(known.get(key) for key in items),
        dataset=benchmark.dataset,
        revision=revision,
        tool_version=__version__,
    )


def default_name(benchmark: str, n: int, seed: int, sampler: str) -> str:
    """ "ifeval-250"; the sampler and the seed follow where they are not the usual ones."""
    own_sampler = "" if sampler == "uniform" else f"-{sampler}"
    own_seed = "" if seed == DEFAULT_SEED else f"-s{seed}"
    return f"{benchmark}-{n}{own_sampler}{own_seed}"


def is_name(name: str) -> bool:
    """Whether it can be the name of a subset, and so of its file on any system."""
    return name not in ("", ".", "..") and all(c.isprintable() and c not in '/\\:*?"<>|' for c in name)


def evidence_of(sizing: SizingResult, n: int) -> dict[str, Any]:
    """What justified `n`, as the room's docstring lists it; p95_pp is None where n was no candidate size."""
    plan = sizing.plan
    evidence: dict[str, Any] = {
        "rule": plan.worst,
        "tau_pp": plan.tau_pp,
        "step": plan.step,
        "quantile": plan.quantile,
        "method": sizing.method,
        "draws": plan.draws if sizing.method == "draws" else None,
        "seed": plan.seed if sizing.method == "draws" else None,
        "p95_pp": sizing.bound_at(n),
        "gain_pp": None,
        "sizes": list(plan.sizes),
        "curve_pp": list(sizing.p95_pp),
        "n_star": sizing.n_star,
        "n_star_smooth": sizing.n_star_smooth,
        "pool": list(sizing.models),
        "metrics": list(sizing.metrics),
        "warnings": list(sizing.warnings),
    }
    if n in plan.sizes:
        evidence["gain_pp"] = sizing.gain_pp[plan.sizes.index(n)]
    else:
        evidence["warnings"].append(f"{n} was no candidate size of the sizing, so there is no bound for it.")
    return evidence


def drift_table(matrix: ScoreMatrix, positions: tuple[int, ...]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """{model: {metric: (full percent, subset percent, signed drift pp)}} of every pair without missing items."""
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    chosen = list(positions)
    for k, model in enumerate(matrix.models):
        for m, metric in enumerate(matrix.metrics):
            passed, trials = matrix.passed[k, m], matrix.trials[k, m]
            if np.isnan(passed).any() or np.isnan(trials).any() or trials[chosen].sum() <= 0:
                continue
            full = 100.0 * float(passed.sum() / trials.sum())
            part = 100.0 * float(passed[chosen].sum() / trials[chosen].sum())
            table.setdefault(model, {})[metric] = (full, part, part - full)
    return table
