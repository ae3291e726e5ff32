"""Rows of JSON from elsewhere: one per line or one array, plain or gzipped, read one bounded row at a time."""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import orjson

from mince_gui.base.errors import InputError, UsageError

LINE_LIMIT = 64 << 20
"""Bytes (characters in an array) that one row may have; a longer one is refused instead of filling the memory."""

_BUFFER = 1 << 18
_PIECE = 1 << 16
"""Bytes of a file that are taken in at once: what the processor's cache holds along with the rows in them."""
_BLANKS = 100_000
"""Blank lines in a row that are passed over; a bomb of line ends must not hold the reader for hours."""

_AGAIN = "Take a whole copy of the file, or evaluate again."
_GZIP = b"\x1f\x8b"
_UTF8 = "utf-8"
_BOMS = (
    (codecs.BOM_UTF8, _UTF8),
    # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ERRORS = {_UTF8: "surrogatepass", "utf-16-le": "surrogatepass", "utf-16-be": "surrogatepass"}
_BLANKS_OF_JSON = re.compile(r"[ \t\r\n]*")
if TYPE_CHECKING:
    _File = io.BufferedReader[io.FileIO] | gzip.GzipFile
_NEAR_END = 16
"""A JSON fault so near the end of what was read may be a literal or an escape that was only cut in two."""


@contextmanager
def open_plain(path: Path) -> Iterator[_File]:
    """The bytes of a file, unzipped where it is gzipped. Raises OSError, EOFError or zlib.error, also while reading."""
    with ExitStack() as stack:
        raw = stack.enter_context(io.BufferedReader(io.FileIO(path), _BUFFER))
        yield _unzipped(raw, stack)


def _unzipped(raw: io.BufferedReader[io.FileIO], stack: ExitStack) -> _File:
    return stack.enter_context(gzip.GzipFile(fileobj=raw)) if raw.peek(2)[:2] == _GZIP else raw


def first_bytes(path: Path, count: int = 64) -> bytes:
    """The first bytes of what the file holds, unzipped, in UTF-8 and without BOM. Raises OSError."""
    try:
        with open_plain(path) as file:
            head = file.read(count)
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise OSError(errno.EIO, f"the compressed file is broken or cut off: {exc}") from exc
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            head = head.removeprefix(bom)
            return head if encoding == _UTF8 else head.decode(encoding, "replace").encode(_UTF8, "replace")
    return head


def check_encoding(name: str) -> None:
    """Raise UsageError where no text encoding has this name."""
    try:
        "{".encode(name)
        # as the first bytes of a file are looked at; the codecs of host names do not bear it
        b"{\xe9".decode(name, "ignore")
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError) as exc:
        raise UsageError(f"There is no text encoding '{name}'.", "Such as: cp1252, gbk, shift_jis, utf-16.") from exc


class Piece(NamedTuple):
    """Lines of a file from line `number` on, without their ends; or one `row` of an array.

    `ended` is False where the file broke off in the (only) line, or has no line end after its last one.
    """

    number: int
    lines: list[bytes]
    ended: bool = True
    row: dict[str, Any] | None = None


