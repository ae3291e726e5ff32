"""Every task by name."""

from __future__ import annotations

from functools import cache

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.tasks import demo, gsm8k, mmlu
from mince_gui.tasks.ifeval.task import Ifeval
from mince_gui.tasks.types import Task


@cache
def _tasks() -> dict[str, Task]:
    # Packs carry no training rows of GSM8K yet: a task that shows some cannot be run.
    word_problems = [task for task in gsm8k.tasks() if not task.shots]
    every: list[Task] = [Ifeval(), Ifeval("leaderboard_ifeval"), *word_problems, *mmlu.tasks(), *demo.tasks()]
    return {task.name: task for task in every}


def names() -> list[str]:
    """The names of all tasks."""
    return list(_tasks())


def get(name: str) -> Task:
    """The task of that name; a benchmark's name (any case) gives its default task.

    Raises UsageError, which lists the names.
    """
    task = _tasks().get(name)
    if task is not None:
        return task
    benchmark = BENCHMARKS.get(name.lower())
    if benchmark is not None:
        return _tasks()[benchmark.default_task]
    listed = [known for known in _tasks() if not known.startswith("mmlu_")]
    raise UsageError(f"There is no task '{name}'.", f"Known: {', '.join(listed)} and mmlu_<subject>.")
