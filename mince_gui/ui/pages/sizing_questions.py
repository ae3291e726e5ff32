"""What people ask first of a sizing: the bound for my time, and the items for a bound."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox, QGridLayout

from mince_gui.app import size as sizing_app
from mince_gui.base.errors import MinceError
from mince_gui.report import format as fmt
from mince_gui.sizing.types import Bound, SizingResult
from mince_gui.ui.bridge import Job, was_cancelled
from mince_gui.ui.hub import Hub
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Debounce, label, roomy


def _field(low: float, high: float, value: float, suffix: str, name: str, tip: str) -> QDoubleSpinBox:
    field = roomy(QDoubleSpinBox())
    field.setRange(low, high)
    field.setDecimals(1)
    field.setValue(value)
    field.setSuffix(suffix)
    field.setAccessibleName(name)
    field.setToolTip(tip)
    # While a number is typed its first digit is no question.
    field.setKeyboardTracking(False)
    return field


def _shown(bound: Bound) -> str:
    error = f" ± {bound.error_pp:.2f}" if bound.error_pp else ""
    return f"{fmt.pp(bound.p95_pp, signed=False)}{error}"


class Questions(Card):
    """Two questions, answered in the background from the kept sizing whenever a number is changed."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(margin=GRID)
        self._hub = hub
        self._result: SizingResult | None = None
        self._job: Job | None = None
        self.hours = _field(0.1, 10_000.0, 2.0, " h", "Hours", "How long the run may take")
        self.seconds = _field(0.1, 100_000.0, 30.0, " s per item", "Seconds per item", "How long one item takes")
        self.target = _field(0.1, 50.0, 4.0, " pp", "Bound wanted", "The P95 that must hold")
        self.for_time = label("", select=True)
        self.for_bound = label("", select=True)
        for field in (self.hours, self.seconds, self.target):
            field.setMinimumWidth(144)
        box = QGridLayout()
        box.setSpacing(GRID)
        box.setColumnStretch(4, 1)
        box.addWidget(label("Bound for my time", "muted"), 0, 0)
        box.addWidget(self.hours, 0, 1)
        box.addWidget(label("at", "muted"), 0, 2)
        box.addWidget(self.seconds, 0, 3)
        box.addWidget(self.for_time, 0, 4)
        box.addWidget(label("Items for a bound of", "muted"), 1, 0)
        box.addWidget(self.target, 1, 1)
        box.addWidget(self.for_bound, 1, 2, 1, 3)
        self.body.addLayout(box)
        self._ask_later = Debounce(self._ask, self, milliseconds=200)
        for field in (self.hours, self.seconds, self.target):
            field.valueChanged.connect(self._changed)
        self.show_for(None)

    def show_for(self, result: SizingResult | None) -> None:
        """Answer for this sizing, which is the workspace's newest of its benchmark; None = there is none to ask."""
        if result is not None and result is self._result:
            return
        self._result = result
        self._drop()
        self.setVisible(result is not None)
        if result is not None:
            self._changed()

    @property
    def asking(self) -> bool:
        """Whether an answer is still to come."""
        return self._ask_later.isActive() or self._job is not None

    def _changed(self) -> None:
        self._drop()
        if self._result is not None:
            self._say("...", "...")
            self._ask_later.start()

    def _drop(self) -> None:
        self._ask_later.stop()
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _ask(self) -> None:
        result, workspace = self._result, self._hub.workspace
        if result is None:
            return
        target, hours, seconds = self.target.value(), self.hours.value(), self.seconds.value()
        self._job = self._hub.jobs.start(
            "",
            lambda emit, cancel: sizing_app.ask(
                workspace, result.benchmark, target_pp=target, hours=hours, seconds_per_item=seconds, cancel=cancel
            ),
            done=self._show,
            failed=self._failed,
            shown=False,
        )

    def _show(self, answered: SizingResult) -> None:
        kept = self._result
        if kept is None or answered.benchmark != kept.benchmark:
            return
        self._job = None
        time, items = answered.budget, answered.target
        assert time is not None
        assert items is not None
        bound = time.bound
        if bound.n == kept.total_items:
            for_time = f"all {bound.n:,} items fit"
        else:
            for_time = f"{bound.n:,} items, P95 {_shown(bound)}"
        if items.bound.n == kept.total_items:
            for_bound = f"all {items.bound.n:,} items"
        else:
            good = "for good" if items.bound.method == "exact" else "as drawn for good"
            again = f", {good} from {items.n_always:,}" if items.n_always > items.bound.n else ""
            for_bound = f"{items.bound.n:,} items (P95 {_shown(items.bound)}{again})"
        self._say(for_time, for_bound)

    def _failed(self, error: MinceError) -> None:
        if not was_cancelled(error):
            self._job = None
            self._say(error.message, "")

    def _say(self, for_time: str, for_bound: str) -> None:
        self.for_time.setText(for_time)
        self.for_bound.setText(for_bound)
