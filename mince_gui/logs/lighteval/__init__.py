"""lighteval details: one Parquet file per task, made with --save-details.

Three layouts are read: nested doc, model_response and metric (0.11 and newer), nested metrics beside plain columns (0.8
to 0.10), and columns that hold Python's text of everything (0.7 and older, and the first open LLM leaderboard).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit
from mince_gui.logs.types import Claim, Found, PerItemLog

FORMAT = "lighteval details"


def claim(files: Sequence[Path]) -> Claim:
    """The runs among the files."""
    # Loaded here: Parquet's library costs every start of the program otherwise.
    from mince_gui.logs.lighteval import files as details

    return details.claim(files)


def read(found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool) -> PerItemLog:
    """Read one found run, as `Format.read` says."""
    from mince_gui.logs.lighteval import reader

    return reader.read(found, emit=emit, cancel=cancel, salvage=salvage)


__all__ = ["FORMAT", "claim", "read"]
