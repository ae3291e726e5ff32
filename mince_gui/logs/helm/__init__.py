"""HELM: the folders runs/<suite>/<run>/ with per_instance_stats.json, run_spec.json and scenario_state.json.

One folder is one run; the subjects of MMLU, which HELM runs one by one, are put together. Perturbed copies of instances
are left out; of several splits the test split is taken; several train trials are trials of the same item.
"""

from mince_gui.logs.helm.files import FORMAT, claim
from mince_gui.logs.helm.reader import read

__all__ = ["FORMAT", "claim", "read"]
