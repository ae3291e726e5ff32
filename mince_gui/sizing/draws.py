"""Monte Carlo: nested uniform draws, shared by all sizes, models and metrics.

One random order of the items serves all candidate sizes: its first n items are a uniform draw of n.
Items with the same outcomes in every pair are interchangeable, so a draw is known by how many items
of each outcome pattern it holds. Three ways give the sums that matter:

- orders: the items are sorted by random keys and their outcomes added up between the sizes;
- patterns: where patterns are few, successive multivariate hypergeometric draws of their counts, at a
  cost that does not grow with N;
- chains: where pairs need no common draws (rule per-model) and are plain, one successive hypergeometric
  number per pair, size and draw.

Which way is taken depends on the data alone, and each batch of `BATCH` draws has its own child seed, so
results depend neither on threads nor on memory. All three are nested: a larger draw holds the smaller one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mince_gui.base.cancel import CancelToken
from mince_gui.sizing.pairs import Pairs
from mince_gui.sizing.patterns import IntArray, Patterns, Sums, Way, patterns_of

BATCH = 500
"""Draws per child seed. Part of the method: another value gives other (equally good) draws."""

_CHUNK_KEYS = 1 << 17
_TIES = 0.02
_BYTE = 255
_EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)

Tick = Callable[[int], None]


def threads() -> int:
    """How many threads a sizing uses where nobody says."""
    return min(os.cpu_count() or 1, 8)


@dataclass(frozen=True)
class Simulation:
    """`sums[t]` (D, R) are the column sums of each draw at size number t, made in the `way` named."""

    pairs: Pairs
    patterns: Patterns
    sums: Sums
    way: Way

    @property
    def shared(self) -> bool:
        """Whether all pairs saw the same draws, as the rule joint needs."""
        return self.way != "chains"


def simulate(
    pairs: Pairs,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    *,
    shared: bool = True,
    workers: int | None = None,
    tick: Tick | None = None,
    cancel: CancelToken | None = None,
    patterns: Patterns | None = None,
) -> Simulation:
    """`draws` nested draws at every size. `tick(draws done)` is called from the calling thread.

    With `shared` all pairs see the same draws; without, they may not (each pair's own draws are still
    nested uniform draws). The result does not depend on `workers`. Raises CancelledError at the next
    batch after a cancel.
    """
    patterns = patterns or patterns_of(pairs)
    cuts = np.asarray(sizes, dtype=np.int64)
    batches = [min(BATCH, draws - first) for first in range(0, draws, BATCH)]
    seeds = np.random.SeedSequence(seed).spawn(len(batches))
    sums = np.empty((len(cuts), patterns.values.shape[1], draws), dtype=patterns.values.dtype)
    way = patterns.way(len(cuts), shared=shared)
    orders = _Orders(patterns, cuts) if way == "orders" else None

    def work(number: int) -> int:
        if cancel is not None:
            cancel.check()
        first = number * BATCH
        out = sums[:, :, first : first + batches[number]]
        if orders is not None:
            orders.count(seeds[number], out, cancel)
        elif way == "patterns":
            _count_by_pattern(patterns, cuts, np.random.default_rng(seeds[number]), out)
        else:
            _count_by_chain(patterns, cuts, np.random.default_rng(seeds[number]), out)
        return batches[number]

    done = 0
    pool = ThreadPoolExecutor(workers or threads())
    try:
        for size in pool.map(work, range(len(batches))):
            done += size
            if tick is not None:
                tick(done)
    finally:
        pool.shutdown(cancel_futures=True)
    return Simulation(pairs, patterns, sums, way)


def most_narrow(patterns: Patterns) -> int:
    """Up to how many sizes `orders` draws with its narrow keys; with more it makes other (equally good) draws."""
    return int(_TIES * 2.0 ** (32 - _label_bits(patterns)) / patterns.total_items)


def _label_bits(patterns: Patterns) -> int:
    return max(1, (len(patterns.counts) - 1).bit_length())


def random_words(bits: np.random.PCG64, count: int) -> npt.NDArray[np.uint64]:
    """`count` words of 64 random bits: the generator's own, which are the same in every version of numpy."""
    return np.asarray(bits.random_raw(count), dtype=np.uint64)


