"""A frozen subset as lm-eval's `--samples` map: {task: positions in the task's own list of docs}."""

from __future__ import annotations

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import of_task
from mince_gui.subset.positions import positions_of
from mince_gui.subset.types import FrozenSubset


def samples_map(subset: FrozenSubset, task: str | None = None) -> dict[str, list[int]]:
    """Task -> positions, ascending and without repeats, and only tasks that have items.

    lm-eval runs the whole of a task that has an empty list or none, and pairs an unsorted list with the wrong docs: so
    its `--tasks` must name the map's tasks, never the group. `task` is the one that is to be run where the benchmark
    has several for the same docs (gsm8k, gsm8k_cot, ...), None = the benchmark's usual one.

    Raises UsageError for a task of another benchmark, InputError where an item's place in its task is not known.
    """
    benchmark = of_task(subset.benchmark)
    if not benchmark.in_lm_eval:
        raise UsageError(f"lm-eval has no task for {benchmark.title}.", "Export it as csv.")
    if benchmark.subjects:
        if task not in (None, benchmark.name):
            raise UsageError(f"{benchmark.title} runs as one task per subject, not as '{task}'.", "Leave --task out.")
        found: dict[str, list[int]] = {}
        for key in subset.item_keys:
            subject, _, number = key.rpartition("/")
            found.setdefault(f"{benchmark.name}_{subject}", []).append(int(number))
        return {name: sorted(places) for name, places in sorted(found.items())}
    if task is not None and task not in benchmark.tasks:
        raise UsageError(f"'{task}' is no task of {benchmark.title}.", f"Its tasks are {', '.join(benchmark.tasks)}.")
    places = sorted(positions_of(benchmark, subset.item_keys))
    return {task or benchmark.default_task: places}
