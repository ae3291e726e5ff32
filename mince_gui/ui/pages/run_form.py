"""What to run: model folder, pack and options."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QComboBox, QFileDialog, QGridLayout, QLineEdit, QSpinBox, QWidget

from mince_gui.app.run import RunOrder
from mince_gui.run.types import TimingMode
from mince_gui.store.subsets import StoredPack
from mince_gui.ui.reads import RunChoices
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Elided, button, column, label, roomy, row

_NO_MODEL = "Choose a model folder"
_NO_PACK = "No pack yet: make one on Subsets, or open a file"
_NEEDS = "A run needs an ONNX Runtime GenAI model folder and a pack (items with their content)."
_LEAST_COMBO = 120
"""Pixels, so that a line of them fits into the narrowest window."""
_REST_MS = 250
"""How long the form is left alone before an estimate is asked for."""
_FAST_TIP = (
    "Standard: every prompt is read whole; take it for measured times and speedups.\n"
    "Fast: for choices, the examples that neighbouring items share are read once. It is used only where it was seen\n"
    "to change no logit, so scores are the same; its times are not compared with standard ones."
)


class RunForm(Card):
    """Asks for one run; `wanted` carries a RunOrder, `unsure` one whose duration is asked for (see `show_forecast`)."""

    wanted = Signal(object)
    unsure = Signal(object)

    def __init__(self) -> None:
        super().__init__(margin=GRID + 4)
        self._choices = RunChoices((), (), {})
        self.model = _combo("Model")
        self.pack = _combo("Pack")
        self.limit = _spin(
            "all items", "Run only so many items of the pack, in its shuffled order; the drift bound does not hold then"
        )
        self.threads = _spin("automatic", "Threads of the runtime")
        self.tokens = _spin("the task's own", "Longest answer in tokens")
        self.item_seconds = _spin("no limit", "An answer that takes longer is cut, and counted as cut by time")
        self.item_seconds.setSuffix(" s")
        self.timing = QComboBox()
        self.timing.setAccessibleName("Timing")
        self.timing.addItem("standard", "standard")
        self.timing.addItem("fast", "fast")
        self.timing.setToolTip(_FAST_TIP)
        self.runtime = _combo("Runtime")
        self.runtime.setToolTip("The Python with OGA that runs the model; mince runtimes add registers another")
        self.runtime.addItem("bundled (CPU)", "")
        self.template = QComboBox()
        self.template.setAccessibleName("Chat template")
        self.template.addItem("as the task needs", "auto")
        self.template.addItem("none", "none")
        self.task = _combo("Task")
        self.task.setToolTip("What is asked of each item, as lm-eval's task of this name asks it")
        self.system = QLineEdit()
        self.system.setAccessibleName("System prompt")
        self.system.setPlaceholderText("none")
        self.system.setToolTip(
            "A system message before every prompt; without a chat template it stands before the prompt as it is"
        )
        self.forecast = Elided("", "muted")
        self._told: RunOrder | None = None
        self.start = button("Start", self._start, icon="run", primary=True, tip="Start the run (Ctrl+Enter)")
        self._more = button("More", self._toggle, flat=True, tip="Task, template, answers, runtime, timing, threads")
        browse = button("", self._browse_model, icon="folder", tip="Choose a model folder")
        browse.setAccessibleName("Choose a model folder")
        open_pack = button("", self._browse_pack, icon="folder", tip="Open a pack file")
        open_pack.setAccessibleName("Open a pack file")
        line = row(
            label("Model", "muted"), self.model, browse, GRID, label("Pack", "muted"), self.pack, open_pack, GRID,
            label("Limit", "muted"), self.limit, self._more, self.start, gap=GRID,
        )  # fmt: skip
        # Names are long: they get what the window has.
        line.setStretchFactor(self.model, 2)
        line.setStretchFactor(self.pack, 3)
        self._options = QWidget()
        options = QGridLayout()
        options.setContentsMargins(0, 0, 0, 0)
        options.setSpacing(GRID)
        open_template = button("", self._browse_template, icon="folder", tip="A chat template's file (jinja or JSON)")
        open_template.setAccessibleName("Open a chat template")
        template = QWidget()
        template.setLayout(row(self.template, open_template, gap=GRID))
        fields: tuple[tuple[str, QWidget, int, int, int], ...] = (
            ("Task", self.task, 0, 0, 1),
            ("Chat template", template, 0, 2, 1),
            ("Longest answer", self.tokens, 0, 4, 1),
            ("System prompt", self.system, 1, 0, 3),
            ("Longest item", self.item_seconds, 1, 4, 1),
            ("Runtime", self.runtime, 2, 0, 1),
            ("Timing", self.timing, 2, 2, 1),
            ("Threads", self.threads, 2, 4, 1),
        )
        for words, field, at, place, span in fields:
            name = label(words, "muted")
            # Nearer to its own field than to the one before.
            name.setContentsMargins(GRID if place else 0, 0, 0, 0)
            options.addWidget(name, at, place)
            options.addWidget(field, at, place + 1, 1, span)
        options.setColumnStretch(1, 1)
        options.setColumnStretch(3, 1)
        self._options.setLayout(options)
        self._options.hide()
        self.body.addLayout(line)
        self.body.addWidget(self._options)
        self.body.addLayout(column(self.forecast))
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._ask_forecast)
        self.pack.currentIndexChanged.connect(self._offer_tasks)
        for combo in (self.model, self.pack, self.task, self.template, self.timing, self.runtime):
            combo.currentIndexChanged.connect(self._settle)
        for spin in (self.limit, self.tokens, self.item_seconds, self.threads):
            spin.valueChanged.connect(self._settle)
        self.system.textChanged.connect(self._settle)
        self._settle()

    def show_choices(self, choices: RunChoices) -> None:
        """Offer these models and packs; what was chosen stays chosen."""
        self._choices = choices
        model, pack = self.model.currentData(), self.pack.currentData()
        own = [(self.model.itemText(i), self.model.itemData(i)) for i in range(self.model.count())]
        known = {str(path) for _, path in choices.models}
        models = [(name, str(path)) for name, path in choices.models]
        models += [(name, path) for name, path in own if path and path not in known]
        _fill(self.model, models, model, _NO_MODEL)
        packs = [(f"{p.name}  ({p.n:,} items)", p.name) for p in choices.packs]
        own = [(self.pack.itemText(i), self.pack.itemData(i)) for i in range(self.pack.count())]
        packs += [(name, path) for name, path in own if path and str(path).endswith(".mincepack")]
        _fill(self.pack, packs, pack, _NO_PACK)
        # A name alone, with what it is for those who never registered another.
        runtimes = [("bundled (CPU)", ""), *((name, name) for name in choices.runtimes)]
        _fill(self.runtime, runtimes, self.runtime.currentData(), "")
        self._offer_tasks()
        self._settle()

    def choose_pack(self, name: str) -> None:
        """Choose a pack by its name."""
        place = self.pack.findData(name)
        if place >= 0:
            self.pack.setCurrentIndex(place)

    def choose_model(self, folder: Path) -> None:
        """Choose a model folder, known or not."""
        _choose(self.model, folder.name, str(folder))

    def open_pack(self, path: Path) -> None:
        """Choose a pack file."""
        _choose(self.pack, path.name, str(path))

    def open_template(self, path: Path) -> None:
        """Choose a chat template's file."""
        _choose(self.template, path.name, str(path))

    def order(self) -> RunOrder | None:
        """The run as asked for; None where model or pack is missing."""
        model, pack = self.model.currentData(), self.pack.currentData()
        if not model or not pack:
            return None
        return RunOrder(
            Path(model),
            str(pack),
            task=self.task.currentData(),
            runtime=self.runtime.currentData() or None,
            timing=self._timing_mode(),
            threads=self.threads.value() or None,
            chat_template=self.template.currentData(),
            limit=self.limit.value() or None,
            max_new_tokens=self.tokens.value() or None,
            system_prompt=self.system.text() if self.system.text().strip() else None,
            max_item_seconds=self.item_seconds.value() or None,
        )

    def _timing_mode(self) -> TimingMode:
        return "fast" if self.timing.currentData() == "fast" else "standard"

    def show_forecast(self, order: RunOrder, words: str) -> None:
        """Say how long `order` would take, unless something else is asked for by now."""
        if order == self.order():
            self._told = order
            self.forecast.set_text(f"Time: {words}." if words else "")

    def _ask_forecast(self) -> None:
        order = self.order()
        if order is not None:
            self.unsure.emit(order)

    def _start(self) -> None:
        order = self.order()
        if order is not None:
            self.start.setEnabled(False)
            self.wanted.emit(order)

    def started(self) -> None:
        """The run was created, or refused: another may be asked for."""
        self._settle()

    def _chosen_pack(self) -> StoredPack | None:
        return next((p for p in self._choices.packs if p.name == self.pack.currentData()), None)

    def _offer_tasks(self) -> None:
        """The tasks of the pack's benchmark, the default first; a pack of logged prompts has its own."""
        pack, kept = self._chosen_pack(), self.task.currentData()
        tasks = () if pack is None else self._choices.tasks.get(pack.name, ())
        # Whoever offers settles the form: half-filled it asks for another run.
        self.task.blockSignals(True)
        self.task.clear()
        if len(tasks) < 2:
            self.task.addItem(tasks[0] if tasks else "the pack's own", None)
        for name in tasks if len(tasks) > 1 else ():
            self.task.addItem(name, name)
        self.task.setCurrentIndex(max(0, self.task.findData(kept)))
        self.task.setEnabled(len(tasks) > 1)
        self.task.blockSignals(False)

    def _settle(self) -> None:
        """What is asked for has changed."""
        order = self.order()
        self.start.setEnabled(order is not None)
        if order is None:
            self._rest.stop()
            self._told = None
            self.forecast.set_text(_NEEDS)
            return
        if order != self._told:
            # What was said of another order is not true of this one.
            self.forecast.set_text("")
        # Asked again all the same: a run may have ended since, and tell more.
        self._rest.start()

    def _toggle(self) -> None:
        shown = self._options.isHidden()
        self._options.setVisible(shown)
        self._more.setText("Less" if shown else "More")

    def _browse_model(self) -> None:
        dialog = QFileDialog(self, "Model folder (with genai_config.json)")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda path: self.choose_model(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _browse_template(self) -> None:
        dialog = QFileDialog(self, "Chat template", "", "Chat templates (*.jinja *.json *.txt);;All files (*)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.open_template(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _browse_pack(self) -> None:
        dialog = QFileDialog(self, "Pack", "", "Packs (*.mincepack)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.open_pack(Path(path)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _combo(name: str) -> QComboBox:
    made = QComboBox()
    made.setAccessibleName(name)
    made.setMinimumWidth(_LEAST_COMBO)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    return made


def _spin(nothing: str, tip: str) -> QSpinBox:
    made = roomy(QSpinBox())
    made.setRange(0, 100_000)
    made.setGroupSeparatorShown(True)
    made.setSpecialValueText(nothing)
    made.setToolTip(tip)
    made.setAccessibleName(tip)
    return made


def _fill(combo: QComboBox, entries: list[tuple[str, str]], kept: object, nothing: str) -> None:
    combo.blockSignals(True)
    combo.clear()
    for name, value in entries:
        combo.addItem(name, value)
        combo.setItemData(combo.count() - 1, value, 3)  # tool tip role
    if not entries:
        combo.addItem(nothing, None)
    combo.setCurrentIndex(max(0, combo.findData(kept)))
    combo.blockSignals(False)


def _choose(combo: QComboBox, name: str, value: str) -> None:
    place = combo.findData(value)
    if place < 0:
        empty = combo.findData(None)
        if empty >= 0:
            combo.removeItem(empty)
        combo.addItem(name, value)
        place = combo.count() - 1
    combo.setCurrentIndex(place)
