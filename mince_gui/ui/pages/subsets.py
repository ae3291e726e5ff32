"""Subsets: what was frozen, what justified it, and the packs that carry it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QGridLayout, QMenu, QSplitter

from mince_gui.app import export as exporting
from mince_gui.app import pack as packing
from mince_gui.app.export import Exported, Form
from mince_gui.app.listings import unreadable_subsets
from mince_gui.app.pack import Packed
from mince_gui.base.draws import UNIFORM, bound_note, bound_title
from mince_gui.base.errors import InputError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import format as fmt
from mince_gui.report.bound import quantile_name
from mince_gui.ui import reads
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.logs import title_of
from mince_gui.ui.reads import SubsetRow
from mince_gui.ui.run_words import local
from mince_gui.ui.states import EmptyState
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Elided, Scroll, button, clear, label, row

_EXPLAIN = (
    "Item lists, drawn once and kept: every model is run on the same items. A pack adds what a run needs, offline."
)
_EMPTY = "Size a benchmark first, then freeze a subset at n*: its items are drawn once and kept."
_FORMS: tuple[tuple[Form, str], ...] = (
    ("lm-eval", "Map for lm-eval --samples"), ("csv", "Table of the items (CSV)"), ("quark", "Artifact of amd-quark"),
)  # fmt: skip
_SAMPLERS = {"uniform": "uniform", "full": "full benchmark"}


def _bound(shown: SubsetRow) -> str:
    """The bound; in brackets where it is one for uniform draws and the subset was drawn otherwise."""
    words = fmt.pp(shown.bound_pp, signed=False)
    return words if shown.bound_pp is None or shown.sampler in UNIFORM else f"({words})"


def _bound_tip(shown: SubsetRow) -> str:
    return "" if shown.bound_pp is None else bound_note(shown.sampler)


def _seed(shown: SubsetRow) -> str:
    return "-" if shown.seed is None else str(shown.seed)


COLUMNS = (
    Column[SubsetRow]("Name", lambda r: r.name, width=0),
    Column[SubsetRow]("Benchmark", lambda r: title_of(r.benchmark), width=124, tip=lambda r: title_of(r.benchmark)),
    Column[SubsetRow]("Items", lambda r: f"{r.n:,} / {r.total_items:,}", key=lambda r: r.n, number=True, width=112),
    Column[SubsetRow]("Sampler", lambda r: _SAMPLERS.get(r.sampler, r.sampler), width=114),
    Column[SubsetRow]("Seed", _seed, key=lambda r: r.seed, number=True, width=54),
    Column[SubsetRow](
        "Bound", _bound, key=lambda r: r.bound_pp, number=True, width=74, tip=_bound_tip,
        help="The quantile of |drift| at this size, by the sizing that justified it",
    ),
    Column[SubsetRow](
        "Pack", lambda r: "packed" if r.pack else "no pack", width=92,
        state=lambda r: "good" if r.pack else "muted:none",
    ),
)  # fmt: skip


class SubsetsPage(Page):
    """The page: the table, and the chosen subset's evidence at the side."""

    subjects = frozenset({"subsets", "packs"})

    def __init__(self, hub: Hub) -> None:
        self.full_button = button("Pack full benchmark", self._full_menu, icon="pack", tip="All items, for a full run")
        freeze = button("Freeze", lambda: hub.show("sizing"), icon="subsets", tip="Size first, then freeze at n*")
        super().__init__(hub, "Subsets", _EXPLAIN, [self.full_button, freeze])
        self.model = TableModel[SubsetRow](COLUMNS)
        self.view = TableView(self.model, "Frozen subsets and packs")
        self.details = _Details(self._pack_menu, self._export_menu, self._run)
        self._wanted: str | None = None
        side = QSplitter()
        side.setChildrenCollapsible(False)
        side.setHandleWidth(2 * GRID)
        side.addWidget(self.view)
        side.addWidget(self.details)
        side.setStretchFactor(0, 1)
        side.setSizes([700, 328])
        empty = EmptyState(
            "subsets", "Frozen subsets belong here", _EMPTY,
            button("Go to Sizing", lambda: hub.show("sizing"), icon="sizing", primary=True),
        )  # fmt: skip
        self.set_content(side, empty)
        self._datasets = QMenu(self)
        self.logs: dict[str, tuple[str, ...]] = {}
        """Benchmark -> models whose imported logs may hold its prompts."""
        self.accept_revision = QAction("Take another revision, and record each item that differs", self)
        self.accept_revision.setCheckable(True)
        self.fewshot: Path | None = None
        self.view.chosen.connect(self.details.show_row)

    def refresh(self) -> None:
        """Read subsets and packs."""
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.subsets(workspace), self._show, self.fail)
        self.hub.jobs.read(lambda: unreadable_subsets(workspace), self._show_faults, self.fail)
        self.hub.jobs.read(lambda: reads.prompts_of_logs(workspace), self._keep_logs, self.fail)

    def _keep_logs(self, found: dict[str, tuple[str, ...]]) -> None:
        self.logs = found

    def open_with(self, what: object) -> None:
        """Choose the subset of this name."""
        if isinstance(what, str):
            self._wanted = what
            self.refresh()

    def pack_from(
        self,
        dataset: Path | None,
        *,
        subset: str | None = None,
        all_of: str | None = None,
        prompts_of: str | None = None,
    ) -> None:
        """Make a pack in the background; where `dataset` is None, from the imported log of the model `prompts_of`."""
        self.error.hide()
        fewshot, accept = self.fewshot, self.accept_revision.isChecked()
        workspace = self.hub.workspace
        what = subset or title_of(all_of or "")
        self.hub.jobs.start(
            f"Packing {what}",
            lambda emit, cancel: packing.pack(
                workspace,
                dataset,
                subset=subset,
                all_of=all_of,
                fewshot=fewshot,
                logged_prompts=dataset is None,
                model=prompts_of,
                accept_revision=accept,
                emit=emit,
                cancel=cancel,
            ),
            done=self._packed,
            failed=self.fail,
            cancellable=dataset is None,
        )

    def _show(self, found: list[SubsetRow]) -> None:
        chosen = self.view.current_row()
        wanted = self._wanted or (chosen.name if chosen else None)
        self._wanted = None
        self.model.set_rows(found)
        self.show_empty(not found)
        if not self.view.choose(lambda r: r.name == wanted) and found:
            self.view.selectRow(0)

    def _show_faults(self, faults: Mapping[str, InputError]) -> None:
        if faults:
            words = [f"{error.message} {error.remedy}" for error in faults.values()]
            self.error.show_notice("A frozen subset cannot be used any more.", "\n".join(words))

    def _packed(self, packed: Packed) -> None:
        name = packed.pack.subset.name
        self.hub.tell("packs")
        told = ""
        if packed.prompts_of:
            told = f" with the prompts of {packed.prompts_of}'s log; {packed.proven:,} verdicts of it were scored alike"
        self.hub.say(f"{name} is packed{told}.")
        if packed.left_out:
            self.error.show_notice(f"{name}: a part of its task is left out.", "\n".join(packed.left_out))

    def export(self, name: str, form: Form) -> None:
        """Write the subset into the workspace's folder of exports, and say where."""
        workspace = self.hub.workspace
        self.error.hide()
        self.hub.jobs.start(
            f"Exporting {name}",
            lambda emit, cancel: exporting.export_subset(workspace, name, form, emit=emit),
            done=self._exported,
            failed=self.fail,
            cancellable=False,
        )

    def _exported(self, exported: Exported) -> None:
        self.hub.say(f"{exported.subset.name} was written to {exported.path}")

    def _export_menu(self) -> None:
        chosen = self.view.current_row()
        if chosen is None or chosen.stored is None:
            return
        menu = QMenu(self)
        for form, words in _FORMS:
            menu.addAction(words, partial(self.export, chosen.name, form))
        menu.aboutToHide.connect(menu.deleteLater)
        at = self.details.export
        menu.popup(at.mapToGlobal(at.rect().bottomLeft()))

    def _run(self) -> None:
        chosen = self.view.current_row()
        if chosen is not None:
            self.hub.show("run", ("pack", chosen.name))

    def _pack_menu(self) -> None:
        chosen = self.view.current_row()
        if chosen is not None and chosen.stored is not None:
            self._ask_dataset(subset=chosen.name)

    def _full_menu(self) -> None:
        self._datasets.clear()
        for name, known in BENCHMARKS.items():
            self._datasets.addAction(f"{known.title}  ({known.dataset})", partial(self._ask_dataset, all_of=name))
        for name in sorted(self.logs.keys() - BENCHMARKS.keys()):
            self._datasets.addAction(f"{title_of(name)}  (imported logs)", partial(self._ask_dataset, all_of=name))
        self._datasets.popup(self.full_button.mapToGlobal(self.full_button.rect().bottomLeft()))

    def pack_menu(self, *, subset: str | None = None, all_of: str | None = None) -> QMenu:
        """Where the items come from: the dataset, or the prompts of an imported log."""
        menu = QMenu(self)
        benchmark = all_of or next((r.benchmark for r in self.model.rows if r.name == subset), "")
        if benchmark in BENCHMARKS:
            menu.addAction("Dataset folder", lambda: self._dialog(folder=True, subset=subset, all_of=all_of))
            menu.addAction("Dataset file", lambda: self._dialog(folder=False, subset=subset, all_of=all_of))
            menu.addSeparator()
        if models := self.logs.get(benchmark, ()):
            logs = menu.addMenu("Prompts as lm-eval logged them, of")
            for model in models:
                logs.addAction(model, partial(self.pack_from, None, subset=subset, all_of=all_of, prompts_of=model))
        if benchmark not in BENCHMARKS:
            menu.addAction("Logs in another folder", lambda: self._dialog(folder=True, subset=subset, all_of=all_of))
        menu.addSeparator()
        menu.addAction(self.accept_revision)
        if benchmark in BENCHMARKS:
            examples = "Few-shot examples from elsewhere" if self.fewshot is None else f"Few-shot: {self.fewshot.name}"
            menu.addAction(examples, self._ask_fewshot)
        return menu

    def _ask_dataset(self, *, subset: str | None = None, all_of: str | None = None) -> None:
        """Folder or file: Qt has no dialog for both, so a small menu asks first."""
        menu = self.pack_menu(subset=subset, all_of=all_of)
        menu.aboutToHide.connect(menu.deleteLater)
        at = self.details.pack if subset else self.full_button
        menu.popup(at.mapToGlobal(at.rect().bottomLeft()))

    def _ask_fewshot(self) -> None:
        dialog = QFileDialog(self, "Folder with the few-shot examples")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self._take_fewshot)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _take_fewshot(self, path: str) -> None:
        self.fewshot = Path(path)
        self.hub.say("Now choose the dataset.")

    def _dialog(self, *, folder: bool, subset: str | None, all_of: str | None) -> None:
        dialog = QFileDialog(self, "Dataset folder" if folder else "Dataset file")
        mode = QFileDialog.FileMode
        dialog.setFileMode(mode.Directory if folder else mode.ExistingFile)
        if not folder:
            dialog.setNameFilter("Datasets (*.jsonl *.jsonl.gz *.parquet *.json *.csv);;All files (*)")
        dialog.fileSelected.connect(lambda path: self.pack_from(Path(path), subset=subset, all_of=all_of))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


