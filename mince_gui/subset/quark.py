"""The frozen artifact of `quark.contrib.mince` (amd-quark 0.13), read into a subset and written from one.

One JSON object: benchmark, models, n, total_items, reduction_pct, seed, strategy ("random"), generated,
lm_eval_version, indices (positions in canonical order), items (one object per index: what makes the item's key, and the
first 80 to 120 characters of its text), drift {model: {metric: {full, subset, |drift|}}} as shares of 1. Artifacts
written here of a subset that was drawn otherwise name its sampler as strategy, and have the clusters of kmeans in one
more field, `sampler`; their code passes over it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from mince_gui import __version__
from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.files import write_atomic
from mince_gui.benchmarks import Benchmark, of_task
from mince_gui.subset.drawing import draw_uniform
from mince_gui.subset.evidence_file import check_pool, check_sampler
from mince_gui.subset.freezing import SAMPLERS, default_name
from mince_gui.subset.jsonfile import Fields, parse_object
from mince_gui.subset.positions import positions_of
from mince_gui.subset.types import FrozenSubset, Pack

_LARGEST = 64 << 20
_TOP = ("benchmark", "n", "total_items", "seed", "strategy", "indices", "items")
_REMEDY = "Take the artifact as amd-quark's freeze wrote it, or freeze the subset here."
_ROUNDING = 1e-6


@dataclass(frozen=True)
class _Kind:
    """How one benchmark's items and metrics are called there. `text` names the doc's text and how much is kept.

    `has_categories` says whether its items have any, to be stratified by.
    """

    total_items: int
    text: tuple[str, int]
    metrics: Mapping[str, str]
    has_categories: bool = False


_KINDS = {
    "ifeval": _Kind(
        541,
        ("prompt", 120),
        {
            "prompt_strict": "prompt_level_strict_acc",
            "prompt_loose": "prompt_level_loose_acc",
            "inst_strict": "inst_level_strict_acc",
            "inst_loose": "inst_level_loose_acc",
        },
        has_categories=True,
    ),
    "mmlu": _Kind(14_042, ("question", 80), {"acc": "acc"}, has_categories=True),
    "gsm8k": _Kind(1_319, ("question", 80), {"exact_match": "exact_match,flexible-extract"}),
    "commonsense_qa": _Kind(1_221, ("question", 80), {"acc": "acc"}),
    "piqa": _Kind(1_838, ("question", 80), {"acc": "acc", "acc_norm": "acc_norm"}),
}


def is_artifact(path: Path) -> bool:
    """Whether the file is such an artifact, whole or not.

    Reads at most 64 MB, and no more than the beginning of a file that is no JSON object. Never raises.
    """
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return False
        with path.open("rb") as file:
            head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
            if not head.startswith(b"{"):
                return False
            rest = file.read()
    except OSError:
        return False
    raw = head + rest
    return all(f'"{name}"'.encode() in raw for name in _TOP)


def read_artifact(path: Path, *, hashes: Mapping[str, str] | None = None) -> FrozenSubset:
    """The subset that the artifact holds, checked item by item.

    `indices` and `items` must agree with each other, with the benchmark's own order and with what the seed draws.
    `hashes` maps item keys to content hashes (from logs, packs and subsets). The texts in the artifact are not kept.
    The result has no bound: the artifact does not say what justified n. Raises InputError that names the item at fault.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is far too large for an artifact.", _REMEDY)
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error
    fields = Fields(parse_object(raw, str(path), _REMEDY), str(path), _REMEDY)
    name = fields.text("benchmark")
    kind = _KINDS.get(name)
    if kind is None:
        raise fields.refuse(f"artifacts of {name[:40]!r} are not known here; known are {', '.join(_KINDS)}.")
    benchmark = of_task(name)
    n, total, seed = fields.whole("n", 1), fields.whole("total_items", 1), fields.whole("seed")
    if total != kind.total_items:
        raise fields.refuse(f"it says that {benchmark.title} has {total} items; it has {kind.total_items}.")
    if n > total:
        raise fields.refuse(f"n = {n} is more than the {total} items of the benchmark.")
    indices, keys = _items(fields, benchmark, n, total)
    _check_places(fields, benchmark, indices, keys)
    sampler = _sampler(fields, indices, total, seed)
    if sampler == "stratified" and not kind.has_categories:
        raise fields.refuse(f"its strategy is 'stratified', but the items of {benchmark.title} have no categories.")
    known = hashes or {}
    evidence: dict[str, Any] = {"sampler": fields.object("sampler")} if sampler == "kmeans" else {}
    check_sampler(evidence, sampler, n, total, fields)
    models = fields.body.get("models")
    table = _drift_table(fields, kind)
    pool = [model for model in models if isinstance(model, str)] if isinstance(models, list) else list(table)
    check_pool({"pool": pool}, table, fields)
    return FrozenSubset(
        name=f"{default_name(name, n, seed, sampler) if n < total else f'{name}-full'}-quark",
        benchmark=name,
        total_items=total,
        n=n,
        seed=seed if n < total else None,
        sampler=sampler,
        item_keys=keys,
        hashes=tuple(known.get(key) for key in keys),
        dataset=benchmark.dataset,
        evidence={
            **evidence,
            "pool": pool,
            "artifact": {
                "of": "quark.contrib.mince",
                "file": path.name,
                "sha256": sha256_text(raw.decode("utf-8-sig")),
                "generated": _text(fields, "generated"),
                "lm_eval_version": _text(fields, "lm_eval_version"),
            },
        },
        drift_table=table,
        tool_version=__version__,
    )


