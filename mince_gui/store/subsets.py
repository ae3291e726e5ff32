"""Sizings, frozen subsets and packs in the workspace."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError, UsageError
from mince_gui.logs.types import FloatArray
from mince_gui.sizing.types import Budget, Plan, SizingResult, Target
from mince_gui.store.workspace import Workspace, now
from mince_gui.subset.subset_file import same_items, subset_from_json
from mince_gui.subset.types import FrozenSubset


@dataclass(frozen=True)
class StoredPack:
    """A pack that a run can name. `is_full`: it carries the whole benchmark."""

    name: str
    benchmark: str
    n: int
    is_full: bool
    path: Path
    sha256: str
    created_at: str


@dataclass(frozen=True)
class StoredSubset:
    """A frozen subset, verified when it was stored; `path` is its file."""

    subset: FrozenSubset
    path: Path
    created_at: str


def add_sizing(ws: Workspace, result: SizingResult) -> int:
    """Keep a sizing; returns its id."""
    body = {
        **result.to_json(),
        "default_step": result.plan.default_step,
        "curves_pp": _nullable(result.curves_pp),
        "by_level_pp": result.by_level_pp.tolist(),
        "n_star_warnings": list(result.n_star_warnings),
        "pool_sha256": result.pool_sha256,
    }
    with ws.writing() as db:
        cursor = db.execute(
            "INSERT INTO sizings (benchmark, created_at, result) VALUES (?, ?, ?)",
            (result.benchmark, now(), json.dumps(body)),
        )
    return int(cursor.lastrowid or 0)


def _nullable(curves: FloatArray) -> list[list[list[float | None]]]:
    """NaN (a pair that takes no part) as None: bare NaN is no JSON."""
    return [[[None if math.isnan(x) else x for x in row] for row in table] for table in curves.tolist()]


def latest_sizing(ws: Workspace, benchmark: str) -> SizingResult | None:
    """The newest sizing of the benchmark; one that an earlier version stored with less in it counts as none."""
    row = ws.db.execute(
        "SELECT result FROM sizings WHERE benchmark = ? ORDER BY sizing_id DESC LIMIT 1", (benchmark,)
    ).fetchone()
    body = json.loads(row["result"]) if row else {}
    return _sizing(body) if "pool_sha256" in body else None


def _sizing(body: dict[str, Any]) -> SizingResult:
    return SizingResult(
        benchmark=body["benchmark"],
        total_items=body["total_items"],
        models=tuple(body["models"]),
        metrics=tuple(body["metrics"]),
        plan=Plan(
            sizes=tuple(body["sizes"]),
            step=body["step"],
            default_step=body["default_step"],
            draws=body["draws"],
            tau_pp=body["tau_pp"],
            quantile=body["quantile"],
            worst=body["worst"],
            method=body["method"],
            seed=body["seed"],
        ),
        method=body["method"],
        p95_pp=tuple(body["p95_pp"]),
        gain_pp=tuple(body["gain_pp"]),
        error_pp=tuple(body["error_pp"]),
        smooth_pp=tuple(body["smooth_pp"]),
        lump_pp=tuple(body["lump_pp"]),
        curves_pp=np.array(body["curves_pp"], dtype=np.float64),
        n_star=body["n_star"],
        n_star_smooth=body["n_star_smooth"],
        n_star_by_seed={int(seed): n for seed, n in body["n_star_by_seed"].items()},
        seconds=body["seconds"],
        warnings=tuple(body["warnings"]),
        n_star_warnings=tuple(body["n_star_warnings"]),
        gain_error_pp=tuple(body["gain_error_pp"]),
        by_rule_pp={rule: tuple(curve) for rule, curve in body["by_rule_pp"].items()},
        by_level_pp=np.array(body["by_level_pp"], dtype=np.float64),
        target=Target.from_json(body["target"]) if body["target"] else None,
        budget=Budget.from_json(body["budget"]) if body["budget"] else None,
        pool_sha256=body["pool_sha256"],
    )


def check_name(ws: Workspace, subset: FrozenSubset) -> None:
    """Raise UsageError where the subset's name stands for other items, frozen earlier and still there."""
    other = _of_other_items(ws, subset)
    if other is not None and other.is_file():
        raise UsageError(
            f"The workspace has another subset {subset.name}, with other items ({other}).",
            "A frozen subset is written once. Freeze under another name (--name), or move that file away if it is no "
            "longer needed.",
        )


