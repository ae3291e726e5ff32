"""What a per-item log is once it is read, and the score matrix that sizing works on.

Missing is NaN in every array here (NULL in the workspace), never 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from mince_gui.benchmarks import Benchmark
from mince_gui.logs.scratch import Scratch

FloatArray = npt.NDArray[np.float64]
Severity = Literal["info", "warning", "refusal"]


@dataclass(frozen=True)
class Check:
    """One thing found wrong or noteworthy in a log or a matrix.

    `kind` is a stable identifier ("null_responses", "loose_below_strict", "partial", ...);
    `count` is how many items it touches; `examples` are a few item keys.
    """

    kind: str
    severity: Severity
    message: str
    count: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """One run of one model on one benchmark, found by detection and not yet read.

    `files` belong together (57 subject files for MMLU); `why` says in words what told the format. `encoding` is the
    text encoding that the user named ("" = UTF-8). `scratch` holds the files that came out of an archive and keeps
    them alive as long as this object. `shared` is what the runs of one file have in common for their reader, so that
    it is read once.
    """

    format: str
    model: str
    benchmark: Benchmark
    task: str
    files: tuple[Path, ...]
    results_file: Path | None
    timestamp: str
    why: str
    encoding: str = ""
    scratch: Scratch | None = field(default=None, compare=False, repr=False)
    shared: object = field(default=None, compare=False, repr=False)

    def shown(self, text: str) -> str:
        """The text with every path inside an archive as people know it: archive.zip/inner/path."""
        return self.scratch.shown(text) if self.scratch is not None else text

    @property
    def source(self) -> str:
        """Where it lies, for people: its only file, or the folder of its files; archive.zip/inner/path in archives."""
        return self.shown(str(self.files[0] if len(self.files) == 1 else self.files[0].parent))


@dataclass(frozen=True)
class Claim:
    """What one format made of the files it was shown.

    `found` are its runs; `refused` files that are of this format but cannot be used, with the reason; `beside`
    files that belong to its runs without being read as logs (results files, indexes). Files in none of these are
    shown to the next format.
    """

    found: tuple[Found, ...] = ()
    refused: Mapping[Path, str] = field(default_factory=dict)
    beside: frozenset[Path] = frozenset()

    @property
    def taken(self) -> frozenset[Path]:
        """Every file that no other format needs to look at."""
        return frozenset((*(path for found in self.found for path in found.files), *self.refused, *self.beside))


@dataclass(frozen=True)
class Detection:
    """What a search for logs turned up: the runs `found`, and every file `skipped` with the reason why.

    `unclaimed` are the skipped files that are of no known format, where they really lie. What archives held lies in a
    temporary folder until `close`, or until neither this nor a Found is referred to.
    """

    found: tuple[Found, ...]
    skipped: tuple[tuple[Path, str], ...]
    unclaimed: tuple[Path, ...] = field(default=(), repr=False)
    scratch: Scratch | None = field(default=None, compare=False, repr=False)

    def shown(self, text: str) -> str:
        """The text with every path inside an archive as people know it: archive.zip/inner/path."""
        return self.scratch.shown(text) if self.scratch is not None else text

    def close(self) -> None:
        """Remove what was unpacked; the runs found in archives cannot be read any more."""
        if self.scratch is not None:
            self.scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def total_items(benchmark: Benchmark, meta: Mapping[str, Any]) -> int | None:
    """How many items the whole benchmark has: its own number, else what a log's meta says; None where none is said."""
    if benchmark.total_items is not None:
        return benchmark.total_items
    said = meta.get("items_meant")
    return said if isinstance(said, int) else None


@dataclass(frozen=True)
class PerItemLog:
    """For one model and one benchmark, one row per item, in canonical order.

    Shapes: `keys`, `categories` and `hashes` have n entries; `passed[metric]` and `trials[metric]`
    are float arrays (n,), NaN where missing. `hashes` are canonical content hashes, None where the
    log carries no doc. `meta` holds what the results file says: lm_eval_version, task_version,
    n_shot, chat_template_sha, limit, and the like.
    """

    model: str
    benchmark: Benchmark
    task: str
    keys: tuple[str, ...]
    categories: tuple[str | None, ...]
    hashes: tuple[str | None, ...]
    passed: Mapping[str, FloatArray]
    trials: Mapping[str, FloatArray]
    format: str
    source: str
    timestamp: str
    checks: tuple[Check, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metric names, in the benchmark's order where it knows them."""
        return tuple(self.passed)

    @property
    def total_items(self) -> int | None:
        """How many items the whole benchmark has: its own number, else what the log says; None where none is said."""
        return total_items(self.benchmark, self.meta)

    def score(self, metric: str) -> float | None:
        """The metric over all items that have it, in percent; None where there is none."""
        have = ~np.isnan(self.trials[metric])
        total = float(self.trials[metric][have].sum())
        return 100.0 * float(self.passed[metric][have].sum()) / total if total else None


@dataclass(frozen=True)
class ScoreMatrix:
    """The calibration pool: K models x M metrics x N items, checked.

    `passed` and `trials` have shape (K, M, N), NaN where missing; a (model, metric) pair that a
    model lacks altogether is all NaN and takes no part in sizing. `keys` are in canonical order.
    """

    benchmark: Benchmark
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    keys: tuple[str, ...]
    categories: tuple[str | None, ...]
    hashes: tuple[str | None, ...]
    passed: FloatArray
    trials: FloatArray
    checks: tuple[Check, ...] = ()

    @property
    def total_items(self) -> int:
        """N."""
        return len(self.keys)

    def scores(self) -> FloatArray:
        """Full-benchmark scores in percent, shape (K, M), NaN where a pair has no item."""
        have = ~np.isnan(self.trials)
        passed = np.where(have, self.passed, 0.0).sum(axis=2)
        trials = np.where(have, self.trials, 0.0).sum(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(trials > 0, 100.0 * passed / trials, np.nan), dtype=np.float64)

    def digest(self) -> str:
        """SHA-256 (hex) of the items and of every outcome, whatever the order of models and metrics.

        Pairs that a model lacks altogether do not count: the same logs beside others that know more give the same.
        """
        total = hashlib.sha256("\n".join(self.keys).encode("utf-8", "surrogatepass"))
        places = sorted(
            (model, metric, k, m) for k, model in enumerate(self.models) for m, metric in enumerate(self.metrics)
        )
        for model, metric, k, m in places:
            if not np.isnan(self.trials[k, m]).all():
                total.update(f"\n{model}\n{metric}\n".encode("utf-8", "surrogatepass"))
                total.update(self.passed[k, m].astype("<f8").tobytes())
                total.update(self.trials[k, m].astype("<f8").tobytes())
        return total.hexdigest()

    def select(self, models: Sequence[str]) -> ScoreMatrix:
        """The same matrix with only these models, in this order. Raises KeyError for an unknown one."""
        places = {name: i for i, name in enumerate(self.models)}
        rows = [places[name] for name in models]
        return ScoreMatrix(
            self.benchmark, tuple(models), self.metrics, self.keys, self.categories, self.hashes,
            self.passed[rows], self.trials[rows], self.checks,
        )  # fmt: skip
