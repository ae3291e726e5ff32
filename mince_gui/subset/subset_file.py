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
from mince_gui.benchmarks import BENCHMARKS, of_task
from mince_gui.subset.jsonfile import Fields, parse_object
from mince_gui.subset.types import SCHEMA, FrozenSubset

KIND = "mince-gui subset"

_LARGEST = 64 << 20
_LONGEST_KEY = 300
_REMEDY = "A frozen subset is never edited: take the original file again, or freeze a new one."
_HEX = frozenset("0123456789abcdef")

Kind = type | tuple[type, ...]
_NUMBER: Kind = (int, float)
_EVIDENCE: dict[str, tuple[Kind, str]] = {
    **dict.fromkeys(("rule", "method"), (str, "a text")),
    **dict.fromkeys(("tau_pp", "quantile", "p95_pp", "gain_pp"), (_NUMBER, "a number")),
    **dict.fromkeys(("step", "draws", "seed", "n_star", "n_star_smooth"), (int, "a whole number")),
}
_EVIDENCE_LISTS: dict[str, Kind] = {
    "sizes": int, "curve_pp": _NUMBER, "pool": str, "metrics": str, "warnings": str,
}  # fmt: skip


def write_subset(path: Path, subset: FrozenSubset) -> None:
    """Write `subset` to `path` (atomic), with its own SHA-256."""
    text = json.dumps(subset_to_json(subset), ensure_ascii=False, indent=1, allow_nan=False)
    write_atomic(path, text + "\n")


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


def subset_from_json(body: Mapping[str, Any], where: str) -> FrozenSubset:
    """The verified subset of a parsed object; `where` names its file. Raises InputError."""
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
        evidence=_evidence(fields),
        drift_table=_drift_table(fields),
        tool_version=fields.text("tool_version"),
    )
    _check_items(subset, fields)
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


def _evidence(fields: Fields) -> dict[str, Any]:
    evidence = fields.object("evidence")
    for name, (kind, called) in _EVIDENCE.items():
        value = evidence.get(name)
        if value is not None and not _is(kind, value):
            raise fields.refuse(f"'{name}' of the evidence is not {called}.")
    for name, kind in _EVIDENCE_LISTS.items():
        values = evidence.get(name, [])
        if not isinstance(values, list) or not all(_is(kind, value) for value in values):
            raise fields.refuse(f"'{name}' of the evidence is not the list it should be.")
    return evidence


def _is(kind: Kind, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _drift_table(fields: Fields) -> dict[str, dict[str, tuple[float, float, float]]]:
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    for model, rows in fields.object("drift_table").items():
        if not isinstance(rows, dict):
            raise fields.refuse(f"the drift table of {model} is not an object.")
        for metric, row in rows.items():
            if not isinstance(row, list) or len(row) != 3 or not all(_is(_NUMBER, value) for value in row):
                raise fields.refuse(f"the drift table of {model}, {metric} is not three numbers.")
            table.setdefault(model, {})[metric] = (float(row[0]), float(row[1]), float(row[2]))
    return table


def _check_items(subset: FrozenSubset, fields: Fields) -> None:
    keys = subset.item_keys
    if (
        not subset.name
        or subset.name in {".", ".."}
        or any(c in '/\\:*?"<>|' or not c.isprintable() for c in subset.name)
    ):
        raise fields.refuse(f"the name {subset.name!r} cannot be the name of a file.")
    if len(keys) != subset.n:
        raise fields.refuse(f"it says n = {subset.n} but lists {len(keys)} items.")
    if len(subset.hashes) != subset.n:
        raise fields.refuse(f"it lists {subset.n} items but {len(subset.hashes)} hashes.")
    if subset.n > subset.total_items:
        raise fields.refuse(f"n = {subset.n} is more than the {subset.total_items} items of the benchmark.")
    if (subset.sampler == "full") != (subset.n == subset.total_items):
        raise fields.refuse(f"sampler '{subset.sampler}' with {subset.n} of {subset.total_items} items.")
    seen: set[str] = set()
    for key in keys:
        if len(key) > _LONGEST_KEY:
            raise fields.refuse(f"the item key {key[:40]}... is too long.")
        if key in seen:
            raise fields.refuse(f"item {key} is listed twice.")
        seen.add(key)
    benchmark = BENCHMARKS.get(subset.benchmark) or of_task(subset.benchmark)
    places = [benchmark.sort_key(key) for key in keys]
    for i in range(1, len(keys)):
        if places[i] < places[i - 1]:
            raise fields.refuse(f"item {keys[i]} stands after {keys[i - 1]}, out of canonical order.")
