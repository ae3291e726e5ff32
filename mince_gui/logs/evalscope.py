"""EvalScope: reviews/<model>/<benchmark>_<subset>.jsonl of a run's folder, one scored sample per line.

Predictions alone hold no scores and are refused. Repeats of a sample are trials of its item.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark, content_hash, of_task
from mince_gui.logs.assemble import Item, Reading, assemble, is_name, shown, state_of
from mince_gui.logs.collect import NAN, Outcome, RowError
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.naming import own_name, tidy_name
from mince_gui.logs.prompts import PromptFinder, prompt_text
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "EvalScope reviews"

_HEAD = 1 << 16
_REPORT_LIMIT = 64 << 20
_TIME = re.compile(r"(\d{4})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")
_SETTING = re.compile(r"^ *(limit|evalscope_version|few_shot_num): *(\d[\w.]{0,40}) *$", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_BESIDE = ("predictions", "reports", "logs", "configs")
_REMEDY = "Evaluate again, or leave this file out."
_METRICS = {
    "prompt_level_strict": "prompt_level_strict_acc", "inst_level_strict": "inst_level_strict_acc",
    "prompt_level_loose": "prompt_level_loose_acc", "inst_level_loose": "inst_level_loose_acc",
}  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """Where a file lies in a run: the run's folder, the part of it, the model's folder below, the file's stem."""

    run: Path
    part: str
    model: str
    stem: str


def _place(path: Path, parts: Sequence[str]) -> _Place | None:
    here = path.absolute().parent
    for folder in (here, *here.parents):
        if folder.name in parts:
            stem = path.name.removesuffix(".gz").rpartition(".")[0]
            return _Place(folder.parent, folder.name, here.relative_to(folder).as_posix(), stem)
    return None


def _looks_reviewed(path: Path) -> bool:
    try:
        head = first_bytes(path, _HEAD).lstrip()
    except (OSError, EOFError, zlib.error):
        return False
    return head.startswith(b"{") and (b'"sample_score"' in head or head.startswith(b'{"index"'))


def claim(files: Sequence[Path]) -> Claim:
    """Review files, grouped by run, model and benchmark; what lies beside them; predictions that have none."""
    groups: dict[tuple[Path, str, str], list[Path]] = {}
    predictions: list[tuple[Path, _Place]] = []
    others: list[tuple[Path, Path]] = []
    for path in files:
        rows = path.name.removesuffix(".gz").endswith(".jsonl")
        if rows and (place := _place(path, ("reviews",))) and place.model != "." and _looks_reviewed(path):
            groups.setdefault((place.run, place.model, _benchmark_name(place)), []).append(path)
        elif place := _place(path, _BESIDE):
            others.append((path, place.run))
            if rows and place.part == "predictions":
                predictions.append((path, place))
    runs = {run for run, _, _ in groups}
    refused = {
        path: "EvalScope's predictions without reviews, which hold the scores: run evalscope again with --use-cache on "
        "this folder"
        for path, place in predictions
        if place.run not in runs and _is_prediction(path)
    }
    beside = frozenset(path for path, run in others if run in runs)
    return Claim(tuple(_found(*key, members) for key, members in groups.items()), refused, beside)


def _is_prediction(path: Path) -> bool:
    try:
        head = first_bytes(path, _HEAD)
    except (OSError, EOFError, zlib.error):
        return False
    return head.lstrip().startswith(b'{"index"') and b'"model"' in head


def _benchmark_name(place: _Place) -> str:
    """The benchmark in a review file's name: the longest report's name it begins with, else one that is known."""
    reports = place.run / "reports" / place.model
    try:
        names = [path.stem for path in reports.iterdir() if path.suffix == ".json"]
    except OSError:
        names = []  # a run without reports was broken off, or its reports were left behind
    known = [name for name in (*names, "ifeval", "gsm8k") if place.stem.startswith(f"{name}_")]
    subject = place.stem.removeprefix("mmlu_")
    if subject != place.stem and subject in BENCHMARKS["mmlu"].subjects:
        known.append("mmlu")
    return max(known, key=len, default=place.stem)


def _found(run: Path, model: str, name: str, members: Sequence[Path]) -> Found:
    report = _json(run / "reports" / model / f"{name}.json")
    said = report.get("model_name")
    whence = "the model's name is from its report" if is_name(said) else "the model's name is the folder's"
    known = name in ("ifeval", "gsm8k", "mmlu")
    time = _TIME.fullmatch(run.name)
    return Found(
        format=FORMAT, model=said if is_name(said) else tidy_name(model.replace("/", "__")),
        benchmark=BENCHMARKS[name] if known else of_task(own_name("evalscope", name)), task=f"evalscope/{name}",
        files=tuple(sorted(members)), results_file=None,
        timestamp="{}-{}-{}T{}-{}-{}".format(*time.groups()) if time else "",
        why=f"reviews of EvalScope with scores per sample; {whence}",
    )  # fmt: skip


