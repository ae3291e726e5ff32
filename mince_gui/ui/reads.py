"""Every read of the workspace that the pages show; called in worker threads, each opens its own Workspace.

Statistics are imported where they are used: scipy takes half a second, and the first window shows none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mince_gui.base.errors import MinceError
from mince_gui.benchmarks import step_for
from mince_gui.logs.types import Check
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import runs as stored_runs
from mince_gui.store.logs import StoredLog
from mince_gui.store.runs import StoredRun

if TYPE_CHECKING:
    from mince_gui.app.run import RunOrder
    from mince_gui.report import Report
    from mince_gui.sizing.types import SizingResult
    from mince_gui.store.subsets import StoredPack, StoredSubset


@dataclass(frozen=True)
class Pool:
    """The checked pool of one benchmark: full scores in percent per model, metrics in order, and the checks."""

    benchmark: str
    title: str
    total_items: int
    default_step: int
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    scores: tuple[tuple[float, ...], ...]
    checks: tuple[Check, ...]
    sizing: SizingResult | None

    def preview(self, models: Sequence[str], step: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Sizes and the closed-form P95 (pp) of these models at them."""
        from mince_gui.sizing import candidate_sizes, preview

        sizes = candidate_sizes(self.total_items, step)
        chosen = [score for name, row in zip(self.models, self.scores, strict=True) if name in models for score in row]
        return sizes, preview(self.total_items, chosen, sizes)


@dataclass(frozen=True)
class SubsetRow:
    """A frozen subset and, where there is one, its pack. `stored` is None for a full pack."""

    name: str
    benchmark: str
    n: int
    total_items: int
    sampler: str
    seed: int | None
    bound_pp: float | None
    made: str
    stored: StoredSubset | None
    pack: StoredPack | None


@dataclass(frozen=True)
class Judged:
    """A run and its report; `report` is None where none can be made, with the reason in `why`."""

    run: StoredRun
    report: Report | None
    why: str


def logs(workspace: Path) -> list[StoredLog]:
    """All stored logs."""
    with Workspace(workspace) as ws:
        return stored_logs.listing(ws)


def has_logs(workspace: Path) -> bool:
    """Whether anything is in the workspace: no log and no pack means a first start."""
    with Workspace(workspace) as ws:
        row = ws.db.execute("SELECT EXISTS (SELECT 1 FROM logs) OR EXISTS (SELECT 1 FROM packs)").fetchone()
        return bool(row[0])


def set_excluded(workspace: Path, log_ids: Sequence[int], excluded: bool) -> None:
    """Leave logs out of sizing, or take them in again."""
    with Workspace(workspace) as ws:
        for log_id in log_ids:
            stored_logs.set_excluded(ws, log_id, excluded)


def benchmarks(workspace: Path) -> list[tuple[str, str, int]]:
    """Name, title and number of models of every benchmark that has logs, most models first."""
    models: dict[str, set[str]] = {}
    with Workspace(workspace) as ws:
        for log in stored_logs.listing(ws):
            models.setdefault(log.benchmark, set()).add(log.model)
    found = [(name, stored_logs.benchmark_of(name).title, len(names)) for name, names in models.items()]
    return sorted(found, key=lambda entry: (-entry[2], entry[1]))


def prompts_of_logs(workspace: Path) -> dict[str, tuple[str, ...]]:
    """Benchmark -> the models whose imported lm-eval logs may hold its prompts."""
    from mince_gui.logs.lm_eval import FORMAT

    models: dict[str, set[str]] = {}
    with Workspace(workspace) as ws:
        for log in stored_logs.listing(ws):
            if log.format == FORMAT:
                models.setdefault(log.benchmark, set()).add(log.model)
    return {benchmark: tuple(sorted(names)) for benchmark, names in models.items()}


def pool(workspace: Path, benchmark: str) -> Pool:
    """The pool of one benchmark with its newest sizing, unless logs changed since."""
    from mince_gui.app.size import calibration, is_of
    from mince_gui.store import subsets as stored_subsets

    with Workspace(workspace) as ws:
        matrix = calibration(ws, benchmark, None)
        sizing = stored_subsets.latest_sizing(ws, benchmark)
        return Pool(
            benchmark=benchmark,
            title=matrix.benchmark.title,
            total_items=matrix.total_items,
            default_step=step_for(matrix.total_items, matrix.benchmark),
            metrics=matrix.metrics,
            models=matrix.models,
            scores=tuple(tuple(float(score) for score in row) for row in matrix.scores()),
            checks=matrix.checks,
            sizing=sizing if sizing is not None and is_of(sizing, matrix) else None,
        )


