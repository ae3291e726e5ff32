"""A value that was read from the machine, or why it could not be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """What was read. `unknown` says why nothing could be; "" beside a `value` of None: looked, and there is none."""

    value: T | None
    unknown: str = ""
