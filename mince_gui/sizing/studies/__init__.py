"""studies: what a sizing hangs on: tau, models of the pool, the seed, the sampler; ranks; models held out.

Comes in: a checked score matrix, a `Plan` or a `SizingResult`, and, where a subset is drawn, a `Drawing`:
(n, seed) -> positions, since drawing belongs to the room above. Goes out: one result dataclass per study, with
`table()` (columns and rows), `summary()` (sentences), `warnings` and `to_json()` for front ends, and everything
that a picture needs. May import: the rest of sizing, logs, base.

Drift is signed everywhere; |drift| only where a distribution of sizes is meant.

`to_json()` (what `mince study --json` prints) has kind, benchmark, rows (one object per row of the table), summary,
sizing (as `mince size --json`), warnings, and of each kind its own. The table's column of the bound bears the plan's
quantile in its name: p95_pp, with --quantile 0.5 p50_pp.
- tau: notes {tau: why its n* is not firm}
- leave-out: combinations, stable, outside, n_star, max_drift_pp, by_count [{count, ways, with_n_star, stable,
  n_star_least, n_star_most, max_drift_pp, outside}]; null where no n* tells it
- samplers: n, bound_pp, seeds, pairs [[model, metric]], drift_pp {sampler: seeds x pairs}
- ranks: n, seed, seeds, scores {metric: [{model, full_percent, subset_percent}]}, rho_by_seed {metric: [rho]}, null
  for a draw that ties all models
- seeds: distribution {rule: {n*: seeds}}, curves_pp {rule: seeds x sizes}
- holdout: n, seed, bound_pp, seeds, drift_by_seed (seeds x rows)
"""

from mince_gui.sizing.studies.drawn import Drawing, drifts
from mince_gui.sizing.studies.holdout import OTHER_DRAWS, HeldOut, HoldoutStudy, holdout
from mince_gui.sizing.studies.leave_out import MOST_OUT, LeaveOutStudy, LeftOut, Removed, leave_out
from mince_gui.sizing.studies.ranks import MetricRanks, RankStudy, ranks, spearman
from mince_gui.sizing.studies.samplers import SAMPLER_SEEDS, Sampled, SamplerStudy, compare_samplers
from mince_gui.sizing.studies.seeds import AtSeed, SeedStudy, seeds_study
from mince_gui.sizing.studies.table import Cell, Study, Table
from mince_gui.sizing.studies.tau import TAUS, AtTau, TauStudy, tau_sweep

__all__ = [
    "MOST_OUT",
    "OTHER_DRAWS",
    "SAMPLER_SEEDS",
    "TAUS",
    "AtSeed",
    "AtTau",
    "Cell",
    "Drawing",
    "HeldOut",
    "HoldoutStudy",
    "LeaveOutStudy",
    "LeftOut",
    "MetricRanks",
    "RankStudy",
    "Removed",
    "Sampled",
    "SamplerStudy",
    "SeedStudy",
    "Study",
    "Table",
    "TauStudy",
    "compare_samplers",
    "drifts",
    "holdout",
    "leave_out",
    "ranks",
    "seeds_study",
    "spearman",
    "tau_sweep",
]