def _justified(shown: SubsetRow) -> list[tuple[str, str]]:
    """What justified n, as far as a sizing did."""
    assert shown.stored is not None
    evidence = shown.stored.subset.evidence
    bound = fmt.pp(shown.bound_pp, signed=False, absent="none")
    name = "" if shown.bound_pp is None else f" ({quantile_name(evidence.get('quantile'))})"
    facts = [(bound_title(shown.sampler).capitalize(), bound + name)]
    if not evidence.get("rule"):
        return facts
    gain, star, pool = evidence.get("gain_pp"), evidence.get("n_star"), evidence.get("pool")
    facts.append(("Gain", "-" if gain is None else f"{gain:.2f} pp, tau {evidence.get('tau_pp', 0):g} pp"))
    facts.append(("n*", "none" if star is None else f"{star:,}, step {evidence.get('step') or 'uneven'}"))
    how = "exact" if evidence.get("method") == "exact" else f"{evidence.get('draws') or 0:,} draws"
    facts.append(("Rule", f"{str(evidence.get('rule', '')).replace('-', ' ')}, {how}"))
    if isinstance(pool, list | tuple):
        facts.append(("Pool", f"{len(pool)} model{'' if len(pool) == 1 else 's'}"))
    return facts


class _Details(Card):
    """Evidence of the chosen subset: sizing, curve, calibration drift, pack."""

    def __init__(self, pack: object, export: object, run: object) -> None:
        super().__init__()
        self.setMinimumWidth(288)
        self._name = label("", "heading", wrap=True, select=True)
        self._bar = Scroll(gap=GRID, margin=GRID // 2)
        self.pack = button("Make pack", pack, icon="pack", tip="The subset with the items of your dataset")  # type: ignore[arg-type]
        self.export = button("Export", export, tip="For lm-eval, for amd-quark, or as a table")  # type: ignore[arg-type]
        self.run = button("Run", run, icon="run", primary=True)  # type: ignore[arg-type]
        self.body.addWidget(self._name)
        self.body.addWidget(self._bar, 1)
        self.body.addLayout(row(self.pack, self.export, None, self.run))
        self.show_row(None)

    def show_row(self, shown: SubsetRow | None) -> None:
        """Show one subset or pack."""
        clear(self._bar.body)
        self.pack.setVisible(shown is not None and shown.stored is not None)
        self.export.setVisible(shown is not None and shown.stored is not None)
        self.pack.setText("Pack again" if shown and shown.pack else "Make pack")
        self.run.setEnabled(shown is not None and shown.pack is not None)
        self._name.setText(shown.name if shown else "No subset chosen")
        if shown is None:
            return
        self._facts(shown)
        if shown.stored is not None:
            self._evidence(shown)
            self._drift(shown)
        if shown.pack is not None:
            self._bar.body.addWidget(label("Pack", "heading"))
            self._bar.body.addWidget(label(shown.pack.path.name, "", wrap=True, select=True))
            self._bar.body.addWidget(label(f"SHA-256 {shown.pack.sha256[:16]}", "caption", select=True))
        self._bar.body.addStretch(1)

    def _facts(self, shown: SubsetRow) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * GRID)
        facts = [
            ("Benchmark", title_of(shown.benchmark)),
            ("Items", f"{shown.n:,} of {shown.total_items:,} ({100.0 * shown.n / shown.total_items:.0f} %)"),
            ("Made", local(shown.made)),
        ]
        if shown.stored is not None:
            facts[2:2] = _justified(shown)
        for line, (name, value) in enumerate(facts):
            grid.addWidget(label(name, "muted"), line, 0)
            grid.addWidget(label(value, "", wrap=True, select=True), line, 1)
        grid.setColumnStretch(1, 1)
        self._bar.body.addLayout(grid)

    def _evidence(self, shown: SubsetRow) -> None:
        assert shown.stored is not None
        warnings = shown.stored.subset.evidence.get("warnings")
        if not isinstance(warnings, list | tuple) or not warnings:
            return
        self._bar.body.addWidget(label("Said by the sizing", "heading"))
        for warning in warnings:
            self._bar.body.addWidget(label(str(warning), "muted", wrap=True, select=True))

    def _drift(self, shown: SubsetRow) -> None:
        assert shown.stored is not None
        table = shown.stored.subset.drift_table
        if not table:
            return
        self._bar.body.addWidget(label("Drift of the calibration models", "heading"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(2 * GRID)
        grid.setVerticalSpacing(2)
        for line, (model, metrics) in enumerate(table.items()):
            worst = max(metrics.values(), key=lambda entry: abs(entry[2]))
            name = Elided(model)
            name.setToolTip("\n".join([model, *(f"{metric}: {fmt.pp(e[2])}" for metric, e in metrics.items())]))
            grid.addWidget(name, line, 0)
            grid.addWidget(label(fmt.pp(worst[2])), line, 1, Qt.AlignmentFlag.AlignRight)
        grid.setColumnStretch(0, 1)
        self._bar.body.addLayout(grid)
        self._bar.body.addWidget(label("the metric that drifts most, subset minus full", "caption"))
