"""report: drift, deltas, intervals, speedup; documents.

Comes in: a run (`RunData`) and stored full scores (`Reference`), as values: this room reads no workspace.
Goes out: a `Report` (`build`) and documents (`write`: html, pdf, json, csv, md).
May import: run, tasks, subset, sizing, logs, benchmarks, base.

- A difference is *drift* only against a full score of the very same model; against anything else it is
  the *total gap*. `build` is told which is which; it never guesses.
- Drift is judged only where every item of the subset is there. A score of a part of the subset is flagged
  in the banner and beside every number made from it.
- Where the own full run has per-item rows, drift is computed within that run (its answers on the subset
  against its answers on everything); how far a repeat differs is reported beside it.
- A wall clock enters a speedup only under an equal `device_key`; everything else is an estimate, called so.
- A bound goes nowhere without its rule, quantile and sampler (`Report.bound`, from the subset's evidence). Bound and
  exact intervals are those of uniform draws: for another sampler the one is called the bound of uniform draws
  (`Bound.title`), the others approximate. Where items differ from the frozen ones (`RunData.accepted`) no drift is
  judged.
- Inside is said of a run only where every metric is inside; of a part of them with the number of metrics.
- `RunData.conditions` may hold any names and values; `limit` (a number) marks a `--limit` run. `asking` makes words of
  those that say how items were asked (`asking.TOLD`); `Answers` counts what was cut, is empty or does not fit, in the
  same words for documents, command line and window; `place` says where it ran, always with the state of its proof.
  `RunData.evidence` draws the P95 curve where it has `sizes` and `p95_pp` as lists of equal length (or
  `curve_pp` beside a single `p95_pp`), with `n_star`, `tau_pp`, `worst` and `pool`.
- JSON document: `schema` "mince-gui/report", `schema_version` 2; keys are the fields of `Report` and of what it
  holds, ratios as passed, trials and items, missing values as null.
- A document is said once, as blocks (`page.Page`, made by `report_page` and `comparison_page`), then written as HTML,
  PDF or Markdown (`write_page`); pictures are shapes (`drawing.Drawing`) that HTML and PDF draw alike. Texts in blocks
  are plain: every renderer escapes them, and names signs that nothing can show (`visible`).
- `format` holds the number formats that the command line and the window use as well; scipy.special, jinja2 and
  reportlab are loaded only when they are needed.
"""

from mince_gui.report import format
from mince_gui.report.answers import Answers
from mince_gui.report.building import build
from mince_gui.report.documents.report_page import report_page
from mince_gui.report.documents.tables import csv_text
from mince_gui.report.documents.write import html_text, json_text, markdown_text, write, write_page
from mince_gui.report.intervals import approximate_ratio_interval, finite_population_interval
from mince_gui.report.model import Interval, MetricReport, Report, Speedup, Verdict
from mince_gui.report.types import Ratio, Reference, ReferenceKind, RunData
from mince_gui.report.words import VERDICT_WORDS

__all__ = [
    "VERDICT_WORDS", "Answers", "Interval", "MetricReport", "Ratio", "Reference", "ReferenceKind", "Report", "RunData",
    "Speedup", "Verdict", "approximate_ratio_interval", "build", "csv_text", "finite_population_interval", "format",
    "html_text", "json_text", "markdown_text", "report_page", "write", "write_page",
]  # fmt: skip
