"""What formats write as a metric's value, as an outcome: a number or verdict, or a list of them as a ratio."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mince_gui.logs.assemble import Reading
from mince_gui.logs.collect import NAN, Outcome


def object_under(body: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The object under these names, one inside the other; empty where there is none."""
    value: Any = body
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def plain_number(value: Any) -> float | None:
    """The value as a float: NaN where it is null, None where it is no number."""
    if value is None:
        return NAN
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def outcome(
    metric: str, value: Any, reading: Reading, number: Callable[[Any], float | None] = plain_number
) -> Iterator[Outcome]:
    """The metric's passed and trials; nothing where a value is no share of 1: the log then goes without the metric."""
    parts = value if isinstance(value, list | tuple) else (value,)
    shares: list[float] = []
    for part in parts:
        given = number(part)
        if given is None:
            reading.left_out[metric] = reading.left_out.get(metric, 0) + 1
            return
        share = reading.share(metric, given)
        if share is None:
            return
        shares.append(share)
    # one unknown part would change the ratio's denominator: NaN makes the whole sum NaN, and the item is missing
    passed = sum(shares) if shares else NAN
    yield metric, passed, NAN if math.isnan(passed) else float(len(shares))


def filled(rows: Sequence[Sequence[Outcome]]) -> list[tuple[Outcome, ...]]:
    """The rows' outcomes, each with every metric that any row has: missing where the row says nothing of it."""

    names = dict.fromkeys(metric for outcomes in rows for metric, _, _ in outcomes)
    whole: list[tuple[Outcome, ...]] = []
    for outcomes in rows:
        have = {metric for metric, _, _ in outcomes}
        whole.append((*outcomes, *((metric, NAN, NAN) for metric in names if metric not in have)))
    return whole
