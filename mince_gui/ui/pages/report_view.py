"""A report in native widgets, from the same value that documents are written from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from mince_gui.report import VERDICT_WORDS, Report
from mince_gui.report import format as fmt
from mince_gui.report.documents.parts_page import category_blocks, paired_blocks, sentence, split_blocks
from mince_gui.report.model import MetricReport
from mince_gui.report.place import device_name, machine_words, place_words, smoke_words
from mince_gui.ui import icons, theme
from mince_gui.ui.pages.report_blocks import cards_of, caution, facts_grid
from mince_gui.ui.run_words import when
from mince_gui.ui.states import Figure
from mince_gui.ui.tables import Column, TableModel, TableView
from mince_gui.ui.theme import GRID
from mince_gui.ui.widgets import Card, Scroll, clear, column, label, row

VERDICT_STATES = {
    "inside": "good",
    "outside": "bad",
    "no bound": "warn",
    "not judged": "warn",
    "no score": "bad",
    "total gap only": "accent:info",
    "no full score": "accent:info",
    "full run": "accent:info",
}
_CONDITIONS = (
    ("runtime", "Runtime"), ("device", "Device"), ("device_proof", "Device, how known"), ("oga_version", "OGA"),
    ("distribution", "OGA comes as"), ("ort_version", "ONNX Runtime"), ("python_version", "Python"),
    ("platform", "System"), ("cpu", "Processor"), ("machine_state", "At the start"), ("sleep", "Sleep"),
    ("smoke", "Smoke test"), ("threads", "Threads"), ("timing", "Timing"), ("model_name", "Model folder"),
    ("model_sha256", "Model SHA-256"), ("load_seconds", "Load time"), ("warmup_seconds", "Warm-up"),
)  # fmt: skip
_SHOWN_MISSING = 12
_FIGURES_A_LINE = 4

METRICS = (
    Column[MetricReport]("Metric", lambda m: m.title, width=0, tip=lambda m: m.title),
    Column[MetricReport](
        "Subset", lambda m: fmt.percent(m.score, absent=fmt.MISSING), key=lambda m: m.score, number=True, width=80
    ),
    Column[MetricReport](
        "Items", lambda m: f"{m.done:,}/{m.wanted:,}", key=lambda m: m.done, number=True, width=92,
        help="Of how many items of the subset the score is",
    ),
    Column[MetricReport]("Full", lambda m: fmt.percent(_full(m)), key=lambda m: _full(m), number=True, width=76),
    Column[MetricReport]("Drift", lambda m: fmt.pp(m.drift_pp), key=lambda m: m.drift_pp, number=True, width=84),
    Column[MetricReport](
        "Bound", lambda m: fmt.pp(m.bound_pp, signed=False), key=lambda m: m.bound_pp, number=True, width=80
    ),
    Column[MetricReport](
        "Total gap", lambda m: fmt.pp(m.total_gap_pp), key=lambda m: m.total_gap_pp, number=True, width=92
    ),
    Column[MetricReport](
        "Projected full",
        lambda m: fmt.interval(m.interval.low, m.interval.high) if m.interval else "no interval",
        key=lambda m: m.interval.low if m.interval else None, number=True, width=144,
        tip=lambda m: m.interval.method if m.interval else "", help="Where the full score lies (95 %)",
    ),
    Column[MetricReport](
        "Verdict", lambda m: VERDICT_WORDS[m.verdict], width=144, state=lambda m: VERDICT_STATES[m.verdict],
        tip=lambda m: m.reason,
    ),
)  # fmt: skip


def _what(report: Report) -> str:
    """The run under its banner: model and weights, subset, when, and whether answers or run come from elsewhere."""
    known = report.precision.lower() in report.model.lower()
    parts = [report.model if known else f"{report.model} ({report.precision} weights)", report.subset_name]
    parts.append(f"{when(report.ended or report.created)} UTC")
    if report.rescored_of:
        parts.append(f"answers of run {report.rescored_of}, scored again")
    if report.origin:
        machine = report.origin.get("machine") or "a machine that is not named"
        parts.append(f"made on {machine}, came as a bundle")
    return ", ".join(parts)


def _full(metric: MetricReport) -> float | None:
    ratio = metric.full or metric.other
    return ratio.percent if ratio is not None and ratio.trials else None


class ReportView(Scroll):
    """Shows one report, or why there is none."""

    def __init__(self) -> None:
        super().__init__(gap=GRID)
        self.report: Report | None = None
        self.banner_text = ""

    def show_report(self, report: Report, elapsed_seconds: float) -> None:
        """Show it; `elapsed_seconds` is how long the run has really taken."""
        self.report = report
        clear(self.body)
        paired = (block for pair in report.paired for block in paired_blocks(pair))
        self.body.addWidget(self._banner(report))
        self.body.addWidget(self._metrics(report))
        self.body.addWidget(self._speed(report, elapsed_seconds))
        self._notes(report)
        for card in cards_of((*split_blocks(report), *paired, *category_blocks(report))):
            self.body.addWidget(card)
        self.body.addWidget(self._asking(report))
        self.body.addWidget(self._conditions(report))
        self.body.addStretch(1)
        self.verticalScrollBar().setValue(0)

    def show_reason(self, why: str) -> None:
        """Say why there is no report."""
        self.report = None
        self.banner_text = why
        clear(self.body)
        card = Card()
        card.body.addWidget(label("No report yet", "heading"))
        card.body.addWidget(label(why, "muted", wrap=True, select=True))
        self.body.addWidget(card)
        self.body.addStretch(1)

    def _banner(self, report: Report) -> QWidget:
        dress = theme.current()
        state, _, shape = VERDICT_STATES[report.verdict].partition(":")
        frame = QFrame()
        frame.setObjectName("banner")
        frame.setStyleSheet(f"#banner {{ background: {dress.soft(state)}; border-radius: 8px; }}")
        sign = QLabel()
        sign.setPixmap(icons.pixmap(shape or state, dress.role(state), 28))
        words = label(report.banner, "", wrap=True, select=True)
        words.setFont(theme.tabular(words.font(), scale=1.2, bold=True))
        words.setStyleSheet(f"color: {dress.role(state)};")
        text = column(words, label(_what(report), "muted", wrap=True, select=True), gap=4)
        line = row(sign, text, gap=2 * GRID, margin=2 * GRID)
        line.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
        line.setStretch(1, 1)
        frame.setLayout(line)
        self.banner_text = report.banner
        return frame

    def _metrics(self, report: Report) -> QWidget:
        model = TableModel[MetricReport](METRICS)
        model.set_rows(report.metrics)
        view = TableView(model, "Scores and drift per metric")
        model.setParent(view)
        view.setObjectName("inner")
        no_drift = all(metric.drift_pp is None for metric in report.metrics)
        only_gap = no_drift and any(metric.total_gap_pp is not None for metric in report.metrics)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for place, shown in enumerate(METRICS):
            # Beside drift the total gap is told with its source below: there is room for one of them.
            absent = no_drift if shown.title in ("Drift", "Bound") else shown.title == "Total gap" and not only_gap
            view.setColumnHidden(place, absent)
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        for place, shown in enumerate(METRICS[1:], 1):
            # As narrow as what they show, in any font: the metric's name gets the rest.
            title = view.fontMetrics().horizontalAdvance(shown.title) + 3 * GRID
            view.setColumnWidth(place, max(title, view.sizeHintForColumn(place)))
        view.setFixedHeight(36 + 32 * max(1, len(report.metrics)) + 4)
        card = Card("Scores", gap=GRID)
        card.body.addWidget(view)
        if report.bound is not None and not no_drift:
            card.body.addWidget(label(f"Bound: {report.bound.meaning}", "caption", wrap=True, select=True))
        for source in report.sources:
            use = "Full score:" if source.use == "own full run" else "Total gap against"
            gaps = ", ".join(
                f"{m.title} {fmt.pp(m.total_gap_pp)}" for m in report.metrics if m.total_gap_pp is not None
            )
            told = f": {gaps}" if gaps and not only_gap and source.use == "total gap" else ""
            # The file's name tells it apart; its whole path is for who asks.
            where, bracket, rest = source.source.partition(" (")
            words = f"{use} {source.named} ({source.kind}, {Path(where).name}{bracket}{rest}, {source.date[:10]}){told}"
            line = label(words, "caption", wrap=True, select=True)
            line.setToolTip(source.source)
            card.body.addWidget(line)
            for warning in source.warnings:
                card.body.addLayout(caution(sentence(warning)))
        return card

    def _speed(self, report: Report, elapsed_seconds: float) -> QWidget:
        card = Card("Speed")
        speed = report.speedup
        figures = []
        factor = Figure("Faster than the full run")
        spread = "" if speed.low is None or speed.high is None else f", {speed.low:.1f} to {speed.high:.1f}x"
        kind = {"measured": "measured here", "estimate": f"estimate{spread}", "none": "not known"}[speed.kind]
        factor.show_value(fmt.factor(speed.factor), kind, "accent" if speed.factor else "text")
        figures.append(factor)
        spent = Figure("This run")
        measured = speed.kind == "measured"
        if speed.full_seconds is None:
            full = ""
        elif measured:
            full = f"full run {fmt.seconds(speed.full_seconds)}"
        else:
            full = f"full run about {fmt.seconds(speed.full_seconds)}, estimated"
        part = "" if report.coverage.complete else fmt.coverage(report.coverage.done, report.coverage.wanted)
        spent.show_value(fmt.seconds(elapsed_seconds or None), part or full)
        figures.append(spent)
        if part and not measured and speed.subset_seconds is not None:
            # What the run would have taken is no time that ever passed.
            whole = Figure("Whole subset, estimated")
            whole.show_value(f"about {fmt.seconds(speed.subset_seconds)}", full)
            figures.append(whole)
        for latency in report.latency:
            half = fmt.amounts(latency.p25, latency.p75, latency.unit)
            tip = f"Median over {latency.items:,} items, 5 % to 95 % of them below; a half of them has {half}"
            figure = Figure(latency.name[:1].upper() + latency.name[1:], tip=tip)
            span = fmt.amounts(latency.p05, latency.p95, latency.unit)
            figure.show_value(fmt.amount(latency.median, latency.unit), span)
            figures.append(figure)
        lines = QGridLayout()
        lines.setSpacing(2 * GRID)
        for place, shown in enumerate(figures):
            lines.addWidget(shown, *divmod(place, _FIGURES_A_LINE))
        for place in range(_FIGURES_A_LINE):
            lines.setColumnStretch(place, 1)
        card.body.addLayout(lines)
        if speed.words:
            card.body.addWidget(label(speed.words, "caption", wrap=True, select=True))
        return card

    def _notes(self, report: Report) -> None:
        if report.warnings:
            card = Card("Warnings")
            for warning in report.warnings:
                card.body.addLayout(caution(warning))
            self.body.addWidget(card)
        missing = list(report.coverage.missing.items())
        if missing:
            card = Card(f"Missing: {len(missing):,} of {report.coverage.wanted:,} items")
            card.body.addLayout(facts_grid(missing[:_SHOWN_MISSING]))
            if len(missing) > _SHOWN_MISSING:
                rest = f"and {len(missing) - _SHOWN_MISSING:,} more; the exported report lists them all"
                card.body.addWidget(label(rest, "caption"))
            self.body.addWidget(card)

    def _asking(self, report: Report) -> QWidget:
        card = Card("How it was asked and scored")
        card.body.addLayout(facts_grid((name[:1].upper() + name[1:], words) for name, words in report.asking))
        return card

    def _conditions(self, report: Report) -> QWidget:
        card = Card("Conditions")
        facts = []
        for name, title in _CONDITIONS:
            value = report.conditions.get(name)
            if value in (None, "", {}):
                continue
            facts.append((title, _condition(name, report.conditions)))
        facts.append(("Run", report.run_id))
        card.body.addLayout(facts_grid(facts))
        return card


def _condition(name: str, conditions: Mapping[str, Any]) -> str:
    """One condition in words."""
    value = conditions[name]
    match name:
        case "device":
            return device_name(conditions)
        case "device_proof":
            return place_words(conditions)
        case "machine_state":
            return machine_words(value)
        case "smoke":
            return smoke_words(value)
        case "load_seconds" | "warmup_seconds":
            return fmt.seconds(value)
    return str(value)[:16] if name.endswith("sha256") else str(value)
