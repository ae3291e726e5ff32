"""Every task by name: one for each declared prompt, and those that are scored by code of their own."""

from __future__ import annotations

from functools import cache

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS, Benchmark, ChoicePrompt, TextPrompt
from mince_gui.tasks.choice import MultipleChoice
from mince_gui.tasks.exact_match import ExactMatch
from mince_gui.tasks.ifeval.task import Ifeval
from mince_gui.tasks.types import Task


def _declared(benchmark: Benchmark, asked: ChoicePrompt | TextPrompt) -> Task:
    """The task of a declared prompt. Raises ValueError where the benchmark's facts and its prompt disagree."""
    task: Task = MultipleChoice(benchmark, asked) if isinstance(asked, ChoicePrompt) else ExactMatch(benchmark, asked)
    if set(task.metrics) != {metric.name for metric in benchmark.metrics}:
        raise ValueError(f"{benchmark.name} declares other metrics than {', '.join(task.metrics)} of {task.name}.")
    if task.name not in (benchmark.name, *benchmark.tasks):
        raise ValueError(f"{benchmark.name} has a prompt of {task.name}, which is none of its tasks.")
    return task


@cache
def _tasks() -> dict[str, Task]:
    every: list[Task] = [
        Ifeval(),
        Ifeval("leaderboard_ifeval"),
        *(_declared(benchmark, asked) for benchmark in BENCHMARKS.values() for asked in benchmark.prompts),
    ]
    return {task.name: task for task in every}


def names() -> list[str]:
    """The names of all tasks."""
    return list(_tasks())


def get(name: str) -> Task:
    """The task of that name (any case); a benchmark's name that is no task's gives its default task.

    "gsm8k" is the task of that name, with five training examples; the default of that benchmark is
    `BENCHMARKS["gsm8k"].default_task`. Raises UsageError, which lists the names.
    """
    task = _tasks().get(name.lower())
    if task is not None:
        return task
    benchmark = BENCHMARKS.get(name.lower())
    if benchmark is not None:
        return _tasks()[benchmark.default_task]
    listed = [known for known in _tasks() if not known.startswith("mmlu_")]
    raise UsageError(f"There is no task '{name}'.", f"Known: {', '.join(listed)} and mmlu_<subject>.")
