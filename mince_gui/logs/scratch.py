"""Where the content of archives lies while it is read, and how its places are shown to people."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class Scratch:
    """A temporary folder; it goes on `close`, or when nothing refers to it any more.

    Every path below it stands for a place inside an archive: `shown` says which ("logs.zip/model/samples.jsonl").
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mince-"))
        self._places: dict[str, str] = {}
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def new_folder(self, name: str, shown: str) -> Path:
        """A new empty folder called `name`; what lies in it is shown as lying in `shown`."""
        folder = self.folder / str(len(self._places)) / name
        folder.mkdir(parents=True)
        self.show(folder, shown)
        return folder

    def show(self, path: Path, shown: str) -> None:
        """From now on show `path` as `shown`."""
        self._places[str(path)] = shown

    def shown(self, text: str) -> str:
        """The text with every path below this folder as its place inside an archive."""
        if str(self.folder) in text:
            # the longest first: a file that was unpacked from inside an archive has a place of its own
            for real in sorted(self._places, key=len, reverse=True):
                text = text.replace(real, self._places[real])
        return text

    def holds(self, path: Path) -> bool:
        """Whether the path lies below this folder."""
        return path.is_relative_to(self.folder)

    def close(self) -> None:
        """Remove the folder; closing twice is allowed."""
        self._remove()
