"""JSON documents as text: the same values give the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_LONE = re.compile("[\ud800-\udfff]")


def json_form(body: Mapping[str, Any]) -> str:
    """The object with sorted keys. Raises ValueError for NaN and infinities: `report.model.plain` makes them null."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False)
    # Half a pair of surrogates, as a broken answer or a file's name may hold, is no UTF-8 but has an escape.
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
