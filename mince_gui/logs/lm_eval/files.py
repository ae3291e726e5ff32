"""Which files of a folder are lm-eval logs, which belong together, and whose they are."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mince_gui.benchmarks import Benchmark, of_task
from mince_gui.logs.lines import first_bytes
from mince_gui.logs.lm_eval.results import Results, load_results, tidy_name
from mince_gui.logs.types import Claim, Found

FORMAT = "lm-eval samples"

_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}(?:\.\d+)?"
_SAMPLES = re.compile(rf"samples_(?P<task>.+?)(?:_(?P<time>{_TIME}))?\.jsonl?(?:\.gz)?")
_RESULTS = re.compile(rf"(?:.*_)?(?P<time>{_TIME})\.json|results\.json")
_GROUPED = "mmlu"


@dataclass(frozen=True)
class SamplesFile:
    """One samples file and what its name says; `timestamp` is "" where the name has none."""

    path: Path
    task: str
    timestamp: str

    @property
    def group(self) -> tuple[Path, str, str]:
        """Files with the same group are one run: the subjects of MMLU go together, any other task stands alone."""
        return self.path.parent, self.timestamp, group_task(self.task)


def samples_file(path: Path) -> SamplesFile | None:
    """What the file's name says, None where it is no name of a samples file."""
    match = _SAMPLES.fullmatch(path.name)
    return SamplesFile(path, match["task"], match["time"] or "") if match else None


def group_task(task: str) -> str:
    """The task under which files are one run."""
    return _GROUPED if of_task(task).name == _GROUPED else task


def subject_of(benchmark: Benchmark, path: Path) -> str | None:
    """The MMLU subject that the file's name tells, None for other benchmarks and other names."""
    if benchmark.name != _GROUPED:
        return None
    named = samples_file(path)
    subject = named.task.removeprefix(f"{_GROUPED}_") if named else ""
    return subject if subject in benchmark.subjects else None


def _why_unusable(path: Path) -> str | None:
    """Why the file cannot be a samples file, judged by its first bytes."""
    try:
        head = first_bytes(path).lstrip()
    except (OSError, EOFError, zlib.error) as exc:
        return f"cannot be read ({exc})"
    if not head:
        return "empty"
    if head.startswith(b"["):
        return (
            "one JSON array in place of lines (lm-eval 0.4.0 to 0.4.2 wrote that), which is not read; "
            "evaluate again with 0.4.3 or newer"
        )
    if not head.startswith(b"{") and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "named like a log, but does not begin with a JSON object"
    return None


def _results_of(folder_files: Iterable[Path], timestamp: str) -> Path | None:
    """The results file of a run: same time stamp; results_<time>.json before <other stem>_<time>.json."""
    matches = []
    for path in folder_files:
        match = _RESULTS.fullmatch(path.name)
        if match and samples_file(path) is None and (match["time"] or "") == timestamp:
            matches.append(path)
    return min(matches, key=lambda path: (not path.name.startswith("results"), path.name), default=None)


def _siblings(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return []  # a single file was named in a folder that cannot be listed: it stands alone


def claim(files: Iterable[Path]) -> Claim:
    """The runs among `files`, and why files that are named like lm-eval's belong to none."""
    skipped: dict[Path, str] = {}
    groups: dict[tuple[Path, str, str], dict[str, SamplesFile]] = {}
    others: list[Path] = []
    for path in sorted(files):
        named = samples_file(path)
        if named is None:
            others.append(path)
            continue
        reason = _why_unusable(path)
        if reason is not None:
            skipped[path] = reason
            continue
        members = groups.setdefault(named.group, {})
        if named.task in members:
            # sorted order: x.jsonl comes before x.jsonl.gz
            skipped[path] = f"a second copy of {members[named.task].path.name}, which is taken"
        else:
            members[named.task] = named
    found: list[Found] = []
    used: set[Path] = set()
    loaded: dict[Path, Results] = {}
    listings: dict[Path, list[Path]] = {}
    for (folder, timestamp, task), members in groups.items():
        if folder not in listings:
            listings[folder] = _siblings(folder)
        results_path = _results_of(listings[folder], timestamp)
        if results_path is not None:
            used.add(results_path)
            if results_path not in loaded:
                loaded[results_path] = load_results(results_path)
        results = loaded.get(results_path) if results_path is not None else None
        if results is not None and results.fault:
            skipped[results.path] = results.fault
            results = None
        found.append(_found(folder, timestamp, task, [m.path for m in members.values()], results))
    for path in others:
        if path not in used and _RESULTS.fullmatch(path.name):
            skipped[path] = "a results file without samples of the same time beside it: evaluate with --log_samples"
    return Claim(tuple(found), skipped, frozenset(used))


def _found(folder: Path, timestamp: str, task: str, files: list[Path], results: Results | None) -> Found:
    benchmark = of_task(samples.task) if (samples := samples_file(files[0])) else of_task(task)
    shape = f"{len(files)} files named" if len(files) > 1 else "one file named"
    named = results.model_name if results is not None else None
    if named:
        assert results is not None
        model, whence = named, f"the model's name is from {results.path.name}"
    elif results is not None:
        model, whence = folder.name, f"{results.path.name} names no model, so the folder's name is taken"
    else:
        model, whence = folder.name, "there is no readable results file of this run, so the folder's name is taken"
    return Found(
        format=FORMAT,
        model=tidy_name(model) or "unnamed",
        benchmark=benchmark,
        task=tidy_name(task),
        files=tuple(sorted(files)),
        results_file=results.path if results is not None else None,
        timestamp=timestamp,
        why=f"{shape} as lm-eval --log_samples does; {whence}",
    )
