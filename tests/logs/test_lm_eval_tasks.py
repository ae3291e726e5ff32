"""Any lm-eval task: groups, metrics that can be sized and those that cannot, repeats, salvage."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.base.errors import InputError
from mince_gui.logs import Check, PerItemLog, build_matrix, detect, read

Row = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def read_only(folder: Path, *, salvage: bool = False) -> PerItemLog:
    (found,) = detect([folder]).found
    return read(found, salvage=salvage)


def check(log: PerItemLog, kind: str) -> Check | None:
    return next((c for c in log.checks if c.kind == kind), None)


def row(doc_id: int, **metrics: Any) -> dict[str, Any]:
    return {"doc_id": doc_id, "doc": {"q": f"item {doc_id}"}, "filter": "none", "metrics": list(metrics), **metrics}


def bbh(names: list[str], *, scored: bool = True, **more: Any) -> dict[str, Any]:
    """What a results file says of a group of tasks."""
    of_group = {"alias": "bbh", "acc_norm,none": 0.5, "acc_norm_stderr,none": 0.1} if scored else {"alias": "bbh"}
    return {
        "results": {"bbh": of_group, **{name: {"acc_norm,none": 0.5} for name in names}},
        "groups": {"bbh": of_group},
        "group_subtasks": {"everything": ["bbh", "ifeval"], "bbh": names, **{name: [] for name in names}},
        "n-samples": {name: {"original": 3, "effective": 3} for name in names},
        **more,
    }


def test_the_tasks_of_a_scored_group_are_one_benchmark(tmp_path: Path, write_run: Write, ifeval_row: Row) -> None:
    names = ["bbh_navigate", "bbh_snarks"]
    for name in names:
        write_run(tmp_path, name, [row(i, acc_norm=float(i == 1)) for i in range(3)], results=bbh(names))
    write_run(tmp_path, "ifeval", [ifeval_row(0, 1000, [True], [True])], results=bbh(names))
    group, ifeval = sorted(detect([tmp_path]).found, key=lambda found: found.benchmark.name)
    assert (group.benchmark.name, group.task, len(group.files)) == ("bbh", "bbh", 2)
    assert (ifeval.benchmark.name, len(ifeval.files)) == ("ifeval", 1)
    log = read(group)
    assert log.keys == tuple(f"{name}/{i}" for name in names for i in range(3))
    assert log.categories == ("bbh_navigate",) * 3 + ("bbh_snarks",) * 3
    assert log.passed["acc_norm"].tolist() == [0, 1, 0] * 2
    assert check(log, "partial") is None
    assert build_matrix(log.benchmark, [log]).total_items == 6


def test_a_group_of_which_a_task_left_no_file_is_partial(tmp_path: Path, write_run: Write) -> None:
    names = ["bbh_navigate", "bbh_snarks"]
    write_run(tmp_path, names[0], [row(i, acc_norm=float(i == 1)) for i in range(3)], results=bbh(names))
    found = check(read_only(tmp_path), "partial")
    assert found is not None
    assert (found.severity, found.count) == ("refusal", 3)


def test_the_tasks_of_a_group_without_a_score_stand_alone(tmp_path: Path, write_run: Write) -> None:
    names = ["bbh_navigate", "bbh_snarks"]
    for name in names:
        write_run(tmp_path, name, [row(0, acc_norm=1.0)], results=bbh(names, scored=False))
    assert [found.benchmark.name for found in detect([tmp_path]).found] == names


def test_groups_that_hold_each_other_do_no_harm(tmp_path: Path, write_run: Write) -> None:
    results = {"groups": {"a": {"acc,none": 1.0}, "b": {"acc,none": 1.0}}, "group_subtasks": {"a": ["b"], "b": ["a"]}}
    write_run(tmp_path, "c", [row(0, acc=1.0)], results=results)
    assert [found.benchmark.name for found in detect([tmp_path]).found] == ["c"]


@pytest.mark.parametrize(
    "values",
    [[12.5, 0.0, 99.0], [-3.0, 0.5, 0.5], [0.5, [-12.5, 40], 0.2], [["gold", "text"]] * 3, [{"a": 1}, 1.0, 1.0]],
)
def test_a_metric_that_is_no_share_of_1_is_left_out_with_its_count(
    tmp_path: Path, write_run: Write, values: list[Any]
) -> None:
    write_run(tmp_path, "my_task", [row(i, acc=float(i == 0), other=value) for i, value in enumerate(values)])
    log = read_only(tmp_path)
    assert log.metrics == ("acc",)
    assert log.passed["acc"].tolist() == [1, 0, 0]
    found = check(log, "metric_left_out")
    assert found is not None
    assert found.severity == "warning"
    assert found.count == sum(not isinstance(v, float) or not 0 <= v <= 1 for v in values)
    assert found.message.startswith("other is left out")


@pytest.mark.parametrize("name", ["f1", "mcc", "bleu", "word_perplexity"])
def test_a_pair_of_gold_and_prediction_is_no_ratio(tmp_path: Path, write_run: Write, name: str) -> None:
    write_run(tmp_path, "my_task", [row(i, acc=1.0, **{name: [1, 0]}) for i in range(3)])
    log = read_only(tmp_path)
    assert log.metrics == ("acc",)
    assert check(log, "metric_left_out") is not None


def test_a_log_of_nothing_but_such_metrics_is_refused_at_the_first_place(tmp_path: Path, write_run: Write) -> None:
    path = write_run(tmp_path, "wikitext", [row(i, word_perplexity=[-100.5 * i, 40]) for i in range(3)])
    with pytest.raises(InputError, match=r"line 1: word_perplexity is \[-0\.0, 40\]") as caught:
        read_only(tmp_path)
    assert str(path) in caught.value.message
    assert "None of the log's metrics" in caught.value.remedy


def test_a_value_that_is_no_share_in_a_benchmarks_own_metric_is_refused(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0), gsm8k_row(1, 2.0)])
    with pytest.raises(InputError, match=r"line 2: exact_match is 2\.0, outside 0 to 1"):
        read_only(tmp_path)


def test_ratios_and_real_values_are_sized_as_they_are(tmp_path: Path, write_run: Write) -> None:
    rows = [row(0, r=[1, 0, 1], s=0.25), row(1, r=[True], s=1), row(2, r=[0.5, 0.25], s=False)]
    write_run(tmp_path, "my_task", rows)
    log = read_only(tmp_path)
    assert log.passed["r"].tolist() == [2, 1, 0.75]
    assert log.trials["r"].tolist() == [3, 1, 2]
    assert log.passed["s"].tolist() == [0.25, 1, 0]


def test_repeats_are_one_score_per_row(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    rows = [gsm8k_row(i, i % 2) | {"resps": [["a", "b", "c"]], "filtered_resps": ["a"]} for i in range(4)]
    rows[-1]["resps"].append(["padding of a rank"])
    write_run(tmp_path, "gsm8k", rows)
    assert read_only(tmp_path).trials["exact_match,flexible-extract"].tolist() == [1] * 4


def test_rows_of_several_gpus_come_strided_and_leave_in_order(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    filters = ("strict-match", "flexible-extract")
    rows = [gsm8k_row(i, i % 3 == 0, f) for rank in range(3) for f in filters for i in range(rank, 10, 3)]
    write_run(tmp_path, "gsm8k", rows)
    log = read_only(tmp_path)
    assert log.keys == tuple(map(str, range(10)))
    for metric in log.metrics:
        assert log.passed[metric].tolist() == [float(i % 3 == 0) for i in range(10)]


def test_whole_numbers_beyond_64_bits_keep_every_digit_in_the_hash(tmp_path: Path, write_run: Write) -> None:
    def hash_of(number: int) -> str | None:
        path = write_run(tmp_path, "my_task", [])
        path.write_text(json.dumps(row(0, acc=1.0) | {"doc": {"q": number}}) + "\n", encoding="utf-8")
        return read_only(tmp_path).hashes[0]

    assert hash_of(2**64 + 1) != hash_of(2**64)


def test_a_cut_log_is_imported_as_far_as_it_is_whole_if_asked(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(i, i % 2) for i in range(9)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError) as caught:
        read_only(tmp_path)
    assert "--salvage" in caught.value.remedy
    log = read_only(tmp_path, salvage=True)
    assert len(log.keys) == 8
    salvaged, partial = check(log, "salvaged"), check(log, "partial")
    assert salvaged is not None
    assert partial is not None
    assert f"{path}, line 9" in salvaged.message
    assert (salvaged.severity, partial.severity) == ("warning", "refusal")


def test_a_cut_log_of_unknown_length_is_partial_too(tmp_path: Path, write_run: Write) -> None:
    path = write_run(tmp_path, "my_task", [row(i, acc=float(i % 2)) for i in range(9)], model=None)
    path.write_bytes(path.read_bytes() + b'{"doc_id":')
    found = check(read_only(tmp_path, salvage=True), "partial")
    assert found is not None
    assert found.severity == "refusal"


def test_of_several_broken_files_each_gives_what_is_whole(tmp_path: Path, write_run: Write) -> None:
    for subject in ("anatomy", "virology"):
        doc = {"question": "q", "choices": ["a", "b", "c", "d"], "answer": 1}
        rows = [row(i, acc=1.0) | {"doc": doc | {"question": f"{subject} {i}"}} for i in range(5)]
        path = write_run(tmp_path, f"mmlu_{subject}", rows)
        path.write_bytes(path.read_bytes()[:-9])
    log = read_only(tmp_path, salvage=True)
    assert log.keys == tuple(f"{s}/{i}" for s in ("anatomy", "virology") for i in range(4))
    found = check(log, "salvaged")
    assert found is not None
    assert found.count == 2
    assert "1 file more" in found.message


def test_nothing_whole_is_refused_even_if_asked(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="line 1: the last row is cut off"):
        read_only(tmp_path, salvage=True)


def test_the_encoding_that_the_user_names_reaches_the_rows(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0) | {"resps": [["caf\u00e9"]]}])
    path.write_bytes(path.read_bytes().decode("utf-8").encode("cp1252"))
    (found,) = detect([tmp_path]).found
    with pytest.raises(InputError, match="line 1: not UTF-8 text"):
        read(found)
    log = read(dataclasses.replace(found, encoding="cp1252"))
    assert np.array_equal(log.passed["exact_match,flexible-extract"], [1.0])


def test_a_gzipped_results_file_names_the_model_too(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)], model="lab/model")
    results = next(tmp_path.glob("results*"))
    results.with_name(results.name + ".gz").write_bytes(gzip.compress(results.read_bytes()))
    results.unlink()
    assert [found.model for found in detect([path]).found] == ["lab/model"]
