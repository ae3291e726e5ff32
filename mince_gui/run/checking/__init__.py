"""What can be told before a model is loaded: its graph, its folder, the runtimes that fit; and native messages."""

from mince_gui.run.checking.check import ModelCheck, check_model
from mince_gui.run.checking.messages import explain
from mince_gui.run.checking.types import Fact, Machine, Remedy, RuntimeView, Verdict

__all__ = ["Fact", "Machine", "ModelCheck", "Remedy", "RuntimeView", "Verdict", "check_model", "explain"]
