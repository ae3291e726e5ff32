"""Streams the runs of one model into a checked log."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import content_sha256
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import Benchmark, KeyFinder, content_hash
from mince_gui.logs.assemble import Reading, Row, assemble, is_name, shown
from mince_gui.logs.checks import counted
from mince_gui.logs.collect import NAN, Outcome, RowError
from mince_gui.logs.helm.files import PREFIX, STATES, Spec, load_spec
from mince_gui.logs.helm.states import Instance, instances
from mince_gui.logs.naming import own_name
from mince_gui.logs.types import Check, Found, PerItemLog
from mince_gui.logs.values import filled, plain_number

_NO_METRIC = re.compile(
    r"(?:max_)?num_.*|finish_reason_.*|(?:training|inference|estimated)_.*|prompt_(?:truncated|length)|batch_size|"
    r"logprob.*|max_prob|perplexity|bits_per_byte|predicted_index|ref\d+_rank"
)
"""What HELM notes beside the scores: costs, lengths, probabilities."""
_TOTALS_LIMIT = 64 << 20
_REMEDY = "Take a whole copy of the run's folder, or leave it out."


@dataclasses.dataclass
class _Tally:
    """The statistics of one instance: per metric the value of each train trial."""

    where: str
    split: str
    values: dict[str, dict[int, float]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Noticed:
    """What was left out or came twice."""

    perturbed: int = 0
    repeated: set[str] = dataclasses.field(default_factory=set)
    other_split: int = 0
    capped: int = 0


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read every folder of the run. Raises InputError with file and line, CancelledError."""
    reading, noticed = Reading(found, emit, cancel, salvage), _Noticed()
    finder = KeyFinder(found.benchmark)
    rows: list[Row] = []
    spec: Spec | None = None
    for path in found.files:
        spec = load_spec(path.parent)
        told = _told(spec, reading)
        tallies: dict[tuple[str, str], _Tally] = {}
        for where, body in reading.jsonl(path):
            try:
                _take(body, where, tallies, noticed)
            except RowError as exc:
                raise InputError(f"{where}: {exc.message}.", exc.remedy or _REMEDY) from exc
        rows += _rows(spec, tallies, told, reading, finder, noticed)
    assert spec is not None, "claim gives at least one file"
    outcomes = filled([row.outcomes for row in rows])
    rows = [dataclasses.replace(row, outcomes=whole) for row, whole in zip(rows, outcomes, strict=True)]
    log = assemble(reading, rows, own_name=own_name(PREFIX, found.task), meta=_meta(spec, found))
    return dataclasses.replace(log, checks=(*log.checks, *_checks(noticed, log)))


def _told(spec: Spec, reading: Reading) -> dict[tuple[str, str], Instance]:
    """The instances by split and id, from scenario_state.json; empty where the folder has none."""
    path = spec.folder / STATES
    told: dict[tuple[str, str], Instance] = {}
    if not path.is_file():
        return told
    try:
        for number, instance in enumerate(instances(path)):
            if number % 256 == 0 and reading.cancel is not None:
                reading.cancel.check()
            told.setdefault((instance.split or "", instance.key), instance)
    except InputError as exc:
        if not reading.salvage:
            raise
        reading.broken = reading.broken or exc.message
    return told


def _take(body: Mapping[str, Any], where: str, tallies: dict[tuple[str, str], _Tally], noticed: _Noticed) -> None:
    """One entry of per_instance_stats.json. Raises RowError."""
    key, trial, stats = body.get("instance_id"), body.get("train_trial_index", 0), body.get("stats")
    if not is_name(key):
        raise RowError(f"instance_id is {shown(key)}, which names no instance")
    if type(trial) is not int or trial < 0:
        raise RowError(f"train_trial_index is {shown(trial)}, not a whole number")
    if not isinstance(stats, list):
        raise RowError(f"stats is {shown(stats)}, not a list")
    if body.get("perturbation") is not None:
        noticed.perturbed += 1
        return
    for stat in stats:
        name = stat.get("name") if isinstance(stat, dict) else None
        metric = name.get("name") if isinstance(name, dict) else None
        if not isinstance(name, dict) or not is_name(metric):
            raise RowError(f"stats has {shown(stat)}, which names no metric")
        if name.get("perturbation") is not None or _NO_METRIC.fullmatch(metric):
            continue
        split = name.get("split")
        split = split if isinstance(split, str) else ""
        value = plain_number(stat.get("mean"))
        if value is None:
            raise RowError(f"{metric} is {shown(stat.get('mean'))}, not a number")
        tally = tallies.setdefault((split, key), _Tally(where, split))
        before = tally.values.setdefault(metric, {}).setdefault(trial, value)
        if before is value:
            continue
        if before != value and not (math.isnan(before) and math.isnan(value)):
            raise RowError(
                f"instance {key} comes a second time with another {metric} ({value:g} after {before:g})",
                "Two runs are mixed in one folder: run helm-run again into an empty one.",
            )
        noticed.repeated.add(key)


