"""Whether a score is a percentage or a share of 1: 0.6539 and 65.39 are one score, 0.6539 % is another.

Nothing is guessed: what can be read in both ways is refused, with both readings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from mince_gui.base.errors import InputError, UsageError

Unit = Literal["percent", "share"]


def percent_typed(name: str, text: str, unit: Unit | None = None) -> float:
    """A score as somebody typed it, in percent: "65.39", "65.39%", or with `unit` "share" "0.6539".

    Raises UsageError for what is no number, is out of range, or could be either.
    """
    number, sign = text.strip().removesuffix("%").rstrip(), text.strip().endswith("%")
    try:
        value = float(number)
    except ValueError:
        point = f"; write {number.replace(',', '.')}" if number.count(",") == 1 and "." not in number else ""
        raise UsageError(f"{name}={text} is no number{point}.", "Scores are in percent, such as acc=65.39.") from None
    if sign and unit == "share":
        raise UsageError(f"{name}={text} is a percentage, and --unit says shares.", "Leave the sign or the unit out.")
    return percent_given(name, value, "percent" if sign else unit)


def percent_given(name: str, value: float, unit: Unit | None = None) -> float:
    """A score as a number, in percent. `unit` None takes it for a percentage unless it may be a share.

    Raises UsageError as `percent_typed` does.
    """
    if not math.isfinite(value) or not 0.0 <= value <= 100.0:
        raise UsageError(f"{name}={value:g} is no percentage.", "Scores are in percent, 0 to 100.")
    if unit == "share":
        if value > 1.0:
            raise UsageError(
                f"{name}={value:g} is no share of 1: as one it would be {100 * value:g} %.",
                f"If {value:g} % is meant: --unit percent",
            )
        return 100.0 * value
    if unit is None and 0.0 < value <= 1.0:
        raise UsageError(
            f"{name}={value:g} may be a share, which is {100 * value:g} %, or a percentage, {value:g} %.",
            f"Say which: {name}={100 * value:g}, or {name}={value:g}%",
        )
    return value


def shares_read(where: str, scores: Mapping[str, float], unit: Unit | None = None) -> dict[str, float]:
    """The scores of one task in a file, in percent. `unit` None takes them for shares of 1, as lm-eval writes them.

    `where` names file and task. Raises InputError where a score is out of range, or the whole set looks like the other
    unit.
    """
    for name, value in scores.items():
        if not math.isfinite(value) or not 0.0 <= value <= 100.0:
            raise InputError(f"{where}: {name} is {value:g}, which is no score.", "Check the file.")
    largest = max(scores.values(), default=0.0)
    named = next((name for name, value in scores.items() if value == largest), "")
    if unit == "percent":
        if 0.0 < largest <= 1.0:
            raise InputError(
                f"{where}: as percentages no score would be above 1 % ({named} is {largest:g}); "
                f"as shares {named} is {100 * largest:g} %.",
                "Leave --unit out if they are shares of 1, as lm-eval writes them.",
            )
        return dict(scores)
    if largest > 1.0:
        raise InputError(
            f"{where}: {named} is {largest:g}, and lm-eval writes shares of 1: as a percentage it is {largest:g} %, "
            f"as a share {100 * largest:g} %.",
            "If the file holds percentages: --unit percent",
        )
    return {name: 100.0 * value for name, value in scores.items()}