class JsonLines:
    """The rows of one file as (line number from 1, object). Raises InputError that names file and line.

    A file is one object per line, or one array of objects over any number of lines (a row's line is then the one
    that it begins on). Bytes are UTF-8, or UTF-16 where a BOM says so, or `encoding` where it is given; lone
    surrogates, in the bytes or as escapes, are let through. Blank lines are passed over.
    """

    def __init__(self, path: Path, encoding: str = "") -> None:
        self._path = path
        self._encoding = encoding
        self._stack = ExitStack()
        self._raw: io.BufferedReader[io.FileIO] | None = None
        self._last: bytes | dict[str, Any] = {}
        self._number = 0
        self._blanks = 0

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

    def exact(self) -> dict[str, Any]:
        """The row that came last, read by the standard library: whole numbers beyond 64 bits keep every digit."""
        if isinstance(self._last, bytes):
            row: dict[str, Any] = json.loads(self._last.decode(_UTF8, "surrogatepass"))
            return row
        return self._last

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for piece in self.pieces():
            yield from self.each(piece)

    def pieces(self) -> Iterator[Piece]:
        """The file in pieces, for who has something quicker to do with many lines than `each`. Raises InputError."""
        assert self._raw is not None
        try:
            file = _unzipped(self._raw, self._stack)
            encoding = self._encoding or _UTF8
            head = file.peek(64)[:64]
            for bom, meant in _BOMS:
                if head.startswith(bom):
                    file.read(len(bom))
                    head, encoding = head[len(bom) :], meant
            if head.decode(encoding, "ignore").lstrip().startswith("["):
                pieces = self._of_array(_Text(self._path, file, encoding))
            elif encoding == _UTF8:
                pieces = self._of_bytes(file)
            else:
                pieces = self._of_text(_Text(self._path, file, encoding))
            for piece in pieces:
                yield piece
                self._number = piece.number + max(len(piece.lines), 1) - 1
        except EOFError as exc:
            raise InputError(f"{self._path}, line {self._number + 1}: the compressed file is cut off.", _AGAIN) from exc
        except (OSError, zlib.error) as exc:
            raise InputError(f"{self._path}, line {self._number + 1}: cannot be read on ({exc}).", _AGAIN) from exc

    def _of_bytes(self, file: _File) -> Iterator[Piece]:
        number, begun, held = 1, [b""], 0
        while read := file.read1(_PIECE):
            whole, end, rest = read.rpartition(b"\n")
            if end:
                lines = b"".join((*begun, whole)).split(b"\n")
                yield Piece(number, lines)
                number += len(lines)
                begun, held = [], 0
            begun.append(rest)
            held += len(rest)
            if held >= LINE_LIMIT:
                raise _too_long(self._path, number)
        if last := b"".join(begun):
            yield Piece(number, [last], ended=False)

    def _of_text(self, text: _Text) -> Iterator[Piece]:
        for number, line in enumerate(text.lines(), 1):
            yield Piece(number, [line.removesuffix(b"\n")], line.endswith(b"\n"))

    def each(self, piece: Piece) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a piece one by one. Raises InputError."""
        if piece.row is not None:
            self._last = piece.row
            yield piece.number, piece.row
        for number, line in enumerate(piece.lines, piece.number):
            if len(line) >= LINE_LIMIT:
                raise _too_long(self._path, number)
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError:
                if not line.strip():
                    self._blanks += 1
                    if self._blanks > _BLANKS:
                        raise InputError(f"{self._path}, line {number}: nothing but blank lines.", _AGAIN) from None
                    continue
                row = self._lenient(number, line, piece.ended)
            if type(row) is not dict:
                raise InputError(f"{self._path}, line {number}: not a row (a JSON object) but {row!r:.40}.", _AGAIN)
            self._last = line
            yield number, row

    def _lenient(self, number: int, line: bytes, ended: bool) -> Any:
        """What the strict parser refused: NaN and infinities, lone surrogates. Else raises why it is no row."""
        where = f"{self._path}, line {number}"
        try:
            return json.loads(line.decode(_UTF8, "surrogatepass"))
        except UnicodeDecodeError as exc:
            raise _wrong_encoding(where, _UTF8, exc.reason) from exc
        except json.JSONDecodeError as exc:
            detail = f"{exc.msg}, column {exc.colno}"
            if not ended:
                raise InputError(f"{where}: the last row is cut off ({detail}).", _AGAIN) from exc
            raise InputError(f"{where}: not JSON ({detail}).", _AGAIN) from exc
        except (ValueError, RecursionError) as exc:
            # a number of thousands of digits, brackets thousands deep
            raise InputError(f"{where}: not a row of a log ({exc}).", _AGAIN) from exc

    def _of_array(self, text: _Text) -> Iterator[Piece]:
        window = _Window(self._path, text)
        window.skip("[")
        first = True
        while not window.skip("]"):
            if not first and not window.skip(","):
                window.fail("neither a comma nor the array's end comes after a row")
            first = False
            number, row = window.take()
            if not isinstance(row, dict):
                raise InputError(f"{self._path}, line {number}: not a row (a JSON object) but {row!r:.40}.", _AGAIN)
            yield Piece(number, [], row=row)
        if not window.skip(""):
            window.fail("something follows the array")


def _too_long(path: Path, number: int) -> InputError:
    return InputError(
        f"{path}, line {number}: longer than {LINE_LIMIT >> 20} MiB, which no row of a log is.",
        "Look whether the file is a log at all.",
    )


def _wrong_encoding(where: str, encoding: str, reason: str) -> InputError:
    if encoding == _UTF8:
        return InputError(
            f"{where}: not UTF-8 text ({reason}).",
            "lm-eval 0.4.3 on Windows wrote the system's own encoding: name it (--encoding cp1252, or gbk, ...), "
            "or save the file as UTF-8.",
        )
    return InputError(f"{where}: not {encoding} text ({reason}).", "Name the encoding in which the file was written.")


class _Text:
    """Text of a file in any encoding, piece by piece, with the line at hand where the bytes are no such text."""

    def __init__(self, path: Path, file: _File, encoding: str) -> None:
        self._path = path
        self._file = file
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)(_ERRORS.get(encoding, "strict"))
        self._line_ends = 0
        self._fault: EOFError | zlib.error | OSError | None = None
        self.ended = False

    def more(self, count: int) -> str:
        """The next piece, "" only at the end. Raises InputError with file and line."""
        text = ""
        while not text and not self.ended:
            chunk = self._take(count)
            self.ended = not chunk
            try:
                text = self._decoder.decode(chunk, self.ended)
            except UnicodeError as exc:
                good = exc.object[: exc.start] if isinstance(exc, UnicodeDecodeError) else b""
                number = self._line_ends + good.decode(self._encoding, "ignore").count("\n") + 1
                reason = exc.reason if isinstance(exc, UnicodeDecodeError) else str(exc)
                raise _wrong_encoding(f"{self._path}, line {number}", self._encoding, reason) from exc
        self._line_ends += text.count("\n")
        return text

    def _take(self, count: int) -> bytes:
        """Bytes up to `count`, b"" only at the end; those in front of a broken place before its error is raised."""
        if self._fault is not None:
            raise self._fault
        pieces: list[bytes] = []
        while count > 0:
            try:
                piece = self._file.read1(count)
            except (EOFError, OSError, zlib.error) as exc:
                if not pieces:
                    raise
                self._fault = exc
                break
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def lines(self) -> Iterator[bytes]:
        """The lines with their ends, in UTF-8; of one beyond the limit the beginning alone."""
        begun: list[str] = []
        while text := self.more(_BUFFER):
            first, end, text = text.partition("\n")
            begun.append(first)
            if end:
                *lines, rest = text.split("\n")
                for line in ("".join(begun), *lines):
                    yield f"{line}\n".encode(_UTF8, "surrogatepass")
                begun = [rest]
            if sum(map(len, begun)) >= LINE_LIMIT:
                break
        if last := "".join(begun):
            yield last.encode(_UTF8, "surrogatepass")


class _Window:
    """The part of an array's text that is being looked at; holds little more than one row."""

    def __init__(self, path: Path, text: _Text) -> None:
        self._path = path
        self._source = text
        self._text = ""
        self._at = 0
        self._line = 1
        self._counted = 0
        self._decode = json.JSONDecoder().raw_decode

    def _more(self) -> bool:
        """Take in as much again as is at hand, so that a long row is not looked at too often."""
        self._number(self._at)
        rest = self._text[self._at :]
        piece = self._source.more(max(_BUFFER, len(rest)))
        self._text, self._at, self._counted = rest + piece, 0, 0
        return bool(piece)

    def _number(self, place: int) -> int:
        self._line += self._text.count("\n", self._counted, place)
        self._counted = place
        return self._line

    def skip(self, sign: str) -> bool:
        """Pass over blanks, then over `sign` if it comes next ("" = the end of the text); whether it did."""
        while True:
            match = _BLANKS_OF_JSON.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                break
            if not self._more():
                return not sign
        if not sign or self._text[self._at] != sign:
            return False
        self._at += 1
        return True

    def take(self) -> tuple[int, Any]:
        """The line and the value of what comes next. Raises InputError that names file and line."""
        if self.skip(""):
            self.fail("")
        while True:
            try:
                row, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as exc:
                at_end = exc.msg.startswith("Unterminated string") or exc.pos >= len(self._text) - _NEAR_END
                if len(self._text) - self._at >= LINE_LIMIT:
                    raise _too_long(self._path, self._number(self._at)) from exc
                if at_end and self._more():
                    continue
                if at_end:
                    self.fail("the array is cut off in the row that begins here")
                number = self._number(exc.pos)
                raise InputError(f"{self._path}, line {number}: not JSON ({exc.msg}).", _AGAIN) from exc
            except (ValueError, RecursionError) as exc:
                number = self._number(self._at)
                raise InputError(f"{self._path}, line {number}: not a row of a log ({exc}).", _AGAIN) from exc
            number, self._at = self._number(self._at), end
            return number, row

    def fail(self, why: str) -> NoReturn:
        """Raise InputError for the place that is looked at."""
        why = why if self._at < len(self._text) else "the array is cut off"
        raise InputError(f"{self._path}, line {self._number(self._at)}: {why}.", _AGAIN)
