"""What single values of a run from elsewhere may be: types, lengths, bounds within which sums and rates stay numbers.

A kind gives the value as the workspace stores it, or raises `OddValue`, which says what the value is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from mince_gui.store.transfer import last_name

RUN_ID = re.compile("[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")

_SHA256 = re.compile("[0-9a-f]{64}")
_LONGEST_NAME = 500
_TIME = "a time in UTC, such as 2026-11-30T09:00:00+00:00"
_LARGEST = 10**15
_LONGEST = 1e9
_SHORTEST = 1e-9
"""Seconds: a rate over less than that, or a sum over more, may be no number."""

Kind = Callable[[Any], Any]


class OddValue(Exception):  # noqa: N818 - a finding about a value, made an InputError where its place is known
    """What a value is not: ends the line "'field' is not ..."."""


def text(value: Any) -> str:
    """A text that can be stored."""
    if not isinstance(value, str):
        raise OddValue("a text")
    try:
        value.encode()
    except UnicodeEncodeError as exc:
        raise OddValue("a whole text: it holds half a character") from exc
    return value


def name(value: Any) -> str:
    """A short text of one line, not empty."""
    found = text(value)
    if not 0 < len(found) <= _LONGEST_NAME or not found.isprintable():
        raise OddValue(f"a name of 1 to {_LONGEST_NAME} printable characters")
    return found


def place(value: Any) -> str:
    """A file or folder by its name alone."""
    found = text(value)
    if last_name(found) != found or found in (".", ".."):
        raise OddValue("a name without a folder")
    return found


def whole(least: int = 0) -> Kind:
    """A whole number of at least `least`."""

    def kind(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
            raise OddValue(f"a whole number from {least} to {_LARGEST:.0e}")
        return value

    return kind


def number(value: Any) -> float:
    """A number of either sign."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= _LARGEST:
        raise OddValue("a number")
    return value


def seconds(value: Any) -> float:
    """No time, or one that was measured."""
    found = number(value)
    if found != 0 and not _SHORTEST <= found <= _LONGEST:
        raise OddValue("an amount of seconds")
    return found


def as_real(inner: Kind) -> Kind:
    """The kind, for a column that makes a float of every number."""

    def kind(value: Any) -> float:
        return float(inner(value))

    return kind


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise OddValue("true or false")
    return value


def sha256(value: Any) -> str:
    """A SHA-256 in hex."""
    if not isinstance(value, str) or _SHA256.fullmatch(value) is None:
        raise OddValue("a SHA-256")
    return value


def run_id(value: Any) -> str:
    """The id of a run."""
    if not isinstance(value, str) or RUN_ID.fullmatch(value) is None:
        raise OddValue("the id of a run")
    return value


def moment(value: Any) -> str:
    """A time as the workspace stores it."""
    try:
        found = datetime.fromisoformat(text(value))
    except ValueError as exc:
        raise OddValue(_TIME) from exc
    # Times are compared and sorted as texts.
    if found.tzinfo != UTC or found.isoformat(timespec="seconds") != value:
        raise OddValue(_TIME)
    return str(value)


def one_of(*words: str) -> Kind:
    """One of some words."""

    def kind(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise OddValue(f"one of {', '.join(words)}")
        return value

    return kind


def list_of(inner: Kind) -> Kind:
    """A list of one kind."""

    def kind(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise OddValue("a list")
        return [inner(entry) for entry in value]

    return kind


def or_none(inner: Kind) -> Kind:
    """The kind, or nothing."""

    def kind(value: Any) -> Any:
        return None if value is None else inner(value)

    return kind


def object_with(known: Mapping[str, Kind]) -> Kind:
    """An object in which what is known by name has its kind; what is not known is only told to the reader."""

    def kind(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise OddValue("an object")
        return {name: _of_kind(known[name], name, inner) if name in known else inner for name, inner in value.items()}

    return kind


def _of_kind(kind: Kind, name: str, value: Any) -> Any:
    try:
        return kind(value)
    except OddValue as exc:
        raise OddValue(f"one whose '{name}' is {exc}") from exc


def anything(value: Any) -> Any:
    """Any JSON value."""
    return value


def read_by_filter(value: Any) -> dict[str, str]:
    """Filter -> what it read; lone surrogates of a broken answer may be in it."""
    if not isinstance(value, dict) or not all(isinstance(read, str) for read in value.values()):
        raise OddValue("an object of texts")
    return value


def scores(value: Any) -> dict[str, list[float]]:
    """Metric -> [passed, trials], by name as the workspace gives them back."""
    if not isinstance(value, dict) or not value:
        raise OddValue("an object of scores")
    found = {}
    for metric, cell in value.items():
        name(metric)
        if not isinstance(cell, list) or len(cell) != 2:
            raise OddValue(f"[passed, trials] for {metric}")
        passed, trials = float(number(cell[0])), float(number(cell[1]))
        if not 0 <= passed <= trials or not trials >= 1:
            raise OddValue(f"passed from 0 to trials, and at least one trial, for {metric}")
        found[metric] = [passed, trials]
    return dict(sorted(found.items()))
