"""Running scores and the time that is left."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

_WINDOW = 200
_OUTLIER = 4.0


@dataclass(frozen=True)
class Earlier:
    """What a resumed run has committed before: counts of items, and (passed, trials) summed per metric."""

    done: int = 0
    missing: int = 0
    capped: int = 0
    sums: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class Tally:
    """Counts items and sums scores over a whole run, earlier sittings included."""

    def __init__(self, total: int, earlier: Earlier) -> None:
        self.total = total
        self.done = earlier.done
        self.missing = earlier.missing
        self.capped = earlier.capped
        self._sums = dict(earlier.sums)
        self._seconds: collections.deque[float] = collections.deque(maxlen=_WINDOW)

    def add_done(self, scores: Mapping[str, tuple[float, float]], *, capped: bool, seconds: float) -> None:
        """Count a finished item that took `seconds`, commit included."""
        self.done += 1
        self.capped += capped
        self._seconds.append(seconds)
        for metric, (passed, trials) in scores.items():
            before = self._sums.get(metric, (0.0, 0.0))
            self._sums[metric] = (before[0] + passed, before[1] + trials)

    def add_missing(self) -> None:
        """Count an item that was given up."""
        self.missing += 1

    def running(self) -> dict[str, float]:
        """Score so far per metric, percent; a metric without trials is left out."""
        return {name: 100.0 * passed / trials for name, (passed, trials) in self._sums.items() if trials}

    def seconds_left(self) -> float | None:
        """Seconds for the items that are left; None before the first item is done.

        The mean of the latest items, each counted with at most four times their median: answers differ in
        length, so the median alone would be off, but one stall of the device must not count in full.
        """
        if not self._seconds:
            return None
        most = _OUTLIER * statistics.median(self._seconds)
        mean = statistics.fmean(min(s, most) for s in self._seconds)
        return mean * max(0, self.total - self.done - self.missing)
