"""logs: readers (one format each), detection, the checked score matrix.

Comes in: folders and files from elsewhere, never trusted. Goes out: `Detection` (what is there and what
was skipped, with reasons), `PerItemLog` (one model on one benchmark, checked) and `ScoreMatrix` (the
calibration pool that sizing works on).
May import: base, benchmarks, numpy, orjson; a format's own library inside its functions.

The way through the room: `detect` walks the paths, puts what archives hold into a `Scratch` (a temporary folder whose
paths `Found.shown` turns into archive.zip/inner/path for every message) and lets each format of `formats.FORMATS`
claim its files; `read` streams one `Found` through its format's reader, which hands rows to a `Collector` (keys,
duplicates, arrays in canonical order), and adds the checks; `build_matrix` joins logs. A new format is a package or
module with `FORMAT`, `claim` and `read`, named in `formats.FORMATS`; one that names no item keys of ours goes through
`assemble`.

Check kinds, which others may rely on.
On one log, refusals: partial, unknown_items, mislabelled_items (rows with the content of another item); of one metric
only: missing_values (items without rows of it), trials_unknown, constant_column (a warning where it may be chance or
form).
On one log, warnings: missing_values (rows without a value), null_responses, empty_responses (a note where few),
duplicates, loose_below_strict, filter_gap, mixed_setup, other_content (a note where few), results_disagree,
metric_left_out, columns_left_out (of a table), salvaged, unknown_items (kept as a benchmark of its own). Notes:
no_docs, order.
On a matrix, refusals that left something out: partial_coverage, other_items, content_differs (of a model), and of a
metric or a model missing_values, trials_unknown, constant_column. Warnings: several_runs, content_differs,
trials_differ, identical_columns, identical_responses, mixed_setup. Notes: metrics_differ.
Severity "refusal" says that sizing must not use it, or did not.
"""

from mince_gui.logs.detect import detect
from mince_gui.logs.lines import check_encoding
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
    "check_encoding",
    "detect",
    "read",
]
