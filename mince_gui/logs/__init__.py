"""logs: readers (one format each), detection, the checked score matrix.

Comes in: folders and files from elsewhere, never trusted. Goes out: `Detection` (what is there and what
was skipped, with reasons), `PerItemLog` (one model on one benchmark, checked) and `ScoreMatrix` (the
calibration pool that sizing works on).
May import: base, benchmarks, numpy.

The way through the room: `detect` walks the paths and lets each format claim its files; `read` streams
one `Found` through its format's reader, which hands rows to a `Collector` (keys, duplicates, arrays in
canonical order), and adds the checks; `build_matrix` joins logs. A new format is a package beside
`lm_eval` with the two functions `claim` and `read`, named in `detect.py` and `read.py`.

Check kinds, which others may rely on. On one log: no_docs, null_responses, empty_responses,
missing_values, duplicates, partial, unknown_items, loose_below_strict, constant_column,
results_disagree. On a matrix: partial_coverage, other_items, several_runs, content_differs,
trials_differ, identical_columns, mixed_setup, metrics_differ. Severity "refusal" says that sizing must
not use the log (or did not: content_differs is one where a log was left out for it).
"""

from mince_gui.logs.detect import detect
from mince_gui.logs.matrix import build_matrix
from mince_gui.logs.read import read
from mince_gui.logs.types import Check, Detection, FloatArray, Found, PerItemLog, ScoreMatrix, Severity

__all__ = [
    "Check",
    "Detection",
    "FloatArray",
    "Found",
    "PerItemLog",
    "ScoreMatrix",
    "Severity",
    "build_matrix",
    "detect",
    "read",
]
