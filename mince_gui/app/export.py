"""Write a frozen subset in the form that another tool takes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mince_gui.app.pack import find_subset
from mince_gui.app.stream import stream
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Emit, ignore
from mince_gui.base.files import write_atomic
from mince_gui.benchmarks import of_task
from mince_gui.report.documents.tables import safe_cell
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import subsets as stored_subsets
from mince_gui.subset import FrozenSubset, Pack, positions_of, read_pack, samples_map, write_artifact

Form = Literal["lm-eval", "csv", "quark"]
_SUFFIXES: Mapping[Form, str] = {"lm-eval": ".samples.json", "csv": ".csv", "quark": ".artifact.json"}


@dataclass(frozen=True)
class Exported:
    """The file that was written. `tasks` are lm-eval's, to be named with `--tasks` (empty for other forms)."""

    subset: FrozenSubset
    path: Path
    tasks: tuple[str, ...] = ()


def export_subset(
    workspace: Path, name: str, form: Form, *, out: Path | None = None, task: str | None = None, emit: Emit = ignore
) -> Exported:
    """Write the subset (by name or file) as `form` to `out` (default: the workspace's exports folder).

    lm-eval: the `--samples` map as JSON, of the benchmark's usual task or of `task`. csv: position, key, category and
    hash of every item, empty where it is not known. quark: amd-quark's frozen artifact; the first characters of the
    item texts are in it only where the workspace has a pack of the subset. Raises UsageError for a subset or task that
    is not there and for a benchmark that the other tool does not know; InputError for a file that is no subset.
    """
    if task is not None and form != "lm-eval":
        raise UsageError("--task belongs to --as lm-eval.")
    with stream(emit, "export", detail=name), Workspace(workspace) as ws:
        subset = find_subset(ws, name)
        path = (out or ws.folder / "exports" / f"{subset.name}{_SUFFIXES[form]}").absolute()
        if form == "lm-eval":
            samples = samples_map(subset, task)
            write_atomic(path, json.dumps(samples, separators=(", ", ": ")) + "\n")
            return Exported(subset, path, tuple(samples))
        packed = _pack_of(ws, subset)
        if form == "quark":
            write_artifact(path, subset, pack=packed)
        else:
            write_atomic(path, _csv(subset, _categories(ws, subset, packed)))
        return Exported(subset, path)


def _pack_of(ws: Workspace, subset: FrozenSubset) -> Pack | None:
    """The workspace's pack of the subset, where there is one."""
    stored = next((pack for pack in stored_subsets.packs(ws, subset.benchmark) if pack.name == subset.name), None)
    return read_pack(stored.path) if stored is not None and stored.path.is_file() else None


def _categories(ws: Workspace, subset: FrozenSubset, packed: Pack | None) -> Mapping[str, str | None]:
    """Item key -> category, from the pack or from the workspace's logs; MMLU's stand in the keys."""
    benchmark = of_task(subset.benchmark)
    if packed is not None:
        return {item.key: item.category for item in packed.items}
    if benchmark.subjects:
        return {key: benchmark.category({}, key) for key in subset.item_keys}
    logs = stored_logs.listing(ws, subset.benchmark)
    if not logs:
        return {}
    log = stored_logs.load(ws, max(logs, key=lambda stored: stored.items).log_id)
    return dict(zip(log.keys, log.categories, strict=True))


def _csv(subset: FrozenSubset, categories: Mapping[str, str | None]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("position", "key", "category", "hash"))
    benchmark = of_task(subset.benchmark)
    places: tuple[int | None, ...]
    try:
        places = positions_of(benchmark, subset.item_keys)
    except InputError:  # named by other things than places: the column stays empty
        places = (None,) * subset.n
    for place, key, known in zip(places, subset.item_keys, subset.hashes, strict=True):
        writer.writerow([safe_cell(cell) for cell in (place, key, categories.get(key), known)])
    return text.getvalue()
