"""Values that pass between the runner, its worker and whoever stores the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from mince_gui.tasks.types import Request, Scored

TimingMode = Literal["standard", "fast"]
Control = Literal["run", "pause", "stop", "skip"]


@dataclass(frozen=True)
class RunItem:
    """One item to run: `position` is its place in the run, counted from 0."""

    position: int
    key: str
    category: str | None
    doc: Mapping[str, Any]
    request: Request


@dataclass(frozen=True)
class ItemTiming:
    """Seconds and tokens of one item; None where it does not exist (choices have no first token).

    `read_tokens` went through the model: the whole prompt, or what follows the kept prefix in fast mode.
    `prefill_seconds` = append_tokens (one forward pass over these); `first_token_seconds` =
    append_tokens + first generate_next_token; `decode_seconds` = t_end - t_first over
    `output_tokens` - 1 tokens; `wall_seconds` = the whole item in the worker, tokenisation left out.
    """

    prompt_tokens: int
    read_tokens: int
    output_tokens: int
    prefill_seconds: float
    first_token_seconds: float | None
    decode_seconds: float | None
    wall_seconds: float

    @property
    def decode_rate(self) -> float | None:
        """Tokens per second after the first: (n - 1) / (t_end - t_first)."""
        if not self.decode_seconds or self.output_tokens < 2:
            return None
        return (self.output_tokens - 1) / self.decode_seconds


@dataclass(frozen=True)
class ItemResult:
    """One finished item. state "missing" has no scores and says why in `cause`.

    `method` says how choices were scored ("" for text), `greedy` per choice whether greedy decoding would write it,
    `finish` why text ended (eos, stop, budget, context, time; "" for choices); `leading_bos` counts the BOS tokens that
    the prompt begins with, None where the model folder names no BOS. `repeats` is the period, in tokens, of an endless
    repetition in which the text ends, None where it does not; `memory_bytes` the worker's resident memory after the
    item, None where the system does not tell.
    """

    position: int
    key: str
    category: str | None
    state: Literal["done", "missing"]
    scored: Scored | None
    text: str | None
    picked: int | None
    logprobs: tuple[float, ...]
    timing: ItemTiming | None
    capped: bool = False
    attempts: int = 1
    cause: str = ""
    prompt_sha256: str = ""
    method: str = ""
    finish: str = ""
    greedy: tuple[bool, ...] = ()
    leading_bos: int | None = None
    repeats: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Place:
    """Where a run ran and how that is known: `device` in words, `proof` what was seen or what is missing.

    `proven` only where the device itself shows our process (NPU contexts of its process id that complete work), or
    where nothing but a CPU can have run it. A folder's declaration proves nothing.
    """

    device: str
    proven: bool
    proof: str


@dataclass(frozen=True)
class Outcome:
    """How a child process ended.

    cause: done, failed (it said why), stopped (by us), crashed (`code` or `signal` set), hung,
    not_started. `stderr` holds the last lines.
    """

    cause: Literal["done", "failed", "stopped", "crashed", "hung", "not_started"]
    detail: str
    code: int | None = None
    signal: str | None = None
    stderr: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunConditions:
    """What was run on what; everything a report's reader must know.

    `bos_check` says what is wrong at the beginning of prompts ("" = nothing); `token_check` whether the runtime's token
    ids of the first prompt are those of the folder's tokenizer.json ("equal", what differs, or why it is not known).
    `place` says where it runs as far as that is known (see Sink.place). `timing` is the mode that was used,
    `fast_probe` what fast mode's probe found, or why fast mode is off ("" = not asked for). `smoke` is what the smoke
    test answered (see run.smoke), `machine_state` the power source, power mode, drivers and load when the sitting began
    (see run.devices), `sleep` how sleep is held off, or why it is not. `precision` is that of the weights as the graph
    shows it ("int4", "int8", "fp16", "bf16", "fp32", ...; "" = cannot be told).
    """

    runtime: str
    place: Place
    oga_version: str
    ort_version: str
    distribution: str
    python_version: str
    platform: str
    cpu: str
    threads: int | None
    timing: TimingMode
    model_name: str
    model_sha256: str
    chat_template: str
    chat_template_sha256: str
    max_new_tokens: int | None
    search_options: Mapping[str, Any] = field(default_factory=dict)
    load_seconds: float | None = None
    warmup_seconds: float | None = None
    bos_check: str = ""
    token_check: str = ""
    fast_probe: str = ""
    smoke: Mapping[str, Any] = field(default_factory=dict)
    machine_state: Mapping[str, Any] = field(default_factory=dict)
    sleep: str = ""
    precision: str = ""


class Sink(Protocol):
    """Where a run's outcome goes. `app` injects the workspace; tests a list. Each call commits before it returns."""

    def item(self, result: ItemResult, elapsed_seconds: float) -> None:
        """Store one finished item, and the runner's clock for it: from hand-over to hand-over, the commit included.

        Pauses, loading, a first attempt that was lost, and sleep of the machine are left out.
        """
        ...

    def place(self, place: Place) -> None:
        """Store where the run runs, once more is known of it than when the conditions were stored."""
        ...

    def conditions(self, conditions: RunConditions) -> None:
        """Store what the worker said of itself, once it has loaded the model."""
        ...

    def control(self) -> Control:
        """What the user wants now; asked at every item boundary (and about once a second while paused)."""
        ...

    def took_control(self, control: Control) -> None:
        """The runner did as asked: paused (pause), goes on (run), left the item out (skip), ends (stop)."""
        ...
