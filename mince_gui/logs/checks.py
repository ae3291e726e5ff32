"""What is noteworthy in one log: said with counts and examples, never repaired."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mince_gui.benchmarks import keys_of
from mince_gui.benchmarks.known_items import strangers, unknown_keys
from mince_gui.logs.collect import Collector, Outcome, Tally
from mince_gui.logs.types import Check, PerItemLog, Severity

OF_METRICS = frozenset({"missing_values", "trials_unknown", "constant_column"})
"""Kinds whose refusal is of one metric of a log; any other refusal is of the whole log."""
ANSWERS = "answers_digest"
"""The name in `meta` under which equal texts of all responses are recognised; absent where none are stored."""

_TOLERANCE_PP = 0.005
"""Reported and recomputed scores may differ by rounding, in pp."""
_FEW = 100
"""Below so many items a column of equal outcomes may be chance."""
_MANY_EMPTY = 0.05
"""Above this share empty responses are a warning."""
_GAP_PP = 10.0
"""Two readings of one answer that lie further apart, in pp, are a warning."""
_FEW_CHANGED = 5
"""So many items may have been corrected in another copy of the data without a warning."""
_MASK = (1 << 64) - 1
_READINGS = ("exact_match,strict-match", "exact_match,flexible-extract")
"""Two filters that read one and the same answer."""


class Observed:
    """What a reader notices row by row."""

    def __init__(self) -> None:
        self.no_content = Tally()
        self.null = Tally()
        self.empty = Tally()
        self.missing = Tally()
        self.loose_below = Tally()
        self.loose_below_instructions = 0
        self._answers = 0
        self._answers_sum = 0

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

    def answer(self, key: str, text: str) -> None:
        """Take note of a response's text, in any order: two models never give the same ones throughout."""
        self._answers += 1
        # a checksum per item and a plain sum: cheap, and the order of the rows does not matter
        self._answers_sum += zlib.crc32(text.encode("utf-8", "surrogatepass"), zlib.crc32(key.encode())) * 0x9E3779B1

    @property
    def answers_digest(self) -> str | None:
        """What stands for all responses; None where none were noted."""
        return f"{self._answers}:{self._answers_sum & _MASK:016x}" if self._answers else None

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


def checks_of(
    log: PerItemLog, collector: Collector, observed: Observed, limit: float | None, extra: Sequence[Check] = ()
) -> PerItemLog:
    """The same log with its checks; `extra` are the format's own, which come first."""
    missing, null, empty = len(observed.missing), len(observed.null), len(observed.empty)
    twice, bare = len(collector.duplicates), len(observed.no_content)
    _add_loose_below(log, observed)
    below = len(observed.loose_below)
    checks = [
        *extra,
        *_coverage(log, limit, salvaged=any(check.kind == "salvaged" for check in extra)),
        *_contents(log),
        *_of("missing_values", "warning", observed.missing, f"{counted(missing, 'item')} without a metric's value."),
        *_of("null_responses", "warning", observed.null, f"{counted(null, 'item')} without a response (null)."),
        *_of(
            "empty_responses", "warning" if empty > _MANY_EMPTY * len(log.keys) else "info", observed.empty,
            f"{counted(empty, 'item')} with an empty response.",
        ),
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
        *_metrics(log, observed),
        *_gap(log),
        *_mixed(log),
        *_reported(log),
        *_order(collector),
    ]  # fmt: skip
    meta = dict(log.meta)
    if observed.answers_digest is not None:
        meta[ANSWERS] = observed.answers_digest
    return dataclasses.replace(log, checks=tuple(checks), meta=meta)


def refusal_of(checks: Sequence[Check]) -> Check | None:
    """The check that refuses a log as a whole; None where it may be sized."""
    return next((check for check in checks if check.severity == "refusal" and check.kind not in OF_METRICS), None)


def _coverage(log: PerItemLog, limit: float | None, *, salvaged: bool) -> Iterator[Check]:
    have = len(log.keys)
    meant = log.total_items
    unknown = unknown_keys(log.benchmark, log.keys)
    known = have - len(unknown)
    why = _why_partial(log, limit)
    if meant is not None and known < meant:
        all_keys = keys_of(log.benchmark) or ()
        there = frozenset(log.keys)
        lacking = tuple(key for key in all_keys if key not in there)
        yield Check("partial", "refusal", f"{known} of {meant} items.{why}", meant - known, lacking[:5])
    elif meant is None and limit is not None:
        yield Check("partial", "refusal", f"{have} items of an unknown number.{why}")
    elif meant is None and salvaged:
        yield Check("partial", "refusal", f"{counted(have, 'item')} of an unknown number were whole.")
    elif meant is not None and log.benchmark.total_items is None and have > meant:
        unknown = log.keys[meant:]
    if unknown:
        yield Check(
            "unknown_items", "refusal",
            f"{counted(len(unknown), 'item')} of {have} that {log.benchmark.title} does not have: another revision of "
            "the data, or another benchmark.",
            len(unknown), tuple(unknown[:5]),
        )  # fmt: skip


def _why_partial(log: PerItemLog, limit: float | None) -> str:
    if limit is not None:
        return f" The run had a limit of {limit:g}, which takes the first items only."
    if log.meta.get("samples"):
        return " The run was of chosen items (--samples)."
    all_keys = keys_of(log.benchmark)
    if all_keys is not None and 0 < len(log.keys) < len(all_keys) and log.keys == all_keys[: len(log.keys)]:
        return " They are the first ones, as a run with a limit or one that was broken off has them."
    return ""