def _json(path: Path) -> Mapping[str, Any]:
    """A small JSON object; empty where there is none that can be read."""
    try:
        body = json.loads(path.read_bytes()) if path.stat().st_size <= _REPORT_LIMIT else None
    except (OSError, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _configuration(run: Path) -> dict[str, str]:
    """The plain settings of the run's configuration file that the checks know; empty where there is none."""
    try:
        files = sorted((run / "configs").glob("task_config*.yaml"))
        text = files[0].read_text(encoding="utf-8") if files and files[0].stat().st_size < _REPORT_LIMIT else ""
    except (OSError, UnicodeDecodeError):
        return {}  # the scores count without it
    return {match[1]: match[2] for match in _SETTING.finditer(text)}


@dataclass(kw_only=True)
class _Item(Item):
    """What is known of one sample after all its repeats: metric -> passed and trials."""

    sums: dict[str, tuple[float, float]] = field(default_factory=dict)
    indices: set[int] = field(default_factory=set)


class _Rows:
    """Takes the rows of all files of a run."""

    def __init__(self, reading: Reading, benchmark: Benchmark) -> None:
        self._reading = reading
        self._benchmark = benchmark
        self._prompts = PromptFinder(benchmark)
        self.items: dict[tuple[str, int], _Item] = {}

    def take(self, where: str, row: Mapping[str, Any], subset: str) -> None:
        """Take one row. Raises RowError."""
        index, scored = row.get("index"), row.get("sample_score")
        if type(index) is not int or index < 0:
            raise RowError(f"index is {shown(index)}, not a whole number from 0 up")
        if not isinstance(scored, dict) or not isinstance(score := scored.get("score"), dict):
            raise RowError("there is no sample_score.score in the row")
        group = scored.get("group_id")
        group = group if type(group) is int else index
        outcomes = self._outcomes(score, scored.get("sample_metadata"))
        item = self.items.get((subset, group))
        if item is None:
            item = self.items[subset, group] = self._new(where, row, scored, subset, group)
        elif index in item.indices:
            raise RowError(f"sample {index} comes a second time")
        item.indices.add(index)
        for metric, passed, trials in outcomes:
            before = item.sums.get(metric, (0.0, 0.0))
            item.sums[metric] = (before[0] + passed, before[1] + trials)

    def _new(self, where: str, row: Mapping[str, Any], scored: Mapping[str, Any], subset: str, group: int) -> _Item:
        text = prompt_text(row.get("messages"))
        doc = scored.get("sample_metadata")
        subject = subset if subset in self._benchmark.subjects else None
        key = self._prompts.key(text, subject) if text is not None else None
        content = category = None
        if key is not None and self._benchmark.name == "ifeval" and isinstance(doc, dict):
            category = self._benchmark.category(doc, key)
            try:
                content = content_hash(self._benchmark, doc)
            except (KeyError, TypeError, ValueError, RecursionError):
                content = None  # the run was made without --save-metadata
        own_key = f"{subset}/{group}" if subset else str(group)
        answer = scored["score"].get("prediction", "")
        return _Item(
            where=where, own_key=own_key, key=key, content=content,
            category=category if category is not None else subject,
            response=state_of(answer) if "prediction" in scored["score"] else "not stored",
            answer=answer if isinstance(answer, str) else None,
        )  # fmt: skip

    def _outcomes(self, score: Mapping[str, Any], doc: Any) -> list[Outcome]:
        values = score.get("value")
        if not isinstance(values, dict):
            raise RowError(f"sample_score.score.value is {shown(values)}, not an object of metrics")
        metadata = score.get("metadata")
        weights = metadata.get("metric_weights") if isinstance(metadata, dict) else None
        outcomes: list[Outcome] = []
        for name, value in values.items():
            if not is_name(name):
                raise RowError(f"{shown(name)} is no name of a metric")
            # the metric as it is stored: it is left out by that name
            metric = _METRICS.get(name, name)
            share = self._reading.share(metric, value)
            if share is None:
                continue
            weight = weights.get(name) if isinstance(weights, dict) else None
            if weight is None and name.startswith("inst_level_") and isinstance(doc, dict):
                ids = doc.get("instruction_id_list")
                weight = len(ids) if isinstance(ids, list) else None
            outcomes.append((metric, *_weighed(name, share, weight)))
        return outcomes


def _weighed(name: str, share: float, weight: Any) -> tuple[float, float]:
    """Passed and trials of a mean over `weight` parts."""
    if share != share:
        return NAN, NAN
    if weight is None:
        return share, 1.0
    if type(weight) is not int or not 0 < weight < 1_000_000:
        raise RowError(f"the weight of {name} is {shown(weight)}, not a number of parts")
    passed = round(share * weight)
    if abs(share * weight - passed) > 1e-6 * weight:
        raise RowError(f"{name} is {share:g}, which is no mean over {weight} verdicts")
    return float(passed), float(weight)


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read the run's review files. Raises InputError with file and line, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    rows = _Rows(reading, found.benchmark)
    name = found.task.removeprefix("evalscope/")
    for path in found.files:
        stem = path.name.removesuffix(".gz").rpartition(".")[0]
        subset = stem.removeprefix(f"{name}_") if len(found.files) > 1 or name == "mmlu" else ""
        for where, row in reading.jsonl(path):
            try:
                rows.take(where, row, subset)
            except RowError as exc:
                raise InputError(f"{where}: {exc.message}.", _REMEDY) from exc
    metrics = dict.fromkeys(metric for item in rows.items.values() for metric in item.sums)
    run = place.run if (place := _place(found.files[0], ("reviews",))) else found.files[0].parent
    settings = _configuration(run)
    limit = settings.get("limit", "")
    return assemble(
        reading,
        [
            # a score that could not be had is left out of the row: missing, not wrong
            item.row([(metric, *item.sums.get(metric, (NAN, NAN))) for metric in metrics])
            for item in rows.items.values()
        ],
        own_name=own_name("evalscope", name),
        meta={"evalscope_version": settings.get("evalscope_version"), "n_shot": settings.get("few_shot_num")},
        limit=float(limit) if _NUMBER.fullmatch(limit) else None,
    )  # fmt: skip
