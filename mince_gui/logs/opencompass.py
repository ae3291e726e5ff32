"""OpenCompass: results/<model>/<dataset>.json of a run's folder, where it holds the details of every item.

Details are there when the run had --dump-eval-details (the default of newer versions) and the data set's evaluator says
which items are right. Predictions alone hold no verdicts and are refused. A data set split over several files
(<dataset>_0.json, _1, ...) is one; the subjects of MMLU are one benchmark. Items are recognised by their prompts, which
lie in the details or in predictions/ beside them.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark, content_hash, of_task
from mince_gui.logs.assemble import Reading, Row, assemble, shown, state_of
from mince_gui.logs.collect import NAN, Outcome, RowError
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.lm_eval.results import tidy_name
from mince_gui.logs.naming import own_name
from mince_gui.logs.prompts import PromptFinder, prompt_text
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "OpenCompass results"

_HEAD = 1 << 15
_LIMIT = 512 << 20
_TIME = re.compile(r"(\d{4})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")
_PART = re.compile(r"(?P<name>.+)_(?P<part>0|[1-9]\d{0,3})")
_SUBJECT = re.compile(r"(?:lukaemon_)?mmlu_(?P<subject>.+)")
_PLACE = re.compile(r"_(\d{1,9})$")
_DETAILS = re.compile(rb'"details"\s*:\s*[\[{]')
_OF_ITEMS = re.compile(
    rb'"(?:example_abbr|correct|is_correct|cascade_correct|is_strict_correct)"|"type"\s*:\s*"(?:PPL|GEN)"'
)
_DETAILS_TEXT = re.compile(r'"details"\s*:\s*[\[{]')
_NEXT_ITEM = re.compile(r'\s*,?\s*(?:"(?P<name>[^"\\]{1,40})"\s*:\s*)?(?=[{"])')
_RESULT = re.compile(rb'\s*\{\s*"(?:details|[^"\\]{1,80}"\s*:\s*(?:-?[0-9]|NaN|"|\[|\{))')
_VERDICTS = {
    "is_strict_correct": "prompt_level_strict_acc",
    "is_loose_correct": "prompt_level_loose_acc",
}
_PLAIN = ("correct", "is_correct", "cascade_correct")
_REPORTED = {
    "accuracy": "accuracy", "score": "accuracy",
    "Prompt-level-strict-accuracy": "prompt_level_strict_acc", "Prompt-level-loose-accuracy": "prompt_level_loose_acc",
}  # fmt: skip
_AGAIN = "Evaluate again with: opencompass ... -r -m eval --dump-eval-details"
_NO_DETAILS = f"a result without details of the items. {_AGAIN}"
_PREDICTIONS = f"predictions without verdicts. {_AGAIN}"


def _inside(path: Path, part: str) -> tuple[Path, str] | None:
    """The run's folder and the model's name, where the file lies in <run>/<part>/<model>/."""
    here = path.absolute().parent
    for folder in (here, *here.parents):
        if folder.name == part:
            model = here.relative_to(folder).as_posix()
            return (folder.parent, model) if model != "." else None
    return None


def _head(path: Path) -> bytes:
    try:
        return first_bytes(path, _HEAD)
    except (OSError, EOFError, zlib.error):
        return b""


def claim(files: Sequence[Path]) -> Claim:
    """Results with details, by run, model and data set; what lies beside them; results and predictions of no use."""
    groups: dict[tuple[Path, str, str], list[Path]] = {}
    refused: dict[Path, str] = {}
    others: list[tuple[Path, Path]] = []
    for path in files:
        if path.suffix != ".json":
            continue
        if place := _inside(path, "results"):
            head = _head(path)
            if _DETAILS.search(head) and _OF_ITEMS.search(head):
                groups.setdefault((*place, _dataset(path.stem)), []).append(path)
            elif (place[0] / "predictions" / place[1]).is_dir() and _RESULT.match(head):
                refused[path] = _NO_DETAILS
        elif place := _inside(path, "predictions"):
            others.append((path, place[0]))
    runs = {run for run, _, _ in groups}
    beside = frozenset(path for path, run in others if run in runs)
    refused |= {path: _PREDICTIONS for path, run in others if run not in runs and _is_prediction(_head(path))}
    return Claim(tuple(_found(*key, sorted(members, key=_order)) for key, members in groups.items()), refused, beside)


def _is_prediction(head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"origin_prompt"' in head and b'"prediction"' in head


def _subject(stem: str) -> str | None:
    match = _SUBJECT.fullmatch(stem)
    return match["subject"] if match and match["subject"] in BENCHMARKS["mmlu"].subjects else None


def _whole_name(stem: str) -> str:
    """The data set's name without the number of a part."""
    match = _PART.fullmatch(stem)
    return match["name"] if match else stem


