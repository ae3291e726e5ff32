"""Clocks that know of sleep: whether the machine slept, or its clock jumped, while an item ran."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

# A second is far more than two clocks, read one after the other, differ by.
_SLEPT_SECONDS = 1.0
# A wall clock that is set by the network moves too, a little at once and a little for every second.
_JUMP_SECONDS = 5.0
_DRIFT = 0.001
_TORN_SECONDS = 0.02
_TRIES = 5


@dataclass(frozen=True)
class Clocks:
    """Three clocks at one moment, in seconds: `awake` stands still in sleep, `always` goes on, `wall` may be set."""

    awake: float
    always: float
    wall: float


if sys.platform == "win32":
    import ctypes

    def _awake() -> float:
        ticks = ctypes.c_ulonglong()
        ctypes.windll.kernel32.QueryUnbiasedInterruptTime(ctypes.byref(ticks))
        return ticks.value / 1e7

    def _always() -> float:
        # Like QueryInterruptTime, in milliseconds; that one is not exported by kernel32.
        count = ctypes.windll.kernel32.GetTickCount64
        count.restype = ctypes.c_ulonglong
        return float(count()) / 1e3

elif sys.platform == "linux":

    def _awake() -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def _always() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    _awake = _always = time.monotonic


def awake_seconds() -> float:
    """A clock that never goes back and stands still while the machine sleeps; time.monotonic goes on on Windows."""
    return _awake()


def read_clocks() -> Clocks:
    """The system's clocks. They cannot be read at once: a reading that was interrupted is done again."""
    tries = 0
    while True:
        tries += 1
        awake = _awake()
        clocks = Clocks(awake, _always(), time.time())
        if tries == _TRIES or _awake() - awake < _TORN_SECONDS:
            return clocks


class JumpClock:
    """Compares the system's clocks from call to call. `clocks` is there for tests."""

    def __init__(self, clocks: Callable[[], Clocks] = read_clocks) -> None:
        self._clocks = clocks
        self._last = clocks()

    def jumped(self) -> float:
        """Seconds that the machine slept, or that its clock jumped by (either way), since the last call; 0.0 if none.

        Sleep is what the clock that stands still in sleep lacks, from one second on. Where that shows nothing, the wall
        clock is looked at: a virtual machine that was halted, or a clock that was set, is more than 5 s off.
        """
        last, now = self._last, self._clocks()
        self._last = now
        passed = now.always - last.always
        slept = passed - (now.awake - last.awake)
        if slept >= _SLEPT_SECONDS:
            return slept
        jump = abs(now.wall - last.wall - passed)
        return jump if jump > _JUMP_SECONDS + _DRIFT * passed else 0.0
