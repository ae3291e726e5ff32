"""What a reader must know before comparing runs: where they differ in more than what is compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mince_gui.report.comparison.fleet import by_subset
from mince_gui.report.comparison.model import Caution, CautionKind, ComparedRun, History, Pairing
from mince_gui.report.types import RunData

_NAMED = 5
"""Runs that a sentence names before it says how many more there are."""
_REFERENCES = 3
"""Full scores of one use whose reservations are told one by one; of more than these it is told that there are some."""
_LEVEL = 0.05
_PROMPTED = ("chat_template_sha256", "system_prompt", "prompt_date", "thinking_off")
"""Conditions that make the prompt of one model's item."""


def cautions_of(
    runs: Sequence[ComparedRun],
    data: Mapping[str, RunData],
    histories: Sequence[History],
    pairings: Sequence[Pairing],
) -> tuple[Caution, ...]:
    """In the order of their weight: first what makes scores of different things, last what makes only speeds so."""
    found = [
        *_coverage(runs), *_subsets(runs), *_content(runs, data), *_tasks(runs, data), *_prompts(runs, data),
        *_devices(runs), *_rescored(runs), *_references(runs), *_samplers(runs), *_many(histories, pairings),
        *_speeds(runs, data),
    ]  # fmt: skip
    return tuple(found)


def _ids(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    return tuple(run.run_id for run in runs)


def _list(runs: Sequence[ComparedRun]) -> str:
    shown = ", ".join(_ids(runs)[:_NAMED])
    return shown if len(runs) <= _NAMED else f"{shown} and {len(runs) - _NAMED:,} more"


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number:,} runs"


def _coverage(runs: Sequence[ComparedRun]) -> list[Caution]:
    part = [run for run in runs if not run.complete]
    if not part:
        return []
    words = f"{_runs(len(part))} of {len(runs):,} not complete ({_list(part)}): scores of a part of the items."
    return [Caution("coverage", words, _ids(part))]


def _subsets(runs: Sequence[ComparedRun]) -> list[Caution]:
    titles: dict[str, list[str]] = {}
    for subset in by_subset(runs):
        titles.setdefault(subset.title, []).append(f"{subset.name} ({subset.wanted:,} of {subset.total:,})")
    return [
        Caution(
            "subsets",
            f"{title} was run on {len(names)} different sets of items: {', '.join(names)}. Each has its own column; "
            "across columns scores are of different items.",
            _ids([run for run in runs if run.subset.title == title]),
        )
        for title, names in titles.items()
        if len(names) > 1
    ]


def _content(runs: Sequence[ComparedRun], data: Mapping[str, RunData]) -> list[Caution]:
    odd = [run for run in runs if data[run.run_id].accepted]
    words = f"{_list(odd)}: some items differ in content from what was frozen, and were accepted."
    return [Caution("content", words, _ids(odd))] if odd else []


def _differing(
    runs: Sequence[ComparedRun], group: Callable[[ComparedRun], Any], value: Callable[[ComparedRun], Any]
) -> list[list[ComparedRun]]:
    """The groups whose runs do not all have the same value."""
    groups: dict[Any, list[ComparedRun]] = {}
    for run in runs:
        groups.setdefault(group(run), []).append(run)
    return [members for members in groups.values() if len({repr(value(run)) for run in members}) > 1]


def _tasks(runs: Sequence[ComparedRun], data: Mapping[str, RunData]) -> list[Caution]:
    def of_benchmark(run: ComparedRun) -> str:
        return run.subset.benchmark.lower()

    found = []
    for group in _differing(runs, of_benchmark, lambda run: run.task):
        names = ", ".join(sorted({run.task or "not known" for run in group}))
        words = f"{group[0].subset.title} was asked by different tasks ({names}): their scores do not compare."
        found.append(Caution("task", words, _ids(group)))
    for group in _differing(runs, of_benchmark, lambda run: data[run.run_id].answers.budget):
        budgets = {data[run.run_id].answers.budget for run in group}
        named = ", ".join("not known" if b is None else f"{b:,}" for b in sorted(budgets, key=lambda b: (b is None, b)))
        words = f"{group[0].subset.title} was run with different token budgets ({named}): longer answers may be cut."
        found.append(Caution("budget", words, _ids(group)))
    return found


def _prompts(runs: Sequence[ComparedRun], data: Mapping[str, RunData]) -> list[Caution]:
    found = []
    for group in _differing(
        runs,
        lambda run: (run.subset.benchmark.lower(), run.base_model, run.task),
        lambda run: [data[run.run_id].conditions.get(name) for name in _PROMPTED],
    ):
        names = [name for name in _PROMPTED if len({repr(data[r.run_id].conditions.get(name)) for r in group}) > 1]
        told = ", ".join(name.removesuffix("_sha256").replace("_", " ") for name in names)
        words = (
            f"{group[0].subset.title}, {group[0].model}: the runs were not asked by the same prompts (they differ in "
            f"{told}), so their differences hold the prompts' effect as well."
        )
        found.append(Caution("prompts", words, _ids(group)))
    return found


