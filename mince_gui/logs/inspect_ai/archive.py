"""Looks at an .eval file before inspect_ai does: how large its members really are.

inspect_ai takes a member's whole content into memory, whatever the directory says of its size. So every member is
unpacked here once, in small pieces that are thrown away, and refused where it is larger than it says or than any
sample is.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError

MEMBER_LIMIT = 256 << 20
"""Bytes that one unpacked member may have."""
MEMBERS_LIMIT = 1_000_000

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 1 << 20
_ZSTD = 93
_LOCAL_HEADER = 30
_SAMPLES = "samples/"
_AGAIN = "Take a whole copy of the file, or evaluate again."


class DamagedError(InputError):
    """One member is damaged; the others may be whole."""


class _Part(io.RawIOBase):
    """`length` bytes of a file from where it stands."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file = file
        self._left = length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _inflated(part: _Part) -> Iterator[int]:
    """Lengths of the pieces that a deflated part unpacks to."""
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        while not unpack.eof and (data := unpack.unconsumed_tail or part.read(_PIECE)):
            yield len(unpack.decompress(data, _PIECE))
    except zlib.error as exc:
        raise DamagedError(str(exc)) from exc


def _unzstd(part: _Part) -> Iterator[int]:
    """Lengths of the pieces that a part packed with Zstandard unpacks to."""
    import zstandard  # comes with inspect_ai, which packs so

    try:
        source = zstandard.ZstdDecompressor().stream_reader(io.BufferedReader(part), read_across_frames=True)
        while data := source.read(_PIECE):
            yield len(data)
    except zstandard.ZstdError as exc:
        raise DamagedError(str(exc)) from exc


def _stored(part: _Part) -> Iterator[int]:
    while data := part.read(_PIECE):
        yield len(data)


_UNPACK: Mapping[int, Callable[[_Part], Iterator[int]]] = {
    zipfile.ZIP_STORED: _stored,
    zipfile.ZIP_DEFLATED: _inflated,
    _ZSTD: _unzstd,
}


def check_members(path: Path, cancel: CancelToken | None, *, samples: bool, salvage: bool = False) -> None:
    """Refuse an archive with members that no honest log has; without `samples` only the others are looked at.

    With `salvage` a damaged sample is let pass: reading will stop there. Raises InputError that names file and member,
    CancelledError.
    """
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            members = archive.infolist()
            if len(members) > MEMBERS_LIMIT:
                raise InputError(f"{path}: {len(members)} members, more than any log has.")
            for member in members:
                is_sample = member.filename.startswith(_SAMPLES)
                if is_sample and not samples:
                    continue
                if cancel is not None:
                    cancel.check()
                try:
                    _check(path, file, member)
                except DamagedError:
                    if not (is_sample and salvage):
                        raise
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror or exc}).", _AGAIN) from exc
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeError, EOFError, struct.error) as exc:
        raise InputError(f"{path}: not a whole .eval file ({exc}).", _AGAIN) from exc


def _check(path: Path, file: IO[bytes], member: zipfile.ZipInfo) -> None:
    where = f"{path}, {member.filename[:100]!r}"
    if member.file_size > MEMBER_LIMIT:
        raise InputError(f"{where}: larger than {MEMBER_LIMIT >> 20} MiB unpacked, which no sample of a log is.")
    if member.flag_bits & 1:
        raise InputError(f"{where}: encrypted.", "Export the log without a password.")
    unpack = _UNPACK.get(member.compress_type)
    if unpack is None:
        raise InputError(f"{where}: packed by method {member.compress_type}, which inspect_ai never uses.")
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise DamagedError(f"{where}: its place in the file is damaged.", _AGAIN)
    name_length, extra_length = struct.unpack_from("<HH", header, _LOCAL_HEADER - 4)
    file.seek(name_length + extra_length, io.SEEK_CUR)
    size = 0
    try:
        for length in unpack(_Part(file, member.compress_size)):
            size += length
            if size > member.file_size:
                raise InputError(f"{where}: unpacks to more than the {member.file_size} bytes it says.")
    except DamagedError as exc:
        raise DamagedError(f"{where}: damaged ({exc.message}).", _AGAIN) from exc
    if size < member.file_size:
        raise DamagedError(f"{where}: cut off.", _AGAIN)
