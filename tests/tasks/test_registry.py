"""Tasks by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS, Metric
from mince_gui.tasks import get, names, registry


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_a_benchmark_name_gives_its_default_task_unless_a_task_is_called_so(name: str) -> None:
    task, benchmark = get(name.upper()), BENCHMARKS[name]
    assert task.name == ("gsm8k" if name == "gsm8k" else benchmark.default_task)
    assert task.benchmark == get(benchmark.default_task).benchmark == name


def test_every_task_belongs_to_a_known_benchmark_and_has_its_metrics() -> None:
    for name in names():
        task = get(name)
        assert task.name == name
        assert list(task.metrics) == [metric.name for metric in BENCHMARKS[task.benchmark].metrics]


def test_there_are_the_tasks_of_all_benchmarks() -> None:
    every = {task for benchmark in BENCHMARKS.values() for task in (*benchmark.tasks, benchmark.default_task)}
    assert every == set(names())


def test_only_choices_generate_nothing() -> None:
    assert {get(name).kind for name in ("mmlu", "arc_challenge", "demo_choice")} == {"choice"}
    assert {get(name).kind for name in ("ifeval", "gsm8k", "demo_math")} == {"generate"}


def test_generation_uses_the_chat_template_and_choices_and_the_demo_do_not() -> None:
    assert {name for name in names() if not get(name).uses_chat} == {
        name for name in names() if name.startswith(("mmlu", "arc", "demo"))
    }


def test_how_many_few_shot_docs_each_task_takes() -> None:
    expected = {"ifeval": 0, "gsm8k": 5, "gsm8k_cot": 0, "gsm8k_cot_zeroshot": 0, "mmlu": 5, "mmlu_anatomy": 5}
    expected |= {"arc_challenge": 0, "demo_choice": 2, "demo_math": 0}
    assert {name: get(name).shots for name in expected} == expected


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'mmlu_pro'") as caught:
        get("mmlu_pro")
    assert "gsm8k_cot_zeroshot" in caught.value.remedy
    assert "mmlu_<subject>" in caught.value.remedy


def test_a_declared_prompt_is_a_task_without_a_line_of_code_here() -> None:
    declared = {asked.task: benchmark.name for benchmark in BENCHMARKS.values() for asked in benchmark.prompts}
    assert {name: get(name).benchmark for name in declared} == declared
    assert set(names()) - set(declared) == {"ifeval", "leaderboard_ifeval"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"metrics": (Metric("acc", "accuracy"), Metric("acc_bytes", "by bytes"))},
            "declares other metrics than acc of",
        ),
        ({"metrics": (Metric("exact_match", "exact"),)}, "declares other metrics"),
        ({"name": "other", "tasks": ("another",)}, "none of its tasks"),
    ],
)
def test_facts_and_prompt_that_disagree_are_no_benchmark(change: dict[str, Any], words: str) -> None:
    arc = dataclasses.replace(BENCHMARKS["arc_challenge"], metrics=(Metric("acc", "accuracy"),))
    with pytest.raises(ValueError, match=words):
        registry._declared(dataclasses.replace(arc, **change), arc.prompts[0])
