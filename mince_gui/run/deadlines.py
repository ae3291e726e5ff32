"""How long a worker may be silent, by phase."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TypeGuard

# A driver that resets its device, or a system that swaps, stalls for seconds: that is no hang.
_LEAST_PREFILL = 60.0
_LEAST_PREFILL_TOKEN = 0.01
_LEAST_DECODE = 30.0
# Long prompts take more time per token than the few hundred that were measured.
_PREFILL_FACTOR = 20.0
_PREFILL_TOKENS = 100.0
_DECODE_FACTOR = 100.0
# However slow a device is, a hang must be found some time.
_MOST = 10.0


@dataclass(frozen=True)
class Deadlines:
    """Seconds of silence after which a worker counts as hung, by phase.

    `prefill` + `prefill_token` x prompt tokens for a prefill; `decode_token` between two signs of
    decoding; `idle` for requests that compute nothing. A silent worker that burns CPU gets up to
    `busy_factor` times as long. `ask`, `terminate` and `kill` bound the steps of the ladder.
    """

    start: float = 180.0
    load: float = 900.0
    prefill: float = 180.0
    prefill_token: float = 0.5
    decode_token: float = 120.0
    idle: float = 60.0
    busy_factor: float = 4.0
    ask: float = 10.0
    terminate: float = 5.0
    kill: float = 10.0

    def limit(self, phase: str, tokens: int) -> float:
        """Seconds of silence allowed in `phase` (of protocol.PHASES, "start" or "idle")."""
        if phase == "start":
            return self.start
        if phase in ("load", "warm_up"):
            return self.load
        if phase == "prefill":
            return self.prefill + self.prefill_token * tokens
        return self.decode_token if phase == "decode" else self.idle

    def scaled(self, prefill_seconds_per_token: float | None, decode_seconds_per_token: float | None) -> Deadlines:
        """These deadlines for a device of measured speed; what was not measured (None) stays as it is.

        A prompt gets 20 times the measured seconds per token and a base of 100 tokens' worth, but at least 60 s; a
        token of an answer 100 times its seconds, but at least 30 s. Nothing gets more than 10 times what it has here.
        """
        changes: dict[str, float] = {}
        if _measured(prefill_seconds_per_token):
            changes["prefill"] = _between(
                _LEAST_PREFILL, _PREFILL_TOKENS * prefill_seconds_per_token, _MOST * self.prefill
            )
            changes["prefill_token"] = _between(
                _LEAST_PREFILL_TOKEN, _PREFILL_FACTOR * prefill_seconds_per_token, _MOST * self.prefill_token
            )
        if _measured(decode_seconds_per_token):
            changes["decode_token"] = _between(
                _LEAST_DECODE, _DECODE_FACTOR * decode_seconds_per_token, _MOST * self.decode_token
            )
        return dataclasses.replace(self, **changes)


def _measured(seconds: float | None) -> TypeGuard[float]:
    return seconds is not None and math.isfinite(seconds) and seconds > 0


def _between(least: float, wanted: float, most: float) -> float:
    """`wanted` within its bounds; where they contradict (deadlines that a test made short), the upper one holds."""
    return min(max(least, wanted), most)


DOING = {
    "start": "while starting",
    "load": "while loading the model",
    "warm_up": "while warming up",
    "encode": "while encoding a prompt",
    "prefill": "while reading a prompt",
    "decode": "while writing an answer",
    "idle": "between two requests",
}
