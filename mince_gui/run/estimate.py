"""How long a run will take, before it starts: from what the smoke test timed.

The rates are measured, the numbers of tokens are not known yet: so a range, and no interval in the statistical sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mince_gui.run.types import TimingMode
from mince_gui.tasks.types import Request

_CHARACTERS_PER_TOKEN = (3.0, 4.5)
"""Of prompts in European languages, by the vocabularies of today's models; other scripts have fewer."""
_SHORT_ANSWER = 32
"""Tokens that the shortest answers to be expected have."""
_ONE_TOKEN = 3
"""Characters up to which a choice is taken for one token, so that one forward pass scores all of them."""


class Rates(Protocol):
    """What the estimate needs of the smoke test (run.smoke.Smoke); seconds per token, None where not measured."""

    @property
    def prefill_seconds_per_token(self) -> float | None:
        """Of a token that is read."""
        ...

    @property
    def decode_seconds_per_token(self) -> float | None:
        """Of a token that is written."""
        ...


@dataclass(frozen=True)
class Estimate:
    """`low` to `high` seconds, both None where nothing can be said; `words` says it, and on what it rests."""

    low: float | None
    high: float | None
    words: str


def estimate(
    requests: Sequence[Request], smoke: Rates, *, timing: TimingMode, chars_per_token: float | None = None
) -> Estimate:
    """The time for these requests, in the order in which they run, at the rates of the smoke test.

    Generation: every prompt is read, and between a short answer and the whole token budget is written. Choices: one
    forward pass over the prompt; where choices are longer, between one pass with each choice behind it and one pass
    per choice. Fast timing: a shared prefix is read once for each uninterrupted series of requests that have it.
    `chars_per_token` is None where the tokenizer's is not known.
    """
    read, write = smoke.prefill_seconds_per_token, smoke.decode_seconds_per_token
    generates = any(request.kind == "generate" for request in requests)
    if read is None or (generates and write is None):
        return Estimate(None, None, "not known before the first items: the smoke test could not be timed")
    per_token = (chars_per_token, chars_per_token) if chars_per_token else _CHARACTERS_PER_TOKEN
    fewest, most = 0.0, 0.0
    written_low, written_high = 0, 0
    before = ""
    for request in requests:
        if request.kind == "generate":
            fewest += len(request.prompt)
            most += len(request.prompt)
            written_low += min(_SHORT_ANSWER, request.max_new_tokens)
            written_high += request.max_new_tokens
            continue
        once, often = _choice_characters(request)
        prefix = request.prefix if timing == "fast" else ""
        kept = len(prefix) if prefix == before else 0
        fewest += once - kept
        most += often - kept
        before = prefix
    low = fewest / per_token[1] * read + written_low * (write or 0.0)
    high = most / per_token[0] * read + written_high * (write or 0.0)
    return Estimate(low, high, f"{span(low, high)} by the smoke test; measured again after the first items")


def _choice_characters(request: Request) -> tuple[int, int]:
    """Characters that are read for one choice request: at least, and at most."""
    if request.contexts:
        read = sum(map(len, request.contexts)) + sum(map(len, request.choices))
        return read, read
    if all(len(choice.strip()) <= _ONE_TOKEN for choice in request.choices):
        return len(request.prompt), len(request.prompt)
    choices = sum(map(len, request.choices))
    return len(request.prompt) + choices, len(request.prompt) * len(request.choices) + choices


def span(low: float, high: float) -> str:
    """A time to come, no finer than it can be known: "about 14 to 31 min"."""
    first, last = _time(low), _time(high)
    if first == last:
        return f"about {first}"
    number, _, unit = first.partition(" ")
    if unit == last.partition(" ")[2]:
        return f"about {number} to {last}"
    return f"about {first} to {last}"


def _time(seconds: float) -> str:
    if round(seconds) < 60:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if hours < 10 and rest else f"{round(minutes / 60):,} h"
