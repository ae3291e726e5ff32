from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import BENCHMARKS, Benchmark, of_task
from mince_gui.logs import Check, PerItemLog, ScoreMatrix, build_matrix

TASK = of_task("my_task")
SMALL = dataclasses.replace(BENCHMARKS["gsm8k"], name="small", total_items=4)


def make(
    model: str,
    verdicts: dict[str, Sequence[float]],
    keys: Sequence[str] | None = None,
    benchmark: Benchmark = TASK,
    **other: Any,
) -> PerItemLog:
    n = len(next(iter(verdicts.values())))
    names = tuple(keys or (str(i) for i in range(n)))
    passed = {metric: np.array(values, dtype=np.float64) for metric, values in verdicts.items()}
    trials = {metric: np.where(np.isnan(values), np.nan, 1.0) for metric, values in passed.items()}
    fields: dict[str, Any] = {
        "task": "my_task", "categories": (None,) * n, "hashes": (None,) * n, "format": "made", "source": "here",
        "timestamp": "2026-01-01",
    } | other  # fmt: skip
    return PerItemLog(model=model, benchmark=benchmark, keys=names, passed=passed, trials=trials, **fields)


def kinds(matrix: ScoreMatrix) -> dict[str, Check]:
    return {check.kind: check for check in matrix.checks}


def test_items_are_joined_by_key_in_canonical_order() -> None:
    a = make("a", {"acc": [1, 0, 1]}, keys=("2", "10", "1"), categories=("x", "y", None))
    b = make("b", {"acc": [0, 1, 1]}, keys=("1", "2", "10"), categories=(None, "x", "y"))
    matrix = build_matrix(TASK, [a, b])
    assert matrix.keys == ("1", "2", "10")
    assert matrix.models == ("a", "b")
    assert matrix.passed[:, 0].tolist() == [[1, 1, 0], [0, 1, 1]]
    assert matrix.categories == (None, "x", "y")
    assert matrix.checks == ()


def test_a_metric_that_a_model_lacks_stays_missing() -> None:
    matrix = build_matrix(TASK, [make("a", {"acc": [1, 0]}), make("b", {"acc": [0, 1], "f1": [0.5, 1]})])
    assert matrix.metrics == ("acc", "f1")
    assert np.isnan(matrix.passed[0, 1]).all()
    assert np.isnan(matrix.trials[0, 1]).all()
    assert matrix.passed[1, 1].tolist() == [0.5, 1]
    assert kinds(matrix)["metrics_differ"].message == "f1 is not in the logs of 1 model: a."


def test_the_benchmarks_metrics_come_first() -> None:
    logs = [make("a", {"other": [1, 0], "exact_match,flexible-extract": [1, 0], "exact_match,strict-match": [0, 0]})]
    small = dataclasses.replace(SMALL, total_items=2)
    assert build_matrix(small, logs).metrics == ("exact_match,strict-match", "exact_match,flexible-extract", "other")


def test_a_model_that_lacks_items_is_left_out_by_name() -> None:
    matrix = build_matrix(TASK, [make("a", {"acc": [1, 0, 1]}), make("b", {"acc": [1, 0]})])
    assert matrix.models == ("a",)
    check = kinds(matrix)["partial_coverage"]
    assert (check.severity, check.count, check.examples) == ("refusal", 1, ("2",))
    assert check.message.startswith("b (2026-01-01) is left out")


def test_a_metric_that_lacks_some_values_is_refused_and_the_others_stay() -> None:
    logs = [make("a", {"acc": [1, 0, 1], "f1": [1, 0, 0]}), make("b", {"acc": [1, np.nan, 1], "f1": [0, 1, 1]})]
    matrix = build_matrix(TASK, logs)
    assert matrix.models == ("a", "b")
    assert np.isnan(matrix.passed[1, 0]).all()
    assert np.isnan(matrix.trials[1, 0]).all()
    assert matrix.passed[1, 1].tolist() == [0, 1, 1]
    check = kinds(matrix)["missing_values"]
    assert (check.severity, check.count, check.examples) == ("refusal", 1, ("1",))
    assert check.message == "acc of b (2026-01-01) is left out: 1 item has no acc, 2 of 3 have it."