class _Orders:
    """Random orders of all items, cut at the sizes.

    Every item gets a random key that carries its pattern's number in the low bits; sorting the keys orders
    the items. Which items two equal keys would belong to is decided by the pattern, and so not at random:
    a draw in which a size falls between two equal keys is done again. That event says nothing about which
    items have these keys, so what is left is still uniform.
    """

    def __init__(self, patterns: Patterns, cuts: IntArray) -> None:
        self.patterns = patterns
        self.cuts = cuts
        self.items = patterns.total_items
        narrow = len(cuts) <= most_narrow(patterns)
        self.key: type[np.unsignedinteger[Any]] = np.uint32 if narrow else np.uint64
        self.per_word = 2 if narrow else 1
        self.label_mask = self.key((1 << _label_bits(patterns)) - 1)
        self.labels = patterns.of_item.astype(self.key)
        # Bytes must not overflow, so a stretch between two sizes is added up in pieces that are short enough.
        longest = _BYTE // patterns.largest_byte if patterns.largest_byte else self.items
        stretches = [np.arange(a, b, longest) for a, b in pairwise([0, *cuts.tolist()])]
        self.pieces = np.concatenate(stretches)
        self.last_piece = np.cumsum([len(stretch) for stretch in stretches]) - 1
        self.drawn = int(cuts[-1])
        self.rows = max(1, min(BATCH, _CHUNK_KEYS // self.items))

    def count(self, seed: np.random.SeedSequence, out: Sums, cancel: CancelToken | None) -> None:
        """Fill `out` (T, D, B)."""
        first_seed, again_seed = seed.spawn(2)
        bits, again = np.random.PCG64(first_seed), np.random.PCG64(again_seed)
        labels = np.empty((self.rows, self.drawn), dtype=np.intp)
        looked_up = np.empty(self.rows * self.drawn, dtype=self.patterns.words.dtype)
        for first in range(0, out.shape[2], self.rows):
            if cancel is not None:
                cancel.check()
            size = min(self.rows, out.shape[2] - first)
            keys = self._sorted_keys(bits, size)
            for row in np.flatnonzero(self._tied(keys)).tolist():
                while self._tied(keys[row : row + 1])[0]:  # one row at a time: the stream must not hang on the chunks
                    keys[row] = self._sorted_keys(again, 1)[0]
            np.bitwise_and(keys[:, : self.drawn], self.label_mask, out=labels[:size], casting="unsafe")
            self._add_up(labels[:size], looked_up[: size * self.drawn], out[:, :, first : first + size])

    def _sorted_keys(self, bits: np.random.PCG64, rows: int) -> npt.NDArray[Any]:
        words = -(-self.items // self.per_word)
        raw = random_words(bits, rows * words)
        keys: npt.NDArray[Any] = raw.view(self.key).reshape(rows, -1)[:, : self.items]
        keys &= ~self.label_mask
        keys |= self.labels
        keys.sort(axis=1)
        return keys

    def _tied(self, keys: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Rows in which a size falls between two keys that are equal but for the pattern."""
        differ = keys[:, self.cuts - 1] ^ keys[:, self.cuts]
        return np.asarray((differ <= self.label_mask).any(axis=1))

    def _add_up(self, labels: npt.NDArray[np.intp], looked_up: npt.NDArray[Any], out: Sums) -> None:
        rows = len(labels)
        starts = (np.arange(rows)[:, None] * self.drawn + self.pieces).reshape(-1)
        for number, word in enumerate(self.patterns.words):
            np.take(word, labels.reshape(-1), out=looked_up, mode="clip")
            pieces = np.ascontiguousarray(np.add.reduceat(looked_up, starts).reshape(rows, -1).T)
            if not self.patterns.largest_byte:
                out[:, number] = np.cumsum(pieces, axis=0)[self.last_piece]
                continue
            # The bytes of a piece become 16-bit numbers, which hold the sums over all pieces.
            for odd in (0, 1):
                wide = np.cumsum((pieces >> np.uint64(8 * odd)) & _EVEN_BYTES, axis=0)[self.last_piece]
                fields = wide.view(np.uint16).reshape(len(wide), rows, 4)
                for place in range(4):
                    column = 8 * number + 2 * place + odd
                    if column < out.shape[1]:
                        out[:, column] = fields[:, :, place]


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


def _count_by_chain(patterns: Patterns, cuts: IntArray, rng: np.random.Generator, out: Sums) -> None:
    """Fill `out` (T, D, B) column by column: what is right among the items that a larger size adds."""
    batch = out.shape[2]
    widths = np.diff(cuts, prepend=0)
    items = patterns.total_items
    for column, total in enumerate(np.rint(patterns.totals).astype(np.int64).tolist()):
        if total in (0, items):
            out[:, column] = cuts[:, None] if total else 0
            continue
        right = np.full(batch, total, dtype=np.int64)
        rest = items - right
        for t, width in enumerate(widths):
            got = rng.hypergeometric(right, rest, int(width))
            right -= got
            rest -= width - got
            out[t, column] = total - right
