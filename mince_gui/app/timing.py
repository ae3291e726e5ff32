"""What a run's items took: what each of them says, medians and spread over them, and the run as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mince_gui.report.asking import PARITY
from mince_gui.report.model import Latency
from mince_gui.report.speed import (
    DECODE_RATE,
    INPUT_TOKENS,
    ITEM_WALL,
    OUTPUT_TOKENS,
    PREFILL_RATE,
    PREFILL_TIME,
    TIME_TO_FIRST,
    spread,
)
from mince_gui.store.runs import StoredItem, StoredRun

_JSON_NAMES = {
    ITEM_WALL: "item_seconds",
    TIME_TO_FIRST: "first_token_seconds",
    PREFILL_TIME: "prefill_seconds",
    PREFILL_RATE: "prefill_tokens_per_second",
    DECODE_RATE: "decode_tokens_per_second",
    INPUT_TOKENS: "input_tokens",
    OUTPUT_TOKENS: "output_tokens",
}


def read_tokens(item: StoredItem) -> int | None:
    """Tokens that went through the model while `prefill_seconds` ran: what follows a kept prefix in fast mode.

    None where that is not one forward pass (choices of several tokens), or where nothing was timed.
    """
    if item.method not in (None, *PARITY) or not item.prefill_seconds:
        return None
    # What an older program stored was always read whole.
    return item.prompt_tokens if item.read_tokens is None else item.read_tokens


def prefill_rate(item: StoredItem) -> float | None:
    """Tokens read per second of prefill; None for choices of several tokens, which read more than the prompt."""
    tokens = read_tokens(item)
    return tokens / item.prefill_seconds if tokens and item.prefill_seconds else None


def prefill_rates(items: Sequence[StoredItem]) -> tuple[float, ...]:
    """The prefill rate of every item that has one."""
    return tuple(rate for item in items if (rate := prefill_rate(item)) is not None)


def decode_rate(item: StoredItem) -> float | None:
    """Tokens per second after the first; None where fewer than two were written."""
    if not item.output_tokens or item.output_tokens < 2 or not item.decode_seconds:
        return None
    return (item.output_tokens - 1) / item.decode_seconds


def decode_rates(items: Sequence[StoredItem]) -> tuple[float, ...]:
    """The decode rate of every item that has one."""
    return tuple(rate for item in items if (rate := decode_rate(item)) is not None)


def first_token_seconds(items: Sequence[StoredItem]) -> tuple[float, ...]:
    """Seconds to the first token of every generated item."""
    return tuple(i.first_token_seconds for i in items if i.first_token_seconds is not None)


def prefill_seconds(items: Sequence[StoredItem]) -> tuple[float, ...]:
    """Seconds of reading, of every timed item: all forward passes of a choice, in fast mode behind the kept prefix."""
    return tuple(i.prefill_seconds for i in items if i.prefill_seconds)


def item_seconds(items: Sequence[StoredItem]) -> tuple[float, ...]:
    """The runner's clock for every done item."""
    return tuple(i.elapsed_seconds for i in items if i.state == "done" and i.elapsed_seconds is not None)


def input_tokens(items: Sequence[StoredItem]) -> tuple[int, ...]:
    """Tokens of every prompt, kept prefix included."""
    return tuple(i.prompt_tokens for i in items if i.prompt_tokens is not None)


def output_tokens(items: Sequence[StoredItem]) -> tuple[int, ...]:
    """Tokens written, of every item that generated text."""
    return tuple(i.output_tokens for i in items if i.output_tokens is not None and i.text is not None)


