"""Python's search for reference cycles, held off while many objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No search inside, and later ones pass over what is there at the end, until the next time that this is entered.

    A large benchmark's items are a million objects without a cycle: each search through them takes a tenth of a second.
    Where searching is off already (another of these is open), nothing is changed.
    """
    if not gc.isenabled():
        yield
        return
    gc.unfreeze()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
