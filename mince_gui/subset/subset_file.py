"""The frozen subset as a JSON file: written once, verified on every read. No item text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import InputError
from mince_gui.base.files import write_atomic
from mince_gui.base.paths import bundled_subsets
from mince_gui.benchmarks import Benchmark, keys_of, of_task
from mince_gui.subset.drawing import draw_stratified, draw_uniform
from mince_gui.subset.evidence_file import (
    check_curve,
    check_pool,
    check_sampler,
    drift_table_from_json,
    evidence_from_json,
)
from mince_gui.subset.freezing import SAMPLERS, is_name
from mince_gui.subset.jsonfile import Fields, parse_object
from mince_gui.subset.types import SCHEMA, FrozenSubset

KIND = "mince-gui subset"

_LARGEST = 64 << 20
_REMEDY = "A frozen subset is never edited: take the original file again, or freeze a new one."
_ANOTHER = "A frozen subset is written once. Give another --name or --out, or move the old file away first."
_HEX = frozenset("0123456789abcdef")


def write_subset(path: Path, subset: FrozenSubset) -> None:
    """Write `subset` to `path` (atomic), with its own SHA-256.

    A file that is there already is replaced by the same items alone (their evidence may be newer).
    Raises InputError for a file with anything else in it, and for a subset that no reader would take.
    """
    body = subset_to_json(subset)
    subset_from_json(body, str(path))
    if path.exists():
        try:
            same = same_items(read_subset(path), subset)
        except InputError as error:
            raise InputError(f"{path} is there already, and is no whole subset file.", _ANOTHER) from error
        if not same:
            raise InputError(f"{path} is there already and holds other items than {subset.name} now.", _ANOTHER)
    write_atomic(path, json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def same_items(one: FrozenSubset, other: FrozenSubset) -> bool:
    """Whether both hold the same items of the same benchmark; a hash that only one of them knows is no difference."""
    if (one.benchmark, one.total_items, one.item_keys) != (other.benchmark, other.total_items, other.item_keys):
        return False
    return all(a == b or None in (a, b) for a, b in zip(one.hashes, other.hashes, strict=True))


def read_subset(path: Path) -> FrozenSubset:
    """The verified subset of `path`. Raises InputError that names the file, the field or the item at fault."""
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is far too large for a subset file.", _REMEDY)
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions.") from error
    return subset_from_json(parse_object(raw, str(path), "Choose a subset file written by mince freeze."), str(path))


def bundled() -> tuple[Path, ...]:
    """The subset files that ship with the program, by name."""
    return tuple(sorted(bundled_subsets().glob("*.json")))


def subset_to_json(subset: FrozenSubset) -> dict[str, Any]:
    """The object that is written, its SHA-256 last."""
    body: dict[str, Any] = {
        "kind": KIND,
        "schema": SCHEMA,
        "name": subset.name,
        "benchmark": subset.benchmark,
        "dataset": subset.dataset,
        "revision": subset.revision,
        "total_items": subset.total_items,
        "n": subset.n,
        "seed": subset.seed,
        "sampler": subset.sampler,
        "tool_version": subset.tool_version,
        "evidence": dict(subset.evidence),
        "drift_table": {
            model: {metric: list(row) for metric, row in rows.items()} for model, rows in subset.drift_table.items()
        },
        "item_keys": list(subset.item_keys),
        "hashes": list(subset.hashes),
    }
    return {**body, "sha256": _self_hash(body)}


def subset_sha256(subset: FrozenSubset) -> str:
    """The hash that its file carries: over which items, in which order, with which evidence."""
    return str(subset_to_json(subset)["sha256"])


def subset_from_json(body: Mapping[str, Any], where: str, *, seen_before: bool = False) -> FrozenSubset:
    """The verified subset of a parsed object; `where` names its file. Raises InputError.

    `seen_before`: as for `read_pack`, the items of its file were verified, and are not once more.
    """
    if body.get("kind") != KIND:
        raise InputError(f"{where} is not a subset file.", "Choose a subset file written by mince freeze.")
    fields = Fields(body, where, _REMEDY)
    schema = fields.whole("schema", 1)
    if schema != SCHEMA:
        raise InputError(
            f"{where} has subset schema {schema}; this version reads schema {SCHEMA}.",
            "Use the version of mince-gui that wrote it, or a newer one.",
        )
    seed = None if body.get("seed") is None else fields.whole("seed")
    subset = FrozenSubset(
        name=fields.text("name"),
        benchmark=fields.text("benchmark"),
        total_items=fields.whole("total_items", 1),
        n=fields.whole("n", 1),
        seed=seed,
        sampler=fields.text("sampler"),
        item_keys=fields.texts("item_keys"),
        hashes=_hashes(fields),
        dataset=fields.text("dataset"),
        revision=fields.text("revision"),
        evidence=evidence_from_json(fields),
        drift_table=drift_table_from_json(fields),
        tool_version=fields.text("tool_version"),
    )
    if not seen_before:
        _check_items(subset, fields)
    check_curve(subset.evidence, subset.n, subset.total_items, fields)
    check_pool(subset.evidence, subset.drift_table, fields)
    check_sampler(subset.evidence, subset.sampler, subset.n, subset.total_items, fields)
    stated = fields.text("sha256")
    if stated != _self_hash({name: value for name, value in body.items() if name != "sha256"}):
        raise fields.refuse(f"the content was changed after freezing: its SHA-256 is not {stated[:12]}...")
    return subset


def _self_hash(body: Mapping[str, Any]) -> str:
    return sha256_text(canonical_json(body))


def _hashes(fields: Fields) -> tuple[str | None, ...]:
    value = fields.body.get("hashes")
    if not isinstance(value, list):
        raise fields.refuse("'hashes' is not a list.")
    for place, entry in enumerate(value):
        if entry is not None and not (isinstance(entry, str) and len(entry) == 64 and _HEX.issuperset(entry)):
            raise fields.refuse(f"hash number {place + 1} is not a SHA-256.")
    return tuple(value)


def _check_items(subset: FrozenSubset, fields: Fields) -> None:
    keys = subset.item_keys
    if not is_name(subset.name):
        raise fields.refuse(f"the name {subset.name!r} cannot be the name of a file.")
    benchmark = of_task(subset.benchmark)
    if benchmark.total_items not in (None, subset.total_items):
        raise fields.refuse(
            f"it says that {benchmark.title} has {subset.total_items} items; it has {benchmark.total_items}."
        )
    if len(keys) != subset.n:
        raise fields.refuse(f"it says n = {subset.n} but lists {len(keys)} items.")
    if len(subset.hashes) != subset.n:
        raise fields.refuse(f"it lists {subset.n} items but {len(subset.hashes)} hashes.")
    if subset.n > subset.total_items:
        raise fields.refuse(f"n = {subset.n} is more than the {subset.total_items} items of the benchmark.")
    if (subset.sampler == "full") != (subset.n == subset.total_items):
        raise fields.refuse(f"sampler '{subset.sampler}' with {subset.n} of {subset.total_items} items.")
    if subset.sampler not in ("full", *SAMPLERS):
        raise fields.refuse(f"there is no sampler '{subset.sampler}'.")
    if (subset.sampler == "full") != (subset.seed is None):
        raise fields.refuse(f"sampler '{subset.sampler}' with seed {subset.seed}.")
    seen: set[str] = set()
    for key in keys:
        if not benchmark.is_key(key):
            raise fields.refuse(f"{key[:40]!r} is no item of {benchmark.title}.")
        if key in seen:
            raise fields.refuse(f"item {key} is listed twice.")
        seen.add(key)
    places = [benchmark.sort_key(key) for key in keys]
    for i in range(1, len(keys)):
        if places[i] < places[i - 1]:
            raise fields.refuse(f"item {keys[i]} stands after {keys[i - 1]}, out of canonical order.")
    _check_draw(subset, benchmark, fields)


def _check_draw(subset: FrozenSubset, benchmark: Benchmark, fields: Fields) -> None:
    """The items must be the benchmark's own, and those that the seed draws, as far as the file alone can tell."""
    all_keys = keys_of(benchmark)
    if all_keys is None:
        return
    known = frozenset(all_keys)
    for key in subset.item_keys:
        if key not in known:
            raise fields.refuse(f"{key!r} is no item of {benchmark.title}.")
    if subset.seed is None:
        return
    if subset.sampler == "uniform":
        drawn = draw_uniform(subset.total_items, subset.n, subset.seed)
    elif subset.sampler == "stratified" and benchmark.subjects:
        drawn = draw_stratified([benchmark.category({}, key) for key in all_keys], subset.n, subset.seed)
    else:
        return
    for key, place in zip(subset.item_keys, drawn, strict=True):
        if key != all_keys[place]:
            raise fields.refuse(
                f"its items are not those that seed {subset.seed} draws: {key} stands in place of {all_keys[place]}."
            )
