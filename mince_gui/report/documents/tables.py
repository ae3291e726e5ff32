"""CSV: one line per metric, spreadsheet-safe."""

from __future__ import annotations

import csv
import io
import re

from mince_gui.report import format as fmt
from mince_gui.report.documents.conditions import condition_words
from mince_gui.report.documents.visible import cut
from mince_gui.report.json_form import plain
from mince_gui.report.model import MetricReport, Part, Report
from mince_gui.report.speed import (
    DECODE_RATE,
    INPUT_TOKENS,
    ITEM_WALL,
    OUTPUT_TOKENS,
    PREFILL_RATE,
    PREFILL_TIME,
    TIME_TO_FIRST,
)
from mince_gui.report.words import VERDICT_WORDS

_SPREAD_COLUMNS = (
    (ITEM_WALL, "item_seconds"), (TIME_TO_FIRST, "first_token_seconds"), (PREFILL_TIME, "prefill_seconds"),
    (PREFILL_RATE, "prefill_tokens_per_second"), (DECODE_RATE, "decode_tokens_per_second"),
    (INPUT_TOKENS, "input_tokens"), (OUTPUT_TOKENS, "output_tokens"),
)  # fmt: skip
_PART_COLUMNS: dict[Part, str] = {
    "sampling drift": "part_sampling_drift",
    "quantisation delta": "part_quantisation",
    "hardware delta": "part_hardware",
    "quantisation and hardware together": "part_quantisation_and_hardware",
}
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MOST_SIGNS = 30_000
"""Signs of a cell: Excel has room for 32,767, and spreads what is longer over other cells."""
_FORMULA = re.compile(r"^[\s\x00]*[=+\-@＝＋－＠]|^[\t\r\n]")


def safe_cell(value: str | float | None) -> str | float:
    """A CSV cell: numbers stay numbers, None is empty, text that a spreadsheet would compute gets a leading '.

    Line breaks in text become blanks: readers disagree on which of them ends a row. What no cell has room for is cut.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        line = cut(_LINE_BREAKS.sub(" ", value), _MOST_SIGNS)
        return f"'{line}" if _FORMULA.search(value) else line
    return value


def _source(report: Report, use: str) -> str:
    for line in report.sources:
        if line.use == use:
            return f"{line.named} ({line.kind}, {fmt.moment(line.date)})"
    return ""


def csv_text(report: Report) -> str:
    """One header line, one line per metric; what belongs to the run is repeated on every line."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    rows = [_csv_row(report, metric) for metric in report.metrics]
    if rows:
        writer.writerow(rows[0])
        writer.writerows([safe_cell(value) for value in row.values()] for row in rows)
    else:
        writer.writerow(["run_id", "verdict"])
        writer.writerow([safe_cell(report.run_id), report.verdict])
    return buffer.getvalue()


def _csv_row(report: Report, metric: MetricReport) -> dict[str, str | float | None]:
    span, bound = metric.interval, report.bound
    return {
        "run_id": report.run_id, "benchmark": report.benchmark, "model": report.model,
        "precision": report.precision, "subset": report.subset_name,
        "created": report.created, "metric": metric.name,
        "items_done": metric.done, "items_wanted": metric.wanted, "items_total": report.coverage.total,
        "coverage": "partial" if metric.partial else "complete",
        "score_percent": metric.score,
        "passed": None if metric.subset is None else metric.subset.passed,
        "trials": None if metric.subset is None else metric.subset.trials,
        "projected_low_percent": None if span is None else span.low,
        "projected_high_percent": None if span is None else span.high,
        "interval_method": None if span is None else span.method,
        "own_full_percent": None if metric.full is None else metric.full.percent,
        "own_full_source": _source(report, "own full run"),
        "drift_pp": metric.drift_pp, "drift_basis": metric.drift_basis, "difference_pp": metric.difference_pp,
        "bound_pp": metric.bound_pp,
        "bound_rule": None if bound is None else bound.rule,
        "bound_quantile": None if bound is None else bound.quantile,
        "bound_draws": None if bound is None else "uniform", "sampler": report.sampler,
        "rescored_of": report.rescored_of,
        "verdict": VERDICT_WORDS[metric.verdict], "reason": metric.reason,
        "other_full_percent": None if metric.other is None else metric.other.percent,
        "other_full_source": _source(report, "total gap"), "total_gap_pp": metric.total_gap_pp,
        **_parts(report, metric),
        "speedup": report.speedup.factor, "speedup_kind": report.speedup.kind,
        "speedup_low": report.speedup.low, "speedup_high": report.speedup.high,
        "full_seconds": report.speedup.full_seconds, "subset_seconds": report.speedup.subset_seconds,
        **_spreads(report),
        **{name: report.conditions.get(name) for name in ("load_seconds", "warmup_seconds", "threads")},
        **{name: condition_words(plain(report.conditions.get(name))) for name in ("device", "runtime", "timing")},
        **{name: condition_words(plain(report.conditions.get(name))) for name in ("device_proven", "device_proof")},
        "asked_and_scored": " | ".join(f"{name}: {words}" for name, words in report.asking),
        "items_capped": report.answers.capped, "items_capped_by_ceiling": report.answers.by_ceiling,
        "items_cut_by_time": report.answers.by_time, "items_repeating": report.answers.repeating,
        "items_empty": report.answers.empty, "items_not_fitting": report.answers.not_fitting,
        "token_budget": report.answers.budget, "items_accepted_differing": len(report.content.accepted),
        "items_unverified": report.content.unverified, "pack_sha256": report.content.pack_sha256,
        "subset_sha256": report.content.subset_sha256,
        "warnings": " | ".join(report.warnings),
    }  # fmt: skip


def _parts(report: Report, metric: MetricReport) -> dict[str, float | None]:
    """What the metric's difference is made of, with intervals; empty where a part cannot be told."""
    found = {line.part: value for line in report.split.lines for value in line.values if value.metric == metric.name}
    cells: dict[str, float | None] = {}
    for part, column in _PART_COLUMNS.items():
        value = found.get(part)
        span = None if value is None else value.interval
        cells[f"{column}_pp"] = None if value is None else value.pp
        cells[f"{column}_low_pp"] = None if span is None else span.low
        cells[f"{column}_high_pp"] = None if span is None else span.high
    return cells


def _spreads(report: Report) -> dict[str, float | None]:
    """Median, quartiles and 95th percentile of every quantity; empty where it was not timed."""
    found = {line.name: line for line in report.latency}
    cells: dict[str, float | None] = {}
    for name, column in _SPREAD_COLUMNS:
        line = found.get(name)
        for part in ("median", "p25", "p75", "p95"):
            cells[f"{part}_{column}"] = None if line is None else getattr(line, part)
    return cells
