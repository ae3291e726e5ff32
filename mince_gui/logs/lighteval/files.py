"""Which Parquet files are lighteval's details, which belong together, and whose they are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from mince_gui.benchmarks import Benchmark, of_task
from mince_gui.logs.collect import RowError
from mince_gui.logs.lighteval import FORMAT, rows
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.naming import candidate, dated, own_name, tidy_name
from mince_gui.logs.prompts import PromptFinder
from mince_gui.logs.results_file import NO_RESULTS, ResultsFile
from mince_gui.logs.types import Claim, Found

PREFIX = "lighteval"

_NAME = re.compile(r"details_(?P<task>.+)_(?P<time>\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?)\.parquet")
_RESULTS = re.compile(r"results_\d{4}-\d{2}-\d{2}T.*\.json")
_SUITES = (
    "harness", "leaderboard", "lighteval", "helm", "bigbench", "original", "extended", "custom", "community",
    "multilingual", "test", "tgi",
)  # fmt: skip
_LOOKED_AT = 3
_MMLU = re.compile(r"(?:mmlu|hendryckstest)[:_-](?P<subject>\w+)", re.I)


@dataclass(frozen=True)
class Details:
    """One details file and what its name says: the task without suite and number of examples, and an MMLU subject."""

    path: Path
    whole_task: str
    task: str
    shots: int | None
    subject: str | None
    timestamp: str

    @property
    def group(self) -> tuple[Path, str, str, int | None]:
        """Files with the same group are one run: the subjects of MMLU go together, any other task stands alone."""
        return self.path.parent, self.timestamp, "mmlu" if self.subject else self.whole_task, self.shots


def details_file(path: Path) -> Details | None:
    """What the file's name says, None where it is no name of a details file."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    parts = match["task"].split("|")
    shots = None
    while len(parts) > 1 and parts[-1].isdecimal():
        # suite|task|examples|truncated: the examples come first
        shots = int(parts.pop())
    task = parts[-1] if parts[0] in _SUITES or len(parts) == 1 else "|".join(parts)
    named = _MMLU.fullmatch(task)
    known = of_task("mmlu").subjects
    subject = named["subject"] if named and named["subject"] in known else None
    return Details(path, match["task"], task, shots, subject, dated(match["time"]))


def claim(files: Sequence[Path]) -> Claim:
    """The details files among `files`, and results files that stand without any."""
    refused: dict[Path, str] = {}
    groups: dict[tuple[Path, str, str, int | None], list[Details]] = {}
    for path in files:
        details = details_file(path)
        if details is None:
            continue
        try:
            columns = set(pq.read_schema(path).names)
        except rows.DAMAGED as exc:
            refused[path] = f"named like lighteval's details, but not a Parquet file ({_first_line(exc)})"
            continue
        if {"doc", "metric"} <= columns or ("metrics" in columns and columns & {"example", "full_prompt"}):
            groups.setdefault(details.group, []).append(details)
        else:
            refused[path] = "named like lighteval's details, but without the columns doc and metric, or metrics"
    results: dict[Path, ResultsFile] = {}
    found = [_found(members, results) for members in groups.values()]
    used = {path for path, known in results.items() if known.body}
    refused |= {path: known.fault for path, known in results.items() if known.fault}
    refused |= {
        path: "results of lighteval without details beside them: evaluate with --save-details"
        for path in files
        if path not in results and _RESULTS.fullmatch(path.name) and _is_results(path)
    }
    return Claim(tuple(found), refused, frozenset(used))


def _first_line(exc: BaseException) -> str:
    return (str(exc).splitlines() or [type(exc).__name__])[0][:200]


def _is_results(path: Path) -> bool:
    try:
        return first_bytes(path, 64).lstrip(b"{ \r\n\t").startswith(b'"config_general"')
    except (OSError, EOFError, ValueError):
        return False


def _place(path: Path) -> tuple[str, Path | None, str]:
    """The model that the folders name, where the results would lie, and how that is known."""
    time = path.name.rpartition("_")[2].removesuffix(".parquet")
    results = f"results_{time}.json"
    for folder in path.parents:
        if folder.name == "details":
            model = path.parent.relative_to(folder).parent.as_posix()
            return model, folder.parent / "results" / model / results, "the folders under details"
        if folder.name.startswith("details_"):
            return folder.name.removeprefix("details_").replace("__", "/"), folder / results, "the folder's name"
    return path.parent.name, None, "the folder's name"


def _found(members: Sequence[Details], loaded: dict[Path, ResultsFile]) -> Found:
    first = members[0]
    model, results_path, whence = _place(first.path)
    if results_path is not None and results_path.is_file():
        if results_path not in loaded:
            loaded[results_path] = ResultsFile.load(results_path)
    else:
        results_path = None
    results = loaded[results_path] if results_path is not None else NO_RESULTS
    named = results.part("config_general").get("model_name")
    if isinstance(named, str) and named:
        model, whence = named, results_path.name if results_path else whence
    if not results.body:
        results_path = None
    benchmark, told = _benchmark(first)
    shape = f"{len(members)} Parquet files" if len(members) > 1 else "one Parquet file"
    return Found(
        format=FORMAT,
        model=tidy_name(model) or "unnamed",
        benchmark=benchmark,
        task=tidy_name(first.task if len(members) == 1 else "mmlu"),
        files=tuple(sorted(details.path for details in members)),
        results_file=results_path,
        timestamp=first.timestamp,
        why=f"{shape} named and laid out as lighteval --save-details does; the model's name is from {whence}; {told}",
    )


def own_benchmark(found: Found) -> str:
    """The name of the run's task as a benchmark of its own."""
    return own_name(PREFIX, found.task)


def _benchmark(details: Details) -> tuple[Benchmark, str]:
    """The benchmark as far as the name and the first rows tell, and how that is known."""
    known = candidate(details.task)
    own = of_task(own_name(PREFIX, "mmlu" if details.subject else details.task))
    if known is None:
        return own, f"its task {details.task} is a benchmark of its own"
    for number, query in enumerate(_first_queries(details.path), 1):
        if PromptFinder(known).key(query, details.subject) is None:
            return own, f"row {number} is none of {known.title}, so {details.task} is a benchmark of its own"
    return known, f"the items are those of {known.title}, told by their texts"


def _first_queries(path: Path) -> list[str]:
    """A few rows' queries; none where the file is broken, which is said when it is read."""
    try:
        with pq.ParquetFile(path) as file:
            return [rows.entry(row).query for _, row in itertools.islice(rows.numbered(file), _LOOKED_AT)]
    except (*rows.DAMAGED, RowError):
        return []
