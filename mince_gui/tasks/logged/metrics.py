"""lm-eval's metrics that are reproduced, as 0.4.13 computes them for one item."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mince_gui.base.errors import InputError
from mince_gui.tasks.logged.patterns import compiled, without

CHOICE_METRICS = ("acc", "acc_norm", "acc_bytes", "exact_match")
TEXT_METRICS = ("exact_match",)
_SWITCHES = ("ignore_case", "ignore_punctuation", "ignore_numbers")


def why_not(output_type: str, metric: object, options: Mapping[str, Any]) -> str | None:
    """Why the metric cannot be reproduced; None where it can."""
    known = CHOICE_METRICS if output_type == "multiple_choice" else TEXT_METRICS
    if metric not in known:
        is_name = isinstance(metric, str) and metric.replace("-", "_").replace("+", "_").isidentifier()
        return "is not among the metrics that are reproduced" if is_name else "is code of the task's own"
    if output_type == "multiple_choice":
        return None
    for name, value in options.items():
        if name == "regexes_to_ignore":
            if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
                return "has regexes_to_ignore that are no list of texts"
            try:
                for pattern in value:
                    compiled(pattern)
            except InputError as error:
                return f"ignores by a pattern: {error.message.rstrip('.')}"
        elif name not in _SWITCHES:
            return f"has an option {name!r} that is not known"
        elif not isinstance(value, bool | int | str):
            # some task files write '"true"', which lm-eval takes for true as it takes any text but ""
            return f"has an option {name!r} that is neither true nor false"
    return None


def of_choices(
    metric: str, logprobs: Sequence[float], greedy: Sequence[bool], choices: Sequence[str], gold: Sequence[int]
) -> float:
    """0 or 1. `choices` are the answers without the delimiter; `gold` the right ones' places, empty where none is."""
    if metric == "exact_match":
        return float(any(greedy[place] for place in gold))
    # first of equal ones, and numpy's division by an empty answer's length: as lm-eval
    values = np.asarray(logprobs, dtype=np.float64)
    if metric == "acc_norm":
        values = _over(values, [len(choice) for choice in choices])
    elif metric == "acc_bytes":
        values = _over(values, [len(choice.encode("utf-8", "surrogatepass")) for choice in choices])
    return float(int(np.argmax(values)) in gold)


def _over(values: np.ndarray[Any, np.dtype[np.float64]], lengths: Sequence[int]) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return values / np.asarray(lengths, dtype=np.float64)


def exact_match(read: str, gold: Sequence[str], options: Mapping[str, Any]) -> float:
    """1 where what was read equals any of the gold texts, after what the options take away from both."""
    # arrays of text as lm-eval has them: they cut what grows in lower case, and drop final NULs
    ours: Any = np.asarray([read] * len(gold))
    theirs: Any = np.asarray(list(gold))
    for pattern in options.get("regexes_to_ignore") or ():
        ours = np.array([without(pattern, str(text)) for text in ours])
        theirs = np.array([without(pattern, str(text)) for text in theirs])
    if options.get("ignore_case", False):
        ours, theirs = np.char.lower(ours), np.char.lower(theirs)
    for name, signs in (("ignore_punctuation", string.punctuation), ("ignore_numbers", string.digits)):
        if options.get(name, False):
            table = str.maketrans("", "", signs)
            ours = np.array([str(text).translate(table) for text in ours])
            theirs = np.array([str(text).translate(table) for text in theirs])
    return float(bool(np.any(ours == theirs)))
