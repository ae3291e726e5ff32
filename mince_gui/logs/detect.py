"""Finds the per-item logs under some paths, whatever else lies there."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit, ignore
from mince_gui.logs import archives, formats, tables
from mince_gui.logs.archives import ArchiveError
from mince_gui.logs.scratch import Scratch
from mince_gui.logs.types import Detection, Found


class _Search:
    """The state of one search: the files that no format has claimed yet, and what was passed over so far."""

    def __init__(self, emit: Emit, cancel: CancelToken | None, keep: bool, encoding: str) -> None:
        self.emit = emit
        self.encoding = encoding
        self.cancel = cancel
        self.keep = keep
        self.files: dict[Path, None] = {}
        self.skipped: dict[Path, str] = {}
        self.found: list[Found] = []
        self.scratch: Scratch | None = None

    def add(self, path: Path) -> None:
        """Take in a file, or all files of a folder."""
        if path.is_dir():
            before = len(self.skipped)
            inside = list(self._walk(path))
            self.files.update(dict.fromkeys(inside))
            if not inside and len(self.skipped) == before:
                self.skipped[path] = "an empty folder"
        elif path.is_file():
            self.files[path] = None
        else:
            self.skipped[path] = "there is no such file or folder"

    def _walk(self, folder: Path) -> Iterator[Path]:
        def unreadable(error: OSError) -> None:
            self.skipped[Path(error.filename or folder)] = f"cannot be listed ({error.strerror})"

        for here, folders, names in os.walk(folder, onerror=unreadable):
            if self.cancel is not None:
                self.cancel.check()
            folders.sort()
            for path in (Path(here) / name for name in folders):
                if path.is_symlink():
                    self.skipped[path] = "a link to a folder, which is not followed: name it itself"
            for path in (Path(here) / name for name in sorted(names)):
                if path.is_file():
                    yield path
                else:
                    self.skipped[path] = "no regular file (a pipe would never end), or a link to nothing"

    def _own_scratch(self) -> Scratch:
        if self.scratch is None:
            self.scratch = Scratch()
        return self.scratch

    def unpack(self) -> None:
        """Put the content of every archive in its place. One level: an archive inside stays as it is."""
        for path in [path for path in self.files if archives.is_archive(path)]:
            del self.files[path]
            scratch = self._own_scratch()
            target = scratch.new_folder(archives.stem(path), str(path))
            try:
                for name, why in archives.unpack(path, target, emit=self.emit, cancel=self.cancel, keep=self.keep):
                    # not "/": an absolute name would take its place
                    self.skipped[Path(f"{target}/{name.lstrip('/')}")] = why
            except ArchiveError as exc:
                self.skipped[path] = str(exc)
            except OSError as exc:
                self.skipped[path] = f"cannot be unpacked ({exc.strerror})"
            for inside in self._walk(target):
                if archives.is_archive(inside):
                    self.skipped[inside] = "an archive inside an archive: unpack the outer one yourself"
                else:
                    self.files[inside] = None

    def unpack_singles(self) -> None:
        """Unpack the compressed files that no format reads as they are, those of one folder side by side."""
        folders: dict[Path, Path] = {}
        for path in [path for path in self.files if archives.is_compressed(path)]:
            scratch = self._own_scratch()
            if path.parent not in folders:
                folders[path.parent] = scratch.new_folder(path.parent.name or "files", scratch.shown(str(path.parent)))
            target = folders[path.parent] / path.stem
            del self.files[path]
            if target in self.files:
                self.skipped[path] = f"a second copy of {target.name}"
                continue
            try:
                archives.unpack_single(path, target, emit=self.emit, cancel=self.cancel)
            except ArchiveError as exc:
                self.skipped[path] = str(exc)
                continue
            except OSError as exc:
                self.skipped[path] = f"cannot be unpacked ({exc.strerror})"
                continue
            scratch.show(target, scratch.shown(str(path)))
            self.files[target] = None

    def claim(self) -> None:
        """Let each format take its files."""
        for form in formats.FORMATS:
            if self.cancel is not None:
                self.cancel.check()
            files = tuple(self.files)
            # a table is read through before it is claimed: it needs its encoding, and may take long
            claim = (
                tables.claim(files, encoding=self.encoding, cancel=self.cancel) if form is tables else form.claim(files)
            )
            self.found += (dataclasses.replace(found, encoding=self.encoding) for found in claim.found)
            self.skipped.update(claim.refused)
            for path in claim.taken:
                self.files.pop(path, None)

    def result(self) -> Detection:
        """What was found, with every path as people know it."""
        self.skipped.update(dict.fromkeys(self.files, formats.UNKNOWN))
        scratch = self.scratch
        if scratch is None:
            return Detection(tuple(self.found), tuple(sorted(self.skipped.items())), tuple(self.files))
        found = [
            dataclasses.replace(f, scratch=scratch, why=scratch.shown(f.why))
            if any(scratch.holds(path) for path in f.files)
            else f
            for f in self.found
        ]
        skipped = {Path(scratch.shown(str(path))): scratch.shown(why) for path, why in self.skipped.items()}
        return Detection(tuple(found), tuple(sorted(skipped.items())), tuple(self.files), scratch)


def detect(
    paths: Sequence[Path],
    *,
    encoding: str = "",
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    salvage: bool = False,
) -> Detection:
    """The runs under `paths` (folders, searched to the bottom, archives, or single files), each not yet read.

    Never raises for what it finds: a file that is no log is skipped with the reason. Two time stamps in one
    folder are two runs. Links to folders are skipped by name, not followed. Archives are unpacked into a temporary
    folder, with Progress on the way; with `salvage` a broken one gives what was whole. `encoding` is that of the
    logs' text where it is not UTF-8. Raises CancelledError.
    """
    search = _Search(emit, cancel, salvage, encoding)
    try:
        for path in paths:
            search.add(path)
        search.unpack()
        search.claim()
        if any(archives.is_compressed(path) for path in search.files):
            search.unpack_singles()
            search.claim()
        return search.result()
    except BaseException:
        if search.scratch is not None:
            search.scratch.close()
        raise
