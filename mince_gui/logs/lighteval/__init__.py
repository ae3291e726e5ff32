"""lighteval details: one Parquet file per task, made with --save-details.

Three layouts are read: nested doc, model_response and metric (0.11 and newer), nested metrics beside plain columns (0.8
to 0.10), and columns that hold Python's text of everything (0.7 and older, and the first open LLM leaderboard).
"""

from mince_gui.logs.lighteval.files import FORMAT, claim
from mince_gui.logs.lighteval.reader import read

__all__ = ["FORMAT", "claim", "read"]