def write_artifact(path: Path, subset: FrozenSubset, *, pack: Pack | None = None) -> None:
    """Write the subset as an artifact (atomic), in the shape that amd-quark's own `build_samples` reads.

    `pack` is a pack that holds the subset's items, for their categories and the first characters of their texts;
    without one there are none. Raises UsageError for a benchmark that amd-quark does not know.
    """
    kind = _KINDS.get(subset.benchmark)
    if kind is None:
        raise UsageError(
            f"amd-quark knows no {subset.benchmark}, so it has no artifacts of it.", f"It knows {', '.join(_KINDS)}."
        )
    indices = positions_of(of_task(subset.benchmark), subset.item_keys)
    packed = {item.key: item for item in pack.items} if pack is not None else {}
    items: list[dict[str, Any]] = []
    for index, key in zip(indices, subset.item_keys, strict=True):
        entry = _key_fields(subset.benchmark, key)
        if (item := packed.get(key)) is not None:
            if subset.benchmark == "ifeval":
                entry["stratum"] = item.category or ""
            name, length = kind.text
            entry[name] = str(item.doc.get(name) or "")[:length]
        items.append({**entry, "index": index})
    made = subset.evidence.get("artifact")
    body = {
        "benchmark": subset.benchmark,
        "models": list(subset.evidence.get("pool") or subset.drift_table),
        "n": subset.n,
        "total_items": subset.total_items,
        "reduction_pct": round((1 - subset.n / subset.total_items) * 100, 1),
        "seed": subset.seed or 0,
        "strategy": "random" if subset.sampler in ("uniform", "full") else subset.sampler,
        "generated": datetime.now().astimezone().isoformat(),
        "lm_eval_version": str(made.get("lm_eval_version") or "unknown") if isinstance(made, dict) else "unknown",
        "indices": list(indices),
        "items": items,
        "drift": _drift_of(subset, kind),
        **({"sampler": subset.evidence["sampler"]} if subset.sampler == "kmeans" else {}),
    }
    write_atomic(path, json.dumps(body, ensure_ascii=True, indent=2, allow_nan=False) + "\n")


