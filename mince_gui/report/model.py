"""A finished report as a value. Scores in percent, differences in pp, times in seconds; None is "not there"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mince_gui.base.draws import UNIFORM
from mince_gui.report.answers import Answers
from mince_gui.report.json_form import plain
from mince_gui.report.types import Ratio, ReferenceKind

SCHEMA = "mince-gui/report"
SCHEMA_VERSION = 2
"""Raised whenever a key of the JSON document changes its meaning or goes; new keys alone do not raise it."""

Unit = Literal["s", "tok/s", "tokens"]
Verdict = Literal[
    "inside", "outside", "no bound", "not judged", "total gap only", "no full score", "full run", "no score"
]


@dataclass(frozen=True)
class Interval:
    """`low` to `high`, in the unit of the number it belongs to. `method` says how it was made, and whether it is exact.

    "exact hypergeometric" is of a finite benchmark, "exact binomial" of one whose size in this category is not known.
    """

    low: float
    high: float
    level: float
    method: Literal[
        "exact hypergeometric", "exact binomial", "approximate, linearised", "approximate, as if drawn uniformly",
        "paired, exact limits combined", "paired bootstrap", "whole benchmark",
    ]  # fmt: skip


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
    subset_sha256: str = ""


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
    warnings: tuple[str, ...] = ()


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


Part = Literal["sampling drift", "quantisation delta", "hardware delta", "quantisation and hardware together"]
Role = Literal["quantisation", "hardware", "quantisation and hardware", "repeat", "other"]
"""What differs between the sides of a pair: precision, device, both, neither; "other" = another model, or unknown."""


@dataclass(frozen=True)
class SplitValue:
    """One metric of a part: signed pp on `items` items. `interval` is of the whole benchmark's value, None = none."""

    metric: str
    title: str
    pp: float
    interval: Interval | None
    items: int


@dataclass(frozen=True)
class SplitLine:
    """One part of the gap. `values` is empty where the part cannot be told; `words` says then why.

    `of` names what was subtracted from what ("run A (INT4 on NPU) minus run B (INT4 on CPU), same items").
    """

    part: Part
    values: tuple[SplitValue, ...]
    of: str
    words: str


@dataclass(frozen=True)
class SplitSum:
    """The total gap of one metric as the sum of its parts, where all are known on the same items.

    `total_pp` = the run's subset score - the full score of the unquantised model; `parts` add up to it, the first of
    them being the sampling drift of the unquantised model.
    """

    metric: str
    title: str
    total_pp: float
    parts: tuple[tuple[Part, float], ...]


@dataclass(frozen=True)
class Split:
    """What the difference is made of: see method.md, what a device report must separate."""

    lines: tuple[SplitLine, ...]
    sums: tuple[SplitSum, ...]


@dataclass(frozen=True)
class Repeatability:
    """Items that this run and the own full run both ran, and those whose verdict differs."""

    common: int
    differing: tuple[str, ...]


@dataclass(frozen=True)
class PairedMetric:
    """This run minus the other on the items both have, signed pp. `p_value`: exact McNemar, pass/fail metrics only.

    `gained` and `lost` count items with a better and a worse outcome here. `interval` is of the difference over the
    whole benchmark.
    """

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
class ChangedItem:
    """An item whose outcome differs between the sides, in any metric: metric -> (passed, trials) here and there.

    Answers are None where that side keeps none.
    """

    key: str
    category: str | None
    change: Literal["gained", "lost", "both"]
    mine: Mapping[str, tuple[float, float]]
    theirs: Mapping[str, tuple[float, float]]
    my_answer: str | None
    their_answer: str | None
    expected: str | None


@dataclass(frozen=True)
class PairedCategory:
    """One category of a pair, first pass/fail metric: `p_holm` is McNemar's p corrected for all categories shown."""

    category: str
    items: int
    delta_pp: float
    gained: int
    lost: int
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class PairedReport:
    """This run minus another side, on the items that both have. `wanted` = items of this run's subset.

    `prompts_compared` of the common items have a known prompt on both sides, `prompts_equal` of them the very same:
    where they differ, the delta holds the prompt's effect as well. `warnings` says so, and what else must be known.
    """

    ident: str
    kind: Literal["run", "reference"]
    role: Role
    model: str
    precision: str
    device: str
    named: str
    common: int
    wanted: int
    prompts_compared: int
    prompts_equal: int
    metrics: tuple[PairedMetric, ...]
    changed: tuple[ChangedItem, ...]
    categories: tuple[PairedCategory, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CategoryLine:
    """One category: its score on the items run, the interval of its full score, and the own full run's where known.

    `total` is how many items of the category the benchmark has, None where that is not known.
    """

    category: str
    subset: Ratio
    total: int | None
    interval: Interval | None
    full: Ratio | None


@dataclass(frozen=True)
class Categories:
    """One metric by category (subject, instruction type). `small` names those with too few items to show.

    `caution` says how many of so many intervals miss by chance.
    """

    metric: str
    title: str
    lines: tuple[CategoryLine, ...]
    small: tuple[str, ...]
    caution: str


@dataclass(frozen=True)
class Histogram:
    """How a quantity is spread over the items: `counts[i]` of them within `edges[i]`..`edges[i + 1]`."""

    name: str
    unit: Unit
    edges: tuple[float, ...]
    counts: tuple[int, ...]


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


GateOutcome = Literal["within", "beyond", "not judged"]
GateSubject = Literal["drift", "paired delta", "total gap"]


@dataclass(frozen=True)
class GateCheck:
    """One limit that was asked for: the largest |value| of any metric against `limit_pp`, with the reason in words.

    `metric` and `value_pp` are those of the metric that decides; None where nothing could be judged.
    """

    subject: GateSubject
    limit_pp: float
    outcome: GateOutcome
    metric: str | None
    value_pp: float | None
    reason: str


@dataclass(frozen=True)
class Gate:
    """The limits asked for, and one line that says how it ended: the gravest of the checks (beyond, not judged)."""

    checks: tuple[GateCheck, ...]
    outcome: GateOutcome
    line: str


@dataclass(frozen=True)
class Report:
    """Everything a document shows. `banner` is its first sentence; `asking` says how items were asked and scored."""

    run_id: str
    benchmark: str
    benchmark_title: str
    model: str
    precision: str
    subset_name: str
    created: str
    ended: str
    rescored_of: str
    origin: Mapping[str, Any]
    verdict: Verdict
    banner: str
    headline: str
    coverage: Coverage
    metrics: tuple[MetricReport, ...]
    sampler: str
    bound: Bound | None
    content: Content
    sources: tuple[SourceLine, ...]
    split: Split
    repeatability: Repeatability | None
    paired: tuple[PairedReport, ...]
    categories: Categories | None
    speedup: Speedup
    latency: tuple[Latency, ...]
    histograms: tuple[Histogram, ...]
    answers: Answers
    methods: Mapping[str, int]
    asking: tuple[tuple[str, str], ...]
    conditions: Mapping[str, Any]
    curve: Curve | None
    running: Running | None
    warnings: tuple[str, ...]
    gate: Gate | None = None
    """The limits that were asked for; None = none was."""

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
