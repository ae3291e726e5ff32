"""Write a run's answers in the form that another tool takes: lm-eval's layout, or a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from mince_gui import __version__
from mince_gui.app.item_rows import csv_of
from mince_gui.app.prompting import Prompting, prompting_of
from mince_gui.app.stream import stream
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.base.events import Emit, Warned, ignore
from mince_gui.base.files import write_atomic
from mince_gui.benchmarks import Benchmark, keys_of
from mince_gui.benchmarks.numbers import cleaned
from mince_gui.report.lm_eval_export import AnsweredItem, ExportFacts, files_of, folder_name
from mince_gui.run import RunItem
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.tasks.choice import MultipleChoice
from mince_gui.tasks.exact_match import ExactMatch
from mince_gui.tasks.logged import LoggedTask
from mince_gui.tasks.types import Task

RunForm = Literal["lm-eval", "csv"]

VERSIONS = {
    "ifeval": 4.0, "leaderboard_ifeval": 3.0, "gsm8k": 3.0, "gsm8k_cot": 3.0, "gsm8k_cot_zeroshot": 3.0,
    "gsm8k_cot_llama": 4.0, "arc_challenge": 1.0, "mmlu": 1.0, "demo_choice": 1.0, "demo_math": 1.0,
}  # fmt: skip
"""Versions of lm-eval 0.4.13's task files, by which the tasks of our own ask; and of the demo's tasks."""
_RUN_ID = re.compile(r"\d{8}-(\d{1,6}(-[0-9a-f]{0,4})?)?")
_TEMPERATURE_SAID = ("ifeval", "leaderboard_ifeval", "gsm8k")
_AFTER_MARK_ALONE = ("gsm8k_cot", "gsm8k_cot_llama")


@dataclass(frozen=True)
class ExportedRun:
    """What was written: a folder (lm-eval) or a file. Of the `planned` items, `items` are done."""

    run_id: str
    path: Path
    files: tuple[Path, ...]
    items: int
    planned: int

    @property
    def missing(self) -> int:
        """Items of the run without an answer."""
        return self.planned - self.items


def is_run(workspace: Path, name: str) -> bool:
    """Whether the name is a run's, by its id or the beginning of it."""
    if _RUN_ID.fullmatch(name) is None:
        return False
    with Workspace(workspace) as ws:
        return any(run.run_id.startswith(name) for run in stored_runs.runs(ws))


def export_run(
    workspace: Path, run_id: str, form: RunForm, *, out: Path | None = None, emit: Emit = ignore
) -> ExportedRun:
    """Write the run's done items as `form` to `out` (default: the workspace's exports folder).

    lm-eval: the folder `out` gets the model's folder with results_<time>.json and samples_<task>_<time>.jsonl, as
    --log_samples writes; <time> is the run's end, so that the same run gives the same bytes. csv: one row per item
    with all that is stored of it, missing ones too. Raises UsageError for an unknown run, InputError where the pack or
    the chat template that the prompts were made from is gone or changed, MinceError where there is nothing to write.
    """
    with stream(emit, "export", detail=run_id), Workspace(workspace) as ws:
        run = stored_runs.get(ws, run_id)
        items = stored_runs.items(ws, run.run_id)
        done = [item for item in items if item.state == "done"]
        if not done and not (form == "csv" and items):
            raise MinceError(f"No item of run {run.run_id} is done.", "Run it first: mince run --resume RUN")
        exports = ws.folder / "exports"
        if form == "csv":
            path = (out or exports / f"{run.run_id}.csv").absolute()
            if path.is_dir():
                raise UsageError(f"{path} is a folder; a table is one file.", "Name a file: --out FILE.csv")
            write_atomic(path, csv_of(items))
            return ExportedRun(run.run_id, path, (path,), len(done), run.plan.items)
        if len(done) < run.plan.items:
            emit(
                Warned(
                    f"{run.plan.items - len(done)} of {run.plan.items} items have no answer and are not written.",
                    "Run them first: mince run --resume RUN",
                )
            )
        if run.state in ("running", "paused"):
            emit(Warned(f"Run {run.run_id} is still going on: what is done so far is written."))
        made = _lm_eval(run, done)
        folder = (out or exports / run.run_id).absolute()
        if folder.is_file():
            raise UsageError(f"{folder} is a file; lm-eval's layout is a folder.", "Name a folder: --out DIR")
        path = folder / folder_name(run.plan.model)
        for name, content in made.items():
            write_atomic(path / name, content)
        return ExportedRun(run.run_id, path, tuple(path / name for name in made), len(done), run.plan.items)


