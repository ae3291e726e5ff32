"""Which files of a folder are lm-eval logs, which belong together, and whose they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mince_gui.benchmarks import BENCHMARKS, Benchmark, of_task
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.lm_eval.results import Results
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.types import Claim, Found

FORMAT = "lm-eval samples"

_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<time>{_TIME}))?\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(rf"(?:.*_)?(?P<time>{_TIME})\.json(?:\.gz)?|results\.json(?:\.gz)?")
_OLD_NAME = re.compile(r"(?P<stem>.+)\.jsonl(?:\.gz)?")
_OLD_START = re.compile(rb'\s*\[\s*\{\s*"doc_id"\s*:')
_MMLU = "mmlu"
_BLANKS_LIMIT = 1 << 18
_KNOWN_TASKS = tuple(task for benchmark in BENCHMARKS.values() for task in benchmark.tasks)


@dataclass(frozen=True)
class SamplesFile:
    """One samples file and what its name says; `timestamp` is "" where the name has none.

    `arguments` are the model's as lm-eval 0.4.0 to 0.4.2 put them into the name, None for a name of newer versions.
    """

    path: Path
    task: str
    timestamp: str
    arguments: str | None = None


@dataclass
class _Run:
    """Files of one sitting of one model: they share folder and time (or, of old, folder and model arguments)."""

    folder: Path
    timestamp: str
    files: dict[str, SamplesFile] = field(default_factory=dict)
    results: Results | None = None


def samples_file(path: Path) -> SamplesFile | None:
    """What the file's name says, None where it is no name of a samples file of lm-eval 0.4.3 or newer."""
    match = _SAMPLES.fullmatch(path.name)
    return SamplesFile(path, match["task"], match["time"] or "") if match else None


def _old_samples_file(path: Path, tasks: Iterable[str]) -> SamplesFile | None:
    """The same for 0.4.0 to 0.4.2: <model arguments>_<task>.jsonl. The task is the longest of `tasks` that fits."""
    match = _OLD_NAME.fullmatch(path.name)
    stem = match["stem"] if match else ""
    task = max((task for task in tasks if stem.endswith(f"_{task}")), key=len, default=None)
    return SamplesFile(path, task, "", stem[: -len(task) - 1]) if task is not None else None


def task_of(found: Found, path: Path) -> str:
    """The task that one file of a run is of."""
    named = samples_file(path) or _old_samples_file(path, (found.task, *found.benchmark.tasks))
    return named.task if named is not None else found.task


def subject_of(benchmark: Benchmark, task: str) -> str | None:
    """The subject that a file's task is, None where the benchmark has no subjects or the file holds them all."""
    subject = task.removeprefix(f"{_MMLU}_") if benchmark.name == _MMLU else task
    return subject if subject in benchmark.subjects else None


def _head(path: Path) -> bytes:
    """Some bytes from the first that is not blank; empty where there is none near the beginning. Raises OSError."""
    return first_bytes(path).lstrip() or first_bytes(path, _BLANKS_LIMIT).lstrip()


def _why_unusable(path: Path) -> str | None:
    """Why the file cannot be a samples file, judged by its first bytes."""
    try:
        head = _head(path)
    except OSError as exc:
        return f"cannot be read ({exc.strerror})"
    if not head:
        return "empty"
    return None if head.startswith((b"{", b"[")) else "named like a log, but does not begin with a JSON object"


def _is_old(path: Path) -> bool:
    """Whether the file is an array of rows such as lm-eval 0.4.0 to 0.4.2 wrote."""
    if not _OLD_NAME.fullmatch(path.name):
        return False
    try:
        return _OLD_START.match(_head(path)) is not None
    except OSError:
        return False


class _Folders:
    """The results files of the folders that are looked at; each is loaded once."""

    def __init__(self) -> None:
        self._listings: dict[Path, list[Path]] = {}
        self._loaded: dict[Path, Results] = {}
        self.faults: dict[Path, str] = {}
        self.used: set[Path] = set()

    def _siblings(self, folder: Path) -> list[Path]:
        if folder not in self._listings:
            try:
                entries = sorted(path for path in folder.iterdir() if path.name.endswith((".json", ".json.gz")))
            except OSError:
                entries = []  # a single file was named in a folder that cannot be listed: it stands alone
            self._listings[folder] = [path for path in entries if samples_file(path) is None]
        return self._listings[folder]

    def load(self, path: Path) -> Results | None:
        """The results file, None where it is faulty; the fault is remembered."""
        if path not in self._loaded:
            self._loaded[path] = Results.load(path)
        results = self._loaded[path]
        self.used.add(path)
        if results.fault:
            self.faults[path] = results.fault
            return None
        return results

    def of_time(self, folder: Path, timestamp: str) -> Results | None:
        """The results file of a run: same time stamp; results_<time>.json before <other stem>_<time>.json."""
        matches = [
            p for p in self._siblings(folder) if (m := _RESULTS.fullmatch(p.name)) and (m["time"] or "") == timestamp
        ]
        path = min(matches, key=lambda path: (not path.name.startswith("results"), path.name), default=None)
        return self.load(path) if path is not None else None

    def old(self, folder: Path) -> Iterator[Results]:
        """The results files that lm-eval 0.4.0 to 0.4.2 may have written there, under any name."""
        for path in self._siblings(folder):
            results = self._loaded.get(path) or Results.load(path)
            self._loaded[path] = results
            if results.part("configs") and results.part("results"):
                yield results


