"""How long a worker may be silent, by phase."""

from __future__ import annotations

from dataclasses import dataclass


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


DOING = {
    "start": "while starting",
    "load": "while loading the model",
    "warm_up": "while warming up",
    "encode": "while encoding a prompt",
    "prefill": "while reading a prompt",
    "decode": "while writing an answer",
    "idle": "between two requests",
}
