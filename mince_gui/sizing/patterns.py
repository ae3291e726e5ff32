"""Outcome patterns of the items, and which way of drawing them is cheapest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mince_gui.sizing.pairs import Pairs

Sums = npt.NDArray[np.floating[Any]]
"""Single precision where that is exact, double elsewhere; exact in either."""
IntArray = npt.NDArray[np.int64]
Way = Literal["orders", "patterns", "chains"]

# Nanoseconds of one core, roughly: they choose a way, so they are part of the method and not measured anew anywhere.
_HYPERGEOMETRIC = 250.0
_KEY = 9.0
_WORD = 1.6

_FLOAT32_EXACT = 1 << 24
_FLOAT64_BITS = 52
_BYTE = 255
_SIXTEEN_BITS = 65_535


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

    @property
    def total_items(self) -> int:
        """N."""
        return len(self.of_item)

    @cached_property
    def totals(self) -> Sums:
        """Sum of each column over all items, (D,), double precision."""
        return self.counts.astype(np.float64) @ self.values.astype(np.float64)

    @cached_property
    def binary(self) -> npt.NDArray[np.bool_]:
        """Which columns hold 0 and 1 alone, (D,): their sums are hypergeometric."""
        return np.asarray(((self.values == 0) | (self.values == 1)).all(axis=0))

    @cached_property
    def largest_byte(self) -> int:
        """The largest value, at least 1, where all are whole numbers that fit a byte and add up to 16 bits; else 0."""
        whole = bool((self.values == np.floor(self.values)).all()) and float(self.values.min()) >= 0
        largest = int(np.ceil(self.values.max()))
        fits = largest <= _BYTE and float(self.totals.max()) <= _SIXTEEN_BITS
        return max(1, largest) if whole and fits else 0

    @cached_property
    def words(self) -> npt.NDArray[Any]:
        """What is looked up and added per item, (W, P): eight columns as the bytes of one number, or one column."""
        if not self.largest_byte:
            return np.ascontiguousarray(self.values.T.astype(np.float64))
        patterns, columns = self.values.shape
        table = np.zeros((patterns, -(-columns // 8) * 8), dtype=np.uint8)
        table[:, :columns] = self.values
        return np.ascontiguousarray(table.view(np.uint64).T)

    def costs(self, sizes: int, *, shared: bool) -> dict[Way, float]:
        """Rough cost of one draw at so many sizes, in nanoseconds, for every way that serves.

        Unless the draws must be `shared` by all pairs, plain columns may be drawn one by one.
        """
        costs: dict[Way, float] = {
            "orders": self.total_items * (_KEY + _WORD * len(self.words)),
            "patterns": sizes * (len(self.counts) - 1) * _HYPERGEOMETRIC,
        }
        if not shared and bool(self.binary.all()):
            varying = np.count_nonzero((self.totals > 0) & (self.totals < self.total_items))
            costs["chains"] = sizes * varying * _HYPERGEOMETRIC
        return costs

    def way(self, sizes: int, *, shared: bool) -> Way:
        """The cheapest way of those that serve."""
        costs = self.costs(sizes, shared=shared)
        return min(costs, key=lambda name: costs[name])


def patterns_of(pairs: Pairs) -> Patterns:
    """The outcome patterns of `pairs`; columns that occur twice are summed once."""
    stacked = np.concatenate([pairs.passed, pairs.trials])
    first, place = _distinct_rows(stacked)
    columns = stacked[first]
    of_item = _numbered(columns)
    counts = np.bincount(of_item)
    example = np.empty(len(counts), dtype=np.int64)
    example[of_item] = np.arange(len(of_item))
    rows = columns[:, example].T
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
    half = len(pairs.passed)
    return Patterns(of_item, counts.astype(np.int64), values, place[:half], place[half:])


def _distinct_rows(table: npt.NDArray[np.float64]) -> tuple[IntArray, IntArray]:
    """Where each distinct row occurs first, and which of these each row is."""
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in table], dtype=np.int64)
    first = np.array([int(np.argmax(place == number)) for number in range(len(known))], dtype=np.int64)
    return first, place


def _numbered(columns: npt.NDArray[np.float64]) -> IntArray:
    """One number per item, equal where all columns are, counted from 0 without gaps; (D, N) -> (N,)."""
    code = np.zeros(columns.shape[1], dtype=np.uint64)
    span = 1
    for column in columns:
        small = bool(((column >= 0) & (column <= _BYTE) & (column == np.floor(column))).all())
        digit = column.astype(np.uint64) if small else _ranked(column)
        base = int(digit.max()) + 1
        if span * base >= 1 << 63:
            code = _ranked(code)
            span = int(code.max()) + 1
        code = code * np.uint64(base) + digit
        span *= base
    return _ranked(code).astype(np.int64)


def _ranked(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.uint64)
