"""An array inside a JSON object, streamed: one element at a time, whatever the file's size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.logs.assemble import shown

_PIECE = 1 << 18
_HEAD_LIMIT = 16 << 20
_ELEMENT_LIMIT = 64 << 20
_BETWEEN = re.compile(r"[\s,]*")
_AGAIN = "Take a whole copy of the file."


def array_inside(path: Path, begin: re.Pattern[str], what: str) -> Iterator[Mapping[str, Any]]:
    """The objects of the array that begins behind the first match of `begin`, which ends with its bracket.

    `what` names an element in messages. What follows the array is not looked at. Raises InputError that names the file
    and the element, counted from 1.
    """
    decode = json.JSONDecoder().raw_decode
    try:
        with path.open(encoding="utf-8-sig", errors="surrogatepass") as file:
            text = ""
            while (start := begin.search(text)) is None:
                piece = file.read(_PIECE)
                if not piece or len(text) > _HEAD_LIMIT:
                    raise InputError(f"{path}: there is no list of {what}s in it.", _AGAIN)
                text += piece
            at, number = start.end(), 1
            while True:
                between = _BETWEEN.match(text, at)
                assert between is not None
                at = between.end()
                if text.startswith("]", at):
                    return
                try:
                    element, end = decode(text, at)
                except json.JSONDecodeError as exc:
                    rest = text[at:]
                    piece = file.read(max(_PIECE, len(rest)))
                    if not piece or len(rest) > _ELEMENT_LIMIT:
                        why = exc.msg if piece else "cut off"
                        raise InputError(f"{path}, {what} {number}: not JSON ({why}).", _AGAIN) from exc
                    text, at = rest + piece, 0
                    continue
                if not isinstance(element, dict):
                    raise InputError(f"{path}, {what} {number}: {shown(element)} is no {what}.", _AGAIN)
                yield element
                at, number = end, number + 1
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror}).", _AGAIN) from exc
    except (UnicodeError, RecursionError, ValueError) as exc:
        raise InputError(f"{path}: not JSON ({exc}).", _AGAIN) from exc
