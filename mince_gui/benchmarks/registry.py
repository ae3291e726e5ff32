"""The benchmarks that are known by name, and how any other lm-eval task becomes one."""

from __future__ import annotations

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks.declared import arc_challenge, demo, gsm8k, ifeval, mmlu
from mince_gui.benchmarks.types import Benchmark

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        ifeval.BENCHMARK,
        mmlu.BENCHMARK,
        gsm8k.BENCHMARK,
        arc_challenge.BENCHMARK,
        demo.CHOICE,
        demo.MATH,
    )
}

_BY_TASK = {task: benchmark for benchmark in BENCHMARKS.values() for task in benchmark.tasks}


def get(name: str) -> Benchmark:
    """The benchmark of that name (any case). Raises UsageError that lists the names."""
    found = BENCHMARKS.get(name.lower())
    if found is None:
        raise UsageError(f"There is no benchmark '{name}'.", f"Known: {', '.join(BENCHMARKS)}.")
    return found


def of_task(task: str) -> Benchmark:
    """The benchmark that an lm-eval task's logs belong to; an unknown task is a benchmark of its own.

    `samples_mmlu_*` also matches mmlu_pro and others, so MMLU is known by its 57 subject names and its own alone.
    """
    known = _BY_TASK.get(task) or BENCHMARKS.get(task)
    if known is not None:
        return known
    return Benchmark(
        name=task, title=task, total_items=None, metrics=(), key_field="doc_id", tasks=(task,), default_task=task
    )


def step_for(total_items: int, benchmark: Benchmark | None = None) -> int:
    """The default step of candidate sizes: the benchmark's own, else N/20 rounded to 50, at least 25.

    Up to 50 items would have no two sizes at 25: there it is N/10, at least 1.
    """
    if benchmark is not None and benchmark.default_step is not None:
        return benchmark.default_step
    if total_items <= 50:
        return max(1, total_items // 10)
    return max(25, round(total_items / 20 / 50) * 50)
