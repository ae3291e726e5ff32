from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import UsageError
from mince_gui.benchmarks import BENCHMARKS, get, of_task, step_for


def test_mmlu_has_57_subjects_each_a_task() -> None:
    mmlu = BENCHMARKS["mmlu"]
    assert len(set(mmlu.subjects)) == 57
    assert mmlu.tasks == tuple(f"mmlu_{subject}" for subject in mmlu.subjects)
    assert list(mmlu.subjects) == sorted(mmlu.subjects)


@pytest.mark.parametrize("task", ["mmlu_pro", "mmlu_pro_law", "mmlu_flan_n_shot_generative_anatomy", "mmlu_generative"])
def test_tasks_that_only_look_like_mmlu_are_benchmarks_of_their_own(task: str) -> None:
    assert of_task("mmlu_anatomy").name == "mmlu"
    assert of_task("mmlu") is BENCHMARKS["mmlu"]
    other = of_task(task)
    assert other.name == task
    assert other.total_items is None


def test_tasks_name_their_benchmark() -> None:
    assert {of_task(task).name for task in ("ifeval", "leaderboard_ifeval")} == {"ifeval"}
    assert {of_task(task).name for task in ("gsm8k", "gsm8k_cot", "gsm8k_cot_zeroshot")} == {"gsm8k"}


def test_an_unknown_benchmark_is_refused_with_the_known_names() -> None:
    assert get("IFEVAL") is BENCHMARKS["ifeval"]
    with pytest.raises(UsageError) as caught:
        get("hellaswag")
    assert "ifeval, mmlu, gsm8k" in caught.value.remedy


def test_ifeval_keys_sort_as_text() -> None:
    ifeval = BENCHMARKS["ifeval"]
    assert sorted(["13", "102", "1021", "1000", "3757"], key=ifeval.sort_key) == ["1000", "102", "1021", "13", "3757"]


def test_other_keys_sort_by_subject_and_number() -> None:
    mmlu = BENCHMARKS["mmlu"]
    assert sorted(["virology/2", "anatomy/10", "anatomy/9"], key=mmlu.sort_key) == [
        "anatomy/9",
        "anatomy/10",
        "virology/2",
    ]
    assert sorted(["10", "9", "1"], key=BENCHMARKS["gsm8k"].sort_key) == ["1", "9", "10"]


@settings(max_examples=30, deadline=None)
@given(keys=st.lists(st.text(min_size=1, max_size=8), unique=True))
def test_any_keys_can_be_sorted(keys: list[str]) -> None:
    for benchmark in BENCHMARKS.values():
        assert sorted(sorted(keys, key=benchmark.sort_key)) == sorted(keys)


@pytest.mark.parametrize(
    ("name", "keys", "others"),
    [
        ("gsm8k", ["0", "1318"], ["1319", "-1", "01", "1.0", "x/1", "", "٣", "1" * 30]),
        ("demo-choice", ["0", "999"], ["1000", "a"]),
        ("ifeval", ["1000", "3757"], ["a", "", "1 "]),
        ("mmlu", ["anatomy/0", "virology/165"], ["0", "cooking/1", "anatomy/", "/1", "anatomy/14042", "x/anatomy/1"]),
    ],
)
def test_only_keys_that_an_item_can_have_are_keys(name: str, keys: list[str], others: list[str]) -> None:
    assert all(BENCHMARKS[name].is_key(key) for key in keys)
    assert not any(BENCHMARKS[name].is_key(key) for key in others)
    assert of_task("my_task").is_key("123456")


def test_keys_are_positions_where_they_count_the_items() -> None:
    counted = {name for name, b in BENCHMARKS.items() if b.keys_are_positions}
    assert counted == {"gsm8k", "arc_challenge", "demo-choice", "demo-math"}
    assert not of_task("my_task").keys_are_positions


def test_item_keys_are_made_from_the_field_of_the_benchmark() -> None:
    assert BENCHMARKS["ifeval"].item_key({"key": 1000}, 0) == "1000"
    assert BENCHMARKS["gsm8k"].item_key({}, 17) == "17"
    assert BENCHMARKS["mmlu"].item_key({"subject": "anatomy"}, 17) == "anatomy/17"
    assert BENCHMARKS["mmlu"].item_key({}, 17, "virology") == "virology/17"
    with pytest.raises(KeyError):
        BENCHMARKS["ifeval"].item_key({}, 0)


def test_categories_are_subjects_and_first_instruction_types() -> None:
    ifeval, mmlu = BENCHMARKS["ifeval"], BENCHMARKS["mmlu"]
    assert ifeval.category({"instruction_id_list": ["punctuation:no_comma", "x:y"]}, "1") == "punctuation:no_comma"
    assert ifeval.category({"instruction_id_list": None}, "1") is None
    assert mmlu.category({}, "anatomy/17") == "anatomy"
    assert BENCHMARKS["gsm8k"].category({}, "17") is None


@pytest.mark.parametrize(
    ("total", "step"),
    [
        (1, 1),
        (26, 2),
        (50, 5),
        (51, 25),
        (100, 25),
        (500, 25),
        (1_000, 50),
        (1_319, 50),
        (2_000, 100),
        (10_000, 500),
        (14_042, 700),
    ],
)
def test_the_step_of_an_unknown_benchmark_is_a_twentieth_in_fifties(total: int, step: int) -> None:
    assert step_for(total) == step


def test_the_known_benchmarks_have_their_own_step() -> None:
    steps = {name: step_for(1, BENCHMARKS[name]) for name in ("ifeval", "gsm8k", "mmlu")}
    assert steps == {"ifeval": 50, "gsm8k": 100, "mmlu": 500}
    assert step_for(1_000, BENCHMARKS["demo-choice"]) == 50
