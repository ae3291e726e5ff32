"""The demo: the whole way, from logs to report, on a small benchmark and model that ship with us."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mince_gui.app.freeze import freeze
from mince_gui.app.import_logs import ImportSummary, import_logs, look
from mince_gui.app.pack import pack
from mince_gui.app.reference import import_references
from mince_gui.app.report import report
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.size import SizeQuestion, size
from mince_gui.app.summary import RunSummary, require_done
from mince_gui.base import paths
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit, ignore
from mince_gui.report import Report
from mince_gui.run import folder_sha256
from mince_gui.sizing.types import SizingResult
from mince_gui.store import Workspace
from mince_gui.store import models as stored_models
from mince_gui.store.workspace import reports_dir
from mince_gui.subset.types import FrozenSubset

BENCHMARKS = ("demo-choice", "demo-math")


@dataclass(frozen=True)
class DemoPart:
    """What the demo found for one benchmark. `full` is None with --quick."""

    sizing: SizingResult
    subset: FrozenSubset
    subset_run: RunSummary
    full: RunSummary | None
    report: Report
    html: Path


@dataclass(frozen=True)
class Step:
    """Something finished that a front end may show at once."""

    imported: ImportSummary | None = None
    sizing: SizingResult | None = None
    frozen: FrozenSubset | None = None
    run: RunSummary | None = None


def folder() -> Path:
    """The demo's files."""
    return paths.resources() / "demo"


def model_dir() -> Path:
    """The demo's INT4 model. Raises InputError where the installation lacks it."""
    facts = folder() / "demo.json"
    if not facts.is_file():
        raise InputError(f"The demo is not in this installation ({facts} is missing).", "Install mince-gui again.")
    return folder() / str(json.loads(facts.read_text(encoding="utf-8"))["model_dir"])


def prepare(
    workspace: Path,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    shown: Callable[[Step], None] = lambda step: None,
) -> list[tuple[SizingResult, FrozenSubset]]:
    """Everything before the runs: logs, sizing, frozen subsets, packs (subset and full), stored references."""
    model_dir()
    cancel = cancel or CancelToken()
    shown(Step(imported=import_logs(workspace, look([folder() / "logs"]), emit=emit, cancel=cancel)))
    with Workspace(workspace) as ws:
        digest = stored_models.folder_sha256(ws, model_dir(), model_dir().name, folder_sha256)
    import_references(
        workspace,
        folder() / "reference",
        kind="shipped with the demo",
        precision="int4",
        model_sha256=digest,
        emit=emit,
    )
    # The same weights before they were quantised: what the quantisation delta is taken to.
    import_references(workspace, folder() / "unquantised", kind="shipped with the demo", precision="fp32", emit=emit)
    prepared = []
    for name in BENCHMARKS:
        cancel.check()
        sizing = size(workspace, SizeQuestion(name), emit=emit, cancel=cancel)
        shown(Step(sizing=sizing))
        # The demo's pool is made so that the rule finds an n*; the largest candidate is the safe way on.
        frozen = freeze(workspace, name, sizing.n_star or sizing.plan.sizes[-1], emit=emit).subset
        dataset = folder() / name
        pack(workspace, dataset, subset=frozen.name, emit=emit)
        pack(workspace, dataset, all_of=name, emit=emit)
        shown(Step(frozen=frozen))
        prepared.append((sizing, frozen))
    return prepared


def demo(
    workspace: Path,
    *,
    quick: bool = False,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    shown: Callable[[Step], None] = lambda step: None,
) -> list[DemoPart]:
    """The whole demo. `quick` leaves out the full runs: full scores are the shipped ones, the speedup an estimate."""
    cancel = cancel or CancelToken()
    parts = []
    for sizing, frozen in prepare(workspace, emit=emit, cancel=cancel, shown=shown):

        def run(subset: str) -> RunSummary:
            cancel.check()
            run_id = create(workspace, RunOrder(model_dir(), subset))
            summary = execute(workspace, run_id, emit=emit, cancel=cancel)
            require_done(summary)
            shown(Step(run=summary))
            return summary

        subset_run = run(frozen.name)
        full = None if quick else run(f"{frozen.benchmark}-full")
        html = reports_dir(workspace) / f"{frozen.name}.html"
        written = report(workspace, subset_run.run_id, out=html, emit=emit)
        parts.append(DemoPart(sizing, frozen, subset_run, full, written.report, html))
    return parts