def claim(files: Iterable[Path]) -> Claim:
    """The runs among `files`, and why files that are named like lm-eval's belong to none."""
    refused: dict[Path, str] = {}
    folders = _Folders()
    runs: dict[tuple[Path, str], _Run] = {}
    others: list[Path] = []
    for path in sorted(files):
        named = samples_file(path)
        if named is not None:
            reason = _why_unusable(path)
            if reason is None:
                _add(runs, (path.parent, named.timestamp), named, refused)
            else:
                refused[path] = reason
        elif _is_old(path):
            _add_old(runs, path, folders, refused)
        else:
            others.append(path)
    found: list[Found] = []
    for run in runs.values():
        if run.results is None:
            run.results = folders.of_time(run.folder, run.timestamp)
        found += _founds(run)
    for path in others:
        if path not in folders.used and _RESULTS.fullmatch(path.name):
            refused[path] = "a results file without samples of the same time beside it: evaluate with --log_samples"
    return Claim(tuple(found), {**refused, **folders.faults}, frozenset(folders.used))


def _add(
    runs: dict[tuple[Path, str], _Run], ident: tuple[Path, str], named: SamplesFile, refused: dict[Path, str]
) -> _Run:
    run = runs.setdefault(ident, _Run(named.path.parent, named.timestamp))
    if named.task in run.files:
        # sorted order: x.jsonl comes before x.jsonl.gz
        refused[named.path] = f"a second copy of {run.files[named.task].path.name}, which is taken"
    else:
        run.files[named.task] = named
    return run


def _add_old(runs: dict[tuple[Path, str], _Run], path: Path, folders: _Folders, refused: dict[Path, str]) -> None:
    """Put an array of lm-eval 0.4.0 to 0.4.2 to its run: results.json holds the last run of its folder alone."""
    candidates = list(folders.old(path.parent))
    for results in candidates:
        named = _old_samples_file(path, results.part("configs"))
        if named is not None and named.arguments == results.model_args:
            run = _add(runs, (path.parent, f"old {named.arguments}"), named, refused)
            run.results = folders.load(results.path)
            return
    tasks = [task for results in candidates for task in results.part("configs")]
    named = _old_samples_file(path, (*tasks, *_KNOWN_TASKS))
    if named is None:
        refused[path] = (
            "an array of rows as lm-eval 0.4.0 to 0.4.2 wrote it, but its task cannot be told: "
            "put the run's results.json beside it"
        )
        return
    run = _add(runs, (path.parent, f"old {named.arguments}"), named, refused)
    lent = next((results for results in candidates if named.task in results.part("configs")), None)
    if run.results is None and lent is not None:
        folders.used.add(lent.path)
        run.results = lent.filters_only()


def _founds(run: _Run) -> Iterator[Found]:
    """The run's files by benchmark: the subjects of MMLU and the tasks of a scored group go together."""
    group_of: dict[str, tuple[str, Benchmark]] = {}
    if run.results is not None:
        for group, leaves in run.results.groups().items():
            if all(leaf not in _KNOWN_TASKS and leaf.isprintable() for leaf in leaves):
                benchmark = _group_benchmark(group, leaves)
                group_of |= dict.fromkeys(leaves, (group, benchmark))
    parts: dict[str, tuple[Benchmark, list[Path]]] = {}
    for task, named in run.files.items():
        group, benchmark = group_of.get(task, (task, of_task(task)))
        if benchmark.name == _MMLU:
            group = _MMLU
        parts.setdefault(group, (benchmark, []))[1].append(named.path)
    arguments = next(iter(run.files.values())).arguments
    for task, (benchmark, paths) in parts.items():
        yield _found(run, task, benchmark, paths, arguments)


def _group_benchmark(group: str, leaves: tuple[str, ...]) -> Benchmark:
    """Any group with a score of its own is one benchmark; its items are known by task and doc_id."""
    name = tidy_name(group)
    return Benchmark(
        name=name, title=name, total_items=None, metrics=(), key_field="subject/doc_id", tasks=leaves,
        default_task=name, subjects=leaves,
    )  # fmt: skip


def _found(run: _Run, task: str, benchmark: Benchmark, files: list[Path], arguments: str | None) -> Found:
    several = len(files) > 1
    if arguments is None:
        how = f"{len(files)} files named" if several else "one file named"
        how += " as lm-eval --log_samples does"
    else:
        how = f"{len(files)} files, each one array" if several else "one file, an array"
        how += " as lm-eval 0.4.0 to 0.4.2 wrote it"
    results = run.results
    named = results.model_name if results is not None else None
    if named and results is not None:
        model, whence = named, f"the model's name is from {results.path.name}"
    elif arguments is not None:
        model = _model_in(arguments) or run.folder.name
        whence = "the model's name is from the file's name, where / and = became __"
        if results is not None:
            whence += f" ({results.path.name} is of a later run, only the names of its filters are used)"
    elif results is not None:
        model, whence = run.folder.name, f"{results.path.name} names no model, so the folder's name is taken"
    else:
        model, whence = run.folder.name, "there is no readable results file of this run, so the folder's name is taken"
    version = results.body.get("lm_eval_version") if results is not None else None
    return Found(
        format=FORMAT,
        model=tidy_name(model) or "unnamed",
        benchmark=benchmark,
        task=tidy_name(task),
        files=tuple(sorted(files)),
        results_file=results.path if results is not None else None,
        timestamp=run.timestamp,
        why=how + (f" ({tidy_name(version)})" if isinstance(version, str) else "") + f"; {whence}",
    )


def _model_in(arguments: str) -> str:
    """The naming argument of what is in a file's name; "/" stays the "__" that it became."""
    for piece in arguments.split(","):
        name, sign, value = piece.partition("__")
        if sign and name in ("peft", "delta", "pretrained", "model", "path", "engine"):
            return value
    return arguments
