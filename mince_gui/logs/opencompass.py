"""OpenCompass: results/<model>/<dataset>.json of a run's folder, where it holds the details of every item.

Details are there when the run had --dump-eval-details (the default of newer versions) and the data set's evaluator says
which items are right. Predictions alone hold no verdicts and are refused. A data set split over several files
(<dataset>_0.json, _1, ...) is one; the subjects of MMLU are one benchmark. Items are recognised by their prompts, which
lie in the details or in predictions/ beside them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError
from mince_gui.base.events import Emit
from mince_gui.benchmarks import BENCHMARKS, Benchmark, content_hash, of_task
from mince_gui.logs.assemble import SALVAGE, Reading, Row, assemble, shown, state_of
from mince_gui.logs.collect import NAN, Outcome, RowError
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.naming import own_name, tidy_name
from mince_gui.logs.nested import Members
from mince_gui.logs.prompts import PromptFinder, prompt_text
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "OpenCompass results"

_HEAD = 1 << 15
_TIME = re.compile(r"(\d{4})(\d{2})(\d{2})_(\d{2})(\d{2})(\d{2})")
_PART = re.compile(r"(?P<name>.+)_(?P<part>0|[1-9]\d{0,3})")
_SUBJECT = re.compile(r"(?:lukaemon_)?mmlu_(?P<subject>.+)")
_PLACE = re.compile(r"_(\d{1,9})$")
_DETAILS = re.compile(rb'"details"\s*:\s*[\[{]')
_OF_ITEMS = re.compile(
    rb'"(?:example_abbr|correct|is_correct|cascade_correct|is_strict_correct)"|"type"\s*:\s*"(?:PPL|GEN)"'
)
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


@dataclass
class _Results:
    """One file of results as it streams by: its items, and what it says of their mean."""

    path: Path
    reading: Reading
    reported: dict[str, float] = field(default_factory=dict)

    def items(self) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        """Where it is, place in the data set, fields: of every item in the details. Raises InputError, CancelledError.

        `salvage` ends it in front of a broken place.
        """
        place, members = 0, Members(self.path, "details")
        for member, entry, value in self._whole(members):
            if member != "details":
                if member in _REPORTED and isinstance(value, int | float) and 0 <= value <= 100:
                    self.reported[_REPORTED[member]] = value / 100
                continue
            if entry == "type":
                continue
            where = f"{self.path}, item {entry} of details"
            if entry == "":
                raise InputError(f"{self.path}: {_NO_DETAILS}", "")
            if not isinstance(value, dict):
                raise InputError(f"{where}: {shown(value)} in place of an object.", "Leave this file out.")
            abbreviation = value.get("example_abbr")
            match = _PLACE.search(abbreviation) if isinstance(abbreviation, str) else None
            named = int(entry) if entry.isdecimal() and len(entry) < 10 else place
            yield where, int(match[1]) if match else named, value
            self.reading.step(self.path, members.position)
            place += 1
        if not place and not self.reading.broken:
            raise InputError(f"{self.path}: {_NO_DETAILS}", "")

    def _whole(self, members: Members) -> Iterator[tuple[str, str, Any]]:
        try:
            yield from members
        except InputError as exc:
            if not self.reading.salvage:
                raise InputError(exc.message, f"{exc.remedy} {SALVAGE}".lstrip()) from exc
            self.reading.broken = self.reading.broken or exc.message


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
    """The items' keys by the prompts of predictions/ beside the results; loaded when the details have no prompts."""

    def __init__(self, results: Path, finder: PromptFinder, subject: str | None, cancel: CancelToken | None) -> None:
        place = _inside(results, "results")
        self._whole = place[0] / "predictions" / place[1] / results.name if place else None
        self._finder = finder
        self._subject = subject
        self._cancel = cancel
        self._keys: list[str | None] | None = None

    def key_of(self, prompt: Any) -> str | None:
        """The key of the item that was asked with the prompt, None where none is recognised."""
        text = prompt_text(prompt)
        return self._finder.key(text, self._subject) if text is not None else None

    def key(self, place: int) -> str | None:
        """The key of the item with this place in the predictions. Raises InputError for a broken file."""
        if self._keys is None:
            self._keys = [key for path in self._files() for key in self._in_order(path)]
        return self._keys[place] if place < len(self._keys) else None

    def _in_order(self, path: Path) -> list[str | None]:
        keys: dict[str, str | None] = {}
        for name, _, entry in Members(path):
            if self._cancel is not None:
                self._cancel.check()
            keys[name] = self.key_of(entry.get("origin_prompt")) if isinstance(entry, dict) else None
        return [keys.get(str(place)) for place in range(len(keys))]

    def _files(self) -> list[Path]:
        if self._whole is None:
            return []
        if self._whole.is_file():
            return [self._whole]
        parts: list[Path] = []
        while (path := self._whole.with_stem(f"{self._whole.stem}_{len(parts)}")).is_file():
            parts.append(path)
        return parts


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool = False) -> PerItemLog:
    """Read the run's results, an item at a time. Raises InputError with file and line or item, CancelledError."""
    reading = Reading(found, emit, cancel, salvage)
    finder = PromptFinder(found.benchmark)
    rows: list[Row] = []
    reported: dict[str, float] = {}
    offsets: dict[str, int] = {}
    for path in found.files:
        name = _whole_name(path.stem)
        subject, offset, results = _subject(name), offsets.get(name, 0), _Results(path, reading)
        prompts = _Prompts(path, finder, subject, cancel)
        count = 0
        for where, place, item in results.items():
            repeated = "example_abbr" in item
            try:
                outcomes = _outcomes(item)
            except RowError as exc:
                raise InputError(f"{where}: {exc.message}.", "Leave this file out.") from exc
            prompt = _first(item.get("prompt"), repeated=repeated)
            key = prompts.key_of(prompt) if prompt else prompts.key(count)
            # without example_abbr the places of a part begin at 0 again
            own = place if repeated else offset + place
            rows.append(_row(found.benchmark, where, f"{subject}/{own}" if subject else str(own), key, outcomes, item))
            count += 1
        offsets[name] = offset + count
        reported |= results.reported
        reading.finished(path)
    meta = {"reported": reported} if len(found.files) == 1 and not reading.broken else {}
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
