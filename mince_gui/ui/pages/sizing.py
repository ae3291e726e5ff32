"""Sizing: how many items are enough. The closed form is there at once; draws and exact counts refine it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QRadioButton,
    QSpinBox,
    QWidget,
)

from mince_gui.app import freeze as freezing
from mince_gui.app import size as sizing_app
from mince_gui.app.freeze import Frozen
from mince_gui.app.size import SizeQuestion
from mince_gui.base.errors import MinceError
from mince_gui.sizing.types import SizingResult
from mince_gui.ui import reads
from mince_gui.ui.bridge import Job
from mince_gui.ui.hub import Hub
from mince_gui.ui.pages.base import Page
from mince_gui.ui.pages.freeze_dialog import FreezeDialog, Wish
from mince_gui.ui.pages.logs import metric_title
from mince_gui.ui.pages.sizing_parts import MEMBERS, RULES, Member, spin
from mince_gui.ui.pages.sizing_view import SizingView
from mince_gui.ui.reads import Pool
from mince_gui.ui.states import EmptyState
from mince_gui.ui.tables import TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Debounce, button, label, roomy, row

_EXPLAIN = (
    "How many items are enough: the worst drift of the pool by number of items, and the point of diminishing gain."
)
_EMPTY = (
    "Sizing works on the per-item logs of a calibration pool. Import the logs of at least one benchmark, best of three "
    "or more models."
)


class SizingPage(Page):
    """The page: the question at the left, its answer at the right."""

    subjects = frozenset({"logs", "sizings"})

    def __init__(self, hub: Hub) -> None:
        self.draw_button = button("Draw", self.draw, icon="sizing", primary=True, tip="Size with these settings")
        self.freeze_button = button(
            "Freeze a subset", self.freeze, icon="subsets", tip="Draw the subset once and keep it"
        )
        super().__init__(hub, "Sizing", _EXPLAIN, [self.freeze_button])
        self._pool: Pool | None = None
        self._wanted: str | None = None
        self._job: Job | None = None
        self._taken_step = 0
        self.result: SizingResult | None = None
        """The sizing that is shown; None while a preview is."""

        self.benchmark = QComboBox()
        self.benchmark.setAccessibleName("Benchmark")
        self.members = TableModel[Member](MEMBERS, ident=lambda m: m[0])
        self._members_view = TableView(self.members, "Calibration pool")
        self._members_view.verticalHeader().setDefaultSectionSize(28)
        self._members_view.setMinimumHeight(120)
        # The end of a model's name tells least.
        self._members_view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._pool_label = label("Calibration pool", "heading")
        self.rule_per_model = QRadioButton("per model")
        self.rule_joint = QRadioButton("joint")
        self.rule_per_model.setChecked(True)
        self.rule_per_model.setToolTip(RULES["per-model"])
        self.rule_joint.setToolTip(RULES["joint"])
        self.step = spin(1, 100_000, "Candidate sizes are multiples of this many items", " items")
        self.draws = spin(100, 1_000_000, "Random subsets per candidate size (metrics that need drawing)", "")
        self.draws.setValue(10_000)
        self.draws.setSingleStep(1_000)
        self.seed = spin(0, 2**31 - 1, "The seed of the draws", "")
        self.seed.setValue(42)
        self.tau = roomy(QDoubleSpinBox())
        self.tau.setRange(0.01, 50.0)
        self.tau.setDecimals(2)
        self.tau.setSingleStep(0.05)
        self.tau.setValue(1.0)
        self.tau.setSuffix(" pp per step")
        self.tau.setToolTip(
            "n* is the first size whose marginal gain is below tau; it follows at once, without drawing"
        )
        self.view = SizingView(hub)
        content = QWidget()
        content.setLayout(row(self._controls(), self.view, gap=2 * GRID))
        self.view.setMinimumWidth(480)
        empty = EmptyState(
            "sizing", "No logs to size with", _EMPTY,
            button("Go to Logs", lambda: hub.show("logs"), icon="logs", primary=True),
        )  # fmt: skip
        self.set_content(content, empty)
        self._answer = Debounce(self._show_answer, self)

        self.benchmark.currentIndexChanged.connect(self._read_pool)
        self.members.ticked.connect(self._ask_again)
        for field in (self.step, self.draws, self.seed):
            field.valueChanged.connect(self._ask_again)
        self.rule_joint.toggled.connect(self._ask_again)
        self.tau.valueChanged.connect(self._tau_changed)
        self.view.gain.tau_moved.connect(self._tau_dragged)
        QShortcut(QKeySequence("Ctrl+Return"), self, self.draw)

    def _controls(self) -> QWidget:
        form = QFormLayout()
        form.setHorizontalSpacing(2 * GRID)
        form.setVerticalSpacing(GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        rules = QWidget()
        rules.setFixedHeight(28)
        rules.setLayout(row(self.rule_per_model, self.rule_joint, None))
        for words, field in (
            ("Rule", rules),
            ("tau", self.tau),
            ("Step", self.step),
            ("Draws", self.draws),
            ("Seed", self.seed),
        ):
            caption = label(words)
            caption.setMinimumHeight(28)
            caption.setBuddy(field)
            field.setAccessibleName(words)
            form.addRow(caption, field)
        card = Card()
        card.setFixedWidth(320)
        card.body.addWidget(self.benchmark)
        card.body.addWidget(self._pool_label)
        card.body.addWidget(self._members_view, 1)
        card.body.addLayout(form)
        card.body.addWidget(self.draw_button)
        return card

    # -- what is there ---------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read which benchmarks have logs."""
        workspace = self.hub.workspace
        self.hub.jobs.read(lambda: reads.benchmarks(workspace), self._show_benchmarks, self.fail)

    def close_page(self) -> None:
        """Ask nothing more: a question that waits for its moment would come when nobody answers any more."""
        self._answer.stop()
        self.view.questions.show_for(None)

    def open_with(self, what: object) -> None:
        """Show this benchmark."""
        if isinstance(what, str):
            self._wanted = what
            self.refresh()

    def _show_benchmarks(self, found: list[tuple[str, str, int]]) -> None:
        self.show_empty(not found)
        kept = self._wanted or self.benchmark.currentData()
        self._wanted = None
        self.benchmark.blockSignals(True)
        self.benchmark.clear()
        for name, title, models in found:
            self.benchmark.addItem(f"{title}  ({models} model{'' if models == 1 else 's'})", name)
        self.benchmark.setCurrentIndex(max(0, self.benchmark.findData(kept)))
        self.benchmark.blockSignals(False)
        if found:
            self._read_pool()

    def _read_pool(self) -> None:
        name = self.benchmark.currentData()
        workspace = self.hub.workspace
        self.draw_button.setEnabled(False)
        self.hub.jobs.read(lambda: reads.pool(workspace, name), self._show_pool, self._no_pool)

    def _no_pool(self, error: MinceError) -> None:
        self._pool = None
        self.members.set_rows([])
        self.result = None
        self.view.clear()
        self._settle_freeze()
        self.fail(error)

    def _show_pool(self, pool: Pool) -> None:
        if pool.benchmark != self.benchmark.currentData():
            return
        another = self._pool is None or self._pool.benchmark != pool.benchmark
        old = None if self._pool is None else self._pool.sizing
        if old is not None and pool.sizing is not None and old.to_json() == pool.sizing.to_json():
            # The same answer, read again: nothing is drawn anew under a hand that drags tau.
            pool = replace(pool, sizing=old)
        self._pool = pool
        self.error.hide()
        rows = [Member((name, row, pool.benchmark)) for name, row in zip(pool.models, pool.scores, strict=True)]
        self.members.set_rows(rows)
        titles = ", ".join(metric_title(pool.benchmark, metric) for metric in pool.metrics)
        self._members_view.setToolTip(f"Metrics: {titles}")
        if another:
            self._set_quietly(self.step, pool.default_step)
            if pool.sizing is not None:
                self._take_settings(pool.sizing)
            else:
                self.members.set_ticks(lambda member: True)
        self._count()
        self._show_answer()

    def _take_settings(self, result: SizingResult) -> None:
        """Settings of the kept sizing, so that what is shown is what was asked."""
        plan = result.plan
        if plan.step is not None:
            self._set_quietly(self.step, plan.step)
        self._taken_step = self.step.value()
        self._set_quietly(self.draws, plan.draws)
        self._set_quietly(self.seed, plan.seed)
        self.tau.blockSignals(True)
        self.tau.setValue(plan.tau_pp)
        self.tau.blockSignals(False)
        self.rule_joint.blockSignals(True)
        (self.rule_joint if plan.worst == "joint" else self.rule_per_model).setChecked(True)
        self.rule_joint.blockSignals(False)
        self.members.blockSignals(True)
        self.members.set_ticks(lambda member: member[0] in result.models)
        self.members.blockSignals(False)

    def _set_quietly(self, spin: QSpinBox, value: int) -> None:
        spin.blockSignals(True)
        spin.setValue(value)
        spin.blockSignals(False)

    # -- the question ----------------------------------------------------------------------------------

    def question(self) -> SizeQuestion:
        """What is asked as the page stands."""
        return SizeQuestion(
            benchmark=self.benchmark.currentData(),
            models=tuple(member[0] for member in self.members.ticked_rows()),
            step=self.step.value(),
            draws=self.draws.value(),
            tau_pp=round(self.tau.value(), 2),
            worst="joint" if self.rule_joint.isChecked() else "per-model",
            seed=self.seed.value(),
        )

    def draw(self) -> None:
        """Size in the background; the preview stays until the answer comes."""
        if self._job is not None or self._pool is None:
            return
        question, workspace = self.question(), self.hub.workspace
        self.error.hide()
        # A preview that was asked for before must not take the place of the answer.
        self._answer.stop()
        self.draw_button.setEnabled(False)
        self.draw_button.setText("Drawing")
        self._job = self.hub.jobs.start(
            f"Sizing {self._pool.title}",
            lambda emit, cancel: sizing_app.size(workspace, question, emit=emit, cancel=cancel),
            done=self._drawn,
            failed=self._draw_failed,
        )
        self._show_answer()

    def _drawn(self, result: SizingResult) -> None:
        self._draw_over()
        if self._pool is not None and result.benchmark == self._pool.benchmark:
            self._pool = replace(self._pool, sizing=result)
            if result.plan.step is not None:
                self._taken_step = result.plan.step
        self._show_answer()
        self.hub.tell("sizings")

    def _draw_failed(self, error: MinceError) -> None:
        self._draw_over()
        self._show_answer()
        self.error.show_error(error)

    def _draw_over(self) -> None:
        self._job = None
        self._answer.stop()
        self.draw_button.setText("Draw")
        self._count()

    # -- the answer ------------------------------------------------------------------------------------

    def _ask_again(self) -> None:
        self._count()
        self._answer.start()

    def _count(self) -> None:
        ticked, all_of = len(self.members.ticked_rows()), len(self.members.rows)
        self._pool_label.setText(f"Calibration pool: {ticked} of {all_of} models")
        self.draw_button.setEnabled(self._job is None and ticked > 0)

    def _answers(self, kept: SizingResult) -> bool:
        """Whether the kept sizing is the answer to what is asked; any tau is, the curve stays the same."""
        asked, plan = self.question(), kept.plan
        return (
            set(asked.models or ()) == set(kept.models)
            and (asked.worst, asked.quantile) == (plan.worst, plan.quantile)
            and asked.step == self._taken_step
            # What is exact needs neither draws nor a seed.
            and (kept.method == "exact" or (asked.draws, asked.seed) == (plan.draws, plan.seed))
        )

    def _show_answer(self) -> None:
        """The kept sizing where it answers what is asked, else the closed form and a word why."""
        if self._pool is None:
            return
        kept = self._pool.sizing
        if kept is not None and self._job is None and self._answers(kept):
            self.result = kept
            self.view.show_result(kept, self.tau.value())
        else:
            self.result = None
            self._show_preview(self._pool)
            if kept is not None and self._job is None:
                found = "no n*" if kept.n_star is None else f"n* {kept.n_star:,}"
                self.view.warnings.show_notice(
                    "Settings changed: draw again.",
                    f"The kept sizing ({found} at tau {kept.plan.tau_pp:.2f} pp) answers other settings.",
                )
                self.view.warnings.offer("Back to its settings", lambda: self._back_to(kept))
        self._settle_freeze()

    def _back_to(self, kept: SizingResult) -> None:
        if self._pool is not None and self._pool.sizing is kept:
            if kept.plan.step is None:
                self._set_quietly(self.step, self._pool.default_step)
            self._take_settings(kept)
            self._count()
            self._show_answer()

    def _show_preview(self, pool: Pool) -> None:
        models = [member[0] for member in self.members.ticked_rows()]
        if not models or self.step.value() >= pool.total_items:
            self.view.clear()
            return
        sizes, values = pool.preview(models, self.step.value())
        self.view.show_preview(sizes, values, pool.total_items, self.tau.value(), busy=self._job is not None)

    def _tau_changed(self, value: float) -> None:
        if self.result is not None:
            self.view.show_result(self.result, value)
        else:
            self.view.move_tau(value)

    def _tau_dragged(self, value: float) -> None:
        self.tau.setValue(round(value, 2))

    # -- freeze ----------------------------------------------------------------------------------------

    def _settle_freeze(self) -> None:
        """What is frozen keeps the sizing as its evidence, so the two must not contradict each other."""
        sized = self._pool is not None and self._pool.sizing is not None
        self.freeze_button.setEnabled(
            self._pool is not None and self._job is None and (self.result is not None or not sized)
        )
        self.freeze_button.setToolTip(
            "Draw again first: the kept sizing answers other settings"
            if sized and self.result is None
            else "Draw the subset once and keep it"
        )

    def freeze(self) -> None:
        """Ask for n and seed, then freeze."""
        if self._pool is None or not self.freeze_button.isEnabled():
            return
        dialog = FreezeDialog(self._pool, self.result, self.view.n_star, self.tau.value(), self)
        dialog.wanted.connect(self.freeze_now)
        dialog.open()

    def freeze_now(self, wish: Wish) -> None:
        """Freeze in the background with the tau that is shown, then go to the subset."""
        assert self._pool is not None
        workspace, name = self.hub.workspace, self._pool.benchmark
        tau = round(self.tau.value(), 2) if self.result is not None else None
        self.hub.jobs.start(
            f"Freezing {wish.n:,} items of {self._pool.title}",
            lambda emit, cancel: freezing.freeze(
                workspace, name, wish.n, seed=wish.seed, sampler=wish.sampler, tau_pp=tau,
                embeddings=wish.embeddings, embedding_model=wish.embedding_model, dataset=wish.dataset,
                emit=emit, cancel=cancel,
            ),
            done=self._frozen,
            failed=self.fail,
            # Grouping thousands of texts takes minutes; a plain draw is over before a click.
            cancellable=wish.sampler == "kmeans",
        )  # fmt: skip

    def _frozen(self, frozen: Frozen) -> None:
        self.hub.tell("subsets")
        self.hub.say(f"{frozen.subset.name} is frozen.")
        self.hub.show("subsets", frozen.subset.name)
