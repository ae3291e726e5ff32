"""JSON from elsewhere: parsed within limits, every field checked, every fault named with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import orjson

from mince_gui.base.errors import InputError

_LONGEST_NUMBER = 40
_DEEPEST = 100
# Every digit as 0 and every E as e: finding numbers so is twenty times faster than with a pattern.
_SHAPE = bytes.maketrans(b"123456789E", b"000000000e")
_MANY_DIGITS = b"0" * 19
_HOLDING = frozenset({dict, list})


def parse_object(raw: bytes, where: str, remedy: str) -> dict[str, Any]:
    """The JSON object in `raw`. `where` names file and line. Raises InputError with `remedy`."""
    value = _quickly(raw)
    if value is None:
        value = _carefully(raw, where, remedy)
    if not isinstance(value, dict):
        raise InputError(f"{where} holds no JSON object.", remedy)
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _too_deep(value):
        raise InputError(f"{where} nests more than {_DEEPEST} lists and objects into each other.", remedy)
    return value


def _quickly(raw: bytes) -> Any:
    """The value of ordinary JSON, several times faster; None where the careful way must tell what it is.

    orjson refuses NaN and infinities as we do, and lone surrogates, which we take; whole numbers beyond 64 bits it
    makes floats.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    # An exponent, or more digits than 64 bits surely hold: only such numbers may be read otherwise than `json` does.
    shape = raw.translate(_SHAPE)
    if b"0e" not in shape and _MANY_DIGITS not in shape:
        return value
    return None if any(float in map(type, level) for level in _levels(value)) else value


def _carefully(raw: bytes, where: str, remedy: str) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_no_constant, parse_float=_finite, parse_int=_short)
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is not UTF-8 text (byte {error.start}).", remedy) from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where} is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).", remedy
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid JSON: {error}.", remedy) from error


def _too_deep(value: Any) -> bool:
    """Whether hashing or writing the value would come near the interpreter's own limit."""
    return any(depth == _DEEPEST for depth, _ in enumerate(_levels(value)))


def _levels(value: Any) -> Iterator[list[Any]]:
    """The value itself, then what lies in it, then what lies in that, and so on."""
    level = [value]
    while level:
        yield level
        inner: list[Any] = []
        # Most levels hold texts alone: thousands of lines are seen through the faster.
        if not _HOLDING.isdisjoint(map(type, level)):
            for entry in level:
                if isinstance(entry, dict):
                    inner += entry.values()
                elif isinstance(entry, list):
                    inner += entry
        level = inner


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large for a number")
    return value


def _short(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"{text[:20]}... is too long for a number")
    return int(text)


class Fields:
    """Typed access to the fields of one JSON object; a wrong one is an InputError that names it."""

    def __init__(self, body: Mapping[str, Any], where: str, remedy: str) -> None:
        self.body = body
        self.where = where
        self.remedy = remedy

    def refuse(self, what: str) -> InputError:
        """The error to raise: the place, then `what`."""
        return InputError(f"{self.where}: {what}", self.remedy)

    def text(self, name: str) -> str:
        """A text."""
        value = self._get(name)
        if not isinstance(value, str):
            raise self.refuse(f"'{name}' is not a text.")
        return value

    def whole(self, name: str, least: int = 0) -> int:
        """A whole number of at least `least`."""
        value = self._get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refuse(f"'{name}' is not a whole number of at least {least}.")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._get(name)
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.refuse(f"'{name}' is not a list of texts.")
        return tuple(value)

    def object(self, name: str) -> dict[str, Any]:
        """An object."""
        value = self._get(name)
        if not isinstance(value, dict):
            raise self.refuse(f"'{name}' is not an object.")
        return value

    def _get(self, name: str) -> Any:
        if name not in self.body:
            raise self.refuse(f"'{name}' is missing.")
        return self.body[name]
