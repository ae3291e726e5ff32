"""Finds the per-item logs under some paths, whatever else lies there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mince_gui.logs import formats
from mince_gui.logs.types import Detection, Found


def _walk(folder: Path, skipped: dict[Path, str]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        skipped[Path(error.filename or folder)] = f"cannot be listed ({error.strerror})"

    for here, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        for name in sorted(names):
            yield Path(here) / name


def detect(paths: Sequence[Path]) -> Detection:
    """The runs under `paths` (folders, searched to the bottom, or single files), each not yet read.

    Never raises for what it finds: a file that is no log is skipped with the reason. Two time stamps in one
    folder are two runs. Links to folders are not followed.
    """
    skipped: dict[Path, str] = {}
    files: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = list(_walk(path, skipped))
            files.update(dict.fromkeys(inside))
            if not inside and path not in skipped:
                skipped[path] = "an empty folder"
        elif path.is_file():
            files[path] = None
        else:
            skipped[path] = "there is no such file or folder"
    found: list[Found] = []
    for form in formats.FORMATS:
        claim = form.claim(tuple(files))
        found += claim.found
        skipped.update(claim.refused)
        for path in claim.taken:
            files.pop(path, None)
    skipped.update(dict.fromkeys(files, formats.UNKNOWN))
    return Detection(tuple(found), tuple(sorted(skipped.items())))
