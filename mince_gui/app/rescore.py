"""Score the stored answers of a run again, without inference: a new version of the scorer, another task or filter.

The run stays as it is. What differs becomes a run of its own with the same answers, times and conditions, and
"rescored" among the conditions: {of, version, task, filter, at}. It stands on its own, also when its source is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mince_gui import __version__
from mince_gui.app.full_runs import FullRuns
from mince_gui.app.prompting import Chat, Prompting, choose_task
from mince_gui.app.stream import stream
from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.base.events import Cause, Emit, Progress, ignore
from mince_gui.store import Workspace
from mince_gui.store import rescored as stored_rescored
from mince_gui.store import runs as stored_runs
from mince_gui.store import subsets as stored_subsets
from mince_gui.store.rescored import Judged
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.store.workspace import now
from mince_gui.subset import read_pack
from mince_gui.subset.types import Pack
from mince_gui.tasks.own_filter import OwnFilter, Score, scored_by
from mince_gui.tasks.types import Answer, Doc, Scored, Task

Scores = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Changed:
    """An item that came out differently: scores, and what each filter read, before and now.

    `cause` says why it is not scored now ("" = it is); `before` is empty where it was not scored before.
    """

    item_key: str
    category: str | None
    before: Scores
    after: Scores
    read_before: Mapping[str, str]
    read_after: Mapping[str, str]
    cause: str

    @property
    def verdict_changed(self) -> bool:
        """Whether more has changed than what was read, or than a metric that is new."""
        both = self.before.keys() & self.after.keys()
        return bool(self.before) != bool(self.after) or any(self.before[m] != self.after[m] for m in both)


@dataclass(frozen=True)
class Rescored:
    """What came of it. `run_id` is the new record, None where nothing changed and none was kept.

    `before` and `after` are (passed, trials) per metric over done items; `done` of the `answers` are scored
    now. `asked_by` is the task whose prompts were answered, `asks_alike` whether the one that scores asks so too.
    `full_run` is the source's own full run where the new record has none: that one is to be rescored too.
    """

    run_id: str | None
    source_id: str
    asked_by: str
    task: str
    asks_alike: bool
    filter: OwnFilter | None
    version: str
    items: int
    answers: int
    done: int
    before: Scores
    after: Scores
    changed: tuple[Changed, ...]
    full_run: str | None

    def to_json(self) -> dict[str, Any]:
        """The object of `rescore --json`; scores in percent."""
        return {
            "run_id": self.run_id,
            "rescored_of": self.source_id,
            "asked_by": self.asked_by,
            "task": self.task,
            "asks_alike": self.asks_alike,
            "filter": None if self.filter is None else self.filter.to_json(),
            "version": self.version,
            "items": self.items,
            "answers": self.answers,
            "done": self.done,
            "full_run": self.full_run,
            "scores": {
                metric: {"before": _ratio(self.before.get(metric)), "after": _ratio(self.after.get(metric))}
                for metric in dict.fromkeys((*self.before, *self.after))
            },
            "changed": [
                {
                    "item_key": item.item_key,
                    "category": item.category,
                    "verdict_changed": item.verdict_changed,
                    "before": {metric: list(cell) for metric, cell in item.before.items()},
                    "after": {metric: list(cell) for metric, cell in item.after.items()},
                    "read_before": dict(item.read_before),
                    "read_after": dict(item.read_after),
                    "cause": item.cause,
                }
                for item in self.changed
            ],
        }


def _ratio(cell: tuple[float, float] | None) -> dict[str, float | None] | None:
    if cell is None:
        return None
    passed, trials = cell
    return {"score": 100.0 * passed / trials if trials else None, "passed": passed, "trials": trials}


def rescore(
    workspace: Path,
    run_id: str,
    *,
    task: str | None = None,
    own_filter: OwnFilter | None = None,
    pack: Path | None = None,
    keep: bool = False,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> Rescored:
    """Score a run's stored answers by `task` (None = the run's), with `own_filter` beside the task's filters.

    A rescored run's source is scored, as long as it is there. Without a difference no record is made, unless with
    `keep`: a second run with the same numbers would only stand twice in lists and comparisons. The items' docs come
    from the run's pack, wherever a file with its SHA-256 is: `pack`, where the run found it, or another known place.

    Raises UsageError for an unknown or live run, one without an answer, and a task or filter that does not fit;
    InputError where the pack is gone; CancelledError, with nothing written.
    """
    with Workspace(workspace) as ws:
        ws.require_writable()
        run = _source_of(ws, stored_runs.get(ws, run_id))
        if run.is_going_on:
            raise UsageError(f"Run {run.run_id} is going on.", "Stop it first, or wait for its end.")
        items = stored_runs.items(ws, run.run_id)
        answered = [item for item in items if item.text is not None or item.picked is not None]
        if not answered:
            raise UsageError(f"Run {run.run_id} has no answer to score.", f"mince run --resume {run.run_id}")
        carried = read_pack(_pack_of(ws, run, pack), seen_before=True)
        asked_by, scoring = choose_task(carried, run.plan.task), choose_task(carried, task or run.plan.task)
        if scoring.kind != asked_by.kind:
            raise UsageError(
                f"{scoring.name} scores {_KINDS[scoring.kind]}, and run {run.run_id} holds {_KINDS[asked_by.kind]}.",
                "Name another task, or leave --task out.",
            )
        score = scored_by(scoring, own_filter)
        with stream(emit, "rescore", total=len(answered), unit="items", detail=run.run_id):
            judged = _judge(answered, carried, score, emit, cancel or CancelToken())
        changed = [
            _changed(item, verdict) for item, verdict in zip(answered, judged, strict=True) if _differs(item, verdict)
        ]
        kept: str | None = None
        if changed or keep:
            facts = {
                "of": run.rescored_of or run.run_id,
                "version": __version__,
                "task": scoring.name,
                "filter": None if own_filter is None else own_filter.to_json(),
                "at": now(),
            }
            cause, detail = _end(run, items, judged)
            kept = stored_rescored.add(ws, run.run_id, facts, judged, cause, detail)
        return Rescored(
            run_id=kept,
            source_id=run.rescored_of or run.run_id,
            asked_by=asked_by.name,
            task=scoring.name,
            asks_alike=scoring.name == asked_by.name or _asks_alike(carried, asked_by, scoring),
            filter=own_filter,
            version=__version__,
            items=run.plan.items,
            answers=len(answered),
            done=sum(verdict.scored is not None for verdict in judged),
            before=stored_runs.totals(ws, run.run_id),
            after=_totals(judged),
            changed=tuple(changed),
            full_run=None if kept is None else _full_run_scored_otherwise(ws, run, kept),
        )


_KINDS = {"choice": "choices", "generate": "written answers"}


def _source_of(ws: Workspace, run: StoredRun) -> StoredRun:
    """The run whose answers they are; a rescored run itself where that was deleted: it holds the same answers."""
    known = {other.run_id: other for other in stored_runs.runs(ws)}
    return known.get(run.rescored_of, run)


def _full_run_scored_otherwise(ws: Workspace, run: StoredRun, kept: str) -> str | None:
    """The own full run of `run` where it is none of its rescored record `kept`, because it was not scored alike."""
    full_runs = FullRuns(ws)
    full = full_runs.own(run) if run.plan.items < run.plan.total_items else None
    return full.reference_id if full is not None and full_runs.own(stored_runs.get(ws, kept)) is None else None


def _pack_of(ws: Workspace, run: StoredRun, named: Path | None) -> Path:
    """A file with the very bytes of the run's pack."""
    wanted = run.plan.pack_sha256
    if named is not None:
        if not named.is_file():
            raise InputError(f"{named} is no file.", "Say where the run's pack is: --pack FILE")
        places = [named]
    else:
        places = [run.plan.pack_path, *(p.path for p in stored_subsets.packs(ws) if p.sha256 == wanted)]
    for place in places:
        if place.is_file() and sha256_file(place) == wanted:
            return place
    if named is not None:
        raise InputError(
            f"{named} is not the pack of run {run.run_id}: its SHA-256 is not {wanted[:16]}...",
            "Items are scored by the docs that were asked: name the file that the run was made with.",
        )
    if run.origin:
        raise InputError(
            f"The docs of run {run.run_id} are in its pack {run.plan.pack_path.name}, which a bundle does not carry.",
            "Copy the pack from the machine that made the run, and say where it is: --pack FILE",
        )
    raise InputError(
        f"The pack {run.plan.pack_path} is gone or changed since run {run.run_id} began, and its docs are in it.",
        "Put it back as it was, or say where it is: --pack FILE",
    )


