r"""Regular expressions that come with a log: compiled and run in bounded time.

They run in the `regex` package, which can be stopped; Python's `re`, which lm-eval uses, cannot. The two read a pattern
alike but for what `regex` adds: a pattern that `re` refuses or warns of, or that has braces other than counted repeats
(fuzzy matching), is refused. Whether both read a log's responses alike is shown by the log itself, see `proof`.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import regex

from mince_gui.base.errors import InputError, MinceError

SECONDS = 5.0
"""How long one pattern may look at one text."""

_LONGEST = 2_000
_MOST_REPEATS = 10_000
_COUNTED = re.compile(r"\{(\d*)(?:,(\d*))?\}")
_ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    """The compiled pattern. Raises InputError for one that is refused."""
    if len(pattern) > _LONGEST:
        raise _refusal(pattern, f"it is longer than {_LONGEST:,} characters")
    plain = _ESCAPE_OR_CLASS.sub("x", pattern)
    repeats = 1
    for low, high in _COUNTED.findall(plain):
        # compared as text first: a number of thousands of digits is not made one
        if len(low) > 5 or len(high) > 5:
            raise _refusal(pattern, "it counts too far")
        repeats *= max(1, int(low or 0), int(high or 0))
    if repeats > _MOST_REPEATS:
        raise _refusal(pattern, f"its repeats multiply to more than {_MOST_REPEATS:,}")
    if "{" in _COUNTED.sub("", plain):
        raise _refusal(pattern, "it has a brace that begins no counted repeat")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
            return regex.compile(pattern, regex.VERSION0, cache_pattern=False)
    except (re.error, regex.error, Warning, RecursionError, OverflowError, ValueError) as error:
        raise _refusal(pattern, str(error) or type(error).__name__) from error


def _refusal(pattern: str, why: str) -> InputError:
    return InputError(f"The regular expression {pattern[:60]!r} cannot be run: {why}.", "Take another log or filter.")


def find_all(pattern: str, text: str) -> list[Any]:
    """All matches as `re.findall` gives them. Raises MinceError where it takes too long."""
    try:
        return list(compiled(pattern).findall(text, timeout=SECONDS))
    except TimeoutError as error:
        raise _too_slow(pattern) from error


def without(pattern: str, text: str) -> str:
    """`text` without what the pattern matches. Raises MinceError where it takes too long."""
    try:
        return str(compiled(pattern).sub("", text, timeout=SECONDS))
    except TimeoutError as error:
        raise _too_slow(pattern) from error


def _too_slow(pattern: str) -> MinceError:
    return MinceError(
        f"The regular expression {pattern[:60]!r} found no end within {SECONDS:g} s on one answer.",
        "The item cannot be scored by this filter.",
    )
