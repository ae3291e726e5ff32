"""sizing: how many items are enough: plan, exact solution, draws, rules (per-model | joint), warnings.

Comes in: a checked score matrix of `logs` and a `Plan`. Goes out: a `SizingResult`: P95 curve, marginal gains, n*,
their errors and warnings. `preview` gives an instant approximation for a window; `n_for_target`, `bound_at` and
`budget_for` answer from a sizing what people ask first; `worst_curves`, `pair_curves` and `seed_curves` give `studies`
many pools or seeds from one solution. May import: logs, benchmarks, base.

All quantities are in pp and items. Results depend on the matrix, the plan and its seed alone: not on threads, batches
or the machine.

What a result keeps, and what can be answered from it without drawing again:
- `p95_pp`, `curves_pp` (each pair), `by_rule_pp` (the other rule, where the same draws gave it): n* and gains at any
  tau;
- `by_level_pp`: the rule at 1..99 % and 99.5 % instead of the plan's quantile, that is the distribution of the worst
  |drift| at every size, for plots;
- `error_pp`, `gain_error_pp`: Monte Carlo standard errors, over 20 other seeds where these were drawn. Sizes share
  their draws, so a gain errs less than its two P95 would on their own;
- `lump_pp`: how far |drift| moves with one unit more right, for the pair that sets P95; 0 where outcomes are
  continuous.

The modules, from below: `pairs` (which columns take part), `patterns` (items that are alike; which way of drawing is
cheapest), `draws` (counts of right answers in nested random subsets), `quantiles` (both rules on them), `exact`,
`smooth`, `rules` (gains, n*), `advice` (warnings), `solve` (one sizing), `curves`, `questions`, `studies`.
"""

from mince_gui.sizing.curves import PairCurves, pair_curves, seed_curves, worst_curves
from mince_gui.sizing.plan import candidate_sizes, make_plan
from mince_gui.sizing.questions import bound_at, budget_for, check_budget, check_target, n_for_target
from mince_gui.sizing.retune import at_tau
from mince_gui.sizing.rules import gains, n_star
from mince_gui.sizing.smooth import preview
from mince_gui.sizing.solve import SEEDS, size
from mince_gui.sizing.types import LEVELS, Bound, Budget, Method, Plan, SizingResult, Target, Worst

__all__ = [
    "LEVELS",
    "SEEDS",
    "Bound",
    "Budget",
    "Method",
    "PairCurves",
    "Plan",
    "SizingResult",
    "Target",
    "Worst",
    "at_tau",
    "bound_at",
    "budget_for",
    "candidate_sizes",
    "check_budget",
    "check_target",
    "gains",
    "make_plan",
    "n_for_target",
    "n_star",
    "pair_curves",
    "preview",
    "seed_curves",
    "size",
    "worst_curves",
]