def _of_other_items(ws: Workspace, subset: FrozenSubset) -> Path | None:
    """The file of a subset of the same name and other items, whether it is still there or not."""
    row = ws.db.execute("SELECT body, path FROM subsets WHERE name = ?", (subset.name,)).fetchone()
    if row is None:
        return None
    known = subset_from_json(json.loads(row["body"]), f"subset {subset.name} in the workspace")
    return None if same_items(known, subset) else ws.find_path(row["path"])


def add_subset(ws: Workspace, subset: FrozenSubset, path: Path) -> None:
    """Keep a frozen subset that was written to `path`; frozen again with newer evidence, it is replaced.

    So is one of other items whose file was moved away; its pack is then forgotten too, the pack's file stays. Raises
    UsageError where the name stands for other items.
    """
    with ws.writing() as db:
        other = _of_other_items(ws, subset)
        if other is not None and other == ws.find_path(ws.keep_path(path)):
            # `path` took the place of the file that was moved away.
            db.execute("DELETE FROM subsets WHERE name = ?", (subset.name,))
        check_name(ws, subset)
        if other is not None:
            db.execute("DELETE FROM packs WHERE name = ?", (subset.name,))
        db.execute(
            "INSERT OR REPLACE INTO subsets VALUES (?, ?, ?, ?, ?, ?)",
            (subset.name, subset.benchmark, subset.n, ws.keep_path(path), path.read_text(encoding="utf-8"), now()),
        )


def subsets(ws: Workspace, benchmark: str | None = None) -> list[StoredSubset]:
    """Frozen subsets, newest first, as they were stored; those that `unreadable` names are not among them."""
    return _read(ws, benchmark)[0]


def unreadable(ws: Workspace) -> dict[str, InputError]:
    """Name -> why of every subset that cannot be used any more; it stands in nobody else's way."""
    return _read(ws, None)[1]


def _read(ws: Workspace, benchmark: str | None) -> tuple[list[StoredSubset], dict[str, InputError]]:
    rows = ws.db.execute(
        "SELECT * FROM subsets WHERE :benchmark IS NULL OR benchmark = :benchmark ORDER BY created_at DESC, name",
        {"benchmark": benchmark},
    )
    found: list[StoredSubset] = []
    faults: dict[str, InputError] = {}
    for row in rows:
        try:
            subset = subset_from_json(json.loads(row["body"]), f"subset {row['name']} in the workspace")
        except InputError as error:
            faults[row["name"]] = InputError(error.message, "Freeze it again under another name (--name).")
            continue
        found.append(StoredSubset(subset, ws.find_path(row["path"]), row["created_at"]))
    return found, faults


def content_hashes(ws: Workspace, benchmark: str) -> dict[str, str]:
    """Item key -> content hash, as the frozen subsets of the workspace have it; the newest counts."""
    known: dict[str, str] = {}
    for stored in reversed(subsets(ws, benchmark)):
        pairs = zip(stored.subset.item_keys, stored.subset.hashes, strict=True)
        known |= {key: value for key, value in pairs if value is not None}
    return known


def add_pack(ws: Workspace, subset: FrozenSubset, path: Path) -> None:
    """Make a pack known under its subset's name; the same name is replaced."""
    with ws.writing() as db:
        db.execute(
            "INSERT OR REPLACE INTO packs VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                subset.name,
                subset.benchmark,
                subset.n,
                int(subset.n == subset.total_items),
                ws.keep_path(path),
                sha256_file(path),
                now(),
            ),
        )


def packs(ws: Workspace, benchmark: str | None = None) -> list[StoredPack]:
    """Known packs, newest first."""
    rows = ws.db.execute(
        "SELECT * FROM packs WHERE :benchmark IS NULL OR benchmark = :benchmark ORDER BY created_at DESC, name",
        {"benchmark": benchmark},
    )
    return [
        StoredPack(
            row["name"], row["benchmark"], row["n"], bool(row["is_full"]), ws.find_path(row["path"]), row["sha256"],
            row["created_at"],
        )
        for row in rows
    ]  # fmt: skip
