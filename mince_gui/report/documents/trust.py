"""What speaks for a report and what against it, in a few lines for a reader who must decide on it."""

from __future__ import annotations

from collections.abc import Iterator

from mince_gui.report import format as fmt
from mince_gui.report.asking import PARITY
from mince_gui.report.documents.page import Cell, State
from mince_gui.report.model import Report
from mince_gui.report.place import is_proven, place_words

_SPEAKS: dict[State, str] = {"good": "for it", "warn": "with reserve", "bad": "against it", "plain": "", "soft": ""}


def trust_rows(report: Report) -> Iterator[tuple[Cell, Cell, Cell]]:
    """(what, which way it speaks, how it stands), in the order in which they matter."""
    for what, state, words in (
        _coverage(report), _content(report), _draw(report), _full_score(report), _place(report), _repeats(report),
        _method(report),
    ):  # fmt: skip
        if words:
            yield Cell(what), Cell(_SPEAKS[state], state=state), Cell(words)


Row = tuple[str, State, str]


def _coverage(report: Report) -> Row:
    coverage = report.coverage
    if coverage.complete:
        return "items", "good", f"every one of the {coverage.wanted:,} items has a result"
    return "items", "warn", f"only {fmt.coverage(coverage.done, coverage.wanted)} have a result"


def _content(report: Report) -> Row:
    content, wanted = report.content, report.coverage.wanted
    if content.accepted:
        words = f"{fmt.coverage(len(content.accepted), wanted)} differ from what was frozen, and were accepted"
        return "content of the items", "bad", words
    if content.unverified:
        words = f"{fmt.coverage(content.unverified, wanted)} have no content hash to compare with"
        return "content of the items", "warn", words
    return "content of the items", "good", "equal to what was frozen, by content hash"


def _draw(report: Report) -> Row:
    if report.coverage.wanted == report.coverage.total:
        return "choice of the items", "good", "the whole benchmark"
    if report.drawn_uniformly:
        return "choice of the items", "good", "drawn at random before the run, each item as likely as any other"
    words = f"drawn by sampler {report.sampler}: bound and intervals, made for uniform draws, hold only roughly"
    return "choice of the items", "warn", words


def _full_score(report: Report) -> Row:
    judged = [metric for metric in report.metrics if metric.verdict in ("inside", "outside")]
    if report.verdict == "full run":
        return "full score to compare with", "good", "this is a full run"
    if judged:
        words = "the same model's own full run: drift is told apart from everything else"
        return "full score to compare with", "good", words
    if any(metric.drift_pp is not None for metric in report.metrics):
        return "full score to compare with", "warn", "the same model's own full run, but drift could not be judged"
    if any(metric.total_gap_pp is not None for metric in report.metrics):
        words = "only of another precision or source: the total gap cannot tell the subset from the model or the device"
        return "full score to compare with", "warn", words
    return "full score to compare with", "warn", "none: the score stands by itself, with its interval"


def _place(report: Report) -> Row:
    return "device", "good" if is_proven(report.conditions) else "warn", place_words(report.conditions)


def _repeats(report: Report) -> Row:
    smoke = report.conditions.get("smoke") or {}
    found = report.repeatability
    if found is not None and found.common:
        words = f"{len(found.differing):,} of {found.common:,} items got another verdict when run again"
        return "repeatability", "warn" if found.differing else "good", words
    if smoke:
        same = bool(smoke.get("repeated"))
        words = f"a fixed prompt, asked twice, was answered {'the same' if same else 'not the same'}"
        return "repeatability", "good" if same else "warn", words
    return "repeatability", "warn", "nothing was run twice"


def _method(report: Report) -> Row:
    if not report.methods:
        return "", "plain", ""
    others = sum(number for name, number in report.methods.items() if name not in PARITY)
    if others:
        return "parity with lm-eval", "warn", f"not promised for {others:,} items (how they were scored stands below)"
    return "parity with lm-eval", "good", "promised for the way in which the choices were scored"