def test_a_model_without_a_whole_metric_is_left_out_by_name() -> None:
    matrix = build_matrix(TASK, [make("a", {"acc": [1, 0, 1]}), make("b", {"acc": [1, np.nan, 1]})])
    assert matrix.models == ("a",)
    assert matrix.metrics == ("acc",)
    assert "b (2026-01-01) is left out: 1 item has no acc" in kinds(matrix)["missing_values"].message
    with pytest.raises(InputError, match="1 item has no acc"):
        build_matrix(TASK, [make("b", {"acc": [1, np.nan, 1]})])


def test_a_metric_that_is_right_throughout_is_refused_and_so_is_a_model_that_is_always_wrong() -> None:
    some = ([1, 0] * 60)[:120]
    logs = [
        make("gold", {"acc": [1] * 120, "f1": some}), make("mute", {"acc": [0] * 120, "f1": [0] * 120}),
        make("formless", {"acc": [0] * 120, "f1": some[::-1]}),
    ]  # fmt: skip
    matrix = build_matrix(TASK, logs)
    assert matrix.models == ("gold", "formless")
    assert np.isnan(matrix.passed[0, 0]).all()
    assert matrix.passed[1, 0].tolist() == [0] * 120
    said = [check.message for check in matrix.checks if check.kind == "constant_column"]
    assert len(said) == 2
    assert any(message.startswith("mute (2026-01-01) is left out: acc: every item is wrong") for message in said)
    assert any(message.startswith("acc of gold (2026-01-01) is left out: acc: every item is right") for message in said)


def test_a_mean_per_item_of_a_ratio_metric_is_refused_as_its_counts_are_unknown() -> None:
    ifeval = dataclasses.replace(BENCHMARKS["ifeval"], name="small-ifeval", total_items=3)
    verdicts: dict[str, Sequence[float]] = {"prompt_level_strict_acc": [1, 0, 0], "inst_level_strict_acc": [1, 0.5, 0]}
    matrix = build_matrix(ifeval, [make("a", verdicts, keys=("1", "2", "3"), benchmark=ifeval)])
    assert matrix.metrics == ("prompt_level_strict_acc",)
    assert kinds(matrix)["trials_unknown"].examples == ("2",)


def test_a_log_with_foreign_items_does_not_turn_the_others_out() -> None:
    whole = [make(name, {"acc": [1, 0, 1, 1]}, benchmark=SMALL) for name in ("a", "b")]
    foreign = make("c", {"acc": [1, 0, 1, 1]}, keys=("0", "1", "2", "77"), benchmark=SMALL)
    longer = make("d", {"acc": [1, 0, 1, 1, 1]}, benchmark=SMALL)
    matrix = build_matrix(SMALL, [foreign, longer, *whole])
    assert matrix.models == ("a", "b")
    refused = [check for check in matrix.checks if check.kind == "other_items"]
    assert [check.examples for check in refused] == [("77",), ("4",)]


def test_without_a_whole_log_there_is_no_matrix_but_a_way_out() -> None:
    with pytest.raises(InputError, match="3 of 4 items") as caught:
        build_matrix(SMALL, [make("a", {"acc": [1, 0, 1]}, benchmark=SMALL)])
    assert "--limit" in caught.value.remedy
    with pytest.raises(InputError, match="no logs of GSM8K"):
        build_matrix(SMALL, [])


def test_a_log_that_its_own_check_refuses_is_left_out() -> None:
    partial = Check("partial", "refusal", "3 items of an unknown number. The run had a limit of 3.", 0)
    limited = make("a", {"acc": [1, 0, 1]}, checks=(partial,))
    with pytest.raises(InputError, match="limit of 3"):
        build_matrix(TASK, [limited])


def test_of_several_whole_runs_the_newest_is_taken_and_said_so() -> None:
    old = make("a", {"acc": [1, 0, 1]}, timestamp="2026-01-01")
    new = make("a", {"acc": [0, 0, 0]}, timestamp="2026-02-01", task="my_task_cot")
    newest_but_partial = make("a", {"acc": [1, 1]}, timestamp="2026-03-01")
    matrix = build_matrix(TASK, [new, newest_but_partial, old])
    assert matrix.models == ("a",)
    assert matrix.passed[0, 0].tolist() == [0, 0, 0]
    message = kinds(matrix)["several_runs"].message
    assert "2 whole runs of the tasks my_task, my_task_cot; the newest is taken (2026-02-01)" in message