@dataclass(frozen=True)
class RunTiming:
    """Seconds and tokens of one run. None where nothing was timed, or where the model was never loaded.

    `wall_seconds` is the sum over the items, `load_seconds` and `warmup_seconds` (of the latest sitting) are no part of
    it. `input_tokens` are the prompts', `read_tokens` those of them that were read item by item (in fast mode without
    the kept prefix, which is read once), `output_tokens` were written.
    `prefill_rate` and `decode_rate` are of the run as a whole: all tokens over all seconds; `spread` is over items.
    """

    mode: str | None
    threads: int | None
    wall_seconds: float | None
    load_seconds: float | None
    warmup_seconds: float | None
    input_tokens: int | None
    read_tokens: int | None
    output_tokens: int | None
    prefill_rate: float | None
    decode_rate: float | None
    spread: tuple[Latency, ...]

    def of(self, name: str) -> Latency | None:
        """The spread of one quantity, by its name in report.speed; None where no item has it."""
        return next((line for line in self.spread if line.name == name), None)

    def median(self, name: str) -> float | None:
        """The median of one quantity over the items."""
        line = self.of(name)
        return None if line is None else line.median

    def to_json(self) -> dict[str, Any]:
        """The object `timing` of `run --json`: medians by name, the spread of each, and the run as a whole."""
        medians = (TIME_TO_FIRST, PREFILL_TIME, PREFILL_RATE, DECODE_RATE)
        return {
            "mode": self.mode,
            "threads": self.threads,
            "wall_seconds": self.wall_seconds,
            "load_seconds": self.load_seconds,
            "warmup_seconds": self.warmup_seconds,
            **{_JSON_NAMES[name]: self.median(name) for name in medians},
            "input_tokens": self.input_tokens,
            "read_tokens": self.read_tokens,
            "output_tokens": self.output_tokens,
            "whole_run": {
                "prefill_tokens_per_second": self.prefill_rate,
                "decode_tokens_per_second": self.decode_rate,
            },
            "per_item": {
                _JSON_NAMES[line.name]: {k: v for k, v in asdict(line).items() if k != "name"} for line in self.spread
            },
        }


def timing_of(run: StoredRun, items: Sequence[StoredItem]) -> RunTiming:
    """The timing of a run's done items."""
    conditions = run.conditions or {}
    done = [item for item in items if item.state == "done"]
    tokens_in, tokens_out = input_tokens(done), output_tokens(done)
    # What an older program stored was always read whole.
    went_through = [i.prompt_tokens if i.read_tokens is None else i.read_tokens for i in done]
    read, written = tokens_read(done), tokens_written(done)
    lines = (
        spread(ITEM_WALL, "s", item_seconds(done)),
        spread(TIME_TO_FIRST, "s", first_token_seconds(done)),
        spread(PREFILL_TIME, "s", prefill_seconds(done)),
        spread(PREFILL_RATE, "tok/s", prefill_rates(done)),
        spread(DECODE_RATE, "tok/s", decode_rates(done)),
        spread(INPUT_TOKENS, "tokens", tokens_in),
        spread(OUTPUT_TOKENS, "tokens", tokens_out),
    )
    return RunTiming(
        mode=conditions.get("timing"),
        threads=conditions.get("threads"),
        wall_seconds=run.elapsed_seconds if items else None,
        load_seconds=conditions.get("load_seconds"),
        warmup_seconds=conditions.get("warmup_seconds"),
        input_tokens=sum(tokens_in) if tokens_in else None,
        read_tokens=sum(number or 0 for number in went_through) if tokens_in else None,
        output_tokens=sum(tokens_out) if tokens_out else None,
        prefill_rate=overall(read),
        decode_rate=overall(written),
        spread=tuple(line for line in lines if line is not None),
    )


def tokens_read(items: Sequence[StoredItem]) -> list[tuple[int, float]]:
    """(tokens, seconds) of every item whose prompt was read in one forward pass."""
    return [(number, item.prefill_seconds or 0.0) for item in items if (number := read_tokens(item)) is not None]


def tokens_written(items: Sequence[StoredItem]) -> list[tuple[int, float]]:
    """(tokens after the first, seconds) of every item that has a decode rate."""
    return [
        (item.output_tokens - 1, item.decode_seconds or 0.0)
        for item in items
        if item.output_tokens is not None and decode_rate(item) is not None
    ]


def overall(spent: Sequence[tuple[int, float]]) -> float | None:
    """All tokens over all seconds; None where there are none of either."""
    tokens, seconds = sum(number for number, _ in spent), sum(each for _, each in spent)
    return tokens / seconds if tokens and seconds else None