def _devices(runs: Sequence[ComparedRun]) -> list[Caution]:
    unproven = [run for run in runs if run.device.endswith("not proven")]
    words = f"Where they ran is not proven: {_list(unproven)}."
    return [Caution("device", words, _ids(unproven))] if unproven else []


def _rescored(runs: Sequence[ComparedRun]) -> list[Caution]:
    again = [run for run in runs if run.rescored_of]
    pairs = ", ".join(f"{run.run_id} (of {run.rescored_of})" for run in again[:_NAMED])
    more = f" and {len(again) - _NAMED:,} more" if len(again) > _NAMED else ""
    words = f"Scored again from stored answers, nothing was run anew: {pairs}{more}."
    return [Caution("rescored", words, _ids(again))] if again else []


def _references(runs: Sequence[ComparedRun]) -> list[Caution]:
    """A fleet's one full run of a model is elsewhere for every other machine: that is told once, not for each."""
    about: dict[str, dict[tuple[str, str], list[ComparedRun]]] = {}
    for run in runs:
        for source in run.sources:
            if source.warnings:
                told = about.setdefault(source.use, {})
                told.setdefault((source.named, "; ".join(source.warnings)), []).append(run)
    found = []
    for use, told in about.items():
        if len(told) <= _REFERENCES:
            found += [
                Caution("reference", f"Full score of {named}: {warnings}.", _ids(theirs))
                for (named, warnings), theirs in told.items()
            ]
        else:
            theirs = [run for run in runs if any(source.use == use and source.warnings for source in run.sources)]
            what = (
                "an own full run that was made elsewhere (another machine, device or runtime)"
                if use == "own full run"
                else "a stored full score of which something differs, or is not known"
            )
            words = f"{_runs(len(theirs))} of {len(runs):,} held against {what}: the report of each says what."
            found.append(Caution("reference", words, _ids(theirs)))
    return found


def _samplers(runs: Sequence[ComparedRun]) -> list[Caution]:
    drawn = [run for run in runs if run.metrics and run.sampler not in ("uniform", "full")]
    names = ", ".join(sorted({run.sampler for run in drawn}))
    words = f"Subsets drawn by another sampler than the uniform one ({names}): intervals and bounds are approximate."
    return [Caution("sampler", words, _ids(drawn))] if drawn else []


def _many(histories: Sequence[History], pairings: Sequence[Pairing]) -> list[Caution]:
    # One pair of runs may stand in several places, and is one test of a metric all the same.
    tests = set[tuple[frozenset[str], str]]()
    for pairing in (*pairings, *(h.pairing for h in histories if h.pairing is not None)):
        tested = (metric.name for metric in pairing.paired.metrics if metric.p_value is not None)
        tests |= {(frozenset((pairing.run_id, pairing.paired.ident)), name) for name in tested}
    for history in histories:
        for point in history.points:
            for metric in point.metrics:
                changes = (c for c in (metric.to_previous, metric.to_first) if c is not None)
                tests |= {(frozenset((point.run_id, c.against)), metric.name) for c in changes if c.p_value is not None}
    number = len(tests)
    if number < 2:
        return []
    words = (
        f"{number:,} differences are tested here. Of so many tests about {_LEVEL * number:.2g} fall below p = {_LEVEL} "
        f"by chance alone; a single one is sound only below {_LEVEL / number:.1g} (Bonferroni)."
    )
    return [Caution("many comparisons", words)]


def _speeds(runs: Sequence[ComparedRun], data: Mapping[str, RunData]) -> list[Caution]:
    facts: tuple[tuple[CautionKind, str, Callable[[ComparedRun], str]], ...] = (
        ("timing", "timing modes", lambda run: run.timing or "not recorded"),
        ("timing", "numbers of threads", lambda run: f"{run.threads or 'chosen by ONNX Runtime'}"),
        ("power", "power states", lambda run: run.power or "not recorded"),
    )
    found = []
    for kind, what, value in facts:
        names = sorted(set(map(value, runs)))
        if len(names) > 1:
            words = f"The runs differ in their {what} ({'; '.join(names)}): their times and rates do not compare."
            found.append(Caution(kind, words))
    changed = [run for run in runs if data[run.run_id].conditions.get("changed")]
    if changed:
        words = f"{_list(changed)}: made in sittings that differ in device, threads or mode, so without a wall clock."
        found.append(Caution("sittings", words, _ids(changed)))
    return found
