"""A defect's report file: where it happened and on what, without texts of prompts or answers."""

from __future__ import annotations

import platform
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from mince_gui import __version__
from mince_gui.base.files import write_atomic


def write_report(exc: BaseException, folder: Path) -> Path:
    """Write the traceback (code lines only, no values but the error's own) and versions; returns the file."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = folder / f"crash-{stamp}.txt"
    lines = [
        f"mince-gui {__version__}, Python {sys.version.split()[0]}, {platform.platform()}\n",
        f"{type(exc).__name__}\n",
        *traceback.format_tb(exc.__traceback__),
    ]
    write_atomic(path, "".join(lines))
    return path