def _items(fields: Fields, benchmark: Benchmark, n: int, total: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The places and keys, each list of n, ascending and without repeats, and agreeing with each other."""
    indices, entries = fields.body.get("indices"), fields.body.get("items")
    if not isinstance(indices, list) or not isinstance(entries, list):
        raise fields.refuse("'indices' and 'items' are not both lists.")
    if len(indices) != n or len(entries) != n:
        raise fields.refuse(f"it says n = {n} but lists {len(indices)} indices and {len(entries)} items.")
    keys: list[str] = []
    for place, (index, entry) in enumerate(zip(indices, entries, strict=True)):
        where = f"item number {place + 1}"
        if not _whole(index) or index >= total:
            raise fields.refuse(f"{where}: the index {str(index)[:40]} is no place among {total} items.")
        if not isinstance(entry, dict):
            raise fields.refuse(f"{where} is not an object.")
        key = _item_key(entry, benchmark)
        if key is None or not benchmark.is_key(key):
            raise fields.refuse(f"{where} (index {index}) names no item of {benchmark.title}.")
        if entry.get("index", index) != index:
            raise fields.refuse(f"item {key} says index {str(entry['index'])[:40]}, but 'indices' has {index} there.")
        if place and index <= indices[place - 1]:
            raise fields.refuse(f"item {key}: index {index} stands after {indices[place - 1]}, not in ascending order.")
        keys.append(key)
    return tuple(indices), tuple(keys)


def _item_key(entry: Mapping[str, Any], benchmark: Benchmark) -> str | None:
    number = entry.get("key" if benchmark.key_field == "key" else "doc_id")
    if not _whole(number):
        return None
    if benchmark.key_field == "subject/doc_id":
        return f"{entry.get('subject')}/{number}"
    return str(number)


def _key_fields(benchmark: str, key: str) -> dict[str, Any]:
    if benchmark == "ifeval":
        return {"key": int(key)}
    subject, _, number = key.rpartition("/")
    return {"subject": subject, "doc_id": int(number)} if subject else {"doc_id": int(number)}


def _check_places(fields: Fields, benchmark: Benchmark, indices: tuple[int, ...], keys: tuple[str, ...]) -> None:
    """Every index must be where the benchmark's own order has its item: it is what lm-eval runs."""
    try:
        places = positions_of(benchmark, keys)
    except InputError as error:
        raise fields.refuse(error.message) from error
    for index, key, place in zip(indices, keys, places, strict=True):
        if index != place:
            raise fields.refuse(f"item {key} has place {place} in {benchmark.title}, not {index} as 'indices' says.")


def _sampler(fields: Fields, indices: tuple[int, ...], total: int, seed: int) -> str:
    strategy = fields.text("strategy")
    sampler = {"random": "uniform", **{name: name for name in SAMPLERS if name != "uniform"}}.get(strategy)
    if sampler is None:
        raise fields.refuse(f"its strategy {strategy[:40]!r} is not known here.")
    if len(indices) == total:
        return "full"
    if sampler == "uniform":
        drawn = draw_uniform(total, len(indices), seed)
        for index, expected in zip(indices, drawn, strict=True):
            if index != expected:
                raise fields.refuse(f"index {index} is not among the items that seed {seed} draws ({expected} is).")
    return sampler


def _drift_table(fields: Fields, kind: _Kind) -> dict[str, dict[str, tuple[float, float, float]]]:
    """In percent and signed pp, under lm-eval's names; metrics that are not known here are left out."""
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    drift = fields.body.get("drift")
    if drift is None:
        return table
    for model, rows in fields.object("drift").items():
        if not isinstance(rows, dict):
            raise fields.refuse(f"the drift of {model} is not an object.")
        for metric, row in rows.items():
            values = [row.get(name) for name in ("full", "subset", "drift")] if isinstance(row, dict) else []
            if len(values) != 3 or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
                raise fields.refuse(f"the drift of {model}, {metric} is not three numbers.")
            full, part, size = (float(value) for value in values if value is not None)
            if not (0 <= full <= 1 and 0 <= part <= 1 and math.isclose(abs(part - full), size, abs_tol=_ROUNDING)):
                raise fields.refuse(f"the drift of {model}, {metric} is not two shares and their difference.")
            if (own := kind.metrics.get(metric)) is not None:
                table.setdefault(model, {})[own] = (100 * full, 100 * part, 100 * part - 100 * full)
    return table


def _drift_of(subset: FrozenSubset, kind: _Kind) -> dict[str, dict[str, dict[str, float]]]:
    return {
        model: {
            theirs: {"full": rows[own][0] / 100, "subset": rows[own][1] / 100, "drift": abs(rows[own][2]) / 100}
            for theirs, own in kind.metrics.items()
            if own in rows
        }
        for model, rows in subset.drift_table.items()
    }


def _text(fields: Fields, name: str) -> str:
    """A text that says where the artifact is from; empty where there is none."""
    value = fields.body.get(name)
    return value if isinstance(value, str) else ""


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
