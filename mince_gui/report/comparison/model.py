"""Several runs side by side, as a value. Scores in percent, differences in pp, times in seconds; None = not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.report.json_form import plain
from mince_gui.report.model import (
    Bound,
    Interval,
    MetricReport,
    PairedReport,
    SourceLine,
    Speedup,
    Verdict,
)
from mince_gui.report.types import Ratio

SCHEMA = "mince-gui/comparison"
SCHEMA_VERSION = 1
"""Raised whenever a key of the JSON document changes its meaning or goes; new keys alone do not raise it."""

CautionKind = Literal[
    "coverage", "subsets", "sampler", "content", "prompts", "task", "budget", "timing", "power", "sittings", "rescored",
    "device", "reference", "many comparisons",
]  # fmt: skip


@dataclass(frozen=True)
class SubsetName:
    """The items that runs share: `ident` is of the benchmark and its item keys, whatever the subset is called."""

    ident: str
    benchmark: str
    title: str
    name: str
    wanted: int
    total: int

    @property
    def full(self) -> bool:
        """Whether it is the whole benchmark."""
        return self.wanted == self.total


@dataclass(frozen=True)
class Pace:
    """Medians over the items, and the wall clock of the whole run (None where items are missing)."""

    item_seconds: float | None
    first_token_seconds: float | None
    prefill_rate: float | None
    decode_rate: float | None
    wall_seconds: float | None
    speedup: Speedup


@dataclass(frozen=True)
class ComparedRun:
    """What a comparison shows of one run. Texts are "" where they are not known.

    `model_ident` is equal for builds of one model in one precision, and for the very same folder. `device` says whether
    it is proven; `device_kind` is "CPU", "NPU", ... alone. `release` is the Ryzen AI release that the runtime belongs
    to. `power` = source and mode.
    """

    run_id: str
    subset: SubsetName
    task: str
    sampler: str
    model: str
    base_model: str
    precision: str
    model_ident: str
    model_sha256: str
    device: str
    device_kind: str
    machine: str
    runtime: str
    oga_version: str
    ort_version: str
    release: str
    driver: str
    power: str
    timing: str
    threads: int | None
    created: str
    ended: str
    rescored_of: str
    origin: Mapping[str, Any]
    done: int
    verdict: Verdict
    headline: str
    metrics: tuple[MetricReport, ...]
    bound: Bound | None
    sources: tuple[SourceLine, ...]
    pace: Pace
    warnings: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every item of the subset is done."""
        return self.done == self.subset.wanted

    def metric(self, name: str) -> MetricReport | None:
        """The metric of that name, if the run has it."""
        return next((metric for metric in self.metrics if metric.name == name), None)

    def source(self, use: str) -> SourceLine | None:
        """Where a full score comes from: `use` = "own full run" or "total gap"."""
        return next((line for line in self.sources if line.use == use), None)


@dataclass(frozen=True)
class FleetColumn:
    """One benchmark's subset with its headline metric: the first that the benchmark declares and a run has."""

    subset: SubsetName
    metric: str
    metric_title: str


@dataclass(frozen=True)
class FleetCell:
    """`run_id` is the newest complete run of its place in the table; `others` fall there too, newest first."""

    run_id: str
    others: tuple[str, ...]

    @property
    def runs(self) -> int:
        """How many runs fall here."""
        return 1 + len(self.others)


@dataclass(frozen=True)
class FleetRow:
    """A model on a device: one cell per column, None where nothing was run."""

    model: str
    precision: str
    device: str
    machine: str
    runtime: str
    cells: tuple[FleetCell | None, ...]


@dataclass(frozen=True)
class Fleet:
    """Models and devices down, benchmarks across."""

    columns: tuple[FleetColumn, ...]
    rows: tuple[FleetRow, ...]


@dataclass(frozen=True)
class RankedModel:
    """One model's place by its full score and by its subset score; 1 is the best, ties share the mean of their places.

    `use` says whose full score it is: the model's "own full run", or that of a stored reference ("total gap").
    """

    run_id: str
    model: str
    precision: str
    full: float
    subset: float
    full_rank: float
    subset_rank: float
    use: Literal["own full run", "total gap"]
    full_of: str


@dataclass(frozen=True)
class Ranking:
    """Do models keep their order on the subset? `models` by full score, best first.

    `rho` is Spearman's, None for fewer than three models or where all score the same. `swapped` are neighbours (by the
    full score) whose order is the other way round on the subset.
    """

    subset: SubsetName
    metric: str
    metric_title: str
    models: tuple[RankedModel, ...]
    rho: float | None
    swapped: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Change:
    """One metric of a run minus that of another run (`against`) on the `items` that both have, signed pp.

    `gained` and `lost` count items with a better and a worse outcome; `p_value` is the exact McNemar test's, None for
    metrics that are not pass/fail.
    """

    against: str
    mine: Ratio
    theirs: Ratio
    pp: float
    items: int
    gained: int
    lost: int
    p_value: float | None


@dataclass(frozen=True)
class HistoryMetric:
    """One metric of one run in a history."""

    name: str
    title: str
    score: Ratio | None
    interval: Interval | None
    to_previous: Change | None
    to_first: Change | None


@dataclass(frozen=True)
class HistoryPoint:
    """One run in a history."""

    run_id: str
    metrics: tuple[HistoryMetric, ...]

    def metric(self, name: str) -> HistoryMetric | None:
        """The metric of that name."""
        return next((metric for metric in self.metrics if metric.name == name), None)


@dataclass(frozen=True)
class Pairing:
    """A run minus another one, item by item: `paired.ident` is the other's id."""

    run_id: str
    paired: PairedReport


@dataclass(frozen=True)
class History:
    """One model on one subset and kind of device over time, oldest run first; `metric` is the headline.

    `pairing` sets two of the runs side by side: the last against the one before, unless two were named.
    """

    model: str
    precision: str
    device_kind: str
    subset: SubsetName
    metric: str
    metric_title: str
    points: tuple[HistoryPoint, ...]
    pairing: Pairing | None


@dataclass(frozen=True)
class Caution:
    """What a reader must know before comparing; `run_ids` are those that it is about, () = all of them."""

    kind: CautionKind
    words: str
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Several runs side by side. `baseline` is the run that `pairings` subtract, "" where none was named.

    `history_of` is the run whose history was asked for. `left_out` maps each run that is not in it to the reason.
    """

    runs: tuple[ComparedRun, ...]
    baseline: str
    history_of: str
    fleet: Fleet
    rankings: tuple[Ranking, ...]
    histories: tuple[History, ...]
    pairings: tuple[Pairing, ...]
    cautions: tuple[Caution, ...]
    left_out: Mapping[str, str]

    def run(self, run_id: str) -> ComparedRun:
        """The run of that id. Raises KeyError."""
        for run in self.runs:
            if run.run_id == run_id:
                return run
        raise KeyError(run_id)

    def to_json(self) -> dict[str, Any]:
        """The JSON document: schema, version and every value; NaN and infinities become null."""
        body = plain(self)
        assert isinstance(body, dict)
        for shown, run in zip(body["runs"], self.runs, strict=True):
            shown.update(complete=run.complete)
            _with_percent(shown["metrics"], run.metrics)
        return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body}


def _with_percent(shown: Sequence[dict[str, Any]], metrics: Sequence[MetricReport]) -> None:
    for line, metric in zip(shown, metrics, strict=True):
        line.update(score_percent=metric.score, done=metric.done, partial=metric.partial)
        for key, ratio in (("full_percent", metric.full), ("other_percent", metric.other)):
            line[key] = None if ratio is None else ratio.percent
