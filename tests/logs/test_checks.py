"""Checks on one log, from arrays as a reader makes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.benchmarks import BENCHMARKS, Benchmark, keys_of, of_task
from mince_gui.logs import Check, PerItemLog, build_matrix, detect, read
from mince_gui.logs.checks import Observed, checks_of, metric_faults
from mince_gui.logs.collect import NAN, Collector

TASK = of_task("my_task")
GSM8K, MMLU, IFEVAL = BENCHMARKS["gsm8k"], BENCHMARKS["mmlu"], BENCHMARKS["ifeval"]
STRICT, FLEXIBLE = "exact_match,strict-match", "exact_match,flexible-extract"
Outcomes = Mapping[str, tuple[float, float]]


def log_of(
    rows: Sequence[tuple[str, Outcomes]], benchmark: Benchmark = TASK, limit: float | None = None, **meta: Any
) -> PerItemLog:
    collector, observed = Collector(benchmark), Observed()
    for key, outcomes in rows:
        listed = [(metric, passed, trials) for metric, (passed, trials) in outcomes.items()]
        collector.add(key, "none", listed, None, None)
        observed.row(key, listed, "content", "not stored")
    keys, categories, hashes, passed, trials = collector.arrays()
    log = PerItemLog("m", benchmark, "task", keys, categories, hashes, passed, trials, "made", "here", "", meta=meta)
    return checks_of(log, collector, observed, limit)


def checks(log: PerItemLog) -> dict[str, Check]:
    return {check.kind: check for check in log.checks}


def plain(
    keys: Sequence[str], metric: str = "acc", right: Callable[[int], float] = lambda i: float(i % 2)
) -> list[Any]:
    return [(key, {metric: (right(i), 1.0)}) for i, key in enumerate(keys)]


def all_keys(benchmark: Benchmark) -> tuple[str, ...]:
    keys = keys_of(benchmark)
    assert keys is not None
    return keys


@pytest.mark.parametrize("of", [GSM8K, MMLU, IFEVAL], ids=["gsm8k", "mmlu", "ifeval"])
def test_a_whole_log_has_nothing_to_say(of: Benchmark) -> None:
    assert log_of(plain(all_keys(of)), of).checks == ()


def test_what_is_lacking_is_counted_and_named() -> None:
    keys = [key for key in all_keys(MMLU) if not key.startswith("virology/")]
    check = checks(log_of(plain(keys), MMLU))["partial"]
    assert (check.severity, check.count) == ("refusal", 166)
    assert check.examples[:2] == ("virology/0", "virology/1")
    assert check.message == "13876 of 14042 items."


@pytest.mark.parametrize(
    ("keys", "limit", "meta", "words"),
    [
        (range(50), 50.0, {}, "a limit of 50"),
        (range(50), None, {"samples": {"gsm8k": [1]}}, "chosen items (--samples)"),
        (range(50), None, {}, "They are the first ones"),
        (range(1, 51), None, {}, "50 of 1319 items."),
    ],
)
def test_a_partial_log_says_why_as_far_as_it_can(
    keys: Sequence[int], limit: float | None, meta: dict[str, Any], words: str
) -> None:
    log = log_of(plain([str(key) for key in keys], FLEXIBLE), GSM8K, limit, **meta)
    assert words in checks(log)["partial"].message


def test_items_that_the_benchmark_does_not_have_are_refused_with_their_number() -> None:
    keys = [*all_keys(IFEVAL)[1:], "999"]
    found = checks(log_of(plain(keys, "prompt_level_strict_acc"), IFEVAL))
    assert (found["unknown_items"].severity, found["unknown_items"].examples) == ("refusal", ("999",))
    assert (found["partial"].count, found["partial"].examples) == (1, ("1000",))


def test_more_items_than_the_run_was_meant_to_have_are_refused() -> None:
    found = checks(log_of(plain(["0", "1", "2"]), TASK, items_meant=2))
    assert found["unknown_items"].examples == ("2",)


def test_a_salvaged_log_of_a_benchmark_of_unknown_size_is_not_taken_for_whole() -> None:
    salvaged = [Check("salvaged", "warning", "Only what is whole was read: line 4.")]
    cut, told = (
        checks(checks_of(log_of(plain(["0", "1", "2"]), TASK, **meta), Collector(TASK), Observed(), None, salvaged))
        for meta in ({}, {"items_meant": 3})
    )
    assert cut["partial"].severity == "refusal"
    assert cut["partial"].message == "3 items of an unknown number were whole."
    assert "partial" not in told


def test_rows_that_one_filter_lacks_are_counted_for_its_metric() -> None:
    rows = [(str(i), {STRICT: (float(i % 3 == 0), 1.0), FLEXIBLE: (float(i % 2), 1.0)}) for i in range(1_000)]
    rows += [(str(i), {STRICT: (1.0, 1.0)}) for i in range(1_000, 1_319)]
    log = log_of(rows, GSM8K)
    assert [check.kind for check in log.checks] == ["missing_values"]
    check = checks(log)["missing_values"]
    assert (check.severity, check.count, check.examples[0]) == ("refusal", 319, "1000")
    assert check.message == f"319 items have no {FLEXIBLE}, 1,000 of 1,319 have it."
    assert build_matrix(GSM8K, [log]).metrics == (STRICT,)


def test_values_that_rows_lack_are_counted_once() -> None:
    rows = [(str(i), {STRICT: (NAN, NAN) if i < 3 else (float(i % 2), 1.0)}) for i in range(1_319)]
    found = [check for check in log_of(rows, GSM8K).checks if check.kind == "missing_values"]
    assert [(check.severity, check.count) for check in found] == [("warning", 3)]


def test_rows_in_another_order_are_put_in_order_and_said_so() -> None:
    log = log_of(plain(["2", "0", "1"]))
    assert log.keys == ("0", "1", "2")
    assert checks(log)["order"].severity == "info"


@pytest.mark.parametrize(("right", "words"), [(1.0, "every item is right"), (0.0, "every item is wrong")])
def test_a_constant_log_is_refused_once_it_cannot_be_chance(right: float, words: str) -> None:
    many = checks(log_of(plain([str(i) for i in range(100)], right=lambda _: right)))["constant_column"]
    few = checks(log_of(plain([str(i) for i in range(99)], right=lambda _: right)))["constant_column"]
    assert (many.severity, few.severity) == ("refusal", "warning")
    assert words in many.message


def test_one_metric_that_is_never_met_is_a_warning_and_the_gap_too() -> None:
    rows = [(str(i), {STRICT: (0.0, 1.0), FLEXIBLE: (float(i % 2), 1.0)}) for i in range(1_319)]
    log = log_of(rows, GSM8K)
    found = checks(log)
    assert found["constant_column"].severity == "warning"
    assert found["constant_column"].message.startswith(STRICT)
    assert "strict-match gives 0.00 %, flexible-extract 49.96 %" in found["filter_gap"].message
    assert metric_faults(log) == {}


def test_loose_below_strict_is_seen_in_counts_too() -> None:
    names = ("inst_level_strict_acc", "inst_level_loose_acc", "prompt_level_strict_acc", "prompt_level_loose_acc")
    rows = [
        ("1000", dict(zip(names, ((2.0, 3.0), (1.0, 3.0), (0.0, 1.0), (0.0, 1.0)), strict=True))),
        ("1001", dict(zip(names, ((1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (0.0, 1.0)), strict=True))),
        ("1005", dict(zip(names, ((1.0, 2.0), (2.0, 2.0), (0.0, 1.0), (1.0, 1.0)), strict=True))),
        ("1012", dict(zip(names, ((1.0, 2.0), (NAN, NAN), (0.0, 1.0), (NAN, NAN)), strict=True))),
    ]
    check = checks(log_of(rows, IFEVAL))["loose_below_strict"]
    assert (check.count, set(check.examples)) == (2, {"1000", "1001"})


def test_files_of_one_run_with_different_setups_are_named() -> None:
    log = log_of(plain(["0", "1"]), TASK, task_version=[0.0, 1.0], n_shot=5)
    assert checks(log)["mixed_setup"].message == "The files of this run have different task versions: 0.0, 1.0."


def test_many_empty_responses_are_a_warning_and_few_a_note() -> None:
    def empties(count: int) -> Check:
        collector, observed = Collector(TASK), Observed()
        for i in range(100):
            outcomes = [("acc", float(i % 2), 1.0)]
            collector.add(str(i), "none", outcomes, None, None)
            observed.row(str(i), outcomes, "c", "empty" if i < count else "given")
        keys, categories, hashes, passed, trials = collector.arrays()
        log = PerItemLog("m", TASK, "t", keys, categories, hashes, passed, trials, "made", "here", "")
        return checks(checks_of(log, collector, observed, None))["empty_responses"]

    assert (empties(5).severity, empties(6).severity) == ("info", "warning")


@settings(max_examples=30, deadline=None)
@given(answers=st.dictionaries(st.text(max_size=5), st.text(max_size=10), min_size=1, max_size=8), seed=st.randoms())
def test_equal_answers_have_one_digest_in_any_order_and_others_another(answers: dict[str, str], seed: Any) -> None:
    def digest(rows: Sequence[tuple[str, str]]) -> str | None:
        observed = Observed()
        for key, text in rows:
            observed.answer(key, text)
        return observed.answers_digest

    rows = list(answers.items())
    shuffled = rows.copy()
    seed.shuffle(shuffled)
    assert digest(rows) == digest(shuffled)
    assert digest([(rows[0][0], rows[0][1] + "x"), *rows[1:]]) != digest(rows)
    assert Observed().answers_digest is None


@pytest.mark.shared
def test_rows_under_wrong_keys_are_refused(shared: Path, tmp_path: Path) -> None:
    docs = [json.loads(line) for line in (shared / "data" / "gsm8k" / "test.jsonl").read_bytes().splitlines()]
    order = [5, 3, 8, *range(9, 40)]
    # as lm-eval does with an unsorted --samples list: positions of the list, docs in the data set's order
    rows = [
        {"doc_id": given, "doc": docs[place], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}
        for given, place in zip(order, sorted(order), strict=True)
    ]
    path = tmp_path / "samples_gsm8k_2026-01-02T03-04-05.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log = read(detect([tmp_path]).found[0])
    check = checks(log)["mislabelled_items"]
    assert (check.severity, check.count, check.examples) == ("refusal", 2, ("3", "5"))


@pytest.mark.shared
def test_another_revision_of_the_data_is_named(shared: Path, tmp_path: Path) -> None:
    docs = [json.loads(line) for line in (shared / "data" / "gsm8k" / "test.jsonl").read_bytes().splitlines()]
    for i in range(6):
        docs[i]["question"] += " Think."
    rows = [
        {"doc_id": i, "doc": doc, "filter": "none", "metrics": ["exact_match"], "exact_match": float(i % 2)}
        for i, doc in enumerate(docs)
    ]
    path = tmp_path / "samples_gsm8k_2026-01-02T03-04-05.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log = read(detect([tmp_path]).found[0])
    check = checks(log)["other_content"]
    assert (check.severity, check.count, check.examples) == ("warning", 6, ("0", "1", "2", "3", "4"))
    # sizing goes on: only against the other logs can it be told whose revision is the odd one
    assert build_matrix(GSM8K, [log]).models == (log.model,)


@pytest.mark.shared
def test_an_all_right_mmlu_log_is_kept_out_of_sizing_with_the_reason(shared: Path) -> None:
    found = [
        f
        for f in detect([shared / "data" / "logs" / "lm_eval" / "gpt-4-1106-preview"]).found
        if f.benchmark.name == "mmlu"
    ]
    log = read(found[0])
    log.passed["acc"][:] = 1.0
    honest = read(found[0])
    broken = PerItemLog(**(vars(log) | {"model": "broken"}))
    matrix = build_matrix(MMLU, [honest, broken])
    assert matrix.models == (honest.model,)
    (check,) = (check for check in matrix.checks if check.kind == "constant_column")
    assert (check.severity, check.count) == ("refusal", 14_042)
    assert check.message.startswith("broken (")
    assert "no model manages" in check.message
