"""The worker's memory, and when a new worker should take its place."""

from __future__ import annotations

import psutil

_MIB = 1 << 20
# Prompts differ in length, and memory grows to what the longest needs: the first items say what is normal.
_BASELINE_ITEMS = 8
_GROWTH = 1.5
_SLACK_BYTES = 512 * _MIB


def resident_bytes(pid: int) -> int | None:
    """Resident memory of a process in bytes; None where it is gone or the system does not tell."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


class MemoryWatch:
    """Watches one worker's memory from item to item; make a new one for a worker that took another's place.

    The baseline is the most that the first eight items needed. From the ninth on a worker should be recycled past
    1.5 times the baseline and 512 MiB, or past `limit_bytes`. A limit below the baseline makes no difference: what the
    model itself needs, a new worker needs too.
    """

    def __init__(self, limit_bytes: int | None = None) -> None:
        self._limit = limit_bytes
        self._begin()

    def _begin(self) -> None:
        self._seen = 0
        self._baseline = 0

    def look(self, resident: int | None) -> str | None:
        """Why the worker should be recycled now, in words, None where it should not; `resident` bytes after an item.

        None for `resident` (the system does not tell) says nothing. Once it gives a reason the watch begins anew.
        """
        if resident is None:
            return None
        if self._seen < _BASELINE_ITEMS:
            self._seen += 1
            self._baseline = max(self._baseline, resident)
            return None
        limit, what = _GROWTH * self._baseline + _SLACK_BYTES, "1.5 times that and 512 MiB"
        if self._limit is not None and self._baseline <= self._limit < limit:
            limit, what = self._limit, f"the limit of {_mib(self._limit)}"
        if resident <= limit:
            return None
        words = (
            f"the worker's memory grew to {_mib(resident)}, from {_mib(self._baseline)} after its first "
            f"{_BASELINE_ITEMS} items: more than {what}"
        )
        self._begin()
        return words


def _mib(number: int) -> str:
    return f"{number / _MIB:,.0f} MiB"
