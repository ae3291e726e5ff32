"""Freezing: asks for n, seed and sampler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QFormLayout, QSpinBox, QWidget

from mince_gui.base.draws import UNIFORM
from mince_gui.report import format as fmt
from mince_gui.sizing.types import SizingResult
from mince_gui.ui.reads import Pool
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Elided, button, column, label, roomy, row

_SAMPLERS = (
    ("uniform", "uniform", "Every subset of n items is equally likely: the bound of the sizing is one for this draw"),
    ("stratified", "by category", "Every category keeps its share of the items (Webster seats)"),
    ("kmeans", "by k-means on sentence embeddings", "Every group of like texts keeps its share of the items"),
)
_TEXT = (
    "The items are drawn once, at random without replacement, and kept in a file with their hashes. Every later model "
    "is run on the same items."
)


@dataclass(frozen=True)
class Wish:
    """What is to be frozen; the paths are for the sampler kmeans alone."""

    n: int
    seed: int
    sampler: str = "uniform"
    embeddings: Path | None = None
    embedding_model: Path | None = None
    dataset: Path | None = None


class PathField(QWidget):
    """A file or folder that is chosen in a dialog; `changed` when it was."""

    changed = Signal()

    def __init__(self, title: str, none: str, *, folder: bool, file: bool, files: str = "") -> None:
        super().__init__()
        self.path: Path | None = None
        self._title, self._files = title, files
        self._shown = Elided(none, "muted")
        inside = row(self._shown, gap=GRID)
        inside.setStretch(0, 1)
        for wanted, words, is_folder in ((folder, "Folder", True), (file, "File", False)):
            if wanted:
                inside.addWidget(button(words, partial(self._choose, folder=is_folder)))
        self.setLayout(inside)

    def set_path(self, path: Path) -> None:
        """Take this path."""
        self.path = path
        self._shown.set_text(str(path))
        self.changed.emit()

    def _choose(self, *, folder: bool) -> None:
        dialog = QFileDialog(self, self._title, "", "" if folder else self._files)
        mode = QFileDialog.FileMode
        dialog.setFileMode(mode.Directory if folder else mode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.set_path(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


class FreezeDialog(QDialog):
    """Asks; `wanted` carries a `Wish`. Proposes `n_star`, and no n at all where there is none."""

    wanted = Signal(object)

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
        self.sampler = QComboBox()
        for place, (name, words, tip) in enumerate(_SAMPLERS):
            self.sampler.addItem(words, name)
            self.sampler.setItemData(place, tip, Qt.ItemDataRole.ToolTipRole)
        self.source = QComboBox()
        self.source.addItem("vectors in a file", "vectors")
        self.source.addItem("a model, from the items' texts", "model")
        self.vectors = PathField(
            "Embeddings of the items", "one vector per item", folder=False, file=True, files="Vectors (*.npy *.parquet)"
        )
        self.encoder = PathField("Sentence-embedding model", "an ONNX model folder", folder=True, file=False)
        self.dataset = PathField("Dataset with the items' texts", "the dataset, or a full pack", folder=True, file=True)
        self._bound = label("", "", wrap=True)
        self.why = label("", "", wrap=True)
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        fields = (
            ("Items n", self.n), ("Seed", self.seed), ("Sampler", self.sampler), ("Embeddings", self.source),
            ("Vectors", self.vectors), ("Model", self.encoder), ("Texts", self.dataset), ("Proposal", self.why),
            ("Drift bound", self._bound),
        )  # fmt: skip
        for words, field in fields:
            caption = label(words)
            caption.setMinimumHeight(28)
            field.setMinimumHeight(28)
            caption.setBuddy(field)
            field.setAccessibleName(words)
            form.addRow(caption, field)
        self.go = button("Freeze", self._freeze, primary=True)
        self.go.setDefault(True)
        text = label(_TEXT, "muted", wrap=True)
        text.setFixedSize(400, text.heightForWidth(400))
        head = label(f"Freeze a subset of {pool.title}", "title")
        buttons = row(None, button("Cancel", self.reject), self.go)
        self.setLayout(column(head, text, form, GRID, buttons, gap=GRID, margin=3 * GRID))
        self.n.valueChanged.connect(self._settle)
        self.sampler.currentIndexChanged.connect(self._settle)
        self.source.currentIndexChanged.connect(self._settle)
        for path in (self.vectors, self.encoder, self.dataset):
            path.changed.connect(self._settle)
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
        self.wanted.emit(self.wish())
        self.accept()

    def wish(self) -> Wish:
        """What is asked as the dialog stands."""
        sampler = self.sampler.currentData()
        if sampler != "kmeans":
            return Wish(self.n.value(), self.seed.value(), sampler)
        if self.source.currentData() == "vectors":
            return Wish(self.n.value(), self.seed.value(), sampler, embeddings=self.vectors.path)
        model, texts = self.encoder.path, self.dataset.path
        return Wish(self.n.value(), self.seed.value(), sampler, embedding_model=model, dataset=texts)

    def _settle(self) -> None:
        n, grouped = self.n.value(), self.sampler.currentData() == "kmeans"
        by_model = grouped and self.source.currentData() == "model"
        self._form.setRowVisible(self.source, grouped)
        self._form.setRowVisible(self.vectors, grouped and not by_model)
        self._form.setRowVisible(self.encoder, by_model)
        self._form.setRowVisible(self.dataset, by_model)
        needed = (self.encoder.path, self.dataset.path) if by_model else (self.vectors.path,)
        embedded = None not in needed
        self.go.setEnabled(n > 0 and (embedded or not grouped))
        bound = self._sizing.bound_at(n) if self._sizing is not None else None
        if bound is not None:
            of = "" if self.sampler.currentData() in UNIFORM else ", for uniform draws"
            self._bound.setText(f"{fmt.pp(bound, signed=False)} (P95 of the sizing shown{of})")
        elif self._sizing is None:
            self._bound.setText("none: this benchmark was not sized yet")
        else:
            self._bound.setText("none: this n is no candidate size of the sizing" if n else "-")
