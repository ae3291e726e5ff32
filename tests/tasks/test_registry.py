"""Tasks by name."""

from __future__ import annotations

import pytest

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.tasks import get, names


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_a_benchmark_name_gives_its_default_task_with_its_metrics(name: str) -> None:
    task, benchmark = get(name.upper()), BENCHMARKS[name]
    assert task.name == benchmark.default_task
    assert task.benchmark == name
    assert list(task.metrics) == [metric.name for metric in benchmark.metrics]


def test_every_task_belongs_to_a_known_benchmark_and_has_its_metrics() -> None:
    for name in names():
        task = get(name)
        assert task.name == name
        assert list(task.metrics) == [metric.name for metric in BENCHMARKS[task.benchmark].metrics]


def test_there_are_the_tasks_of_all_benchmarks() -> None:
    every = {task for benchmark in BENCHMARKS.values() for task in benchmark.tasks}
    assert every - set(names()) == {"gsm8k"}


def test_gsm8k_with_training_examples_is_not_offered_and_its_name_gives_the_default_task() -> None:
    assert "gsm8k" not in names()
    assert get("gsm8k").name == get("GSM8K").name == "gsm8k_cot_zeroshot"
    assert BENCHMARKS["gsm8k"].tasks[0] == "gsm8k"  # its logs are still known


def test_only_choices_generate_nothing() -> None:
    assert {get(name).kind for name in ("mmlu", "demo_choice")} == {"choice"}
    assert {get(name).kind for name in ("ifeval", "gsm8k", "demo_math")} == {"generate"}


def test_generation_uses_the_chat_template_and_choices_and_the_demo_do_not() -> None:
    assert {name for name in names() if not get(name).uses_chat} == {
        name for name in names() if name.startswith(("mmlu", "demo"))
    }


def test_how_many_few_shot_docs_each_task_takes() -> None:
    expected = {"ifeval": 0, "gsm8k": 0, "gsm8k_cot": 0, "mmlu": 5, "mmlu_anatomy": 5, "demo_choice": 2, "demo_math": 0}
    assert {name: get(name).shots for name in expected} == expected


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'mmlu_pro'") as caught:
        get("mmlu_pro")
    assert "gsm8k_cot_zeroshot" in caught.value.remedy
    assert "mmlu_<subject>" in caught.value.remedy
