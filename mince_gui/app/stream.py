"""Exactly one Started and one Ended around every user action."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mince_gui.base.errors import CancelledError
from mince_gui.base.events import Emit, Ended, Started


@contextmanager
def stream(emit: Emit, action: str, *, total: int | None = None, unit: str = "", detail: str = "") -> Iterator[None]:
    """Emit Started, then Ended with its cause however the block ends."""
    emit(Started(action, total, unit, detail))
    try:
        yield
    except CancelledError:
        emit(Ended("stopped", "stopped by the user"))
        raise
    except BaseException as exc:
        emit(Ended("failed", str(exc) or type(exc).__name__))
        raise
    emit(Ended("done"))
