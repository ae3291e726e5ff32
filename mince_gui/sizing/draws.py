"""Monte Carlo: nested uniform draws, shared by all sizes, models and metrics.

One random order of the items serves all candidate sizes: its first n items are a uniform draw of n.
Items with the same outcomes in every pair are interchangeable, so a draw is known by how many items
of each outcome pattern it holds. Two ways give these counts: a random order of the pattern numbers,
cut at the candidate sizes, or, where patterns are few, successive multivariate hypergeometric draws
whose cost does not grow with N. Which way is taken depends on the data alone, and each batch of
`BATCH` draws has its own child seed, so results depend neither on threads nor on memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.logs.types import FloatArray
from mince_gui.sizing.pairs import Pairs

BATCH = 500
"""Draws per child seed. Part of the method: another value gives other (equally good) draws."""

_CHUNK_CELLS = 4_000_000
_HYPERGEOMETRIC_COST = 12
_FLOAT32_EXACT = 1 << 24
_FLOAT64_BITS = 52

Sums = npt.NDArray[np.floating[Any]]
"""Single precision where that is exact, double elsewhere; exact in either."""
IntArray = npt.NDArray[np.int64]
Tick = Callable[[int], None]


@dataclass(frozen=True)
class Patterns:
    """Distinct outcome patterns of the items.

    `of_item` (N,) numbers each item's pattern, `counts` (P,) says how many items have it; `values`
    (P, D) holds the distinct columns that must be summed, and pair c is the ratio of column
    `passed_at[c]` to column `trials_at[c]`.
    """

    of_item: IntArray
    counts: IntArray
    values: Sums
    passed_at: IntArray
    trials_at: IntArray

    def few(self, sizes: int) -> bool:
        """Whether drawing pattern counts for so many sizes is cheaper than ordering all items."""
        return sizes * len(self.counts) * _HYPERGEOMETRIC_COST < len(self.of_item)


def patterns_of(pairs: Pairs) -> Patterns:
    """The outcome patterns of `pairs`; columns that occur twice are summed once."""
    columns, place = np.unique(np.concatenate([pairs.passed, pairs.trials]), axis=0, return_inverse=True)
    rows, of_item, counts = np.unique(columns.T, axis=0, return_inverse=True, return_counts=True)
    # Sums must not hang on the order of the additions, which threads and machines choose. Sums of whole numbers
    # below 2^24 are exact in single precision; fractions become multiples of a unit so small (below 1e-11)
    # that it does not matter, and so large that their sums are exact in double precision.
    largest = float(np.abs(columns).sum(axis=1).max())
    values: Sums
    if bool((columns == np.floor(columns)).all()) and largest < _FLOAT32_EXACT:
        values = rows.astype(np.float32)
    else:
        unit = 2.0 ** (np.ceil(np.log2(largest)) - _FLOAT64_BITS)
        values = np.rint(rows / unit) * unit
    place = place.reshape(-1).astype(np.int64)
    half = len(pairs.passed)
    return Patterns(of_item.reshape(-1).astype(np.int64), counts.astype(np.int64), values, place[:half], place[half:])


@dataclass(frozen=True)
class Simulation:
    """`sums[t]` (D, R) are the column sums of each draw at size number t; `drift_pp` makes |drift| of them."""

    patterns: Patterns
    full: FloatArray
    sums: Sums

    def drift_pp(self, t: int) -> FloatArray:
        """|drift| in pp of every pair and draw at size number `t`, shape (C, R)."""
        drift: FloatArray = self.sums[t][self.patterns.passed_at].astype(np.float64)
        drift /= self.sums[t][self.patterns.trials_at]
        drift *= 100.0
        drift -= 100.0 * self.full[:, None]
        np.abs(drift, out=drift)
        return drift


def simulate(
    pairs: Pairs,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    *,
    workers: int | None = None,
    tick: Tick | None = None,
    cancel: CancelToken | None = None,
    patterns: Patterns | None = None,
) -> Simulation:
    """`draws` nested draws at every size. `tick(draws done)` is called from the calling thread.

    The result does not depend on `workers`. Raises CancelledError at the next batch after a cancel.
    """
    patterns = patterns or patterns_of(pairs)
    cuts = np.asarray(sizes, dtype=np.int64)
    batches = [min(BATCH, draws - first) for first in range(0, draws, BATCH)]
    seeds = np.random.SeedSequence(seed).spawn(len(batches))
    sums = np.empty((len(cuts), patterns.values.shape[1], draws), dtype=patterns.values.dtype)
    count = _count_by_pattern if patterns.few(len(cuts)) else _count_by_order

    def work(number: int) -> int:
        if cancel is not None:
            cancel.check()
        first = number * BATCH
        rng = np.random.default_rng(seeds[number])
        count(patterns, cuts, rng, sums[:, :, first : first + batches[number]])
        return batches[number]

    done = 0
    pool = ThreadPoolExecutor(workers or min(os.cpu_count() or 1, 8))
    try:
        for size in pool.map(work, range(len(batches))):
            done += size
            if tick is not None:
                tick(done)
    finally:
        pool.shutdown(cancel_futures=True)
    return Simulation(patterns, pairs.full, sums)


def _count_by_order(patterns: Patterns, cuts: IntArray, rng: np.random.Generator, out: Sums) -> None:
    """Fill `out` (T, D, B) from random orders of all items, cut at the sizes."""
    parts, kinds, last = len(cuts), len(patterns.counts), int(cuts[-1])
    bits = np.uint64((1 << max(1, (kinds - 1).bit_length())) - 1)
    labels = patterns.of_item.astype(np.uint64)
    part_of = np.searchsorted(cuts, np.arange(last), side="right") * kinds
    batch = out.shape[2]
    rows = max(1, min(batch, _CHUNK_CELLS // max(parts * kinds, len(labels))))
    for first in range(0, batch, rows):
        size = min(rows, batch - first)
        # Sorting random keys that carry the pattern number in their low bits is several times faster
        # than a shuffle; two keys that agree in all their 50 or so random bits are out of the question.
        keys = rng.integers(0, np.iinfo(np.uint64).max, size=(size, len(labels)), dtype=np.uint64, endpoint=True)
        keys &= ~bits
        keys |= labels
        keys.sort(axis=1)
        keys &= bits
        cells = keys[:, :last].astype(np.int64)
        cells += part_of
        cells += np.arange(size, dtype=np.int64)[:, None] * (parts * kinds)
        counts = np.bincount(cells.reshape(-1), minlength=size * parts * kinds)
        sums = counts.astype(patterns.values.dtype).reshape(size * parts, kinds) @ patterns.values
        by_part = sums.reshape(size, parts, -1).transpose(1, 2, 0)
        np.cumsum(by_part, axis=0, out=out[:, :, first : first + size])


def _count_by_pattern(patterns: Patterns, cuts: IntArray, rng: np.random.Generator, out: Sums) -> None:
    """Fill `out` (T, D, B) from successive multivariate hypergeometric draws of pattern counts."""
    batch = out.shape[2]
    remaining = np.repeat(patterns.counts[:, None], batch, axis=1)
    taken = np.zeros_like(remaining)
    for t, width in enumerate(np.diff(cuts, prepend=0)):
        rest = remaining.sum(axis=0)
        wanted = np.full(batch, width, dtype=np.int64)
        for kind in range(len(remaining) - 1):
            rest -= remaining[kind]
            got = rng.hypergeometric(remaining[kind], rest, wanted)
            taken[kind] += got
            remaining[kind] -= got
            wanted -= got
        taken[-1] += wanted
        remaining[-1] -= wanted
        out[t] = patterns.values.T @ taken.astype(patterns.values.dtype)
