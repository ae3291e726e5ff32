"""A finished report as a value. Scores in percent, differences in pp, times in seconds; None is "not there"."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.base.draws import UNIFORM
from mince_gui.report.answers import Answers
from mince_gui.report.types import Ratio, ReferenceKind

SCHEMA = "mince-gui/report"
SCHEMA_VERSION = 1
"""Raised whenever a key of the JSON document changes its meaning or goes; new keys alone do not raise it."""

Verdict = Literal[
    "inside", "outside", "no bound", "not judged", "total gap only", "no full score", "full run", "no score"
]


@dataclass(frozen=True)
class Interval:
    """`low` to `high`, in the unit of the number it belongs to. `method` says whether it is exact."""

    low: float
    high: float
    level: float
    method: Literal["exact hypergeometric", "approximate, linearised", "approximate, as if drawn uniformly"]


@dataclass(frozen=True)
class MetricReport:
    """One metric. `subset` is None where no item has it; `interval` is that of the projected full score.

    `drift_pp` = score on the subset - full score of the same model, signed. `drift_basis` says whose
    answers made the subset score: "same run" (the full run's own rows on these items) or "two runs".
    `difference_pp` = this run's score - own full score; it differs from the drift where answers were
    not repeated. `total_gap_pp` = this run's score - another precision's or source's full score.
    """

    name: str
    title: str
    ratio: bool
    wanted: int
    subset: Ratio | None
    interval: Interval | None
    full: Ratio | None
    drift_pp: float | None
    drift_basis: Literal["same run", "two runs"] | None
    difference_pp: float | None
    bound_pp: float | None
    verdict: Verdict
    reason: str
    other: Ratio | None
    total_gap_pp: float | None

    @property
    def score(self) -> float | None:
        """The subset score in percent."""
        return None if self.subset is None else self.subset.percent

    @property
    def done(self) -> int:
        """Items that have this metric."""
        return 0 if self.subset is None else self.subset.items

    @property
    def partial(self) -> bool:
        """Whether the score is of a part of the subset only."""
        return self.done < self.wanted


@dataclass(frozen=True)
class Bound:
    """The drift bound, in pp, with what it means.

    It is the `quantile` (0..1, None = not recorded) of |drift| over uniformly drawn subsets, by the worst-case `rule`
    ("per-model", "joint", "" = not recorded); `sampler` is how this subset was drawn. `title` is what it is called
    ("bound", "bound of uniform draws" where another sampler drew the subset), `name` the short form ("P95, rule
    joint"), `meaning` says it in full, `outside_by_chance` the share that lies outside with nothing wrong.
    """

    pp: float
    quantile: float | None
    rule: str
    sampler: str
    title: str
    name: str
    meaning: str
    outside_by_chance: str


@dataclass(frozen=True)
class Content:
    """Whether the items were those that were frozen: `accepted` differ, `unverified` have no hash to tell by."""

    accepted: tuple[str, ...]
    unverified: int
    pack_sha256: str


@dataclass(frozen=True)
class Coverage:
    """Items done of those wanted; `missing` maps each item that is not there to its cause, in subset order."""

    done: int
    wanted: int
    total: int
    missing: Mapping[str, str]

    @property
    def complete(self) -> bool:
        """Whether every item of the subset is there."""
        return self.done == self.wanted

    def causes(self) -> dict[str, int]:
        """How many items each cause took, commonest first."""
        counts: dict[str, int] = {}
        for cause in self.missing.values():
            counts[cause] = counts.get(cause, 0) + 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


@dataclass(frozen=True)
class SourceLine:
    """Where a full score comes from. `use` = "own full run" (drift) or "total gap"; `named` = model and precision."""

    use: Literal["own full run", "total gap"]
    reference_id: str
    kind: ReferenceKind
    model: str
    precision: str
    named: str
    source: str
    date: str
    note: str


@dataclass(frozen=True)
class Speedup:
    """Full wall clock / subset wall clock. `low` and `high` bound an estimate; None = no interval."""

    kind: Literal["measured", "estimate", "none"]
    factor: float | None
    low: float | None
    high: float | None
    full_seconds: float | None
    subset_seconds: float | None
    words: str

    @property
    def saved_seconds(self) -> float | None:
        """What the subset spares per model."""
        if self.full_seconds is None or self.subset_seconds is None:
            return None
        return self.full_seconds - self.subset_seconds


Unit = Literal["s", "tok/s", "tokens"]


@dataclass(frozen=True)
class Latency:
    """Median and spread over `items` items of one quantity: percentiles, lowest and highest value."""

    name: str
    unit: Unit
    items: int
    median: float
    p05: float
    p25: float
    p75: float
    p95: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class SplitLine:
    """One part of the gap. `values_pp` maps metrics to signed pp; empty where the part cannot be told."""

    part: Literal["sampling drift", "quantisation delta", "hardware delta"]
    values_pp: Mapping[str, float]
    words: str


@dataclass(frozen=True)
class Repeatability:
    """Items that this run and the own full run both ran, and those whose verdict differs."""

    common: int
    differing: tuple[str, ...]


@dataclass(frozen=True)
class PairedMetric:
    """This run minus the other on the items both have. `p_value`: exact McNemar, pass/fail metrics only."""

    name: str
    title: str
    mine: Ratio
    theirs: Ratio
    delta_pp: float
    interval: Interval | None
    gained: int
    lost: int
    p_value: float | None


@dataclass(frozen=True)
class PairedReport:
    """Paired differences against another run."""

    run_id: str
    model: str
    common: int
    metrics: tuple[PairedMetric, ...]


@dataclass(frozen=True)
class Curve:
    """The curve that justified the subset: `p95_pp[t]` is the `quantile` (as a rule 0.95) at `sizes[t]` items."""

    sizes: tuple[int, ...]
    p95_pp: tuple[float, ...]
    n_star: int | None
    tau_pp: float | None
    rule: str
    pool: int | None
    quantile: float | None


@dataclass(frozen=True)
class RunningPoint:
    """The score after `done` items, with its interval (percent)."""

    done: int
    percent: float
    low: float
    high: float


@dataclass(frozen=True)
class Running:
    """The running score of one metric, in the order of the run."""

    metric: str
    title: str
    points: tuple[RunningPoint, ...]


@dataclass(frozen=True)
class Report:
    """Everything a document shows. `banner` is its first sentence; `asking` says how items were asked and scored."""

    run_id: str
    benchmark: str
    benchmark_title: str
    model: str
    subset_name: str
    created: str
    ended: str
    verdict: Verdict
    banner: str
    headline: str
    coverage: Coverage
    metrics: tuple[MetricReport, ...]
    sampler: str
    bound: Bound | None
    content: Content
    sources: tuple[SourceLine, ...]
    split: tuple[SplitLine, ...]
    repeatability: Repeatability | None
    paired: PairedReport | None
    speedup: Speedup
    latency: tuple[Latency, ...]
    answers: Answers
    methods: Mapping[str, int]
    asking: tuple[tuple[str, str], ...]
    conditions: Mapping[str, Any]
    curve: Curve | None
    running: Running | None
    warnings: tuple[str, ...]

    @property
    def drawn_uniformly(self) -> bool:
        """Whether the statistics of uniform draws (bound, exact interval) are those of the subset."""
        return self.sampler in UNIFORM

    def metric(self, name: str) -> MetricReport:
        """The metric of that name. Raises KeyError."""
        for found in self.metrics:
            if found.name == name:
                return found
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """The JSON document: schema, version and every value; NaN and infinities become null."""
        body = plain(self)
        assert isinstance(body, dict)
        for shown, metric in zip(body["metrics"], self.metrics, strict=True):
            shown.update(score_percent=metric.score, partial=metric.partial, done=metric.done)
            for key, ratio in (("full_percent", metric.full), ("other_percent", metric.other)):
                shown[key] = None if ratio is None else ratio.percent
        body["coverage"].update(complete=self.coverage.complete, causes=self.coverage.causes())
        body.update(asking=dict(self.asking), answers=self.answers.to_json())
        body["capped"] = self.answers.capped
        body["speedup"]["saved_seconds"] = self.speedup.saved_seconds
        return {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body}


def plain(value: Any) -> Any:
    """`value` in JSON's own types: dataclasses and mappings as objects, other sequences as lists, NaN as null.

    What JSON has no type for (a path, a date) is written as its text.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(inner) for inner in value), key=str)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)
