"""Unpacks .zip and .tar archives, and single compressed files, that come from elsewhere: never trusted, bounded.

One level only: an archive inside an archive is left as it is. Links and devices are passed over by name; a member
that would land outside, an encrypted one, or a bomb makes the whole archive unusable.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit, Progress

MEMBER_LIMIT = 100_000
"""Members that one archive may have."""

RATIO_LIMIT = 500
"""How many times its packed size an archive may grow; prompts that repeat reach about 100 times."""

RATIO_FREE = 64 << 20
"""Bytes below which the ratio is not looked at."""

TOTAL_LIMIT = 64 << 30
"""Bytes that one archive may unpack to."""

_SPARE = 1 << 30
"""Bytes of the disk that stay free."""

_DIRECTORY_LIMIT = 16 << 20
"""Bytes of a zip's directory, which is read into memory whole."""

_HEADER_LIMIT = 1 << 20
_LONG_HEADERS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip
_CHUNK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_DRIVE = re.compile(r"[A-Za-z]:")
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*\x00-\x1f]')
# tarfile turns numbers in the headers of a hostile archive into Python's without a look: ValueError, OverflowError
_BROKEN = (
    OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, struct.error, ValueError,
    OverflowError,
)  # fmt: skip
_SINGLE: dict[str, Any] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
_SIGNS: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.GzipFile), (b"BZh", bz2.BZ2File), (b"\xfd7zXZ\0", lzma.LZMAFile),
)  # fmt: skip


class ArchiveError(Exception):
    """Why an archive cannot be used; `detect` makes it the reason of a skipped file."""


def is_archive(path: Path) -> bool:
    """Whether the name is one of an archive that is unpacked (never an .eval of inspect, which is a zip inside)."""
    return path.name.lower().endswith(_ARCHIVES)


def stem(path: Path) -> str:
    """The archive's name without its endings: its folder names the model of logs that lie at its top."""
    ending = max((end for end in _ARCHIVES if path.name.lower().endswith(end)), key=len, default="")
    return path.name[: len(path.name) - len(ending)] or "archive"


def is_compressed(path: Path) -> bool:
    """Whether the name is one of a single compressed file."""
    return path.suffix.lower() in _SINGLE and not is_archive(path)


class _Budget:
    """What may still be written, counted over one archive, with progress and cancel on the way."""

    def __init__(self, path: Path, target: Path, emit: Emit, cancel: CancelToken | None) -> None:
        self._path = path
        self._packed = path.stat().st_size
        self._room = shutil.disk_usage(target).free - _SPARE
        self._emit = emit
        self._cancel = cancel
        self._written = 0
        self._said = 0
        self._members = 0

    def member(self) -> None:
        """Count one member. Raises ArchiveError, CancelledError."""
        if self._cancel is not None:
            self._cancel.check()
        self._members += 1
        if self._members > MEMBER_LIMIT:
            raise ArchiveError(f"more than {MEMBER_LIMIT:,} files in it; unpack it yourself if that is meant")

    def copy(self, source: IO[bytes], target: Path) -> None:
        """Write one member, whole or not at all. Raises ArchiveError, CancelledError and what the source raises."""
        target.parent.mkdir(parents=True, exist_ok=True)
        out = target.open("xb")
        try:
            with out:
                while chunk := source.read(_CHUNK):
                    self._count(len(chunk))
                    try:
                        out.write(chunk)
                    except OSError as exc:
                        raise ArchiveError(f"cannot be unpacked into {target.parent} ({exc.strerror})") from exc
        except BaseException:
            target.unlink()
            raise

    def _count(self, size: int) -> None:
        if self._cancel is not None:
            self._cancel.check()
        self._written += size
        if self._written > max(RATIO_FREE, RATIO_LIMIT * self._packed):
            raise ArchiveError(f"it grows to more than {RATIO_LIMIT} times its size, as no log does")
        if self._written > TOTAL_LIMIT:
            raise ArchiveError(f"it holds more than {TOTAL_LIMIT >> 30} GiB; unpack it yourself")
        if self._written > self._room:
            raise ArchiveError("there is not enough room to unpack it on the disk of the temporary folder")
        if self._written >> 20 != self._said:
            self._said = self._written >> 20
            self._emit(Progress(self._said, None, f"MiB unpacked from {self._path.name}"))


