"""What an lm-eval results file says of its run. Every field may be absent or of another type."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mince_gui.base.canonical import canonical_json
from mince_gui.logs.naming import tidy_name
from mince_gui.logs.results_file import ResultsFile

_NAME_ARGUMENTS = ("peft", "delta", "pretrained", "model", "path", "engine")
NO_FILTERS = ("none",)
"""What stands for the filters of a task that names none."""
_AS_THEY_ARE = (
    "lm_eval_version", "transformers_version", "date", "git_hash", "model_source", "chat_template_sha",
    "system_instruction_sha", "fewshot_as_multiturn", "max_length", "total_evaluation_time_seconds",
)  # fmt: skip
_OF_CONFIG = ("model", "model_args", "model_sha", "batch_size", "limit", "samples", "gen_kwargs", "num_fewshot")


class Results(ResultsFile):
    """What lm-eval's results file says."""

    @property
    def model_name(self) -> str | None:
        """The model's true name: model_name, else the first naming argument of config.model_args."""
        named = _name_in(self.body.get("model_name"))
        if named:
            return named
        arguments = self.part("config").get("model_args")
        if isinstance(arguments, str):
            pairs = (piece.partition("=") for piece in arguments.split(","))
            arguments = {name.strip(): value for name, _, value in pairs}
        if not isinstance(arguments, dict):
            return None
        return next((name for key in _NAME_ARGUMENTS if (name := _name_in(arguments.get(key)))), None)

    @property
    def model_args(self) -> str | None:
        """The model arguments as lm-eval 0.4.0 to 0.4.2 put them into file names; None where they are no text."""
        arguments = self.part("config").get("model_args")
        return re.sub("/|=", "__", arguments) if isinstance(arguments, str) else None

    def groups(self) -> dict[str, tuple[str, ...]]:
        """The outermost groups that have a score of their own, each with all tasks below it.

        A group without a score only bundles tasks of different kinds, which are benchmarks of their own.
        """
        below = self.part("group_subtasks")
        scored = {name for name in below if any(_is_score(entry) for entry in self._of_group(name).items())}
        groups = {name: leaves for name in below if name in scored and len(leaves := _leaves(name, below)) > 1}
        inside = {child for name in groups for child in _below(name, below)}
        return {name: leaves for name, leaves in groups.items() if name not in inside}

    def _of_group(self, name: str) -> Mapping[str, Any]:
        return self.part("groups", name) or self.part("results", name)

    def filters_only(self) -> Results:
        """What this file, of another model's run of the same tasks, says of the tasks' filters."""
        return Results(self.path, {"configs": self.part("configs")})

    def filters(self, task: str) -> tuple[str, ...]:
        """The names of the task's filters in their order; ("none",) where it has none."""
        listed = self.part("configs", task).get("filter_list")
        names = [entry.get("name") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        return tuple(name for name in names if isinstance(name, str)) or NO_FILTERS

    def items_meant(self, tasks: Sequence[str]) -> int | None:
        """How many items the tasks have in full (n-samples "original"), None where it is not said for all."""
        # A run that mince exported knows its benchmark, also where the tasks' own numbers are not known.
        known = self.part("mince_gui", "items").get("benchmark")
        if isinstance(known, int) and not isinstance(known, bool):
            return known
        counts = [self.part("n-samples", task).get("original") for task in tasks]
        if not counts or not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
            return None
        return sum(count for count in counts if isinstance(count, int))

    @property
    def limit(self) -> float | None:
        """The --limit of the run, None where it had none."""
        return _number(self.part("config").get("limit"))

    def reported(self, task: str) -> dict[str, float]:
        """The task's aggregated metrics as shares of 1, named as in this project (no ",none")."""
        out: dict[str, float] = {}
        for name, value in self.part("results", task).items():
            metric, comma, filter_name = name.partition(",")
            number = _number(value)
            if comma and not metric.endswith("_stderr") and number is not None:
                out[metric if filter_name == "none" else name] = number
        return out

    def meta(self, tasks: Sequence[str], group: str) -> dict[str, Any]:
        """What a reader of the log may want to know of the run; JSON values only, absent where not said."""
        config = self.part("config")
        meta: dict[str, Any] = {name: self.body.get(name) for name in _AS_THEY_ARE}
        meta |= {name: config.get(name) for name in _OF_CONFIG}
        meta["task_version"] = _one([self.part("versions").get(task) for task in tasks])
        meta["n_shot"] = _one([self.part("n-shot").get(task) for task in tasks])
        meta["items_meant"] = self.items_meant(tasks)
        meta["reported"] = self.reported(group) or None
        meta["dataset"] = _one([self.part("configs", task).get("dataset_path") for task in tasks])
        meta["converted_from"] = self.part("converted_from") or None
        return {name: value for name, value in meta.items() if value is not None and _is_plain(value)}


def _is_score(entry: tuple[str, Any]) -> bool:
    name, value = entry
    return "," in name and "_stderr" not in name and _number(value) is not None


def _below(group: str, subtasks: Mapping[str, Any]) -> set[str]:
    """Every group and task below the group; a hostile file may go round in circles."""
    found: set[str] = set()
    waiting = [group]
    while waiting:
        listed = subtasks.get(waiting.pop())
        for child in listed if isinstance(listed, list) else ():
            if isinstance(child, str) and child not in found:
                found.add(child)
                waiting.append(child)
    return found - {group}


def _leaves(group: str, subtasks: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(name for name in _below(group, subtasks) if not subtasks.get(name)))


def _number(value: Any) -> float | None:
    """The value where it is a finite number, else None ("N/A", NaN, true, an integer beyond all floats)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_plain(value: Any) -> bool:
    """Whether the value can be stored as JSON: a hostile file may hold NaN."""
    try:
        canonical_json(value)
    except (ValueError, RecursionError):
        return False
    return True


def _name_in(value: Any) -> str | None:
    return tidy_name(value) or None if isinstance(value, str) else None


def _one(values: Sequence[Any]) -> Any:
    """The value that all tasks agree on, else the distinct values as a list."""
    distinct = [value for i, value in enumerate(values) if value is not None and value not in values[:i]]
    return distinct[0] if len(distinct) == 1 else distinct or None
