"""Canonical JSON and content hashes: equal content gives equal bytes on every machine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import orjson

_CHUNK = 1 << 20
_PLAIN = frozenset({int, bool, type(None)})


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces. Raises ValueError for NaN and infinities."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sha256_text(text: str) -> str:
    """SHA-256 (hex) of the UTF-8 bytes; lone surrogates are kept as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _tidy(value: Any, odd: list[Any]) -> Any:
    """The canonical content; what orjson may write otherwise than json (1e-07, NaN) is put into `odd`."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        return {key: _tidy(inner, odd) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_tidy(inner, odd) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if type(value) not in _PLAIN:
        odd.append(value)
    return value


def content_sha256(doc: object) -> str:
    """SHA-256 of an item's canonical content.

    Outer blanks of every text are stripped, null fields dropped and whole floats written as integers,
    so that public copies of one item (Hugging Face Parquet fills absent fields with null, some copies
    trim blanks) agree.
    """
    odd: list[Any] = []
    tidied = _tidy(doc, odd)
    fast = None if odd else plain_json(tidied)
    return hashlib.sha256(fast).hexdigest() if fast is not None else sha256_text(canonical_json(tidied))


def plain_json(value: object) -> bytes | None:
    """The bytes of `canonical_json`, several times faster, for texts, whole numbers, lists and objects of them.

    None where it cannot be sure of the same bytes: lone surrogates, keys that are no text, numbers beyond 64 bits.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
