"""A token by which the user ends long work at the next safe place."""

from __future__ import annotations

import threading

from mince_gui.base.errors import CancelledError


class CancelToken:
    """Set once by the user's side, looked at by the work at every step. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask for the end; asking twice changes nothing."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether the end was asked for."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise CancelledError if the end was asked for."""
        if self._event.is_set():
            raise CancelledError("Cancelled.")
