"""lm-evaluation-harness --log_samples, 0.4.3 and newer: results_<time>.json and samples_<task>_<time>.jsonl."""

from mince_gui.logs.lm_eval.files import FORMAT, claim
from mince_gui.logs.lm_eval.reader import read

__all__ = ["FORMAT", "claim", "read"]