@pytest.mark.parametrize(("stamp", "words"), [("", "none has a time"), ("2026-01-01", "2 are of the same time")])
def test_of_runs_that_time_does_not_tell_apart_the_first_is_taken_and_said_so(stamp: str, words: str) -> None:
    first = make("a", {"acc": [1, 0, 1]}, timestamp=stamp, source="one.csv")
    second = make("a", {"acc": [0, 0, 1]}, timestamp=stamp, source="two.csv")
    matrix = build_matrix(TASK, [first, second])
    assert matrix.passed[0, 0].tolist() == [1, 0, 1]
    message = kinds(matrix)["several_runs"].message
    assert words in message
    assert "one.csv" in message


def test_the_items_of_a_task_are_those_that_most_logs_have() -> None:
    same = [make(name, {"acc": [1, 0, 1]}, keys=("0", "2", "4")) for name in ("a", "b")]
    one_between = make("c", {"acc": [1, 0, 1, 1]}, keys=("0", "2", "3", "4"))
    matrix = build_matrix(TASK, [one_between, *same])
    assert matrix.models == ("a", "b")
    assert kinds(matrix)["other_items"].examples == ("3",)


def test_many_runs_of_the_first_items_do_not_turn_out_the_whole_one() -> None:
    short = [make(name, {"acc": [1, 0, 1]}) for name in ("a", "b")]
    matrix = build_matrix(TASK, [*short, make("c", {"acc": [1, 0, 1, 1]})])
    assert (matrix.models, matrix.total_items) == (("c",), 4)
    said = [check.message for check in matrix.checks if check.kind == "partial_coverage"]
    assert [message.partition(": ")[2] for message in said] == ["it has 3 of 4 items."] * 2


def test_the_first_items_of_each_subject_are_no_whole_run_either() -> None:
    keys = ["x/0", "x/1", "x/2", "y/0", "y/1", "z/0"]
    short = [make(name, {"acc": [1, 0, 1]}, keys=["x/0", "x/1", "y/0"]) for name in ("a", "b")]
    matrix = build_matrix(TASK, [*short, make("c", {"acc": [1, 0, 1, 1, 0, 0]}, keys=keys)])
    assert (matrix.models, matrix.total_items) == (("c",), 6)


def test_runs_that_are_whole_by_their_own_word_are_not_the_first_items_of_another() -> None:
    whole = [make(name, {"acc": [1, 0]}, meta={"items_meant": 2}) for name in ("a", "b")]
    matrix = build_matrix(TASK, [*whole, make("c", {"acc": [1, 0, 1]})])
    assert (matrix.models, matrix.total_items) == (("a", "b"), 2)


def test_a_run_that_is_whole_by_its_own_word_outweighs_others_that_may_have_broken_off() -> None:
    broken_off = [make(name, {"acc": [1, 0]}) for name in ("a", "b")]
    matrix = build_matrix(TASK, [*broken_off, make("c", {"acc": [1, 0, 1]}, meta={"items_meant": 3})])
    assert (matrix.models, matrix.total_items) == (("c",), 3)


def test_runs_with_a_limit_have_no_say_in_what_the_items_are() -> None:
    cut = Check("partial", "refusal", "2 items of an unknown number. The run had a limit of 2.", 0)
    limited = [make(name, {"acc": [1, 0]}, checks=(cut,)) for name in ("a", "b")]
    matrix = build_matrix(TASK, [*limited, make("c", {"acc": [1, 0, 1]})])
    assert (matrix.models, matrix.total_items) == (("c",), 3)


def test_contents_that_differ_are_counted_and_the_common_one_is_kept() -> None:
    logs = [
        make("a", {"acc": [1, 0]}, hashes=("h0", "h1")),
        make("b", {"acc": [0, 1]}, hashes=("h0", "other")),
        make("c", {"acc": [1, 1]}, hashes=(None, "h1")),
    ]
    matrix = build_matrix(TASK, logs)
    assert matrix.hashes == ("h0", "h1")
    check = kinds(matrix)["content_differs"]
    assert (check.count, check.examples) == (1, ("1",))
    assert "b (1)" in check.message


def test_a_log_of_another_copy_of_the_data_is_left_out_and_a_few_corrections_are_not() -> None:
    common = tuple(f"h{i}" for i in range(20))

    def dissenting(who: str, count: int) -> tuple[str, ...]:
        return (*(f"{who}{i}" for i in range(count)), *common[count:])

    rng = np.random.default_rng(0)
    logs = [
        make(model, {"acc": rng.integers(0, 2, 20).tolist()}, hashes=hashes)
        for model, hashes in (("old", dissenting("o", 6)), ("a", common), ("b", common), ("few", dissenting("f", 5)))
    ]
    matrix = build_matrix(TASK, logs)
    assert matrix.models == ("a", "b", "few")
    assert matrix.hashes == common
    refusal, warning = (check for check in matrix.checks if check.kind == "content_differs")
    assert (refusal.severity, refusal.count) == ("refusal", 6)
    assert "old (2026-01-01) is left out: 6 of its items" in refusal.message
    assert (warning.severity, warning.count) == ("warning", 5)