def _judge(answered: Sequence[StoredItem], pack: Pack, score: Score, emit: Emit, cancel: CancelToken) -> list[Judged]:
    docs: dict[str, Doc | None] = {i.key: i.doc if pack.logged is None else i.asked for i in pack.items}
    judged = []
    for done, item in enumerate(answered, start=1):
        cancel.check()
        doc = docs.get(item.item_key)
        scored, cause = None, "not scored: the pack lacks the item"
        if doc is not None:
            answer = Answer(text=item.text, picked=item.picked, logprobs=item.logprobs, greedy=item.greedy)
            try:
                scored, cause = score(doc, answer), ""
            except UsageError:
                raise
            except MinceError as exc:
                cause = f"not scored: {exc.message}"
        judged.append(Judged(item.position, scored, cause))
        emit(Progress(done, len(answered)))
    return judged


def _differs(item: StoredItem, verdict: Judged) -> bool:
    """Whether anything that a scorer says of the item is not what is stored."""
    scored = verdict.scored
    if scored is None:
        return item.state == "done"
    return item.state == "missing" or (dict(item.scores), dict(item.extracted), item.expected) != (
        dict(scored.scores),
        dict(scored.extracted),
        scored.expected,
    )


def _changed(item: StoredItem, verdict: Judged) -> Changed:
    scored = verdict.scored or Scored({})
    return Changed(
        item_key=item.item_key,
        category=item.category,
        before=item.scores,
        after=scored.scores,
        read_before=item.extracted,
        read_after=scored.extracted,
        cause=verdict.cause,
    )