def _contents(log: PerItemLog) -> Iterator[Check]:
    found = strangers(log.benchmark, log.keys, log.hashes)
    if found.swapped:
        yield Check(
            "mislabelled_items", "refusal",
            f"{counted(len(found.swapped), 'item')} with the content of another item: the rows are under wrong keys "
            "(lm-eval mislabels rows when --samples is not sorted).",
            len(found.swapped), found.swapped[:5],
        )  # fmt: skip
    if found.other:
        yield Check(
            "other_content", "warning" if len(found.other) > _FEW_CHANGED else "info",
            f"{counted(len(found.other), 'item')} with another content than in the known copy of the data.",
            len(found.other), found.other[:5],
        )  # fmt: skip


def _add_loose_below(log: PerItemLog, observed: Observed) -> None:
    """Notice from the counts what a reader did not see for want of a list of verdicts."""
    for level in ("prompt", "inst"):
        strict, loose = (log.passed.get(f"{level}_level_{kind}_acc") for kind in ("strict", "loose"))
        if strict is None or loose is None:
            continue
        for place in np.flatnonzero(loose < strict):
            observed.loose_below_strict(log.keys[place], round(strict[place] - loose[place]) or 1)


def metric_faults(log: PerItemLog) -> dict[str, Check]:
    """Why a metric of the log cannot be sized, by metric: each a refusal of that metric, not of the log."""
    faults: dict[str, Check] = {}
    wrong: dict[str, Check] = {}
    ratios = {metric.name for metric in log.benchmark.metrics if metric.ratio}
    for metric in log.metrics:
        passed, trials = log.passed[metric], log.trials[metric]
        absent = np.isnan(trials)
        have = int((~absent).sum())
        if not have:
            continue
        if absent.any():
            of = f"no {metric}, {have:,} of {len(log.keys):,} have it"
            faults[metric] = _fault(log, "missing_values", np.flatnonzero(absent), of)
        elif metric in ratios and ((passed % 1.0 > 0) & (trials == 1.0)).any():
            means = np.flatnonzero((passed % 1.0 > 0) & (trials == 1.0))
            faults[metric] = _fault(
                log, "trials_unknown", means, f"a mean in place of counts for {metric}, a ratio over all instructions"
            )
        elif have >= _FEW and (passed == trials).all():
            faults[metric] = _constant(metric, have, right=True, severity="refusal")
        elif have >= _FEW and not passed.any():
            wrong[metric] = _constant(metric, have, right=False, severity="refusal")
    # one metric without a single hit is a matter of form; without any hit the answers were never read
    return faults | wrong if len(faults) + len(wrong) == len(log.metrics) else faults


def _fault(log: PerItemLog, kind: str, places: npt.NDArray[np.intp], what: str) -> Check:
    have = "item has" if len(places) == 1 else "items have"
    return Check(kind, "refusal", f"{len(places)} {have} {what}.", len(places), tuple(log.keys[i] for i in places[:5]))


def _constant(metric: str, items: int, *, right: bool, severity: Severity) -> Check:
    if right:
        message = (
            f"{metric}: every item is right, which no model manages: gold answers in place of the model's, or a scorer "
            "that lets all pass."
        )
    else:
        message = f"{metric}: every item is wrong. Look whether the answers were read at all."
    return Check("constant_column", severity, message, items)


def _metrics(log: PerItemLog, observed: Observed) -> Iterator[Check]:
    """The faults of metrics; and columns that are constant without being refused, as they may be chance or form."""
    faults = metric_faults(log)
    for metric, fault in faults.items():
        if fault.kind == "missing_values":
            absent = np.flatnonzero(np.isnan(log.trials[metric]))
            if observed.missing.keys.keys() >= {log.keys[place] for place in absent}:
                continue  # counted already, once for all metrics; rows that are not there at all are not among those
        yield fault
    for metric in log.metrics:
        have = ~np.isnan(log.trials[metric])
        passed, trials = log.passed[metric][have], log.trials[metric][have]
        if metric not in faults and len(log.keys) > 1 and len(passed):
            if (passed == trials).all():
                yield _constant(metric, len(passed), right=True, severity="warning")
            elif not passed.any():
                yield _constant(metric, len(passed), right=False, severity="warning")


def _gap(log: PerItemLog) -> Iterator[Check]:
    strict, flexible = (log.score(m) if m in log.passed else None for m in _READINGS)
    if strict is not None and flexible is not None and abs(flexible - strict) > _GAP_PP:
        yield Check(
            "filter_gap", "warning",
            f"strict-match gives {strict:.2f} %, flexible-extract {flexible:.2f} %: the answers are not in the form "
            "that strict-match reads (it takes the first ####, also one of an example that the model recites).",
        )  # fmt: skip


def _mixed(log: PerItemLog) -> Iterator[Check]:
    for name, title in (("task_version", "task versions"), ("n_shot", "numbers of examples"), ("dataset", "data sets")):
        values = log.meta.get(name)
        if isinstance(values, list):
            shown = ", ".join(str(value)[:40] for value in values[:5])
            yield Check(
                "mixed_setup", "warning", f"The files of this run have different {title}: {shown}.", len(values)
            )


def _order(collector: Collector) -> Iterator[Check]:
    if not collector.in_order:
        yield Check(
            "order", "info",
            "The rows were in another order than the benchmark's items, as runs on several devices or threads write "
            "them. They are in order now.",
            len(collector),
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
