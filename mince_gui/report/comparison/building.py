"""From several runs to a comparison, and the comparison as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.report import words
from mince_gui.report.bound import bound_of
from mince_gui.report.comparison.cautions import cautions_of
from mince_gui.report.comparison.fleet import fleet_of, rankings_of
from mince_gui.report.comparison.model import ComparedRun, Comparison, Pace, Pairing, SubsetName
from mince_gui.report.comparison.trend import histories_of, pairing_of
from mince_gui.report.documents.tables import safe_cell
from mince_gui.report.json_form import json_form
from mince_gui.report.model import MetricReport, Unit
from mince_gui.report.names import base_model
from mince_gui.report.place import device_name
from mince_gui.report.scores import coverage_of, metric_facts, metric_report, repeatability
from mince_gui.report.sides import kind_of_device
from mince_gui.report.sources import sources_of
from mince_gui.report.speed import DECODE_RATE, ITEM_WALL, PREFILL_RATE, TIME_TO_FIRST, speedup, spread
from mince_gui.report.types import Reference, RunData
from mince_gui.report.words import VERDICT_WORDS
from mince_gui.run.runtime_facts import release_of


@dataclass(frozen=True)
class HeldRun:
    """A run with the full scores that it is held against, as `report.build` takes them."""

    data: RunData
    own_full: Reference | None = None
    other: Reference | None = None


def build_comparison(
    held: Sequence[HeldRun],
    *,
    baseline: str = "",
    history_of: str = "",
    pair: tuple[str, str] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> Comparison:
    """The runs side by side, whatever their order, each with the same numbers as in its own report.

    `baseline` is the run that every other one is paired with where they share items ("" = none). `pair` are the two
    runs that a history sets side by side: the second minus the first. `left_out` maps runs that are not here to the
    reason. Raises KeyError for a baseline that is not among the runs.
    """
    data = {each.data.run_id: each.data for each in held}
    models = _model_idents(list(data.values()))
    runs = sorted((_compared(each, models) for each in held), key=_order)
    pairings: list[Pairing] = []
    if baseline:
        first = data[baseline]
        others = (run for run in runs if run.run_id != baseline)
        made = (pairing_of(run, first, data[run.run_id]) for run in others)
        pairings = [pairing for pairing in made if pairing is not None]
    histories = histories_of(runs, data, pair)
    return Comparison(
        runs=tuple(runs), baseline=baseline, history_of=history_of, fleet=fleet_of(runs), rankings=rankings_of(runs),
        histories=histories, pairings=tuple(pairings), cautions=cautions_of(runs, data, histories, pairings),
        left_out=dict(sorted((left_out or {}).items())),
    )  # fmt: skip


def _order(run: ComparedRun) -> tuple[str | int, ...]:
    subset = run.subset
    return (
        subset.title, subset.wanted, subset.ident, run.model.lower(), run.precision, run.device, run.machine,
        run.runtime, run.created, run.run_id,
    )  # fmt: skip


def _sha(data: RunData) -> str:
    return str(data.conditions.get("model_sha256") or "")


def model_name(data: RunData) -> tuple[str, str]:
    """What makes builds of one model in one precision the same: base model and precision."""
    return base_model(data.model), data.precision.lower()


def _model_idents(every: Sequence[RunData]) -> dict[str, str]:
    """Run id -> what identifies its model.

    A folder that was renamed between two runs is one model all the same: its hash says so. Where the precision is not
    known, nothing but the hash tells two builds of one name apart.
    """
    named: dict[str, tuple[str, str]] = {}
    for data in every:
        if sha := _sha(data):
            named[sha] = min(model_name(data), named.get(sha, model_name(data)), key=lambda n: (not n[1], n))
    idents = {}
    for data in every:
        base, precision = named.get(_sha(data), model_name(data))
        idents[data.run_id] = canonical_json([base, precision] if precision else [base, "", _sha(data)])
    return idents


def _compared(each: HeldRun, models: Mapping[str, str]) -> ComparedRun:
    # Not a whole report: its course, categories and histograms take ten times as long, and nobody sees them here.
    data, own, other = each.data, each.own_full, each.other
    declared = BENCHMARKS.get(data.benchmark.lower())
    coverage, bound = coverage_of(data), bound_of(data)
    metrics = tuple(metric_report(data, fact, own, other) for fact in metric_facts(data, (own, other)))
    head = words.headline(metrics)
    conditions = data.conditions
    device = device_name(conditions)
    state = conditions.get("machine_state") or {}
    oga = str(conditions.get("oga_version") or "")
    # A public wheel may bear the same version as one of AMD's.
    amd = "ryzen" in str(conditions.get("distribution") or "").lower()
    threads = conditions.get("threads")
    ident = sha256_text(canonical_json([data.benchmark.lower(), data.total_items, sorted(data.subset_keys)]))[:16]
    return ComparedRun(
        run_id=data.run_id,
        subset=SubsetName(
            ident, data.benchmark, data.benchmark if declared is None else declared.title, data.subset_name,
            len(data.subset_keys), data.total_items,
        ),
        task=str(conditions.get("task") or ""), sampler=data.sampler, model=data.model,
        base_model=base_model(data.model), precision=data.precision, model_ident=models[data.run_id],
        model_sha256=_sha(data), device=device, device_kind=kind_of_device(device),
        machine=str(conditions.get("machine") or ""), runtime=str(conditions.get("runtime") or ""), oga_version=oga,
        ort_version=str(conditions.get("ort_version") or ""), release=(release_of(oga, {}) or "") if amd else "",
        driver=str(state.get("npu_driver") or ""),
        power=", ".join(str(state[name]) for name in ("power_source", "power_mode") if state.get(name)),
        timing=str(conditions.get("timing") or ""), threads=threads if isinstance(threads, int) else None,
        created=data.created, ended=data.ended, rescored_of=data.rescored_of, origin=data.origin,
        done=coverage.done,
        verdict=words.overall(metrics), headline="" if head is None else head.name, metrics=metrics,
        bound=bound, sources=sources_of(own, other),
        pace=Pace(
            _median(ITEM_WALL, "s", data.item_seconds), _median(TIME_TO_FIRST, "s", data.first_token_seconds),
            _median(PREFILL_RATE, "tok/s", data.prefill_rates), _median(DECODE_RATE, "tok/s", data.decode_rates),
            data.wall_seconds, speedup(data, coverage, own),
        ),
        warnings=words.warnings(data, coverage, metrics, own, repeatability(data, own), bound),
    )  # fmt: skip


def _median(name: str, unit: Unit, values: Sequence[float]) -> float | None:
    found = spread(name, unit, values)
    return None if found is None else found.median


def comparison_json(comparison: Comparison) -> str:
    """The whole comparison as JSON: sorted keys, no time of writing: the same runs give the same bytes."""
    return json_form(comparison.to_json())


def comparison_csv(comparison: Comparison) -> str:
    """One header line, then one line per run and metric; what belongs to the run is repeated on every line."""
    paired = {line.run_id: line for line in comparison.pairings}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    rows = [_csv_row(run, metric, paired.get(run.run_id)) for run in comparison.runs for metric in run.metrics]
    if rows:
        writer.writerow(rows[0])
    else:
        writer.writerow(["run_id", "left_out"])
    writer.writerows([safe_cell(value) for value in row.values()] for row in rows)
    if not rows:
        writer.writerows([safe_cell(run_id), safe_cell(why)] for run_id, why in comparison.left_out.items())
    return buffer.getvalue()


def _csv_row(run: ComparedRun, metric: MetricReport, pairing: Pairing | None) -> dict[str, str | float | None]:
    span, subset, pace, bound = metric.interval, run.subset, run.pace, run.bound
    own, other = run.source("own full run"), run.source("total gap")
    paired = None if pairing is None else next((m for m in pairing.paired.metrics if m.name == metric.name), None)
    delta = None if paired is None else paired.interval
    return {
        "run_id": run.run_id, "benchmark": subset.benchmark, "subset": subset.name, "subset_ident": subset.ident,
        "sampler": run.sampler, "task": run.task, "model": run.model, "base_model": run.base_model,
        "precision": run.precision, "model_sha256": run.model_sha256, "device": run.device, "machine": run.machine,
        "runtime": run.runtime, "oga_version": run.oga_version, "ort_version": run.ort_version,
        "release": run.release, "driver": run.driver, "power": run.power, "timing": run.timing,
        "threads": run.threads, "created": run.created, "rescored_of": run.rescored_of,
        "metric": metric.name, "items_done": metric.done, "items_wanted": metric.wanted,
        "items_total": subset.total, "coverage": "partial" if metric.partial else "complete",
        "score_percent": metric.score,
        "projected_low_percent": None if span is None else span.low,
        "projected_high_percent": None if span is None else span.high,
        "interval_method": None if span is None else span.method,
        "own_full_percent": None if metric.full is None else metric.full.percent,
        "own_full_source": None if own is None or metric.full is None else own.source,
        "drift_pp": metric.drift_pp, "bound_pp": metric.bound_pp, "bound": None if bound is None else bound.name,
        "verdict": VERDICT_WORDS[metric.verdict], "reason": metric.reason,
        "other_full_percent": None if metric.other is None else metric.other.percent,
        "other_full_source": None if other is None or metric.other is None else f"{other.named}, {other.source}",
        "total_gap_pp": metric.total_gap_pp,
        "paired_with": None if paired is None or pairing is None else pairing.paired.ident,
        "paired_items": None if paired is None else paired.mine.items,
        "paired_delta_pp": None if paired is None else paired.delta_pp,
        "paired_low_pp": None if delta is None else delta.low,
        "paired_high_pp": None if delta is None else delta.high,
        "items_gained": None if paired is None else paired.gained,
        "items_lost": None if paired is None else paired.lost,
        "mcnemar_p": None if paired is None else paired.p_value,
        "item_seconds_median": pace.item_seconds, "first_token_seconds_median": pace.first_token_seconds,
        "prefill_tokens_per_second_median": pace.prefill_rate, "decode_tokens_per_second_median": pace.decode_rate,
        "wall_seconds": pace.wall_seconds, "speedup": pace.speedup.factor, "speedup_kind": pace.speedup.kind,
    }  # fmt: skip
