"""Freezing: asks for n and seed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QSpinBox, QWidget

from mince_gui.report import format as fmt
from mince_gui.sizing.types import SizingResult
from mince_gui.ui.reads import Pool
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import button, column, label, roomy, row

_TEXT = (
    "The items are drawn once, at random without replacement, and kept in a file with their hashes. Every later model "
    "is run on the same items."
)


class FreezeDialog(QDialog):
    """Asks; `wanted` carries n and the seed. Proposes `n_star`, and no n at all where there is none."""

    wanted = Signal(int, int)

    def __init__(
        self, pool: Pool, sizing: SizingResult | None, n_star: int | None, tau_pp: float, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Freeze a subset")
        self._sizing = sizing
        self._n_star, self._tau = n_star, tau_pp
        self.n = roomy(QSpinBox())
        # 0 stands for no choice yet.
        self.n.setRange(0, pool.total_items - 1)
        self.n.setSpecialValueText("choose n")
        self.n.setGroupSeparatorShown(True)
        self.n.setSuffix(f" of {pool.total_items:,} items")
        self.n.setValue(n_star or 0)
        self.seed = roomy(QSpinBox())
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setValue(42)
        self._bound = label("", "", wrap=True)
        self.why = label("", "", wrap=True)
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        fields = (("Items n", self.n), ("Seed", self.seed), ("Proposal", self.why), ("Drift bound", self._bound))
        for words, field in fields:
            caption = label(words)
            caption.setMinimumHeight(28)
            field.setMinimumHeight(28)
            form.addRow(caption, field)
        self.go = button("Freeze", self._freeze, primary=True)
        self.go.setDefault(True)
        text = label(_TEXT, "muted", wrap=True)
        text.setFixedSize(400, text.heightForWidth(400))
        head = label(f"Freeze a subset of {pool.title}", "title")
        buttons = row(None, button("Cancel", self.reject), self.go)
        self.setLayout(column(head, text, form, GRID, buttons, gap=GRID, margin=3 * GRID))
        self.n.valueChanged.connect(self._settle)
        self.finished.connect(self.deleteLater)
        self.why.setText(self._proposal())
        self._settle()

    def _proposal(self) -> str:
        if self._sizing is None:
            return "none: this benchmark was not sized yet"
        if self._n_star is None:
            return f"none: no size has a gain below tau {self._tau:.2f} pp"
        return f"n* {self._n_star:,} at tau {self._tau:.2f} pp"

    def _freeze(self) -> None:
        self.wanted.emit(self.n.value(), self.seed.value())
        self.accept()

    def _settle(self) -> None:
        n = self.n.value()
        self.go.setEnabled(n > 0)
        bound = self._sizing.bound_at(n) if self._sizing is not None else None
        if bound is not None:
            self._bound.setText(f"{fmt.pp(bound, signed=False)} (P95 of the sizing shown)")
        elif self._sizing is None:
            self._bound.setText("none: this benchmark was not sized yet")
        else:
            self._bound.setText("none: this n is no candidate size of the sizing" if n else "-")
