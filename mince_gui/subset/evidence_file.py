"""What a subset file says in favour of its n: types, ranges, and that what follows from other figures does so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, get_args

from mince_gui.sizing.rules import gains, n_star
from mince_gui.sizing.types import Worst
from mince_gui.subset.drawing import webster
from mince_gui.subset.jsonfile import Fields

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
_METHODS = ("exact", "draws")
_ROUNDING_PP = 1e-6


def evidence_from_json(fields: Fields) -> dict[str, Any]:
    """The file's `evidence`, checked; entries that this version does not know are kept. Raises InputError."""
    evidence = fields.object("evidence")
    for name, (kind, called) in _EVIDENCE.items():
        value = evidence.get(name)
        if value is not None and not _is(kind, value):
            raise fields.refuse(f"'{name}' of the evidence is not {called}.")
    for name, kind in _EVIDENCE_LISTS.items():
        values = evidence.get(name, [])
        if not isinstance(values, list) or not all(_is(kind, value) for value in values):
            raise fields.refuse(f"'{name}' of the evidence is not the list it should be.")
    _check_ranges(evidence, fields)
    return evidence


def _check_ranges(evidence: Mapping[str, Any], fields: Fields) -> None:
    for name in ("p95_pp", "tau_pp", "step", "draws", "seed"):
        value = evidence.get(name)
        if value is not None and value < 0:
            raise fields.refuse(f"'{name}' of the evidence is below 0.")
    quantile = evidence.get("quantile")
    if quantile is not None and not 0 < quantile < 1:
        raise fields.refuse("'quantile' of the evidence does not lie between 0 and 1.")
    for name, known in (("rule", get_args(Worst)), ("method", _METHODS)):
        value = evidence.get(name)
        if value is not None and value not in known:
            raise fields.refuse(f"'{name}' of the evidence is {value[:40]!r}; known: {', '.join(known)}.")


def check_curve(evidence: Mapping[str, Any], n: int, total: int, fields: Fields) -> None:
    """The curve against its sizes; the bound, its gain and n* against the curve and tau. Raises InputError."""
    sizes: list[int] = evidence.get("sizes", [])
    curve: list[float] = evidence.get("curve_pp", [])
    if len(curve) != len(sizes) or any(value < 0 for value in curve):
        raise fields.refuse("'curve_pp' of the evidence does not give every size a bound of at least 0 pp.")
    if any(a >= b for a, b in pairwise(sizes)) or (sizes and not 0 < sizes[0] <= sizes[-1] < total):
        raise fields.refuse(f"'sizes' of the evidence do not rise between 0 and {total}.")
    for name in ("n_star", "n_star_smooth"):
        if evidence.get(name) is not None and evidence[name] not in sizes:
            raise fields.refuse(f"'{name}' of the evidence is none of its sizes.")
    for name, values in (("p95_pp", curve), ("gain_pp", gains(curve))):
        if not _agree(evidence.get(name), values[sizes.index(n)] if n in sizes else None):
            raise fields.refuse(f"'{name}' of the evidence is not what its curve gives at {n} items.")
    tau = evidence.get("tau_pp")
    if evidence.get("n_star") != (star := n_star(sizes, curve, tau) if sizes and tau is not None else None):
        raise fields.refuse(f"'n_star' of the evidence is not what its curve gives at its tau ({star or 'none'}).")


def check_pool(evidence: Mapping[str, Any], drift_table: Mapping[str, object], fields: Fields) -> None:
    """The drift table speaks of the pool's models alone, where a pool is named. Raises InputError."""
    pool = evidence.get("pool")
    foreign = next((model for model in drift_table if pool and model not in pool), None)
    if foreign is not None:
        raise fields.refuse(f"the drift table has {foreign[:80]!r}, which is no model of the evidence's pool.")


def _agree(said: float | None, expected: float | None) -> bool:
    if said is None or expected is None:
        return said is expected
    return math.isclose(said, expected, abs_tol=_ROUNDING_PP)


def check_sampler(evidence: Mapping[str, Any], sampler: str, n: int, total: int, fields: Fields) -> None:
    """What a k-means subset says of its clusters: every cluster's items are its Webster seats. Raises InputError."""
    body = evidence.get("sampler")
    if sampler != "kmeans":
        if body is not None:
            raise fields.refuse(f"its evidence has clusters, but its sampler is '{sampler}'.")
        return
    if not isinstance(body, dict):
        raise fields.refuse("its evidence does not say which clusters the items were drawn from.")
    sizes, clusters, scores = body.get("cluster_sizes"), body.get("clusters"), body.get("silhouettes")
    for name, values in (("cluster_sizes", sizes), ("clusters", clusters)):
        if not isinstance(values, list) or not all(_is(int, value) and value >= 0 for value in values):
            raise fields.refuse(f"'{name}' of the evidence's sampler is not a list of whole numbers.")
    assert isinstance(sizes, list)
    assert isinstance(clusters, list)
    if body.get("k") != len(sizes) or 0 in sizes or sum(sizes) != total or len(clusters) != n:
        raise fields.refuse(f"the clusters of the evidence are not groups of the {total} items.")
    counts = Counter(clusters)
    if [counts[number] for number in range(len(sizes))] != list(webster(sizes, n)):
        raise fields.refuse("its items are not shared out over the clusters by their sizes.")
    if not isinstance(scores, dict) or not all(_is(_NUMBER, s) and -1 <= s <= 1 for s in scores.values()):
        raise fields.refuse("'silhouettes' of the evidence's sampler does not give every k a number from -1 to 1.")
    chosen = scores.get(str(len(sizes)))
    if chosen is None or chosen != max(scores.values()) or chosen != body.get("silhouette"):
        raise fields.refuse(f"{len(sizes)} clusters are not those of the best silhouette.")
    if not isinstance(body.get("embeddings"), dict):
        raise fields.refuse("'embeddings' of the evidence's sampler is not an object.")


def _is(kind: Kind, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def drift_table_from_json(fields: Fields) -> dict[str, dict[str, tuple[float, float, float]]]:
    """The file's `drift_table` in percent, percent and pp, checked. Raises InputError."""
    table: dict[str, dict[str, tuple[float, float, float]]] = {}
    for model, rows in fields.object("drift_table").items():
        if not isinstance(rows, dict):
            raise fields.refuse(f"the drift table of {model} is not an object.")
        for metric, row in rows.items():
            if not isinstance(row, list) or len(row) != 3 or not all(_is(_NUMBER, value) for value in row):
                raise fields.refuse(f"the drift table of {model}, {metric} is not three numbers.")
            full, part, drift = (float(value) for value in row)
            percents = all(-_ROUNDING_PP <= value <= 100.0 + _ROUNDING_PP for value in (full, part))
            if not percents or not math.isclose(part - full, drift, abs_tol=_ROUNDING_PP):
                raise fields.refuse(f"the drift table of {model}, {metric} is not two scores and their difference.")
            table.setdefault(model, {})[metric] = (full, part, drift)
    return table
