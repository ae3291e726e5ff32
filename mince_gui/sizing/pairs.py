"""The (model, metric) pairs that take part in a sizing, as plain columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mince_gui.base.errors import UsageError
from mince_gui.logs.types import FloatArray, ScoreMatrix

_MOST_PARTS = 1000
# Relative: shares such as 1/3 reach us rounded, with about 15 digits.
_SAME = 1e-9


@dataclass(frozen=True)
class Pairs:
    """C pairs over N items.

    `places[c]` is (model index, metric index) in the matrix; `passed` and `trials` have shape (C, N),
    without NaN; `full` (C,) are the full scores as fractions; `plain[c]` says that every trials is 1
    and every passed is 0 or 1, so that counts of a draw are hypergeometric. `excluded` are sentences
    about pairs left out because some of their items have no result.
    """

    places: tuple[tuple[int, int], ...]
    passed: FloatArray
    trials: FloatArray
    full: FloatArray
    plain: npt.NDArray[np.bool_]
    excluded: tuple[str, ...]

    @property
    def total_items(self) -> int:
        """N."""
        return int(self.passed.shape[1])

    @cached_property
    def lumps(self) -> FloatArray:
        """How far the |drift| of each pair moves in pp with one unit more right, times n; (C,).

        One unit of `passed` over the mean trials: with one trial per item and right or wrong answers 100, so that
        the lump is 100/n. 0 where the outcomes have no common unit: such a |drift| knows no steps.
        """
        units = np.array([common_unit(row) for row in self.passed])
        return np.asarray(100.0 * units / self.trials.mean(axis=1), dtype=np.float64)


def common_unit(values: FloatArray) -> float:
    """The largest unit of which all `values` (not negative) are whole multiples.

    0 where there is none of 1/1000 or more, and where all values are 0.
    """
    distinct = np.unique(values)
    parts = np.arange(1, _MOST_PARTS + 1)
    for value in distinct[distinct != np.floor(distinct)]:
        times = value * parts
        parts = parts[np.abs(times - np.rint(times)) <= _SAME * np.maximum(times, 1.0)]
        if not len(parts):
            return 0.0
    return float(np.gcd.reduce(np.rint(distinct * parts[0]).astype(np.int64)) / parts[0])


def pairs_of(matrix: ScoreMatrix) -> Pairs:
    """The pairs of `matrix` that have a result for every item. Raises UsageError where there is none."""
    have = (matrix.trials > 0) & ~np.isnan(matrix.passed)
    counts = have.sum(axis=2)
    places: list[tuple[int, int]] = []
    excluded: list[str] = []
    for k, model in enumerate(matrix.models):
        for m, metric in enumerate(matrix.metrics):
            missing = matrix.total_items - int(counts[k, m])
            if missing == 0:
                places.append((k, m))
            elif missing < matrix.total_items:
                excluded.append(
                    f"{model} takes no part with {metric}: {missing} of {matrix.total_items} items have no result."
                )
    if not places:
        raise UsageError(
            f"No model has a result for every item of {matrix.benchmark.title}.",
            "Import complete per-item logs of at least one model; partial logs cannot size a subset.",
        )
    models = [k for k, _ in places]
    metrics = [m for _, m in places]
    passed = np.ascontiguousarray(matrix.passed[models, metrics])
    trials = np.ascontiguousarray(matrix.trials[models, metrics])
    plain = (trials == 1).all(axis=1) & ((passed == 0) | (passed == 1)).all(axis=1)
    return Pairs(tuple(places), passed, trials, passed.sum(axis=1) / trials.sum(axis=1), plain, tuple(excluded))
