"""What the question of a sizing is made of: the pool's rows, the rules' words, number fields."""

from __future__ import annotations

from PySide6.QtWidgets import QSpinBox

from mince_gui.report import format as fmt
from mince_gui.ui.tables import Column
from mince_gui.ui.widgets import roomy

RULES = {
    "per-model": "the 95th percentile of |drift| for each model and metric, then the worst of them (as published)",
    "joint": "the worst |drift| of each draw, then its 95th percentile: stricter, holds for all models at once",
}


class Member(tuple[str, tuple[float, ...], str]):
    """A model of the pool: name, full scores in percent, benchmark."""

    __slots__ = ()


def _member_scores(member: Member) -> str:
    known = [score for score in member[1] if score == score]
    if not known:
        return fmt.MISSING
    low, high = min(known), max(known)
    return f"{low:.1f} %" if high - low < 0.05 else f"{low:.0f} to {high:.0f} %"


MEMBERS = (
    Column[Member]("Model", lambda m: m[0].rpartition("/")[2], width=0, tip=lambda m: m[0]),
    Column[Member](
        "Scores", _member_scores, key=lambda m: m[1][0], number=True, width=92,
        help="Lowest to highest full score over the metrics",
    ),
)  # fmt: skip


def spin(low: int, high: int, tip: str, suffix: str) -> QSpinBox:
    """A whole number with its bounds, tool tip and unit."""
    made = roomy(QSpinBox())
    made.setRange(low, high)
    made.setGroupSeparatorShown(True)
    made.setToolTip(tip)
    made.setSuffix(suffix)
    return made
