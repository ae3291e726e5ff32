"""Drift on drawn subsets, signed, for whatever draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mince_gui.logs.types import FloatArray
from mince_gui.sizing.pairs import Pairs

Drawing = Callable[[int, int], Sequence[int]]
"""(n, seed) -> n positions in canonical order. Drawing belongs to the room above, so studies are given it."""


def drifts(pairs: Pairs, positions: Sequence[int]) -> FloatArray:
    """Signed drift in pp of every pair on the items at `positions`, shape (C,)."""
    chosen = np.asarray(positions, dtype=np.int64)
    scores = pairs.passed[:, chosen].sum(axis=1) / pairs.trials[:, chosen].sum(axis=1)
    return np.asarray(100.0 * (scores - pairs.full), dtype=np.float64)


def worst(drift_pp: FloatArray) -> int:
    """The place of the drift that is farthest from 0; the first of several."""
    return int(np.argmax(np.abs(drift_pp)))
