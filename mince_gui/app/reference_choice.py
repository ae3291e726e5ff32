"""Which full score a run's total gap is taken to, and what a reader must know that is not alike on both sides."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mince_gui.app import reference as references
from mince_gui.app.export_run import VERSIONS
from mince_gui.app.own_full_run import is_whole
from mince_gui.app.reference_facts import version_text
from mince_gui.base.errors import MinceError, UsageError
from mince_gui.report.names import base_model, precision_of
from mince_gui.report.sides import is_quantised
from mince_gui.report.types import Reference, RunData
from mince_gui.store import Workspace
from mince_gui.store.runs import StoredRun
from mince_gui.subset.pack_file import logged_definition
from mince_gui.tasks.logged import task_of

_KINDS = ("imported", "shipped with the demo", "typed in", "published")
"""The better known first: imported ones came from a file, typed-in ones from a reader, published ones from a paper."""


def stored_reference(
    ws: Workspace, run: StoredRun, data: RunData, named: str | None, *, among: Sequence[Reference] | None = None
) -> Reference | None:
    """The reference that the run's total gap is taken to, with `warnings` on what differs; None where none fits.

    `named` is a reference's id; without it one of the same model is taken, before it was quantised or packed in another
    way if need be: of the run's task before others, of the very name before those of the same base model, of weights
    that are not known to be quantised before others, imported before typed in before published, the newest first. What
    the run's very model folder scored is none: the difference to that is no total gap. `among` are the references of
    the run's benchmark, stored and published, where they were read already. Raises UsageError for a named one that
    cannot be used.
    """
    if named is not None:
        chosen = references.get(ws, named)
        if chosen.benchmark != data.benchmark:
            raise UsageError(f"Reference {named} is for {chosen.benchmark}, the run for {data.benchmark}.")
        if not is_whole(chosen, data):
            raise UsageError(
                f"Reference {named} is not of all {data.total_items:,} items of {data.benchmark}.",
                "Import a log of the full benchmark: mince reference import",
            )
    else:
        base = base_model(data.model)
        usable = [
            known
            for known in (references.every(ws, data.benchmark) if among is None else among)
            if is_whole(known, data) and not _is_of_the_folder(known, run) and base_model(known.model) == base
        ]
        if not usable:
            return None
        # The listing has the newest first, which stays so among equals.
        chosen = min(usable, key=lambda known: _rank(known, run, data))
    return dataclasses.replace(
        chosen, warnings=(*chosen.warnings, *differences(chosen, run, data, asked_for=named is not None))
    )


def _is_of_the_folder(known: Reference, run: StoredRun) -> bool:
    return bool(known.model_sha256) and known.model_sha256 == (run.conditions or {}).get("model_sha256")


def _rank(known: Reference, run: StoredRun, data: RunData) -> tuple[bool, bool, bool, int, bool, bool]:
    # What a quantised model lost is told by the model as it was before.
    quantised = is_quantised(known.precision or precision_of(known.model))
    return (
        known.task not in ("", run.plan.task),
        known.model != data.model,
        quantised is True,
        _KINDS.index(known.kind) if known.kind in _KINDS else len(_KINDS),
        known.rows is None,
        quantised is None,
    )


# -- what differs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asked:
    """How a side was asked: "" and None = not known."""

    task: str
    version: str
    few_shot: int | None
    chat_template: str


def _of_run(run: StoredRun) -> _Asked:
    conditions = run.conditions or {}
    shots = conditions.get("examples")
    chat = "" if "chat_template_sha256" not in conditions else "none"
    return _Asked(
        task=run.plan.task,
        version=_task_version(run),
        few_shot=shots if type(shots) is int else None,
        chat_template="applied" if conditions.get("chat_template_sha256") else chat,
    )


def _task_version(run: StoredRun) -> str:
    """Of lm-eval's task whose prompts the run asked: that of the log where they were logged; "" = not known."""
    if (run.conditions or {}).get("logged_from"):
        return _logged_version(run.plan.pack_path, run.plan.pack_sha256)
    name = "mmlu" if run.plan.task.startswith("mmlu_") else run.plan.task
    return version_text(VERSIONS.get(name))


@lru_cache(maxsize=64)
def _logged_version(pack: Path, sha256: str) -> str:
    """`sha256` tells one pack from another under the same name."""
    try:
        logged = logged_definition(pack)
        versions = set() if logged is None else {one.task_version for one in task_of(logged).definition.tasks.values()}
    except MinceError:
        return ""
    return version_text(versions.pop()) if len(versions) == 1 else ""


def differences(reference: Reference, run: StoredRun, data: RunData, *, asked_for: bool) -> Iterator[str]:
    """What is not alike, or not known, of how both were made: phrases about the reference ("its task is ...")."""
    if base_model(reference.model) != base_model(data.model):
        yield f"it is of another model by name: {reference.model}"
    elif reference.model != data.model and not asked_for:
        yield f"chosen as the model names are alike: the reference is of {reference.model}, the run of {data.model}"
    mine = _of_run(run)
    theirs = _Asked(reference.task, reference.task_version, reference.few_shot, reference.chat_template)
    unknown = []
    for what, here, there in (
        ("task", mine.task, theirs.task),
        # Versions of two tasks do not compare.
        ("task version", mine.version, theirs.version if theirs.task in ("", mine.task) else mine.version),
        ("number of examples", mine.few_shot, theirs.few_shot),
        ("use of a chat template", mine.chat_template, theirs.chat_template),
    ):
        if there in ("", None):
            unknown.append(what)
        elif here in ("", None):
            yield f"its {what} is {there}, the run's is not known"
        elif here != there:
            yield f"its {what} is {there}, the run's {here}"
    if not (reference.precision or precision_of(reference.model)):
        unknown.append("precision")
    if unknown:
        yield f"not known of it: {', '.join(unknown)}"
    if not (data.precision or precision_of(data.model)):
        yield "the precision of the run's weights is not known"
