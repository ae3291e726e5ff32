"""JSON Lines from elsewhere: plain or gzipped, with or without BOM, read one bounded line at a time."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mince_gui.base.errors import InputError

LINE_LIMIT = 64 << 20
"""Bytes that one row may have; a longer one is refused instead of filling the memory."""

_BUFFER = 1 << 18
_AGAIN = "Take a whole copy of the file, or evaluate again."
_GZIP = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def first_bytes(path: Path, count: int = 64) -> bytes:
    """The first bytes of what the file holds, unzipped; without the BOM. Raises OSError, EOFError or zlib.error."""
    with path.open("rb") as raw:
        head = raw.read(count)
        if head.startswith(_GZIP):
            raw.seek(0)
            with gzip.GzipFile(fileobj=raw) as zipped:
                head = zipped.read(count)
    return head.removeprefix(_UTF8_BOM)


def _say_why_not_json(path: Path, number: int, line: bytes, detail: str) -> InputError:
    where = f"{path}, line {number}"
    if number == 1 and line.lstrip().startswith(b"["):
        return InputError(
            f"{where}: the file is one JSON array, as lm-eval 0.4.0 to 0.4.2 wrote it; that layout is not read.",
            "Evaluate again with lm-eval 0.4.3 or newer, or rewrite the array as one row per line.",
        )
    if not line.endswith(b"\n"):
        return InputError(f"{where}: the last row is cut off ({detail}).", _AGAIN)
    return InputError(f"{where}: not JSON ({detail}).", _AGAIN)


class JsonLines:
    """The rows of one file as (line number from 1, object). Raises InputError that names file and line.

    Bytes are UTF-8; lone surrogates, in the bytes or as escapes, are let through. Blank lines are passed over.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack = ExitStack()
        self._raw: io.BufferedReader[io.FileIO] | None = None

    def __enter__(self) -> Self:
        try:
            raw = self._stack.enter_context(io.BufferedReader(io.FileIO(self._path), _BUFFER))
        except OSError as exc:
            raise InputError(f"{self._path}: cannot be opened ({exc.strerror}).") from exc
        self._raw = raw
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def position(self) -> int:
        """Bytes of the file (as it lies on disk) that have been taken in so far."""
        return self._raw.tell() if self._raw is not None else 0

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        assert self._raw is not None
        file: io.BufferedReader[io.FileIO] | gzip.GzipFile = self._raw
        number = 0
        try:
            if self._raw.peek(2)[:2] == _GZIP:
                file = self._stack.enter_context(gzip.GzipFile(fileobj=self._raw))
            while line := file.readline(LINE_LIMIT):
                number += 1
                yield number, line
        except EOFError as exc:
            raise InputError(f"{self._path}, line {number + 1}: the compressed file is cut off.", _AGAIN) from exc
        except (OSError, zlib.error) as exc:
            raise InputError(f"{self._path}, line {number + 1}: cannot be read on ({exc}).", _AGAIN) from exc

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        loads = json.loads
        for number, line in self._lines():
            if number == 1:
                if line.startswith(_UTF16_BOMS):
                    raise InputError(f"{self._path}: the text is UTF-16.", "Save the file as UTF-8.")
                line = line.removeprefix(_UTF8_BOM)
            try:
                row = loads(line.decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError as exc:
                raise InputError(
                    f"{self._path}, line {number}: not UTF-8 text ({exc.reason}).",
                    "lm-eval 0.4.3 on Windows wrote the system's own encoding: save the file as UTF-8.",
                ) from exc
            except json.JSONDecodeError as exc:
                if not line.strip():
                    continue
                if len(line) >= LINE_LIMIT:
                    raise InputError(
                        f"{self._path}, line {number}: longer than {LINE_LIMIT >> 20} MiB, which no row of a log is."
                    ) from exc
                raise _say_why_not_json(self._path, number, line, f"{exc.msg}, column {exc.colno}") from exc
            except (ValueError, RecursionError) as exc:
                # a number of thousands of digits, brackets thousands deep
                raise InputError(f"{self._path}, line {number}: not a row of a log ({exc}).", _AGAIN) from exc
            if not isinstance(row, dict):
                if isinstance(row, list):
                    raise _say_why_not_json(self._path, number, line, "an array in place of a row")
                raise InputError(f"{self._path}, line {number}: not a row (a JSON object) but {row!r:.40}.", _AGAIN)
            yield number, row