def _totals(judged: Sequence[Judged]) -> dict[str, tuple[float, float]]:
    totals: dict[str, tuple[float, float]] = {}
    for verdict in judged:
        for metric, (passed, trials) in (verdict.scored.scores if verdict.scored is not None else {}).items():
            before = totals.get(metric, (0.0, 0.0))
            totals[metric] = (before[0] + passed, before[1] + trials)
    return totals


def _end(run: StoredRun, items: Sequence[StoredItem], judged: Sequence[Judged]) -> tuple[Cause, str]:
    """How the source ended, but for what the new verdicts make of it: an item may be scored now, or no more."""
    if run.cause is None:
        return "stopped", f"run {run.run_id} was interrupted"
    if run.cause not in ("done", "incomplete"):
        return run.cause, run.detail
    verdicts = {verdict.position: verdict.scored is not None for verdict in judged}
    missing = run.plan.items - sum(verdicts.get(item.position, item.state == "done") for item in items)
    return ("incomplete", f"{missing} of {run.plan.items} items are missing") if missing else ("done", "")


def _asks_alike(pack: Pack, asked_by: Task, scoring: Task) -> bool:
    """Whether the first item's plain prompt and its ends are the same by both tasks."""
    try:
        one, other = (
            Prompting(pack, task, Chat(None, "none"), None, None).items(1)[0].request for task in (asked_by, scoring)
        )
    except MinceError:
        # A task whose examples the pack does not carry cannot have asked these prompts.
        return False
    return (one.prompt, one.until) == (other.prompt, other.until)
