"""lm-eval's filters that are reproduced: what a pipeline reads in one response."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.tasks.logged.patterns import compiled, find_all, without

Options = Mapping[str, Any]
INVALID = "[invalid]"

_PATTERN = r"#### (\-?[0-9\.\,]+)"
_REGEX = {"regex_pattern": str, "group_select": int, "fallback": str}
_OPTIONS: dict[str, dict[str, type]] = {
    "take_first": {},
    "remove_whitespace": {},
    "lowercase": {},
    "uppercase": {},
    "map": {"mapping_dict": dict, "default_value": str},
    "regex": _REGEX,
    "multi_choice_regex": {
        **_REGEX, "ignore_case": bool, "ignore_punctuation": bool, "regexes_to_ignore": list,
    },
}  # fmt: skip


def why_not(function: object, options: Options) -> str | None:
    """Why the step cannot be reproduced; None where it can."""
    if not isinstance(function, str) or function not in _OPTIONS:
        own = isinstance(function, str) and function.isidentifier() and function != "custom"
        return f"the filter {function!r} is not among those that are reproduced" if own else "a filter of its own code"
    known = _OPTIONS[function]
    for name, value in options.items():
        if name not in known:
            return f"{function} has an option {name!r} that is not known"
        if not isinstance(value, known[name]) or (known[name] is int and isinstance(value, bool)):
            return f"the option {name!r} of {function} is not what it should be"
    if function == "map":
        pairs = options.get("mapping_dict", {})
        if not all(isinstance(value, str) for value in pairs.values()) or "default_value" not in options:
            return "map gives something other than a text"
    try:
        for pattern in patterns_of(function, options):
            compiled(pattern)
    except InputError as error:
        return error.message.rstrip(".")
    return None


def patterns_of(function: str, options: Options) -> list[str]:
    """The regular expressions of a step."""
    if function not in ("regex", "multi_choice_regex"):
        return []
    ignored = options.get("regexes_to_ignore") or []
    if not all(isinstance(entry, str) for entry in ignored):
        raise InputError("regexes_to_ignore is not a list of texts.")
    return [options.get("regex_pattern", _PATTERN), *ignored]


def apply(steps: Sequence[tuple[str, Options]], response: str | None, choices: Sequence[str]) -> str | None:
    """What the pipeline reads; `choices` are the doc's, for multi_choice_regex. None where no text came in or out."""
    read = response
    for function, options in steps:
        read = _STEPS[function](read, options, choices)
    return read


def _first(text: str | None, options: Options, choices: Sequence[str]) -> str | None:
    return text


def _stripped(text: str | None, options: Options, choices: Sequence[str]) -> str | None:
    return None if text is None else text.strip()


def _lower(text: str | None, options: Options, choices: Sequence[str]) -> str | None:
    return None if text is None else text.lower()


def _upper(text: str | None, options: Options, choices: Sequence[str]) -> str | None:
    return None if text is None else text.upper()


def _mapped(text: str | None, options: Options, choices: Sequence[str]) -> str:
    default = str(options["default_value"])
    return default if text is None else str(options.get("mapping_dict", {}).get(text, default))


def _group(pattern: str, text: str, options: Options, empty: str) -> str | None:
    """The selected match, its first group that is not empty; None where there is no match, `empty` for empty groups."""
    found = find_all(pattern, text)
    if not found:
        return None
    place = options.get("group_select", 0)
    if not -len(found) <= place < len(found):
        return None
    chosen = found[place]
    if isinstance(chosen, tuple):
        chosen = next((group for group in chosen if group), None)
        if chosen is None:
            return empty
    return str(chosen).strip()


def _regex(text: str | None, options: Options, choices: Sequence[str]) -> str:
    fallback = str(options.get("fallback", INVALID))
    read = _group(options.get("regex_pattern", _PATTERN), text or "", options, fallback)
    return fallback if read is None else read


@cache
def _punctuation() -> dict[int, None]:
    return dict.fromkeys(i for i in range(sys.maxunicode) if unicodedata.category(chr(i)).startswith("P"))


def _multi_choice(text: str | None, options: Options, choices: Sequence[str]) -> str:
    """The letter in brackets: by the pattern, else by a choice's own text, else by a bare letter after a colon."""

    def tidy(part: str) -> str:
        for pattern in options.get("regexes_to_ignore") or ():
            part = without(pattern, part)
        if options.get("ignore_case", False):
            part = part.lower()
        return part.translate(_punctuation()) if options.get("ignore_punctuation", False) else part

    given = text or ""
    by_text = {tidy(choice.strip()): f"({chr(ord('A') + i)})" for i, choice in enumerate(choices)}
    longest_first = sorted((tidy(choice.strip()) for choice in choices), key=len, reverse=True)
    letters = "|".join(chr(ord("A") + i) for i in range(len(choices)))
    read = _group(options.get("regex_pattern", _PATTERN), given, options, "")
    if not read:
        read = _among(longest_first, tidy(given), options.get("group_select", 0))
        read = by_text.get(read, read) if read else read
    if not read:
        read = _group(rf":[\s]*({letters})", given, options, "")
        read = f"({read})" if read else read
    return read or str(options.get("fallback", INVALID))


def _among(texts: Sequence[str], text: str, place: int) -> str | None:
    """The match number `place` of any of the texts, the first of `texts` that fits at each position."""
    found: list[str] = []
    at = 0
    while at <= len(text):
        fitting = next((part for part in texts if text.startswith(part, at)), None)
        if fitting is None:
            at += 1
            continue
        found.append(fitting)
        at += max(1, len(fitting))
    return found[place].strip() if -len(found) <= place < len(found) else None


_STEPS: dict[str, Callable[[str | None, Options, Sequence[str]], str | None]] = {
    "take_first": _first,
    "remove_whitespace": _stripped,
    "lowercase": _lower,
    "uppercase": _upper,
    "map": _mapped,
    "regex": _regex,
    "multi_choice_regex": _multi_choice,
}