# -- lm-eval -----------------------------------------------------------------------------------------


def _lm_eval(run: StoredRun, done: Sequence[StoredItem]) -> dict[str, bytes]:
    prompting = prompting_of(run)
    benchmark = stored_logs.benchmark_of(run.plan.benchmark)
    asked = {item.key: item for item in prompting.items(run.plan.items)}
    docs = {item.key: item.doc for item in prompting.pack.items}
    place = _Places(benchmark, prompting.pack.subset.item_keys)
    answered = [_answered(run, item, asked[item.item_key], docs[item.item_key], prompting.task, place) for item in done]
    return files_of(answered, _facts(run, prompting, benchmark, answered))


class _Places:
    """An item's task and doc_id in lm-eval."""

    def __init__(self, benchmark: Benchmark, item_keys: Sequence[str]) -> None:
        self._benchmark = benchmark
        self._by_number = benchmark.key_field in ("doc_id", "subject/doc_id") or benchmark.keys_are_positions
        known = keys_of(benchmark) or tuple(item_keys)
        self._rank = {key: i for i, key in enumerate(known)}

    def doc_id(self, key: str) -> int:
        tail = key.rpartition("/")[2]
        return int(tail) if self._by_number and tail.isdecimal() else self._rank[key]

    def task(self, key: str, task: Task, asked: RunItem) -> str:
        if isinstance(task, LoggedTask):
            return str(asked.doc["task"])
        subject = key.rpartition("/")[0]
        return f"{self._benchmark.name}_{subject}" if subject and task.name == self._benchmark.name else task.name


def _answered(
    run: StoredRun, item: StoredItem, asked: RunItem, doc: Mapping[str, Any], task: Task, places: _Places
) -> AnsweredItem:
    if item.prompt_sha256 not in (None, asked.request.sha256):
        raise InputError(
            f"The prompt of item {item.item_key} is not the one that run {run.run_id} asked: "
            "the chat template or the program has changed since.",
            "Put the model folder's template back as it was; --as csv needs no prompts.",
        )
    # In the task's order: rows follow its filters.
    scores = {metric: item.scores[metric] for metric in task.metrics if metric in item.scores}
    return AnsweredItem(
        places.task(item.item_key, task, asked), places.doc_id(item.item_key), doc, asked.request,
        _target(task, asked.doc), item.text, item.logprobs, item.greedy, item.extracted, scores,
        asked.doc.get("options", {}) if isinstance(task, LoggedTask) and task.kind == "generate" else None,
    )  # fmt: skip


def _target(task: Task, doc: Mapping[str, Any]) -> str:
    """What lm-eval's doc_to_target gives, as text."""
    if isinstance(task, MultipleChoice):
        return str(task.prompt.gold(doc))
    if isinstance(task, ExactMatch):
        whole = task.prompt.target(doc)
        return whole.rpartition("####")[2].strip() if task.name in _AFTER_MARK_ALONE else whole
    if isinstance(task, LoggedTask):
        return str(doc.get("target", ""))
    return "0"