def test_of_two_logs_of_different_copies_one_remains() -> None:
    logs = [make(name, {"acc": [1, 0] * 5}, hashes=tuple(f"{name}{i}" for i in range(10))) for name in ("a", "b", "c")]
    assert build_matrix(TASK, logs).models == ("a",)


def test_items_that_the_benchmark_cannot_have_are_refused_also_where_their_number_fits() -> None:
    foreign = make("a", {"acc": [1, 0, 1, 1]}, keys=("0", "1", "2", "77"), benchmark=SMALL)
    with pytest.raises(InputError, match="1 of its items are no items of GSM8K"):
        build_matrix(SMALL, [foreign])


def test_two_models_with_the_same_outcomes_are_named() -> None:
    logs = [make("a", {"acc": [1, 0]}), make("b", {"acc": [0, 0]}), make("c", {"acc": [1, 0]})]
    assert "a, c have the same outcome" in kinds(build_matrix(TASK, logs))["identical_columns"].message


def test_two_models_with_the_same_answers_are_named() -> None:
    logs = [
        make("a", {"acc": [1, 0]}, meta={"answers_digest": "2:ab"}),
        make("b", {"acc": [0, 0]}, meta={"answers_digest": "2:cd"}),
        make("c", {"acc": [0, 1]}, meta={"answers_digest": "2:ab"}),
    ]
    check = kinds(build_matrix(TASK, logs))["identical_responses"]
    assert check.message.startswith("a, c gave the same text")
    assert "--use_cache" in check.message


def test_mixed_versions_examples_tasks_and_formats_are_named() -> None:
    a = make("a", {"acc": [1, 0]}, meta={"lm_eval_version": "0.4.3", "n_shot": 5, "task_version": 3.0})
    b = make(
        "b", {"acc": [0, 0]}, meta={"lm_eval_version": "0.4.9", "n_shot": 0, "task_version": 3.0}, task="other",
        format="table",
    )  # fmt: skip
    messages = " ".join(check.message for check in build_matrix(TASK, [a, b]).checks)
    for words in ("my_task, other", "made, table", "0.4.3: 1 model, as a", "0.4.9", "numbers of examples"):
        assert words in messages
    assert "task versions" not in messages
    assert "chat templates" not in messages


def test_a_chat_template_for_some_models_only_and_other_backends_are_named() -> None:
    meta = {"lm_eval_version": "0.4.9"}
    a = make("a", {"acc": [1, 0]}, meta=meta | {"chat_template_sha": "f00d", "model": "vllm"})
    b = make("b", {"acc": [0, 0]}, meta=meta | {"model": "hf"})
    unknown = make("c", {"acc": [0, 1]})
    messages = [check.message for check in build_matrix(TASK, [a, b, unknown]).checks]
    assert any("different chat templates (f00d: 1 model, as a; none: 1 model, as b)" in m for m in messages)
    (backends,) = (m for m in messages if "backends" in m)
    assert "begin-of-text" in backends
    assert "begin-of-text" not in " ".join(
        check.message
        for check in build_matrix(TASK, [make("a", {"acc": [1, 0]}, meta=meta | {"model": "x"}), b]).checks
    )


def test_items_judged_a_different_number_of_times_are_named() -> None:
    a, b = make("a", {"acc": [1, 0]}), make("b", {"acc": [0, 0]})
    b.trials["acc"][1] = 3
    assert kinds(build_matrix(TASK, [a, b]))["trials_differ"].examples == ("1",)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), models=st.integers(1, 4), items=st.integers(1, 30))
def test_the_matrix_scores_as_its_logs_do(seed: int, models: int, items: int) -> None:
    rng = np.random.default_rng(seed)
    logs = []
    for k in range(models):
        order = rng.permutation(items)
        logs.append(make(f"m{k}", {"acc": rng.integers(0, 2, items).tolist()}, keys=[str(i) for i in order]))
    matrix = build_matrix(TASK, logs)
    assert matrix.keys == tuple(str(i) for i in range(items))
    assert matrix.scores()[:, 0].tolist() == pytest.approx([log.score("acc") for log in logs])