def subsets(workspace: Path) -> list[SubsetRow]:
    """Frozen subsets and full packs, newest first."""
    from mince_gui.store import subsets as stored_subsets

    with Workspace(workspace) as ws:
        packs = {pack.name: pack for pack in stored_subsets.packs(ws)}
        rows = []
        for stored in stored_subsets.subsets(ws):
            subset = stored.subset
            rows.append(
                SubsetRow(
                    subset.name, subset.benchmark, subset.n, subset.total_items, subset.sampler, subset.seed,
                    subset.p95_pp, stored.created_at, stored, packs.pop(subset.name, None),
                )
            )  # fmt: skip
        for pack in packs.values():
            total = pack.n if pack.is_full else stored_logs.benchmark_of(pack.benchmark).total_items or pack.n
            sampler = "full" if pack.is_full else "from a pack"
            rows.append(
                SubsetRow(pack.name, pack.benchmark, pack.n, total, sampler, None, None, pack.created_at, None, pack)
            )
        return rows


def runs(workspace: Path) -> list[StoredRun]:
    """All runs, newest first."""
    with Workspace(workspace) as ws:
        return stored_runs.runs(ws)


def run(workspace: Path, run_id: str) -> StoredRun:
    """One run as it stands."""
    with Workspace(workspace) as ws:
        return stored_runs.get(ws, run_id)


def unfinished(runs: Sequence[StoredRun]) -> StoredRun | None:
    """The newest interrupted run, unless the same model was run on the same subset since. `runs` newest first."""
    since: set[tuple[Path, str]] = set()
    for known in runs:
        if known.origin:
            continue  # made elsewhere, and not to be resumed here
        place = (known.plan.model_dir, known.plan.subset)
        if known.state == "interrupted" and place not in since:
            return known
        since.add(place)
    return None


def judge(workspace: Path, run: StoredRun) -> Judged:
    """The report of one run, or why there is none."""
    from mince_gui.app import report as reporting

    if not run.done:
        return Judged(run, None, "No item of this run is done yet.")
    try:
        return Judged(run, reporting.compute(workspace, run.run_id), "")
    except MinceError as exc:
        return Judged(run, None, str(exc))


@dataclass(frozen=True)
class RunChoices:
    """What a run can be asked for: model folders known from earlier runs, packs, and registered runtimes by name.

    `tasks` maps a pack's name to the tasks that can ask its items, the default first (one alone where the pack carries
    logged prompts).
    """

    models: tuple[tuple[str, Path], ...]
    packs: tuple[StoredPack, ...]
    tasks: Mapping[str, tuple[str, ...]]
    runtimes: tuple[str, ...] = ()


def run_choices(workspace: Path) -> RunChoices:
    """Model folders by last use, the demo's last; packs, newest first."""
    from mince_gui.app import demo
    from mince_gui.app.prompting import pack_tasks
    from mince_gui.store import subsets as stored_subsets

    with Workspace(workspace) as ws:
        known = stored_runs.runs(ws)
        packs = stored_subsets.packs(ws)
        external = ws.db.execute("SELECT name FROM runtimes WHERE kind = 'external' ORDER BY name")
        runtimes = tuple(str(row["name"]) for row in external)
    folders: dict[Path, str] = {}
    for run in known:
        if not run.origin:
            folders.setdefault(run.plan.model_dir, run.plan.model)
    try:
        own = demo.model_dir()
        folders.setdefault(own, "demo model")
    except MinceError:
        # An installation without the demo offers what it has.
        pass
    there = tuple((name, folder) for folder, name in folders.items() if folder.is_dir())
    return RunChoices(there, tuple(packs), {pack.name: pack_tasks(pack) for pack in packs}, runtimes)


def forecast(workspace: Path, order: RunOrder) -> str:
    """How long a run that is asked for would take, in words; empty where the run could not even be created."""
    from mince_gui.app import estimate

    try:
        return estimate.forecast(workspace, order).words
    except MinceError:
        # What is wrong is said when the run is started.
        return ""
