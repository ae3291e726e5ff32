"""The tables of a comparison: scores, speed, order of the models, and what the runs were made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mince_gui.report import format as fmt
from mince_gui.report.comparison.fleet import metrics_of
from mince_gui.report.comparison.model import ComparedRun, Ranking, SubsetName
from mince_gui.report.comparison.pictures import release_words
from mince_gui.report.documents.page import Cell, State, Table
from mince_gui.report.model import MetricReport, Verdict
from mince_gui.report.words import VERDICT_WORDS

_STATES: Mapping[Verdict, State] = {
    "inside": "good", "outside": "bad", "full run": "plain", "total gap only": "plain", "no full score": "plain"
}  # fmt: skip
_HASH_SHOWN = 12


def verdict_state(verdict: Verdict) -> State:
    """How a verdict looks; what is neither good nor bad nor complete is a warning."""
    return _STATES.get(verdict, "warn")


def subset_words(subset: SubsetName) -> str:
    """ "IFEVAL, 250 of 541 items (ifeval-250)", "IFEVAL, all 541 items"."""
    if subset.full:
        return f"{subset.title}, all {subset.total:,} items"
    return f"{subset.title}, {fmt.coverage(subset.wanted, subset.total)} ({subset.name})"


def name_of(run: ComparedRun) -> str:
    """The model, with its precision unless the name says it already."""
    known = not run.precision or run.precision.lower() in run.model.lower()
    return run.model if known else f"{run.model} {run.precision}"


def place_words(run: ComparedRun) -> str:
    """Device and machine: "CPU (lab-01)"."""
    return f"{run.device} ({run.machine})" if run.machine else run.device


def _head(run: ComparedRun, number: int) -> tuple[Cell, Cell, Cell]:
    place = ", ".join(filter(None, (run.machine, run.runtime and f"runtime {run.runtime}")))
    return Cell(f"{number}"), Cell(name_of(run)), Cell(run.device, place)


def kit_words(run: ComparedRun) -> str:
    """The versions that `release_words` does not tell: "OGA 0.11.2, ORT 1.22.1"."""
    versions = (("OGA", run.oga_version if run.release else ""), ("ORT", run.ort_version.removeprefix("onnxruntime ")))
    return ", ".join(f"{name} {version}" for name, version in versions if version)


def score_table(runs: Sequence[ComparedRun], numbers: Mapping[str, int]) -> Table:
    """One row per run and metric; what belongs to the run stands in its first row, its number in all of them."""
    rows = []
    titles = metrics_of(runs)
    for run in runs:
        head = _head(run, numbers[run.run_id])
        for name, title in titles.items():
            if (metric := run.metric(name)) is not None:
                rows.append((*head, *_metric_cells(run, title, metric)))
                head = head[0], Cell(""), Cell("")
    header = (
        "run", "model", "ran on", "metric", "score", "projected full score (95 %)", "drift", "total gap", "verdict"
    )  # fmt: skip
    return Table(header, tuple(rows), frozenset({0, 4, 5, 6, 7}), fold="Scores, every run and metric")


def _metric_cells(run: ComparedRun, title: str, metric: MetricReport) -> Iterable[Cell]:
    span, other = metric.interval, run.source("total gap")
    whole = run.subset.full and not metric.partial
    exact = span is None or span.method == "exact hypergeometric"
    bounded = metric.bound_pp is not None and metric.drift_pp is not None
    bound = f"bound {fmt.pp(metric.bound_pp, signed=False)}" if bounded else ""
    whose = "" if metric.total_gap_pp is None or other is None else f"to {other.named} ({other.kind})"
    return (
        Cell(title),
        Cell(
            fmt.percent(metric.score, absent=fmt.MISSING), fmt.coverage(metric.done, metric.wanted), strong=True,
            state="warn" if metric.partial else "plain",
        ),
        Cell(fmt.ABSENT, "whole benchmark" if whole else "")
        if whole or span is None
        else Cell(fmt.interval(span.low, span.high), "" if exact else "approximate"),
        Cell(fmt.pp(metric.drift_pp), bound),
        Cell(fmt.pp(metric.total_gap_pp), whose),
        Cell(VERDICT_WORDS[metric.verdict], state=verdict_state(metric.verdict)),
    )  # fmt: skip


def speed_table(runs: Sequence[ComparedRun], numbers: Mapping[str, int]) -> Table:
    """One row per run: medians over its items, its wall clock, its speedup."""
    rows = []
    for run in runs:
        pace = run.pace
        threads = "" if run.threads is None else f"{run.threads} thread{'' if run.threads == 1 else 's'}"
        kind = "" if pace.speedup.factor is None else pace.speedup.kind
        rows.append(
            (
                *_head(run, numbers[run.run_id]),
                Cell(run.timing or "not recorded", threads),
                Cell(fmt.seconds(pace.item_seconds)),
                Cell(fmt.seconds(pace.first_token_seconds)),
                Cell(fmt.rate(pace.prefill_rate)),
                Cell(fmt.rate(pace.decode_rate)),
                Cell(fmt.seconds(pace.wall_seconds), "" if run.complete else fmt.coverage(run.done, run.subset.wanted)),
                Cell(fmt.factor(pace.speedup.factor), kind),
            )
        )
    header = (
        "run", "model", "ran on", "timing", "median per item", "first token", "prefill", "decode", "wall clock",
        "speedup",
    )  # fmt: skip
    return Table(header, tuple(rows), frozenset({0, *range(4, len(header))}), fold="Times, every run")


def ranking_table(ranking: Ranking, numbers: Mapping[str, int]) -> Table:
    """One row per model, best full score first."""
    rows = tuple(
        (
            Cell(f"{numbers[m.run_id]}"),
            Cell(m.model, m.precision),
            Cell(fmt.percent(m.full), f"{m.use if m.use == 'own full run' else 'stored reference'}: {m.full_of}"),
            Cell(f"{m.full_rank:g}"),
            Cell(fmt.percent(m.subset), fmt.coverage(ranking.subset.wanted, ranking.subset.wanted)),
            Cell(f"{m.subset_rank:g}"),
        )
        for m in ranking.models
    )
    return Table(("run", "model", "full score", "place", "subset score", "place"), rows, frozenset({0, 2, 3, 4, 5}))


def kit_table(runs: Sequence[ComparedRun], numbers: Mapping[str, int]) -> Table:
    """One row per run: id, when, model folder, runtime, driver, power, where it came from.

    Every document has it in the open: the other tables name runs by their numbers here.
    """
    rows = []
    for run in runs:
        origin = str(run.origin.get("machine") or "elsewhere") if run.origin else ""
        rows.append(
            (
                Cell(f"{numbers[run.run_id]}"),
                Cell(run.run_id, f"scored again from {run.rescored_of}" if run.rescored_of else ""),
                Cell(fmt.moment(run.created), f"imported from {origin}" if origin else ""),
                Cell(run.model_sha256[:_HASH_SHOWN] or "not recorded"),
                Cell(release_words(run) or "not recorded", kit_words(run)),
                Cell(run.driver or "not recorded"),
                Cell(run.power or "not recorded"),
            )
        )
    header = ("run", "id", "made", "model folder, SHA-256", "runtime", "NPU driver", "power")
    return Table(header, tuple(rows), frozenset({0}))
