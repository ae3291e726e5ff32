"""What is noteworthy in one log: said with counts and examples, never repaired."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from mince_gui.logs.collect import Collector, Outcome, Tally
from mince_gui.logs.types import Check, PerItemLog, Severity

_TOLERANCE_PP = 0.005
"""Reported and recomputed scores may differ by rounding, in pp."""


class Observed:
    """What a reader notices row by row."""

    def __init__(self) -> None:
        self.no_content = Tally()
        self.null = Tally()
        self.empty = Tally()
        self.missing = Tally()
        self.loose_below = Tally()
        self.loose_below_instructions = 0

    def row(self, key: str, outcomes: Sequence[Outcome], content: str | None, response: str) -> None:
        """Count one row. `response` is "null", "empty", "given" or "not stored"."""
        if content is None:
            self.no_content.add(key)
        if response == "null":
            self.null.add(key)
        elif response == "empty":
            self.empty.add(key)
        for outcome in outcomes:
            if outcome[1] != outcome[1]:
                self.missing.add(key)

    def loose_below_strict(self, key: str, instructions: int) -> None:
        """Count an IFEVAL item in which so many instructions pass strictly but not loosely."""
        if key not in self.loose_below.keys:
            self.loose_below.add(key)
            self.loose_below_instructions += instructions


def counted(count: int, word: str) -> str:
    """The count with its noun: 1 item, 2 items."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _of(kind: str, severity: Severity, tally: Tally, message: str) -> Iterator[Check]:
    if len(tally):
        yield Check(kind, severity, message, len(tally), tally.examples)


def checks_of(log: PerItemLog, collector: Collector, observed: Observed, limit: float | None) -> PerItemLog:
    """The same log with its checks."""
    missing, null, empty = len(observed.missing), len(observed.null), len(observed.empty)
    twice, below, bare = len(collector.duplicates), len(observed.loose_below), len(observed.no_content)
    checks = [
        *_coverage(log, limit),
        *_of("missing_values", "warning", observed.missing, f"{counted(missing, 'item')} without a metric's value."),
        *_of("null_responses", "warning", observed.null, f"{counted(null, 'item')} without a response (null)."),
        *_of("empty_responses", "info", observed.empty, f"{counted(empty, 'item')} with an empty response."),
        *_of(
            "duplicates", "warning", collector.duplicates,
            f"{counted(twice, 'item')} more than once in the log, each time with the same outcome.",
        ),
        *_of(
            "loose_below_strict", "warning", observed.loose_below,
            f"{counted(observed.loose_below_instructions, 'instruction')} in {counted(below, 'item')} judged right "
            "strictly but wrong loosely: the scorer of these is partly random.",
        ),
        *_of(
            "no_docs", "info", observed.no_content,
            f"{counted(bare, 'item')} without content in the log, known by key alone.",
        ),
        *_constant(log),
        *_reported(log),
    ]  # fmt: skip
    return dataclasses.replace(log, checks=tuple(checks))


def _coverage(log: PerItemLog, limit: float | None) -> Iterator[Check]:
    have = len(log.keys)
    meant = log.benchmark.total_items
    if meant is None:
        said = log.meta.get("items_meant")
        meant = said if isinstance(said, int) else None
    limited = f" The run had a limit of {limit:g}, which takes the first items only." if limit is not None else ""
    if meant is not None and have < meant:
        yield Check("partial", "refusal", f"{have} of {meant} items.{limited}", meant - have)
    elif meant is None and limit is not None:
        yield Check("partial", "refusal", f"{have} items of an unknown number.{limited}")
    if log.benchmark.total_items is not None and have > log.benchmark.total_items:
        over = have - log.benchmark.total_items
        yield Check(
            "unknown_items", "refusal",
            f"{have} items, {over} more than {log.benchmark.title} has.", over, log.keys[-min(over, 5) :],
        )  # fmt: skip


def _constant(log: PerItemLog) -> Iterator[Check]:
    if len(log.keys) < 2:
        return
    for metric in log.metrics:
        have = ~np.isnan(log.trials[metric])
        passed, trials = log.passed[metric][have], log.trials[metric][have]
        if not len(passed):
            continue
        for verdict, all_so in (("wrong", not passed.any()), ("right", bool((passed == trials).all()))):
            if all_so:
                yield Check(
                    "constant_column", "warning",
                    f"{metric}: every item is {verdict}. Look whether the answers were read at all.", len(passed),
                )  # fmt: skip


def _reported(log: PerItemLog) -> Iterator[Check]:
    reported = log.meta.get("reported")
    if not isinstance(reported, dict) or log.benchmark.subjects:
        # the mean over a group of tasks was weighted differently by version: recomputed, never compared
        return
    for metric in log.metrics:
        said, own = reported.get(metric), log.score(metric)
        if said is not None and own is not None and abs(100.0 * said - own) > _TOLERANCE_PP:
            yield Check(
                "results_disagree", "warning",
                f"{metric}: the rows give {own:.2f} %, the results file says {100.0 * said:.2f} %.",
            )  # fmt: skip