def _dataset(stem: str) -> str:
    """What the run is of: the subjects of MMLU together, anything else by its name."""
    name = _whole_name(stem)
    return "mmlu" if _subject(name) else name


def _order(path: Path) -> tuple[str, int]:
    match = _PART.fullmatch(path.stem)
    return (match["name"], int(match["part"])) if match else (path.stem, -1)


def _benchmark(dataset: str) -> Benchmark:
    known = dataset.lower()
    return BENCHMARKS[known] if known in ("ifeval", "gsm8k", "mmlu") else of_task(own_name("opencompass", dataset))


def _found(run: Path, model: str, dataset: str, members: Sequence[Path]) -> Found:
    time = _TIME.fullmatch(run.name)
    return Found(
        format=FORMAT, model=tidy_name(model.replace("/", "__")), benchmark=_benchmark(dataset),
        task=f"opencompass/{dataset}",
        files=tuple(members), results_file=None,
        timestamp="{}-{}-{}T{}-{}-{}".format(*time.groups()) if time else "",
        why="results of OpenCompass with details of every item; the model's name is the folder's",
    )  # fmt: skip


def _load(path: Path) -> dict[str, Any]:
    """The file's object. Raises InputError with file and line."""
    try:
        body = json.loads(_text(path))
    except json.JSONDecodeError as exc:
        raise InputError(f"{path}, line {exc.lineno}: not JSON ({exc.msg}).", "Take a whole copy of the file.") from exc
    except (ValueError, RecursionError) as exc:
        raise InputError(f"{path}: not JSON ({exc}).", "Take a whole copy of the file.") from exc
    if not isinstance(body, dict):
        raise InputError(f"{path}: not an object of results.", "Leave this file out.")
    return body


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LIMIT:
            raise InputError(f"{path}: larger than {_LIMIT >> 20} MiB.", "Split the evaluation into parts.")
        return path.read_bytes().decode("utf-8-sig", "surrogatepass")
    except OSError as exc:
        raise InputError(f"{path}: cannot be opened ({exc.strerror}).", "Look for the logs again.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"{path}: not UTF-8 text ({exc.reason}).", "Take a whole copy of the file.") from exc


def _whole_part(path: Path) -> dict[str, Any]:
    """The details of a broken file up to the broken place."""
    text = _text(path)
    start = _DETAILS_TEXT.search(text)
    items: dict[str, Any] = {}
    place = start.end() if start else len(text)
    decode = json.JSONDecoder().raw_decode
    try:
        while match := _NEXT_ITEM.match(text, place):
            item, place = decode(text, match.end())
            items[match["name"] if match["name"] is not None else str(len(items))] = item
    except (ValueError, RecursionError):
        pass  # here it is broken: the caller says so
    return {"details": items}


def _items(path: Path, body: Mapping[str, Any]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Where it is, place in the data set, fields: of every item in the details. Raises InputError."""
    details = body.get("details")
    if not isinstance(details, list | dict):
        raise InputError(f"{path}: {_NO_DETAILS}", "")
    named = details.items() if isinstance(details, dict) else ((str(i), item) for i, item in enumerate(details))
    for place, (name, item) in enumerate(entry for entry in named if entry[0] != "type"):
        where = f"{path}, item {name} of details"
        if not isinstance(item, dict):
            raise InputError(f"{where}: {shown(item)} in place of an object.", "Leave this file out.")
        abbreviation = item.get("example_abbr")
        match = _PLACE.search(abbreviation) if isinstance(abbreviation, str) else None
        yield where, int(match[1]) if match else int(name) if name.isdecimal() and len(name) < 10 else place, item


def _verdicts(name: str, value: Any) -> Outcome | None:
    """Passed and trials of a verdict or a list of them, one per repeat; None where it is neither. Raises RowError."""
    values = value if isinstance(value, list) else [value]
    if not values or any(entry is None for entry in values):
        return name, NAN, NAN
    if not all(isinstance(entry, bool | int | float) and entry in (0, 1) for entry in values):
        raise RowError(f"{name} is {shown(value)}, not a verdict")
    return name, float(sum(values)), float(len(values))


def _outcomes(item: Mapping[str, Any]) -> list[Outcome]:
    names = [(field, metric) for field, metric in _VERDICTS.items() if field in item]
    if not names:
        names = [(field, "accuracy") for field in _PLAIN if field in item][:1]
    outcomes = [outcome for field, metric in names if (outcome := _verdicts(metric, item[field])) is not None]
    if not outcomes:
        raise RowError("there is no verdict (correct, is_correct), as the evaluator of this data set gives none")
    return outcomes


def _first(value: Any, *, repeated: bool) -> Any:
    """The value of the first repeat: with `example_abbr` each field is a list with one entry per repeat."""
    return value[0] if repeated and isinstance(value, list) and value else value


class _Prompts:
    """The prompts of predictions/ beside the results, by place; loaded when the details have none."""

    def __init__(self, results: Path) -> None:
        place = _inside(results, "results")
        self._whole = place[0] / "predictions" / place[1] / results.name if place else None
        self._loaded: list[Any] | None = None

    def get(self, place: int) -> Any:
        """What was sent for the item, None where that is not stored. Raises InputError for a broken file."""
        if self._loaded is None:
            self._loaded = [
                entry.get("origin_prompt") if isinstance(entry, dict) else None
                for path in self._files()
                for entry in _in_order(_load(path))
            ]
        return self._loaded[place] if place < len(self._loaded) else None

    def _files(self) -> list[Path]:
        if self._whole is None:
            return []
        if self._whole.is_file():
            return [self._whole]
        parts: list[Path] = []
        while (path := self._whole.with_stem(f"{self._whole.stem}_{len(parts)}")).is_file():
            parts.append(path)
        return parts


def _in_order(body: Mapping[str, Any]) -> list[Any]:
    return [body.get(str(place)) for place in range(len(body))]


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read the run's results. Raises InputError with file and item, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    finder = PromptFinder(found.benchmark)
    rows: list[Row] = []
    reported: dict[str, float] = {}
    offsets: dict[str, int] = {}
    for path in found.files:
        try:
            body = _load(path)
        except InputError as exc:
            if not salvage:
                raise
            reading.broken = reading.broken or exc.message
            body = _whole_part(path)
        name = _whole_name(path.stem)
        subject, offset, prompts = _subject(name), offsets.get(name, 0), _Prompts(path)
        places: list[int] = []
        for number, (where, place, item) in enumerate(_items(path, body)):
            repeated = "example_abbr" in item
            places.append(place)
            try:
                outcomes = _outcomes(item)
            except RowError as exc:
                raise InputError(f"{where}: {exc.message}.", "Leave this file out.") from exc
            prompt = _first(item.get("prompt"), repeated=repeated) or prompts.get(number)
            text = prompt_text(prompt)
            key = finder.key(text, subject) if text is not None else None
            # without example_abbr the places of a part begin at 0 again
            own = place if repeated else offset + place
            rows.append(_row(found.benchmark, where, f"{subject}/{own}" if subject else str(own), key, outcomes, item))
            reading.step(path, 0)
        offsets[name] = offset + len(places)
        for said, metric in _REPORTED.items():
            value = body.get(said)
            if isinstance(value, int | float) and 0 <= value <= 100:
                reported[metric] = value / 100
        reading.finished(path)
    meta = {"reported": reported} if len(found.files) == 1 else {}
    return assemble(reading, rows, own_name=own_name("opencompass", found.task.partition("/")[2]), meta=meta)


def _row(
    benchmark: Benchmark,
    where: str,
    own_key: str,
    key: str | None,
    outcomes: Sequence[Outcome],
    item: Mapping[str, Any],
) -> Row:
    repeated = "example_abbr" in item
    doc = _first(item.get("refer"), repeated=repeated)
    content = category = None
    if benchmark.name == "ifeval" and key is not None and isinstance(doc, dict):
        category = benchmark.category(doc, key)
        try:
            content = content_hash(benchmark, doc)
        except (KeyError, TypeError, ValueError, RecursionError):
            content = None  # counted by `no_docs`
    # only this evaluator keeps the response as the model gave it; others keep the answer they read from it
    answer = _first(item.get("pred", ""), repeated=repeated) if benchmark.name == "ifeval" else ""
    return Row(
        where, own_key, key, tuple(outcomes), category, content,
        state_of(answer) if benchmark.name == "ifeval" and "pred" in item else "not stored",
        answer if isinstance(answer, str) and answer else None,
    )  # fmt: skip
