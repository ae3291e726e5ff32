"""What lies inside a large JSON object, streamed: one element at a time, whatever the file's size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, TextIO

from mince_gui.base.errors import InputError

_PIECE = 1 << 18
_ELEMENT_LIMIT = 64 << 20
_NEAR_END = 64
"""A fault so near the end of what was read may be a literal, a number or an escape that was only cut in two."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_AGAIN = "Take a whole copy of the file."


class Members:
    """The members of the object that a file is, as (name, entry, value), in the file's order.

    Those named `inside` are given piece by piece, an object's values with their names and an array's elements with
    their places as `entry`; all else is one value with the entry "". Iterating raises InputError that names file and
    line.
    """

    def __init__(self, path: Path, inside: str = "") -> None:
        self._path = path
        self._inside = inside
        self._decode = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._line = 1
        self._place = ""
        self._file: TextIO | None = None
        self.position = 0
        """Bytes of the file that have been taken in."""

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        try:
            with self._path.open(encoding="utf-8-sig", errors="surrogatepass", newline="") as file:
                self._file = file
                yield from self._members()
        except OSError as exc:
            raise InputError(f"{self._path}: cannot be read ({exc.strerror}).", _AGAIN) from exc
        except UnicodeError as exc:
            raise InputError(f"{self._path}, after line {self._line}: not UTF-8 text ({exc}).", _AGAIN) from exc

    def _members(self) -> Iterator[tuple[str, str, Any]]:
        if self._next() != "{":
            self._fail("there is no object")
        for name in self._names():
            opening = self._next() if name == self._inside else ""
            if opening == "{":
                for entry in self._names():
                    self._place = f" in entry {entry[:40]!a} of {name}"
                    yield name, entry, self._value()
            elif opening == "[":
                for place in self._places():
                    self._place = f" in entry {place + 1} of {name}"
                    yield name, str(place), self._value()
            else:
                self._place = f" in {name[:40]!a}"
                yield name, "", self._value()
        if self._next():
            self._fail("there is more behind its end")

    def _names(self) -> Iterator[str]:
        """The names of an object whose bracket is next; the value of each is to be taken before the next name."""
        self._at += 1
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                self._fail("a name is missing")
            yield str(self._named())
            if self._ends("}"):
                return

    def _named(self) -> Any:
        name = self._value()
        if self._next() != ":":
            self._fail("a ':' is missing")
        self._at += 1
        return name

    def _places(self) -> Iterator[int]:
        """The places of an array whose bracket is next; the element of each is to be taken before the next."""
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return
        place = 0
        while True:
            yield place
            if self._ends("]"):
                return
            place += 1

    def _ends(self, bracket: str) -> bool:
        """Whether the bracket comes, and not a comma; passes over either."""
        sign = self._next()
        if sign not in (bracket, ","):
            self._fail(f"a ',' or '{bracket}' is missing")
        self._at += 1
        return sign == bracket

    def _next(self) -> str:
        """The sign that comes next behind blanks, "" at the end."""
        while True:
            match = _BLANKS.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self) -> Any:
        self._next()
        while True:
            left = len(self._text) - self._at
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as exc:
                cut = exc.msg.startswith("Unterminated string") or exc.pos >= len(self._text) - _NEAR_END
                if cut and left < _ELEMENT_LIMIT and self._more():
                    continue
                self._at = exc.pos
                why = "cut off" if cut and exc.msg.startswith("Unterminated") else exc.msg
                self._fail(why if left < _ELEMENT_LIMIT else f"larger than {_ELEMENT_LIMIT >> 20} MiB")
            except (RecursionError, ValueError) as exc:
                self._fail(str(exc))
            # a number may go on in what was not read yet
            if end >= len(self._text) - _NEAR_END and left < _ELEMENT_LIMIT and self._more():
                continue
            self._at = end
            return value

    def _more(self) -> bool:
        """Take in as much again as is at hand, so that a long value is not looked at too often."""
        assert self._file is not None
        piece = self._file.read(max(_PIECE, len(self._text) - self._at))
        if not piece:
            return False
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + piece, 0
        self.position += len(piece.encode("utf-8", "surrogatepass"))
        return True

    def _fail(self, why: str) -> NoReturn:
        number = self._line + self._text.count("\n", 0, self._at)
        why = why if self._at < len(self._text) else "cut off"
        raise InputError(f"{self._path}, line {number}: not JSON ({why}{self._place}).", _AGAIN)
