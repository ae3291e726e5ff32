"""lm-evaluation-harness --log_samples, 0.4.0 to 0.4.13, in every layout.

0.4.3 and newer: results_<time>.json (or <stem>_<time>.json) and samples_<task>_<time>.jsonl, one row per line. 0.4.0 to
0.4.2: results.json and <model arguments>_<task>.jsonl, one indented array per task. The subjects of MMLU, and the tasks
of any group that has a score of its own in the results file, are one run of one benchmark.
"""

from mince_gui.logs.lm_eval.files import FORMAT, claim
from mince_gui.logs.lm_eval.reader import read

__all__ = ["FORMAT", "claim", "read"]