def _facts(run: StoredRun, prompting: Prompting, benchmark: Benchmark, answered: Sequence[AnsweredItem]) -> ExportFacts:
    task, plan = prompting.task, run.plan
    names = list(dict.fromkeys(item.task for item in answered))
    conditions = dict(run.conditions or {})
    began, ended = datetime.fromisoformat(run.created_at), datetime.fromisoformat(run.ended_at or run.created_at)
    shots = {name: conditions.get("examples", task.shots) for name in names}
    own = {
        "version": __version__,
        "run_id": run.run_id,
        "scored_as": _scored_as(task, benchmark),
        "benchmark": plan.benchmark,
        "subset": plan.subset,
        "pack_sha256": plan.pack_sha256,
        "items": {
            "done": len(answered), "planned": plan.items, "subset": plan.subset_items, "benchmark": plan.total_items,
        },
        "conditions": conditions,
    }  # fmt: skip
    whole = plan.total_items if len(names) == 1 and not benchmark.subjects else None
    return ExportFacts(
        model=plan.model,
        # Runs end in whole seconds; the rest is made of the id, so that two runs never share a file.
        timestamp=f"{ended:%Y-%m-%dT%H-%M-%S}.{int(run.run_id[-4:], 16):06d}",
        date=began.timestamp(),
        seconds=run.elapsed_seconds,
        config_of={name: _config(task, name, shots[name]) for name in names},
        version_of={name: _version(task, name) for name in names},
        shots_of=shots,
        originals=dict.fromkeys(names, whole) if whole else _originals(benchmark, names),
        group=task.name if len(names) > 1 or (benchmark.subjects and task.name == benchmark.name) else "",
        chat_template=prompting.chat.source or None,
        system_prompt=prompting.system_prompt,
        max_new_tokens=prompting.max_new_tokens,
        generation={"do_sample": False, **({"temperature": 0.0} if task.name in _TEMPERATURE_SAID else {})},
        own=own,
    )


def _scored_as(task: Task, benchmark: Benchmark) -> str:
    if isinstance(task, LoggedTask):
        return "the logged task of this name, by what `configs` says of it"
    return "the task of this name in lm-eval 0.4.13" if benchmark.in_lm_eval else "a task of mince-gui's own"


def _originals(benchmark: Benchmark, names: Sequence[str]) -> dict[str, int | None]:
    """How many items each subject's task has in full, None where that is not known."""
    subjects = [key.rpartition("/")[0] for key in keys_of(benchmark) or ()]
    return {name: subjects.count(name.removeprefix(f"{benchmark.name}_")) or None for name in names}


def _version(task: Task, name: str) -> float | None:
    if isinstance(task, LoggedTask):
        said = task.definition.tasks[name].task_version
        return float(said) if said.replace(".", "", 1).isdecimal() else None
    return VERSIONS.get("mmlu" if name.startswith("mmlu_") else name)


def _config(task: Task, name: str, shots: int | None) -> dict[str, Any]:
    """A task's configuration, as far as readers of logs ask for it."""
    config: dict[str, Any] = {
        "output_type": "multiple_choice" if task.kind == "choice" else "generate_until",
        "num_fewshot": shots,
        "repeats": 1,
    }
    if isinstance(task, LoggedTask):
        rules = task.definition.tasks[name]
        config["target_delimiter"] = rules.delimiter
        config["filter_list"] = [
            {"name": pipe.name, "filter": [{"function": function, **options} for function, options in pipe.steps]}
            for pipe in rules.filters
        ]
        config["metric_list"] = [{"metric": rule.metric, **rule.options} for rule in rules.metrics]
        return config
    if isinstance(task, ExactMatch):
        config["filter_list"] = [
            {
                "name": filter_name,
                "filter": [
                    {
                        "function": "regex",
                        "group_select": -1 if reading.last else 0,
                        "regex_pattern": reading.pattern.pattern,
                    },
                    {"function": "take_first"},
                ],
            }
            for filter_name, reading in task.prompt.filters.items()
        ]
        if task.prompt.cleaned is not cleaned:
            config["metric_list"] = [{"metric": "exact_match"}]
            return config
        config["metric_list"] = [
            {
                "metric": "exact_match", "aggregation": "mean", "higher_is_better": True, "ignore_case": True,
                "ignore_punctuation": False, "regexes_to_ignore": [",", "\\$", "(?s).*#### ", "\\.$"],
            }
        ]  # fmt: skip
        return config
    config["metric_list"] = [{"metric": metric} for metric in task.metrics]
    if isinstance(task, MultipleChoice):
        config["target_delimiter"] = " "
    return config
