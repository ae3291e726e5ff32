"""One run, live or over: counts, scores with intervals, timings, plots and items."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QProgressBar, QWidget

from mince_gui.report import format as fmt
from mince_gui.report.answers import Answers, is_empty
from mince_gui.report.place import device_name, is_proven, place_words
from mince_gui.run.types import Control
from mince_gui.store.runs import StoredItem, StoredRun
from mince_gui.ui.pages.run_tiles import Tiles
from mince_gui.ui.run_words import about, can_resume, state_of, verdict
from mince_gui.ui.snapshot import Score, Snapshot
from mince_gui.ui.states import Chip, ErrorBar
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Elided, button, column, label, row

_ASKED = {
    "pause": "pausing after this item",
    "stop": "stopping after this item",
    "skip": "leaving this item out",
    "run": "going on",
}


_UNTIL = {"pause": ("started", "running"), "stop": ("started", "running", "paused"), "run": ("paused",)}
"""While the run is in one of these states, the runner has not taken the wish yet."""


def _tokens(item: StoredItem) -> str:
    if item.prompt_tokens is None:
        return "-"
    return f"{item.prompt_tokens:,} / {item.output_tokens:,}" if item.output_tokens else f"{item.prompt_tokens:,}"


def _verdict_tip(item: StoredItem) -> str:
    lines = [item.cause] if item.cause else []
    if item.capped:
        at = {"context": "the model's ceiling, before the token budget", "time": "the longest time an item may take"}
        lines.append(f"the answer was cut at {at.get(item.finish or '', 'the token budget')}")
    if item.repeats is not None:
        again = "token" if item.repeats == 1 else f"{item.repeats:,} tokens"
        lines.append(f"the answer ends in the same {again} over and over")
    lines += ["the answer is empty"] if is_empty(item.text) else []
    lines += [f"{metric}: {passed:g} of {trials:g}" for metric, (passed, trials) in item.scores.items()]
    lines += [f"expected: {item.expected}"] if item.expected else []
    lines += [f"read as ({name}): {text}" for name, text in item.extracted.items()]
    lines += [f"choices scored by: {item.method}"] if item.method else []
    lines += [f"took {item.attempts} attempts"] if item.attempts > 1 else []
    return "\n".join(lines)


SCORES = (
    Column[Score]("Metric", lambda s: s.title, width=0),
    Column[Score]("So far", lambda s: fmt.percent(s.percent), key=lambda s: s.percent, number=True, width=68),
    Column[Score](
        "Projected full", lambda s: "known" if s.low == s.high else f"{s.low:.1f} to {s.high:.1f}",
        key=lambda s: s.low, number=True, width=104,
        help="Where the full score lies (95 %), with the items so far taken for a random draw of all",
    ),
    Column[Score](
        "Full", lambda s: fmt.percent(s.full), key=lambda s: s.full, number=True, width=60,
        help="Full score of an own full run in this workspace",
    ),
)  # fmt: skip
ITEMS = (
    Column[StoredItem]("#", lambda i: f"{i.position + 1:,}", key=lambda i: i.position, number=True, width=48),
    Column[StoredItem]("Item", lambda i: i.item_key, width=80, tip=lambda i: i.item_key),
    Column[StoredItem](
        "Category", lambda i: (i.category or "-").rpartition(":")[2], width=84, tip=lambda i: i.category or ""
    ),
    Column[StoredItem](
        "In / out", _tokens, key=lambda i: i.prompt_tokens, number=True, width=84, help="Tokens of prompt / answer"
    ),
    Column[StoredItem](
        "Time", lambda i: fmt.seconds(i.wall_seconds), key=lambda i: i.wall_seconds, number=True, width=68
    ),
    Column[StoredItem](
        "Verdict", lambda i: verdict(i)[0], width=0, state=lambda i: verdict(i)[1], tip=lambda i: _verdict_tip(i)
    ),
)  # fmt: skip
_SCORES_WIDTH = 340
_NO_ITEM = "No item is done yet."
FILTERS = ("All items", "Wrong", "Missing", "Capped", "Repeating", "Empty")


class RunView(QWidget):
    """Shows snapshots of one run. `wish` carries a control for the runner, `resume` asks for a new runner."""

    wish = Signal(str)
    resume = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.snapshot: Snapshot | None = None
        self._asked: str = ""
        self._items: list[StoredItem] = []
        self.scores = TableModel[Score](SCORES)
        self.scores_view = TableView(self.scores, "Scores so far", empty="No item is done yet.")
        self.scores_view.setFixedWidth(_SCORES_WIDTH)
        self.items = TableModel[StoredItem](ITEMS)
        self.items_view = TableView(self.items, "Items of the run", empty=_NO_ITEM)
        for view in (self.scores_view, self.items_view):
            view.setObjectName("dense")
            view.verticalHeader().setDefaultSectionSize(28)
            view.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.filter = QComboBox()
        self.filter.setAccessibleName("Which items")
        self.filter.addItems(FILTERS)
        self.filter.currentIndexChanged.connect(self._fill_items)
        self.tiles = Tiles()
        self.notices = ErrorBar()
        below = row(self.scores_view, self.items_view, gap=GRID)
        below.setStretch(1, 1)
        box = column(self._head(), self.notices, self.tiles, below, gap=GRID)
        box.setStretch(2, 5)
        box.setStretch(3, 6)
        self.setLayout(box)
        self.scores_view.chosen.connect(lambda _: self._show_tiles())

    def _head(self) -> QWidget:
        self._title = Elided("", "heading")
        self.chip = Chip()
        self._phase = Elided("", "muted")
        self.pause = button("Pause", lambda: self._ask("pause"), icon="pause", tip="Pause after this item (Space)")
        self.go_on = button("Resume", self._go_on, icon="play", primary=True, tip="Go on behind the last finished item")
        self.skip = button("Skip", lambda: self._ask("skip"), icon="skip", tip="Leave the item in work out as missing")
        self.stop = button(
            "Stop", lambda: self._ask("stop"), icon="stop", tip="Stop after this item; it can be resumed"
        )
        self.device = Chip()
        self.memory = label("", "muted")
        head = row(self._title, self.device, self.pause, self.go_on, self.skip, self.stop, gap=GRID)
        head.setStretch(0, 1)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Items done")
        self.done = label("", "heading")
        self.left = label("", "muted")
        self.missing = label("", "muted")
        self.answers = label("", "muted", wrap=True)
        self._shown_count = label("", "muted")
        counts = row(self.chip, self.done, self.left, self.missing, self._phase, gap=2 * GRID)
        # It gives way, and tells all of it in its tip.
        counts.setStretchFactor(self._phase, 1)
        below = row(self.answers, self.memory, self._shown_count, self.filter, gap=2 * GRID)
        below.setStretchFactor(self.answers, 1)
        card = Card(margin=GRID + 4)
        card.body.addLayout(head)
        card.body.addWidget(self.bar)
        card.body.addLayout(counts)
        card.body.addLayout(below)
        return card

    # -- showing ---------------------------------------------------------------------------------------

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show a run as it stands."""
        before = self.snapshot
        another = before is None or before.run.run_id != snapshot.run.run_id
        if another or snapshot.run.state not in _UNTIL.get(self._asked, ()):
            self._asked = ""
        self.snapshot = snapshot
        if another or snapshot.anew:
            self._items = list(snapshot.fresh)
            self._fill_items()
        elif snapshot.fresh:
            self._items.extend(snapshot.fresh)
            self.items.add_rows([item for item in snapshot.fresh if self._fits(item)])
            self._count_items()
        self._show_head(snapshot.run, snapshot)
        self._show_scores(snapshot, another)
        self._show_tiles()
        self._show_notices(snapshot)

    def _show_head(self, run: StoredRun, snapshot: Snapshot) -> None:
        self._title.set_text(f"{run.plan.subset} on {run.plan.model}")
        self.chip.show_state(*state_of(run))
        self._phase.set_text(_ASKED.get(self._asked, "") or snapshot.phase)
        live = snapshot.live and run.pid is not None
        self.pause.setVisible(live and run.state != "paused" and self._asked != "pause")
        # A skip would end the pause: at a pause there is no item in work.
        self.skip.setVisible(live and run.state != "paused")
        self.stop.setVisible(live)
        self.go_on.setVisible(run.state == "paused" or can_resume(run) or (live and self._asked == "pause"))
        self.go_on.setText("Go on" if live else "Resume")
        # The runner takes the newest wish: a pause that is still to come can be taken back.
        self.pause.setEnabled(not self._asked)
        self.skip.setEnabled(self._asked in ("", "pause"))
        self.stop.setEnabled(self._asked != "stop")
        self.go_on.setEnabled(self._asked in ("", "pause"))
        self.bar.setRange(0, max(1, run.plan.items))
        self.bar.setValue(run.done + run.missing)
        self.done.setText(f"{run.done:,} of {run.plan.items:,} items")
        if snapshot.seconds_left is not None and run.done + run.missing < run.plan.items:
            self.left.setText(f"{about(snapshot.seconds_left)} left")
        else:
            self.left.setText(f"took {fmt.seconds(run.elapsed_seconds)}" if run.done else "")
        self.missing.setText(f"{run.missing:,} missing" if run.missing else "none missing")
        self._show_answers(snapshot.answers, choices=snapshot.choices)
        self._show_device(run, snapshot)

    def _show_device(self, run: StoredRun, snapshot: Snapshot) -> None:
        """Where it runs, with the state of its proof, and the worker's memory; nothing before the model is loaded."""
        conditions = run.conditions or {}
        known = bool(conditions.get("device"))
        self.device.setVisible(known)
        if known:
            name = device_name(conditions)
            state = "warn" if not is_proven(conditions) else "muted:none" if name == "CPU" else "good"
            role, _, shape = state.partition(":")
            self.device.show_state(name, role, shape or role)
            self.device.setToolTip(place_words(conditions))
        self.memory.setText("" if snapshot.memory_bytes is None else f"memory {fmt.memory(snapshot.memory_bytes)}")
        self.memory.setVisible(snapshot.memory_bytes is not None)
        self.memory.setToolTip("Memory of the worker, the model's included, after the latest item")

    def _show_answers(self, answers: Answers, *, choices: bool) -> None:
        """What was cut, is empty or does not fit; nothing is generated for choices, so nothing can be cut."""
        words = answers.words()
        none = "" if choices else "none capped" + ("" if answers.budget is None else f" at {answers.budget:,} tokens")
        self.answers.setText(", ".join(short for short, _ in words) or none)
        self.answers.setToolTip("\n".join(whole for _, whole in words))

    def _show_scores(self, snapshot: Snapshot, another: bool) -> None:
        chosen = self.scores_view.current_row()
        same = [s.metric for s in self.scores.rows] == [s.metric for s in snapshot.scores]
        # One metric is told by its tile; the items get the room.
        self.scores_view.setVisible(len(snapshot.scores) > 1)
        no_full = all(score.full is None for score in snapshot.scores)
        self.scores_view.setColumnHidden(3, no_full)
        self.scores_view.setFixedWidth(_SCORES_WIDTH - 40 if no_full else _SCORES_WIDTH)
        self.items_view.setColumnHidden(2, all(item.category is None for item in self._items))
        if same and not another:
            for place, score in enumerate(snapshot.scores):
                self.scores.replace(place, score)
            return
        self.scores.set_rows(snapshot.scores)
        kept = chosen.metric if chosen is not None and not another else None
        if not self.scores_view.choose(lambda s: s.metric == kept) and snapshot.scores:
            self.scores_view.selectRow(0)

    def _show_tiles(self) -> None:
        if self.snapshot is None:
            return
        first = self.snapshot.scores[0] if self.snapshot.scores else None
        self.tiles.show_snapshot(self.snapshot, self.scores_view.current_row() or first)

    def _show_notices(self, snapshot: Snapshot) -> None:
        run = snapshot.run
        if run.state == "ended" and run.detail and run.cause not in ("done", "stopped", "incomplete"):
            head, _, rest = run.detail.partition("\n")
            self.notices.show_notice(head, rest, state="bad")
        elif snapshot.notices:
            more = len(snapshot.notices) - 1
            self.notices.show_notice(snapshot.notices[-1], f"and {more} more before it" if more else "")
        else:
            self.notices.hide()

    # -- items -----------------------------------------------------------------------------------------

    def _fits(self, item: StoredItem) -> bool:
        wanted = self.filter.currentText()
        if wanted == "Wrong":
            return item.state == "done" and verdict(item)[1] != "good"
        if wanted == "Missing":
            return item.state == "missing"
        if wanted == "Empty":
            return is_empty(item.text)
        if wanted == "Repeating":
            return item.repeats is not None
        return item.capped if wanted == "Capped" else True

    def _fill_items(self) -> None:
        self.items.set_rows([item for item in self._items if self._fits(item)])
        self._count_items()

    def _count_items(self) -> None:
        shown = len(self.items.rows)
        self.items_view.say_when_empty("No such item." if self._items else _NO_ITEM)
        self._shown_count.setText(f"{shown:,} shown")
        self._shown_count.setVisible(self.filter.currentIndex() > 0)

    # -- control ---------------------------------------------------------------------------------------

    def toggle_pause(self) -> None:
        """Pause or go on (Space)."""
        if self.go_on.isVisible() and self.go_on.isEnabled():
            self._go_on()
        elif self.pause.isVisible() and self.pause.isEnabled():
            self._ask("pause")

    def take_back(self) -> None:
        """What was asked for last did not reach the runner: everything can be asked again."""
        self._asked = ""
        if self.snapshot is not None:
            self._show_head(self.snapshot.run, self.snapshot)

    def lost(self) -> None:
        """The run is not followed any more: what is shown may be old, and nothing can be asked."""
        self._asked = ""
        self.chip.show_state("not followed", "warn")
        self._phase.set_text("")
        for part in (self.pause, self.skip, self.stop, self.go_on):
            part.hide()

    def _go_on(self) -> None:
        run = None if self.snapshot is None else self.snapshot.run
        if run is not None and (run.state == "paused" or self._asked == "pause"):
            self._ask("run")
        else:
            self.go_on.setEnabled(False)
            self.resume.emit()

    def _ask(self, control: Control) -> None:
        shown = self.snapshot
        if shown is None:
            return
        # A skip takes the place of a pause that was still to come.
        self._asked = control if shown.run.state in _UNTIL.get(control, ()) else ""
        self._show_head(shown.run, shown)
        self._phase.set_text(_ASKED[control])
        self.wish.emit(control)
