"""What a sample's scores are as outcomes: passed and trials per metric.

A plain value is one metric, named as its scorer. A list is a ratio. A dictionary is one metric per key, named
scorer.key; the counts of inspect_evals' ifeval become the ratios they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mince_gui.logs.assemble import Reading, is_name
from mince_gui.logs.collect import NAN, Outcome
from mince_gui.logs.values import outcome, plain_number

_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_IFEVAL = {
    "prompt_level_strict": "prompt_level_strict_acc",
    "inst_level_strict": "inst_level_strict_acc",
    "prompt_level_loose": "prompt_level_loose_acc",
    "inst_level_loose": "inst_level_loose_acc",
}
_COUNT = "num_instructions"


def outcomes_of(scores: Mapping[str, Any] | None, reading: Reading) -> list[Outcome]:
    """The outcomes of one sample and epoch; values that are no shares are counted in `reading.left_out`."""
    found: list[Outcome] = []
    for scorer, score in (scores or {}).items():
        value = score.value
        if not is_name(scorer):
            continue
        if not isinstance(value, Mapping):
            found += outcome(scorer, value, reading, _number)
        elif _is_ifeval(value):
            found += _ifeval(value, reading)
        else:
            for key, inner in value.items():
                if is_name(key):
                    found += outcome(f"{scorer}.{key}", inner, reading, _number)
    return found


def _is_ifeval(value: Mapping[str, Any]) -> bool:
    return value.keys() == {*_IFEVAL, _COUNT}


def _ifeval(value: Mapping[str, Any], reading: Reading) -> Iterator[Outcome]:
    count = _number(value[_COUNT])
    for name, metric in _IFEVAL.items():
        passed = _number(value[name])
        trials = count if name.startswith("inst") else 1.0
        if passed is None or trials is None or not (math.isfinite(passed) and math.isfinite(trials) and trials > 0):
            yield metric, NAN, NAN
        elif 0 <= passed <= trials:
            yield metric, passed, trials
        else:
            reading.left_out[metric] = reading.left_out.get(metric, 0) + 1


def _number(value: Any) -> float | None:
    """The value as inspect_ai's own value_to_float reads it; NaN where there is none, None where it is no number."""
    if not isinstance(value, str):
        return plain_number(value)
    word = _LETTERS.get(value, _WORDS.get(value.lower()))
    if word is not None:
        return word
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def added(epochs: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """One item's outcomes over all its epochs: sums. A metric that one epoch lacks is missing."""
    sums: dict[str, tuple[float, float]] = {}
    times: dict[str, int] = {}
    for outcomes in epochs:
        for metric, passed, trials in outcomes:
            before = sums.get(metric, (0.0, 0.0))
            sums[metric] = (before[0] + passed, before[1] + trials)
            times[metric] = times.get(metric, 0) + 1
    return [
        (metric, passed, trials) if times[metric] == len(epochs) else (metric, NAN, NAN)
        for metric, (passed, trials) in sums.items()
    ]