def _inside(name: str) -> Path:
    """Where a member goes, relative to the archive's folder. Raises ArchiveError where that is outside."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or _DRIVE.match(plain) or "\0" in plain:
        raise ArchiveError(f"a member has an absolute name ({name!r:.80}): it would be written outside")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ArchiveError(f"a member's name leads outside ({name!r:.80})")
    if os.name == "nt":
        parts = [_NOT_ON_WINDOWS.sub("_", part).rstrip(". ") or "_" for part in parts]
    return Path(*parts)


def unpack(
    path: Path, target: Path, *, emit: Emit, cancel: CancelToken | None, keep: bool = False
) -> Iterator[tuple[str, str]]:
    """Unpack an archive into the empty folder `target`; yields the name and the reason of what was passed over.

    Raises ArchiveError, in words that end a line, and CancelledError. With `keep` the whole members in front of a
    broken place stay, else none of them.
    """
    try:
        budget = _Budget(path, target, emit, cancel)
        for name, source, why_not in _zip(path) if path.name.lower().endswith(".zip") else _tar(path):
            budget.member()
            if source is not None:
                budget.copy(source, target / _inside(name))
            elif why_not:
                yield name, why_not
    except FileExistsError as exc:
        raise _undone(target, f"it holds {Path(exc.filename).name} twice", keep) from exc
    except ArchiveError as exc:
        raise _undone(target, str(exc), keep=False) from exc
    except _BROKEN as exc:
        raise _undone(target, f"the archive is broken or cut off ({exc or type(exc).__name__})", keep) from exc
    except NotImplementedError as exc:
        # zipfile: a feature of newer versions, strong encryption
        raise _undone(target, f"cannot be unpacked ({exc})", keep) from exc


def _undone(target: Path, why: str, keep: bool) -> ArchiveError:
    if not keep:
        for entry in target.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()
    return ArchiveError(why)


def unpack_single(path: Path, target: Path, *, emit: Emit, cancel: CancelToken | None) -> None:
    """Write what the compressed file holds to `target`. Raises ArchiveError and CancelledError."""
    try:
        with _SINGLE[path.suffix.lower()](path) as source:
            _Budget(path, target.parent, emit, cancel).copy(source, target)
    except _BROKEN as exc:
        raise ArchiveError(f"the compressed file is broken or cut off ({exc or type(exc).__name__})") from exc


_Entry = tuple[str, IO[bytes] | None, str]
"""A member's name, its bytes, and why it is passed over where there are none ("" for a folder)."""


def _zip(path: Path) -> Iterator[_Entry]:
    check_directory(path)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir():
                yield info.filename, None, ""
            elif kind not in (0, stat.S_IFREG):
                yield info.filename, None, "a link or a device, which is not unpacked"
            elif info.flag_bits & 0x1:
                raise ArchiveError("it is encrypted: unpack it yourself and import the folder")
            elif info.compress_type not in _METHODS:
                raise ArchiveError("it is compressed in a way that is not read here: unpack it yourself")
            else:
                with archive.open(info) as source:
                    yield info.filename, source, ""


def check_directory(path: Path) -> None:
    """Refuse a zip whose directory would fill the memory. Raises ArchiveError."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65_557 - 20 - 56))
        tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 22:
        raise ArchiveError("named like an archive, but is none or is cut off")
    (size,) = struct.unpack_from("<I", tail, end + 12)
    large = tail.rfind(b"PK\x06\x06", 0, end)
    if large >= 0 and len(tail) >= large + 48:
        (size,) = struct.unpack_from("<Q", tail, large + 40)
    if size > _DIRECTORY_LIMIT:
        raise ArchiveError(f"more than {MEMBER_LIMIT:,} files in it; unpack it yourself if that is meant")


def _tar(path: Path) -> Iterator[_Entry]:
    with path.open("rb") as file:
        head = file.read(6)
    opener = next((opener for sign, opener in _SIGNS if head.startswith(sign)), io.FileIO)
    # streamed, so that a member is read where it comes and never sought
    with opener(path) as plain, tarfile.open(fileobj=plain, mode="r|", tarinfo=_Info) as archive:
        for info in archive:
            source: Any = archive.extractfile(info) if info.isreg() else None
            if source is None and not info.isdir():
                yield info.name, None, "a link or a device, which is not unpacked"
            else:
                yield info.name, source, ""


class _Info(tarfile.TarInfo):
    """A member of a tar; the headers with long names, which tarfile reads into memory whole, are bounded."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        # the place that tarfile names for own treatment of members
        if self.type in _LONG_HEADERS and self.size > _HEADER_LIMIT:
            raise ArchiveError("a member's name or header is far too long")
        return super()._proc_member(archive)  # type: ignore[misc]  # typeshed leaves it out