def _rows(
    spec: Spec, tallies: Mapping[tuple[str, str], _Tally], told: Mapping[tuple[str, str], Instance], reading: Reading,
    finder: KeyFinder, noticed: _Noticed,
) -> Iterator[Row]:  # fmt: skip
    splits = {split for split, _ in tallies}
    # HELM runs the validation split too, and reports on the test split
    taken = "test" if "test" in splits else min(splits, default="")
    prefix = f"{spec.subject}/" if spec.subject else ""
    count = 0
    for (split, key), tally in tallies.items():
        if split != taken:
            noticed.other_split += 1
            continue
        count += 1
        yield _row(spec, prefix + key, tally, told.get((split, key)), reading, finder)
    most = spec.adapter.get("max_eval_instances")
    if isinstance(most, int) and count >= most:
        noticed.capped += count


def _row(
    spec: Spec, own_key: str, tally: _Tally, instance: Instance | None, reading: Reading, finder: KeyFinder
) -> Row:
    outcomes = [outcome for metric, values in tally.values.items() for outcome in _outcome(metric, values, reading)]
    if instance is None:
        return Row(tally.where, own_key, None, tuple(outcomes), category=spec.subject)
    key = finder.key(instance.text, spec.subject, instance.references or None)
    return Row(
        tally.where, own_key, key, tuple(outcomes), category=spec.subject,
        content=_content(reading.found.benchmark, instance, recognised=key is not None),
        response="null" if instance.answer is None else "given" if instance.answer.strip() else "empty",
        answer=instance.answer,
    )  # fmt: skip


def _outcome(metric: str, values: Mapping[int, float], reading: Reading) -> Iterator[Outcome]:
    shares = [reading.share(metric, value) for value in values.values()]
    known = [share for share in shares if share is not None]
    if len(known) == len(shares):
        passed = sum(known)
        yield metric, passed, NAN if math.isnan(passed) else float(len(known))


def _content(benchmark: Benchmark, instance: Instance, *, recognised: bool) -> str | None:
    try:
        if not recognised:
            body = {"input": instance.text, "references": instance.references, "correct": instance.correct}
            return content_sha256(body)
        doc: dict[str, Any] = {"prompt": instance.text, "question": instance.text}
        if benchmark.name == "mmlu":
            doc |= {"choices": list(instance.references), "answer": instance.correct}
        elif benchmark.name == "ifeval":
            doc["instruction_id_list"] = instance.extra["instruction_ids"]
            doc["kwargs"] = instance.extra["instruction_kwargs"]
        return content_hash(benchmark, doc)  # not for GSM8K, whose answers HELM writes in other words
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _reported(folder: Path) -> dict[str, float] | None:
    """The means over the test split that HELM's stats.json states; None where it has none or is broken."""
    path = folder / "stats.json"
    try:
        body = json.loads(path.read_bytes()) if path.stat().st_size <= _TOTALS_LIMIT else None
    except (OSError, ValueError, RecursionError):
        return None  # a sum of what was read from the rows already
    said: dict[str, float] = {}
    for stat in body if isinstance(body, list) else ():
        name = stat.get("name") if isinstance(stat, dict) else None
        if isinstance(name, dict) and name.get("split") == "test" and name.keys() == {"name", "split"}:
            mean = plain_number(stat.get("mean"))
            if mean is not None and math.isfinite(mean) and is_name(name["name"]):
                said[name["name"]] = mean
    return said or None


def _meta(spec: Spec, found: Found) -> dict[str, Any]:
    adapter = spec.adapter
    shots, method = adapter.get("max_train_instances"), adapter.get("method")
    trials, most = adapter.get("num_train_trials"), adapter.get("max_eval_instances")
    return {
        "n_shot": shots if isinstance(shots, int) else None,
        "method": method if isinstance(method, str) else None,
        "trials": trials if isinstance(trials, int) else None,
        "max_eval_instances": most if isinstance(most, int) else None,
        "reported": _reported(spec.folder) if len(found.files) == 1 else None,
    }


def _checks(noticed: _Noticed, log: PerItemLog) -> Iterator[Check]:
    if noticed.perturbed:
        yield Check(
            "perturbed", "info",
            f"{counted(noticed.perturbed, 'row')} of perturbed instances left out: they are not the benchmark's items.",
            noticed.perturbed,
        )  # fmt: skip
    if noticed.other_split:
        yield Check(
            "other_split", "info",
            f"{counted(noticed.other_split, 'instance')} of another split left out: the test split is taken "
            "where there is one.", noticed.other_split,
        )  # fmt: skip
    if noticed.repeated:
        yield Check(
            "duplicates", "info",
            f"{counted(len(noticed.repeated), 'instance')} with the same statistic in several rows, each time with the "
            "same value, as HELM writes it where two of its metrics overlap.",
            len(noticed.repeated), tuple(sorted(noticed.repeated)[:5]),
        )  # fmt: skip
    if noticed.capped:
        said = f"{counted(noticed.capped, 'instance')} are as many as the run was allowed to take (max_eval_instances)"
        if log.total_items is None:
            yield Check("partial", "refusal", f"{said}: HELM draws them from a scenario of unknown size.")
        else:
            yield Check("sampled", "info", f"{said}: HELM draws them from a larger scenario.", noticed.capped)
