"""Several runs side by side: the fleet's table, the order of models, one model's history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from mince_gui.app import reference as references
from mince_gui.app.full_runs import FullRuns
from mince_gui.app.own_full_run import full_score_of_this_model
from mince_gui.app.reference_choice import stored_reference
from mince_gui.app.run_data import Subsets, precision, run_data
from mince_gui.base.errors import UsageError
from mince_gui.base.files import write_atomic
from mince_gui.report.comparison.building import HeldRun, build_comparison, comparison_csv, comparison_json
from mince_gui.report.comparison.model import Comparison
from mince_gui.report.comparison.page import comparison_page
from mince_gui.report.documents.write import PAGES, refuse, write_page
from mince_gui.report.names import base_model
from mince_gui.report.types import Reference
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredRun

_NOTHING_DONE = "it has no finished item"


def compare(
    workspace: Path, run_ids: Sequence[str] = (), *, everything: bool = False, history_of: str | None = None
) -> Comparison:
    """Runs side by side: those that are named, all of the workspace, or one model's on one subset over time.

    Named runs are paired with the first of them. With `everything` all runs that are not going on are compared; with
    `history_of` all runs of that run's model (the same folder, or the same base model and precision) and subset, and
    two named ones are set side by side, the second minus the first, in place of the last two. Runs that scored stored
    answers again are compared only where they are named. A run without a finished item is left out, and named in
    `Comparison.left_out`. Raises UsageError for unknown runs and where nothing is left to compare.
    """
    with Workspace(workspace) as ws:
        named = [stored_runs.get(ws, run_id) for run_id in run_ids]
        chosen = {run.run_id: run for run in named}
        if len(named) > len(chosen) == 1 and history_of is None:
            raise UsageError(f"Only one run is named: {named[0].run_id}.", "Name another one to compare it with.")
        baseline, about, pair = (named[0].run_id if named else ""), "", None
        if history_of is not None:
            of = stored_runs.get(ws, history_of)
            about, baseline, pair = of.run_id, "", _pair(named)
            chosen |= {run.run_id: run for run in _history(ws, of)}
            if strangers := [run.run_id for run in named if not _same(of, run)]:
                raise UsageError(
                    f"{', '.join(strangers)} is of another model or subset than {of.run_id}.",
                    "Compare the runs without a history: mince report RUN RUN",
                )
        elif everything:
            chosen |= {run.run_id: run for run in stored_runs.runs(ws) if _over(run) and not run.rescored_of}
        elif not named:
            raise UsageError("No run is named.", "Name runs, or compare all of them: mince report --all")
        full_runs = FullRuns(ws)
        # Every full run, subset and list of references is read once, for as many runs as need it.
        subsets, known = Subsets(ws), cache(lambda benchmark: references.every(ws, benchmark))
        held = [_held(ws, run, full_runs, subsets, known) for run in chosen.values() if run.done]
        left_out = {run.run_id: _NOTHING_DONE for run in chosen.values() if not run.done}
    if not held:
        raise UsageError("There is nothing to compare: no run has a finished item.", "`mince runs` lists them.")
    if baseline in left_out:
        baseline = next((run.run_id for run in named if run.done), "")
    if pair is not None and set(pair) & set(left_out):
        pair = None
    return build_comparison(held, baseline=baseline, history_of=about, pair=pair, left_out=left_out)


def _over(run: StoredRun) -> bool:
    return run.state in ("ended", "interrupted")


def _pair(named: Sequence[StoredRun]) -> tuple[str, str] | None:
    """The two runs that are named beside a history. Raises UsageError for another number of them."""
    ids = list(dict.fromkeys(run.run_id for run in named))
    if not ids:
        return None
    if len(ids) != 2:
        raise UsageError(f"A history sets two runs side by side; {len(ids)} are named.", "Name two, or none.")
    return ids[0], ids[1]


def _sha(run: StoredRun) -> str:
    return str((run.conditions or {}).get("model_sha256") or "")


def _same(run: StoredRun, other: StoredRun) -> bool:
    """Whether both are of one model (folder, or base model and precision) and of the same items."""
    mine, theirs = run.plan, other.plan
    items = (mine.benchmark, mine.subset, mine.subset_items) == (theirs.benchmark, theirs.subset, theirs.subset_items)
    known = precision(run)
    build = known and (base_model(mine.model), known) == (base_model(theirs.model), precision(other))
    return items and bool(build or (_sha(run) and _sha(run) == _sha(other)))


def _history(ws: Workspace, of: StoredRun) -> list[StoredRun]:
    others = [run for run in stored_runs.runs(ws) if _over(run) and not run.rescored_of and _same(of, run)]
    return [of, *others]


def _held(
    ws: Workspace,
    run: StoredRun,
    full_runs: FullRuns,
    subsets: Subsets,
    references_of: Callable[[str], Sequence[Reference]],
) -> HeldRun:
    """The run with what its own report holds it against; a comparison makes its own pairs."""
    data = run_data(ws, run, subsets)
    known, own = references_of(data.benchmark), None
    if not data.is_full:
        own = full_runs.own(run, data.prompts) or full_score_of_this_model(ws, run, data, among=known)
    return HeldRun(data, own, stored_reference(ws, run, data, None, among=known))


_TEXTS: Mapping[str, Callable[[Comparison], str]] = {".json": comparison_json, ".csv": comparison_csv}


def require_kind(path: Path) -> None:
    """Raise UsageError for a suffix that names no kind of document: before the runs are read, which takes its time."""
    if path.suffix.lower() not in (*PAGES, *_TEXTS):
        refuse(path, "comparison", (*PAGES, *_TEXTS))


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the document whose kind the suffix names (html, pdf, json, csv, md), whole or not at all.

    Raises UsageError for any other suffix.
    """
    require_kind(path)
    text = _TEXTS.get(path.suffix.lower())
    if text is None:
        write_page(comparison_page(comparison), path)
    else:
        write_atomic(path, text(comparison))
