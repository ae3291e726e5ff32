"""What speaks for a report and what against it, in a few lines for a reader who must decide on it."""

from __future__ import annotations

from collections.abc import Iterator

from mince_gui.report import format as fmt
from mince_gui.report.asking import PARITY
from mince_gui.report.documents.page import Cell, State
from mince_gui.report.model import Report
from mince_gui.report.place import is_proven, place_words

TRUST_HEADER = ("what", "for or against", "how it stands")
_SPEAKS: dict[State, str] = {"good": "for it", "warn": "with reserve", "bad": "against it", "plain": "", "soft": ""}


def trust_rows(report: Report) -> Iterator[tuple[Cell, Cell, Cell]]:
    """(what, which way it speaks, how it stands), in the order in which they matter."""
    for what, state, words in (
        _coverage(report), _content(report), _draw(report), _size(report), _answers(report),
        _full_score(report), _place(report), _repeats(report), _method(report),
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


def _size(report: Report) -> Row:
    """Whether there are as many items as the sizing advised; "" where the subset keeps no sizing."""
    curve, coverage = report.curve, report.coverage
    if curve is None or coverage.wanted == coverage.total:
        return "", "plain", ""
    what = "number of items"
    if curve.n_star is None:
        return what, "warn", f"{coverage.wanted:,}; the sizing found no size (n*) from which more items gain little"
    if coverage.wanted < curve.n_star:
        bound = "" if report.bound is None else f"; the bound is {fmt.pp(report.bound.pp, signed=False)}"
        return what, "warn", f"only {coverage.wanted:,}, where the sizing advised {curve.n_star:,} (n*){bound}"
    enough = "as many as" if coverage.wanted == curve.n_star else f"more than the {curve.n_star:,} that"
    return what, "good", f"{coverage.wanted:,}, {enough} the sizing advised (n*)"


def _answers(report: Report) -> Row:
    """Of generated answers: how many were cut, repeat themselves, or are empty."""
    if report.answers.budget is None:
        return "", "plain", ""
    faults = "; ".join(short for short, _ in report.answers.words())
    if faults:
        return "answers", "warn", f"{faults} (of {report.coverage.done:,})"
    return "answers", "good", "none was cut, is empty or repeats itself without end"


def _full_score(report: Report) -> Row:
    judged = [metric for metric in report.metrics if metric.verdict in ("inside", "outside")]
    if report.verdict == "full run":
        return "full score to compare with", "good", "this is a full run"
    kind = next((source.kind for source in report.sources if source.use == "own full run"), "own full run")
    whose = "the same model's own full run" if kind == "own full run" else f"the same model's full score, {kind}"
    if judged:
        return "full score to compare with", "good", f"{whose}: drift is told apart from everything else"
    if any(metric.drift_pp is not None for metric in report.metrics):
        return "full score to compare with", "warn", f"{whose}, but drift could not be judged"
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
