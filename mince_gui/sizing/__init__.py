"""sizing: how many items are enough: plan, exact solution, draws, rules (per-model | joint), warnings.

Comes in: a checked score matrix of `logs` and a `Plan`. Goes out: a `SizingResult`: P95 curve, marginal
gains, n*, their errors and warnings; `preview` gives an instant approximation for a window.
May import: logs, benchmarks, base.

All quantities are in pp and items. Results depend on the matrix, the plan and its seed alone.
"""

from mince_gui.sizing.plan import candidate_sizes, make_plan
from mince_gui.sizing.rules import gains, n_star
from mince_gui.sizing.smooth import preview
from mince_gui.sizing.solve import SEEDS, size
from mince_gui.sizing.types import Method, Plan, SizingResult, Worst

__all__ = [
    "SEEDS",
    "Method",
    "Plan",
    "SizingResult",
    "Worst",
    "candidate_sizes",
    "gains",
    "make_plan",
    "n_star",
    "preview",
    "size",
]
