"""Where full scores come from, in the words of every document."""

from __future__ import annotations

from typing import Literal

from mince_gui.report.model import SourceLine
from mince_gui.report.types import Reference
from mince_gui.report.words import name_of


def sources_of(own: Reference | None, other: Reference | None) -> tuple[SourceLine, ...]:
    """A line for the own full run that drift is taken to, one for the full score that the total gap is taken to."""
    uses: tuple[tuple[Literal["own full run", "total gap"], Reference | None], ...] = (
        ("own full run", own), ("total gap", other)
    )  # fmt: skip
    return tuple(
        SourceLine(
            use=use, reference_id=found.reference_id, kind=found.kind, model=found.model, precision=found.precision,
            named=name_of(found), source=found.source, date=found.date, note=found.note, warnings=found.warnings,
        )
        for use, found in uses
        if found is not None
    )  # fmt: skip
