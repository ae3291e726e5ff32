"""CSV (one line per metric, spreadsheet-safe) and Markdown (for a ticket)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mince_gui.report import format as fmt
from mince_gui.report.asking import TOLD
from mince_gui.report.glossary import CONDITION_WORDS
from mince_gui.report.model import MetricReport, Report, plain
from mince_gui.report.place import device_name, machine_words, place_words, smoke_words
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
_UNSET = {"threads": "chosen by ONNX Runtime"}
"""Conditions that are None where nothing was asked for, and what then holds."""
_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_FORMULA = re.compile(r"^[\s\x00]*[=+\-@＝＋－＠]|^[\t\r\n]")


def safe_cell(value: str | float | None) -> str | float:
    """A CSV cell: numbers stay numbers, None is empty, text that a spreadsheet would compute gets a leading '.

    Line breaks in text become blanks: readers disagree on which of them ends a row.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        line = _LINE_BREAKS.sub(" ", value)
        return f"'{line}" if _FORMULA.search(value) else line
    return value


def condition_lines(conditions: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, value) of every condition that `asking` does not tell, known ones first; nested as "outer: inner"."""
    flat: dict[str, Any] = {}
    for key, value in plain(conditions).items():
        if key in (*TOLD, "device_proven") or (key == "changed" and not value):
            continue  # told elsewhere, or beside the device; nothing changed between sittings
        title = CONDITION_WORDS.get(key, key.replace("_", " "))
        if key == "device" and value:
            flat[title] = device_name(conditions)
        elif key == "device_proof" and value:
            flat[title] = place_words(conditions)
        elif key == "smoke" and value:
            flat[title] = smoke_words(conditions[key])
        elif key == "machine_state" and value:
            flat[title] = machine_words(conditions[key])
        elif isinstance(value, dict) and value:
            flat.update({f"{title}: {inner}": value[inner] for inner in sorted(value)})
        else:
            flat[title] = value
    order = {title: place for place, title in enumerate(CONDITION_WORDS.values())}
    names = sorted(flat, key=lambda name: (order.get(name.partition(": ")[0], len(order)), name))
    unset = {CONDITION_WORDS[key]: words for key, words in _UNSET.items()}
    return [(name, unset[name] if name in unset and flat[name] is None else _condition(flat[name])) for name in names]


def _condition(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "not recorded"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return ", ".join(str(inner) for inner in value) if isinstance(value, list) else str(value)


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
        "run_id": report.run_id, "benchmark": report.benchmark, "model": report.model, "subset": report.subset_name,
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
        "verdict": VERDICT_WORDS[metric.verdict], "reason": metric.reason,
        "other_full_percent": None if metric.other is None else metric.other.percent,
        "other_full_source": _source(report, "total gap"), "total_gap_pp": metric.total_gap_pp,
        "speedup": report.speedup.factor, "speedup_kind": report.speedup.kind,
        "speedup_low": report.speedup.low, "speedup_high": report.speedup.high,
        "full_seconds": report.speedup.full_seconds, "subset_seconds": report.speedup.subset_seconds,
        **_spreads(report),
        **{name: report.conditions.get(name) for name in ("load_seconds", "warmup_seconds", "threads")},
        **{name: _condition(plain(report.conditions.get(name))) for name in ("device", "runtime", "timing")},
        **{name: _condition(plain(report.conditions.get(name))) for name in ("device_proven", "device_proof")},
        "asked_and_scored": " | ".join(f"{name}: {words}" for name, words in report.asking),
        "items_capped": report.answers.capped, "items_capped_by_ceiling": report.answers.by_ceiling,
        "items_cut_by_time": report.answers.by_time, "items_repeating": report.answers.repeating,
        "items_empty": report.answers.empty, "items_not_fitting": report.answers.not_fitting,
        "token_budget": report.answers.budget, "items_accepted_differing": len(report.content.accepted),
        "items_unverified": report.content.unverified, "pack_sha256": report.content.pack_sha256,
        "warnings": " | ".join(report.warnings),
    }  # fmt: skip


def _spreads(report: Report) -> dict[str, float | None]:
    """Median, quartiles and 95th percentile of every quantity; empty where it was not timed."""
    found = {line.name: line for line in report.latency}
    cells: dict[str, float | None] = {}
    for name, column in _SPREAD_COLUMNS:
        line = found.get(name)
        for part in ("median", "p25", "p75", "p95"):
            cells[f"{part}_{column}"] = None if line is None else getattr(line, part)
    return cells


_MD_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")


def md_escape(text: str) -> str:
    """Text that Markdown shows as it is, inside a line: special signs escaped, no line breaks, no mentions."""
    return _MD_SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("@", "&#64;")


def _md_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_md_row(header), _md_row(["---"] * len(header)), *(_md_row(row) for row in rows), ""]


def _of_part(metric: MetricReport) -> str:
    return f" ({fmt.coverage(metric.done, metric.wanted)})" if metric.partial and metric.done else ""


def markdown_text(report: Report) -> str:
    """Banner, table per metric, speed, conditions, missing items, warnings."""
    lines = [f"**{md_escape(report.banner)}**", ""]
    lines += [f"> Caution: {md_escape(warning)}\n" for warning in report.warnings]
    lines += [
        f"Model {md_escape(report.model)}, subset {md_escape(report.subset_name)}: "
        f"{fmt.coverage(report.coverage.done, report.coverage.wanted)} done, of {report.coverage.total:,} in the full "
        f"benchmark {md_escape(report.benchmark_title)}. Run {md_escape(report.run_id)}, "
        f"{md_escape(fmt.moment(report.created))}.",
        "",
    ]
    has_other = any(metric.other is not None for metric in report.metrics)
    header = ["metric", "subset", "projected full", "own full run", "drift", "bound", "verdict"]
    rows = []
    for metric in report.metrics:
        part = _of_part(metric)
        span = metric.interval
        approximate = "" if span is None or span.method == "exact hypergeometric" else ", approximate"
        row = [
            md_escape(metric.title),
            fmt.percent(metric.score, absent=fmt.MISSING) + part,
            fmt.ABSENT if span is None else fmt.interval(span.low, span.high) + approximate + part,
            fmt.percent(None if metric.full is None else metric.full.percent),
            fmt.pp(metric.drift_pp) + (part if metric.drift_pp is not None else ""),
            fmt.pp(metric.bound_pp, signed=False),
            f"{VERDICT_WORDS[metric.verdict]}: {md_escape(metric.reason)}",
        ]
        if has_other:
            other = None if metric.other is None else metric.other.percent
            row[4:4] = [fmt.percent(other), fmt.pp(metric.total_gap_pp) + (part if other is not None else "")]
        rows.append(row)
    if has_other:
        header[4:4] = ["stored full", "total gap"]
    lines += _md_table(header, rows)
    if report.bound is not None:
        lines.append(f"- {report.bound.title} ({md_escape(report.bound.name)}): {md_escape(report.bound.meaning)}")
    lines.append(f"- sampler: {md_escape(report.sampler)}")
    if report.content.pack_sha256:
        lines.append(f"- pack, SHA-256: {report.content.pack_sha256}")
    for source in report.sources:
        lines.append(f"- {source.use}: {md_escape(_source(report, source.use))}, {md_escape(source.source)}")
    lines += [f"- {line.part}: {md_escape(line.words)}" for line in report.split]
    lines += [f"- speed: {md_escape(report.speedup.words)}"]
    for item in report.latency:
        half, most = fmt.amounts(item.p25, item.p75, item.unit), fmt.amounts(item.p05, item.p95, item.unit)
        median = fmt.amount(item.median, item.unit)
        lines.append(f"- {item.name}: median {median} ({half} for half, {most} for 90 % of {item.items:,} items)")
    lines.append("")
    lines += _md_table(["asked and scored", ""], [[md_escape(n), md_escape(v)] for n, v in report.asking])
    lines += _md_table(
        ["condition", "value"], [[md_escape(n), md_escape(v)] for n, v in condition_lines(report.conditions)]
    )
    if report.coverage.missing:
        lines += [f"Missing items ({len(report.coverage.missing):,}):", ""]
        lines += [f"- {md_escape(cause)} ({number:,})" for cause, number in report.coverage.causes().items()]
        lines.append("")
    return "\n".join(lines)
