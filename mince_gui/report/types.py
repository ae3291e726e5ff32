"""The numbers of a report, before they become a document. Scores in percent, differences in pp."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mince_gui.base.draws import UNIFORM
from mince_gui.report.answers import Answers


@dataclass(frozen=True)
class Ratio:
    """passed / trials over `items` items."""

    passed: float
    trials: float
    items: int

    @property
    def percent(self) -> float:
        """The score in percent. Raises ZeroDivisionError without trials: ask `trials` first."""
        return 100.0 * self.passed / self.trials


NOT_RUN = "not run"


@dataclass(frozen=True)
class RunData:
    """One run as the report needs it.

    `rows` maps item key -> metric -> (passed, trials); missing items are absent there, and `missing` maps each to
    its cause, NOT_RUN for those that were not reached. `wall_seconds` is the time the runner spent on items, None
    where not known.
    """

    run_id: str
    benchmark: str
    model: str
    subset_name: str
    subset_keys: tuple[str, ...]
    total_items: int
    bound_pp: float | None
    rows: Mapping[str, Mapping[str, tuple[float, float]]]
    categories: Mapping[str, str | None]
    wall_seconds: float | None
    item_seconds: tuple[float, ...]
    first_token_seconds: tuple[float, ...]
    prefill_rates: tuple[float, ...]
    decode_rates: tuple[float, ...]
    missing: Mapping[str, str]
    conditions: Mapping[str, Any]
    created: str
    ended: str
    device_key: str
    """Equal for runs on the same machine, runtime and timing mode: only those make a speedup."""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    sampler: str = "uniform"
    """How the subset was drawn: uniform, stratified, full, ... Bound and exact intervals are those of uniform draws."""
    accepted: tuple[str, ...] = ()
    """Items of the subset whose content differs from what was frozen, and was accepted when the pack was made."""
    unverified: int = 0
    """How many items of the subset have no content hash, so that nothing proves their content."""
    pack_sha256: str = ""
    subset_sha256: str = ""
    """Of the frozen subset's file: which items, in which order, with which evidence."""
    answers: Answers = Answers()  # noqa: RUF009 - frozen
    """How many answers were cut, are empty, or do not fit, and the token budget."""
    methods: Mapping[str, int] = field(default_factory=dict)
    """By which method the choices were scored, with the number of items; empty where text was generated."""
    prefill_seconds: tuple[float, ...] = ()
    """Seconds of reading, of every timed item."""
    input_tokens: tuple[int, ...] = ()
    """Tokens of the prompt of every done item, whichever of them were read once for several items."""
    output_tokens: tuple[int, ...] = ()
    """Tokens written, of every item that generated text."""
    run_order: tuple[str, ...] = ()
    """The keys of `rows` in the order in which they were run; empty = the subset's order."""
    precision: str = ""
    """Of the weights, as the model folder tells it: "int4", "fp32", ...; "" = not known."""
    answers_given: Mapping[str, str] = field(default_factory=dict)
    """What was answered, of every done item: the text, or the choice that was picked."""
    expected: Mapping[str, str] = field(default_factory=dict)
    """The right answer of every item that has one."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the prompt of every item where it is known."""
    rescored_of: str = ""
    """The run whose stored answers were scored again for this one; "" = its answers are its own."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Where a run that was made elsewhere came from: "machine", "bundle_sha256", "imported_at"; empty = made here."""

    @property
    def drawn_uniformly(self) -> bool:
        """Whether the statistics of uniform draws (bound, exact interval) are those of this subset."""
        return self.sampler in UNIFORM

    @property
    def is_full(self) -> bool:
        """Whether the run covers the whole benchmark."""
        return len(self.subset_keys) == self.total_items


ReferenceKind = Literal["own full run", "imported", "typed in", "published", "shipped with the demo"]


@dataclass(frozen=True)
class Reference:
    """A stored full-benchmark score: what it is and where it comes from.

    Only an own full run, and the demo's for the very model folder (`model_sha256`), make a difference drift;
    against any other reference it is the total gap. `rows` are per-item outcomes where known.
    """

    reference_id: str
    kind: ReferenceKind
    benchmark: str
    model: str
    metrics: Mapping[str, Ratio]
    source: str
    date: str
    precision: str = ""
    task: str = ""
    model_sha256: str = ""
    wall_seconds: float | None = None
    device_key: str = ""
    timing: str = ""
    """The mode in which an own full run was timed: standard, fast, "" = not known."""
    rows: Mapping[str, Mapping[str, tuple[float, float]]] | None = None
    note: str = ""
    task_version: str = ""
    """Of the task, as lm-eval counts them; "" = not known."""
    lm_eval_version: str = ""
    few_shot: int | None = None
    """Examples before each question; None = not known."""
    chat_template: str = ""
    """ "applied" or "none": whether prompts went through the model's chat template; "" = not known."""
    runtime: str = ""
    device: str = ""
    """What it ran on: "CPU", "NPU", a GPU's name; "" = not known."""
    machine: str = ""
    """The machine whose clock made `wall_seconds`; "" = not known."""
    categories: Mapping[str, str | None] = field(default_factory=dict)
    """Item key -> category, of `rows`."""
    warnings: tuple[str, ...] = ()
    """What differs from the run that it is held against (task version, few-shot, units), for the reader to see."""


@dataclass(frozen=True)
class Side:
    """One side of a paired comparison: a run, or stored per-item outcomes of the same benchmark.

    `rows` are as in RunData; `answers`, `expected` and `prompts` are by item key and may be empty (an imported log
    keeps no answers). `device` is "CPU", "NPU (...)", ... or "" where it is not known, or where a run was continued on
    another one; `precision` likewise.
    """

    ident: str
    kind: Literal["run", "reference"]
    benchmark: str
    model: str
    precision: str
    device: str
    rows: Mapping[str, Mapping[str, tuple[float, float]]]
    answers: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    runtime: str = ""
    date: str = ""
    model_sha256: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)
    """How a run was asked and scored, as far as its prompts do not tell: what -> how ("token budget" -> "1,280")."""
    warnings: tuple[str, ...] = ()
    """What differs from the run that it is paired with, where the side is a reference."""
