"""Freezing: asks for n and seed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QSpinBox, QWidget

from mince_gui.report import format as fmt
from mince_gui.ui.reads import Pool
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import button, column, label, row

_TEXT = (
    "The items are drawn once, at random without replacement, and kept in a file with their hashes. Every later model "
    "is run on the same items."
)


class FreezeDialog(QDialog):
    """Asks; `wanted` carries n and the seed."""

    wanted = Signal(int, int)

    def __init__(self, pool: Pool, n: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Freeze a subset")
        self._sizing = pool.sizing
        self.n = QSpinBox()
        self.n.setRange(1, pool.total_items - 1)
        self.n.setGroupSeparatorShown(True)
        self.n.setSuffix(f" of {pool.total_items:,} items")
        self.n.setValue(n)
        self.seed = QSpinBox()
        self.seed.setRange(0, 2**31 - 1)
        self.seed.setValue(42)
        self._bound = label("", "", wrap=True)
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        for words, field in (("Items n", self.n), ("Seed", self.seed), ("Drift bound", self._bound)):
            caption = label(words)
            caption.setMinimumHeight(28)
            field.setMinimumHeight(28)
            form.addRow(caption, field)
        go = button("Freeze", self._freeze, primary=True)
        go.setDefault(True)
        text = label(_TEXT, "muted", wrap=True)
        text.setFixedSize(400, text.heightForWidth(400))
        head = label(f"Freeze a subset of {pool.title}", "title")
        buttons = row(None, button("Cancel", self.reject), go)
        self.setLayout(column(head, text, form, GRID, buttons, gap=GRID, margin=3 * GRID))
        self.n.valueChanged.connect(self._show_bound)
        self.finished.connect(self.deleteLater)
        self._show_bound()

    def _freeze(self) -> None:
        self.wanted.emit(self.n.value(), self.seed.value())
        self.accept()

    def _show_bound(self) -> None:
        bound = self._sizing.bound_at(self.n.value()) if self._sizing is not None else None
        if bound is not None:
            self._bound.setText(f"{fmt.pp(bound, signed=False)} (P95 of the newest sizing)")
        elif self._sizing is None:
            self._bound.setText("none: this benchmark was not sized yet")
        else:
            self._bound.setText("none: this n is no candidate size of the newest sizing")
