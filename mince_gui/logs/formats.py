"""The formats that are known, in the order in which they are asked: the surest signs first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mince_gui.base.cancel import CancelToken
from mince_gui.base.events import Emit
from mince_gui.logs import evalscope, helm, ifeval_original, inspect_ai, lighteval, lm_eval, opencompass, tables
from mince_gui.logs.types import Claim, Found, PerItemLog

UNKNOWN = (
    "no per-item log of a known format (lm-eval, inspect_ai, lighteval, HELM, OpenCompass, EvalScope, IFEval's own, "
    "a table with a column item_key)"
)
"""Why a file was passed over that no format claimed."""


class Format(Protocol):
    """What a format's package offers (modules count: `FORMAT`, `claim`, `read` at their top)."""

    @property
    def FORMAT(self) -> str:  # noqa: N802 - a module's constant
        """The format's name, as `Found.format` and the workspace have it."""

    def claim(self, files: Sequence[Path]) -> Claim:
        """Which of `files` (sorted) are of this format. Cheap: looks at names and first bytes; never raises."""

    def read(self, found: Found, *, emit: Emit, cancel: CancelToken | None, salvage: bool) -> PerItemLog:
        """Read one found run. Raises InputError that names file and line or row, CancelledError.

        With `salvage` the whole rows in front of a broken place count, and a check "salvaged" names the place.
        """


FORMATS: tuple[Format, ...] = (inspect_ai, lighteval, helm, lm_eval, ifeval_original, evalscope, opencompass, tables)
