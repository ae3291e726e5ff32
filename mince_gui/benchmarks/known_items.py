"""The items of the known benchmarks, by the hashes of their texts: which item a log speaks of that names no key.

The project ships no item texts. `resources/items.json` (made by packaging/build_known_items.py) holds, for IFEVAL,
MMLU and GSM8K, every item key in canonical order with the first 16 hex digits of the SHA-256 of its prompt or question,
outer blanks stripped, and the first 8 of its canonical content hash. It is loaded when first asked for.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mince_gui.base.canonical import sha256_text
from mince_gui.base.paths import resources
from mince_gui.benchmarks.types import Benchmark

FILE_NAME = "items.json"
SCHEMA = 1
CONTENT_DIGITS = 8
_DIGITS = 16


def text_hash(text: str) -> str:
    """What stands for a prompt or question in the list of items."""
    return sha256_text(text.strip())[:_DIGITS]


def choices_hash(choices: Sequence[str]) -> str:
    """What stands for the answers to choose from, where one question has several sets of them."""
    return text_hash("\n".join(choice.strip() for choice in choices))


@dataclass(frozen=True)
class _Items:
    """The items of one benchmark; `choices` only for items whose question another item has too."""

    keys: tuple[str, ...]
    by_text: Mapping[str, tuple[str, ...]]
    contents: Mapping[str, str]
    choices: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def _all_items() -> Mapping[str, _Items]:
    body = json.loads((resources() / FILE_NAME).read_text(encoding="utf-8"))
    if body["schema"] != SCHEMA:
        raise ValueError(f"{FILE_NAME} has schema {body['schema']}, not {SCHEMA}")
    items: dict[str, _Items] = {}
    for name, entry in body["items"].items():
        by_text: dict[str, list[str]] = {}
        keys: list[str] = []
        for prefix, group in entry["texts"].items():
            names = group if isinstance(group, dict) else {str(place): text for place, text in enumerate(group)}
            for item, text in names.items():
                key = f"{prefix}/{item}" if prefix else item
                keys.append(key)
                by_text.setdefault(text, []).append(key)
        for text, key in entry.get("other_wordings", {}).items():
            by_text.setdefault(text, []).append(key)
        hashes = entry["contents"]
        contents = {
            key: hashes[i : i + CONTENT_DIGITS]
            for key, i in zip(keys, range(0, len(hashes), CONTENT_DIGITS), strict=True)
        }
        items[name] = _Items(
            tuple(keys), {text: tuple(of) for text, of in by_text.items()}, contents, entry.get("choices", {})
        )
    return items


def keys_of(benchmark: Benchmark) -> tuple[str, ...] | None:
    """All item keys in canonical order; None where the benchmark's items are not listed."""
    items = _all_items().get(benchmark.name)
    if items is not None:
        return items.keys
    if benchmark.keys_are_positions and benchmark.total_items is not None:
        return tuple(str(place) for place in range(benchmark.total_items))
    return None


@dataclass(frozen=True)
class Strangers:
    """Item keys with another content than the listed one: `swapped` have another item's, `other` nobody's."""

    other: tuple[str, ...] = ()
    swapped: tuple[str, ...] = ()


def strangers(benchmark: Benchmark, keys: Sequence[str], hashes: Sequence[str | None]) -> Strangers:
    """Compare content hashes with the listed ones; items without a hash, or not listed, are passed over.

    Another revision of the data gives `other`; rows under a wrong key give `swapped`.
    """
    items = _all_items().get(benchmark.name)
    if items is None:
        return Strangers()
    differing: dict[str, str] = {}
    for key, content in zip(keys, hashes, strict=True):
        listed = items.contents.get(key)
        if content is not None and listed is not None and not content.startswith(listed):
            differing[key] = content[:CONTENT_DIGITS]
    everyones = frozenset(items.contents.values()) if differing else frozenset()
    return Strangers(
        tuple(key for key, content in differing.items() if content not in everyones),
        tuple(key for key, content in differing.items() if content in everyones),
    )


def unknown_keys(benchmark: Benchmark, keys: Iterable[str]) -> tuple[str, ...]:
    """Those of `keys` that no item of the benchmark has, in the order given."""
    items = _all_items().get(benchmark.name)
    if items is not None:
        return tuple(key for key in keys if key not in items.contents)
    return tuple(key for key in keys if not benchmark.is_key(key))


def item_keys_of(
    benchmark: Benchmark, text: str, subject: str | None = None, choices: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Every item with this text, of this subject, and with these answers where that tells items apart."""
    items = _all_items().get(benchmark.name)
    if items is None:
        return ()
    keys = items.by_text.get(text_hash(text), ())
    if subject is not None:
        keys = tuple(key for key in keys if key.rpartition("/")[0] == subject)
    if len(keys) > 1 and choices is not None:
        wanted = choices_hash(choices)
        keys = tuple(key for key in keys if items.choices.get(key) == wanted)
    return keys


def item_key_of(
    benchmark: Benchmark, text: str, subject: str | None = None, choices: Sequence[str] | None = None
) -> str | None:
    """The key of the one item with this prompt (IFEVAL) or question (GSM8K, MMLU); None where unknown or ambiguous.

    163 items of MMLU share their question with another of their subject: `choices` (texts in their order) tell all but
    27 exact pairs apart, for which a `KeyFinder` is needed. Without `subject` also items of two subjects can be alike.
    """
    keys = item_keys_of(benchmark, text, subject, choices)
    return keys[0] if len(keys) == 1 else None


class KeyFinder:
    """Finds the keys of the rows of one log, also of items that the benchmark holds twice.

    Such twins have the same question, answers and gold, so which row is which changes nothing: the first row with
    that content is the first twin. Make a new finder for each log (and each repeat or filter of it).
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._given: dict[tuple[str, ...], int] = {}

    def key(self, text: str, subject: str | None = None, choices: Sequence[str] | None = None) -> str | None:
        """The key of the next row with this content; None where unknown, ambiguous or once too often."""
        keys = item_keys_of(self._benchmark, text, subject, choices)
        if len(keys) < 2:
            return keys[0] if keys else None
        if choices is None or len({key.rpartition("/")[0] for key in keys}) > 1:
            return None
        place = self._given.get(keys, 0)
        self._given[keys] = place + 1
        return keys[place] if place < len(keys) else None
