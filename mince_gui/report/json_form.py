"""Values as JSON: in its own types, and as text of which the same values give the same bytes."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")


def json_form(body: Mapping[str, Any]) -> str:
    """The object with sorted keys. Raises ValueError for NaN and infinities: `plain` makes them null."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False)
    # Half a pair of surrogates, as a broken answer or a file's name may hold, is no UTF-8 but has an escape.
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def plain(value: Any) -> Any:
    """`value` in JSON's own types: dataclasses and mappings as objects, other sequences as lists, NaN as null.

    What JSON has no type for (a path, a date) is written as its text.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(inner) for inner in value), key=str)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
