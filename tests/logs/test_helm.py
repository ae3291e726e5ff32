from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.logs import Check, PerItemLog, build_matrix, detect, read
from mince_gui.logs.helm.files import load_spec
from mince_gui.logs.helm.states import instances
from mince_gui.logs.types import Found

SUITE = Path(__file__).parent / "data" / "helm" / "runs" / "v1"
TRIALS = "sums+subject=trials,model=simple_model1"
PERTURBED = "sums+subject=perturbed,model=simple_model1"
STATS, SPEC, STATES = "per_instance_stats.json", "run_spec.json", "scenario_state.json"


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one run's folder, to be changed."""

    def copied(name: str) -> Path:
        return Path(shutil.copytree(SUITE / name, tmp_path / "runs" / "v1" / name))

    return copied


def found(folder: Path) -> Found:
    (one,) = detect([folder]).found
    return one


def check(log: PerItemLog, kind: str) -> Check | None:
    return next((c for c in log.checks if c.kind == kind), None)


def changed(path: Path, change: Callable[[Any], None], indent: int | None = None) -> None:
    body = json.loads(path.read_text(encoding="utf-8"))
    change(body)
    path.write_text(json.dumps(body, indent=indent), encoding="utf-8")


def test_a_suite_is_sorted_into_runs() -> None:
    detection = detect([SUITE])
    assert not detection.skipped
    assert {(one.task, len(one.files)) for one in detection.found} == {
        ("mmlu:method=multiple_choice_joint", 2),
        ("sums:subject=perturbed", 1),
        ("sums:subject=trials", 1),
    }
    for one in detection.found:
        assert one.format == "HELM"
        assert one.model == "simple/model1"
        assert one.timestamp.startswith("2026-11-30T")
        assert "suite v1" in one.why


def test_train_trials_are_trials_of_their_instance_and_the_mean_is_that_of_helm() -> None:
    log = read(found(SUITE / TRIALS))
    assert log.benchmark.name == "helm-sums-subject-trials"
    assert log.keys == ("id2", "id3", "id4", "id5")
    assert log.passed["exact_match"].tolist() == [2, 0, 2, 2]
    assert log.trials["exact_match"].tolist() == [2] * 4
    for metric in log.metrics:
        assert log.score(metric) == pytest.approx(100 * log.meta["reported"][metric])
    assert check(log, "results_disagree") is None
    assert all(log.hashes)


def test_a_mean_that_the_rows_do_not_give_is_said(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)

    def lie(stats: list[Any]) -> None:
        for stat in stats:
            if stat["name"] == {"name": "exact_match", "split": "test"}:
                stat["mean"] = 0.5

    changed(folder / "stats.json", lie)
    disagree = check(read(found(folder)), "results_disagree")
    assert disagree is not None
    assert "exact_match" in disagree.message


def test_costs_and_lengths_are_no_metrics() -> None:
    assert read(found(SUITE / TRIALS)).metrics == (
        "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match",
    )  # fmt: skip


def test_another_split_and_perturbed_instances_are_left_out_and_said() -> None:
    log = read(found(SUITE / PERTURBED))
    assert log.keys == ("id2", "id3", "id4")
    perturbed, split = check(log, "perturbed"), check(log, "other_split")
    assert perturbed is not None
    assert perturbed.count == 8
    assert split is not None
    assert split.count == 1


def test_a_statistic_that_comes_twice_with_the_same_value_counts_once_and_is_said() -> None:
    duplicates = check(read(found(SUITE / PERTURBED)), "duplicates")
    assert duplicates is not None
    assert duplicates.severity == "info"
    assert "same value" in duplicates.message


def test_two_values_of_one_statistic_are_a_contradiction(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)

    def contradict(rows: list[Any]) -> None:
        for stat in rows[-1]["stats"]:
            if stat["name"]["name"] == "prefix_exact_match":
                stat["mean"] = 1 - stat["mean"]

    changed(folder / STATS, contradict, indent=1)
    with pytest.raises(InputError, match=r"line \d+: instance id5 comes a second time with another prefix_exact_match"):
        read(found(folder))


def test_the_subjects_of_mmlu_are_one_run_with_a_category_each() -> None:
    one = next(one for one in detect([SUITE]).found if one.task.startswith("mmlu"))
    log = read(one)
    assert log.keys == ("anatomy/id2", "anatomy/id3", "virology/id2")
    assert log.categories == ("anatomy", "anatomy", "virology")


def test_as_many_instances_as_were_allowed_are_a_sample_that_is_not_sized_as_whole(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)
    changed(folder / SPEC, lambda body: body["adapter_spec"].update(max_eval_instances=4))
    log = read(found(folder))
    partial = check(log, "partial")
    assert partial is not None
    assert (partial.severity, check(log, "sampled")) == ("refusal", None)
    assert "4 instances are as many as the run was allowed to take" in partial.message
    with pytest.raises(InputError, match="max_eval_instances"):
        build_matrix(log.benchmark, [log])


def test_without_the_requests_the_statistics_count_alone(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)
    (folder / STATES).unlink()
    log = read(found(folder))
    assert log.keys == ("id2", "id3", "id4", "id5")
    assert set(log.hashes) == {None}
    assert log.timestamp == ""


def test_without_its_specification_a_run_is_named_by_its_folder(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)
    (folder / SPEC).unlink()
    folder = folder.rename(folder.with_name("gsm,model=lab_other"))
    spec = load_spec(folder)
    assert (spec.name, spec.model, spec.task) == ("gsm", "lab_other", "gsm")
    assert found(folder).model == "lab_other"


def test_a_run_without_statistics_says_so(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)
    (folder / STATS).unlink()
    assert STATS in dict(detect([folder]).skipped)[folder / SPEC]


def test_what_is_only_named_as_helm_names_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / STATS).write_text('{"a": 1}')
    assert "no list of instances" in dict(detect([tmp_path]).skipped)[tmp_path / STATS]


def test_a_cut_file_is_named_with_its_line_and_with_salvage_the_rows_before_it_count(
    run: Callable[[str], Path],
) -> None:
    folder = run(TRIALS)
    changed(folder / STATS, lambda rows: None, indent=1)
    text = (folder / STATS).read_text(encoding="utf-8")
    (folder / STATS).write_text(text[: text.index('"id4"') + 50], encoding="utf-8")
    one = found(folder)
    with pytest.raises(InputError, match=rf"{STATS}, line \d+"):
        read(one)
    log = read(one, salvage=True)
    assert log.keys == ("id2", "id3")
    assert check(log, "salvaged") is not None
    partial = check(log, "partial")
    assert partial is not None, "how many there were in all is not known"
    assert partial.severity == "refusal"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"adapter_spec": {}}', "there is no request in it"),
        ('{"request_states": [{"instance": {"id": "id2", "input": {"text": "a"}}}', "cut off"),
        ('{"request_states": [1]}', "request 1: 1 is no request"),
        ('{"request_states": [{"instance": 3}]}', "request 1: instance is 3"),
        ('{"request_states": [{"instance": {"id": 3}}]}', "request 1: the instance has no id or no text"),
        (
            '{"request_states": [{"instance": {"id": "id2", "input": {"text": "a"}}} {}]}',
            "in entry 1 of request_states",
        ),
    ],
)
def test_broken_requests_are_named(run: Callable[[str], Path], body: str, said: str) -> None:
    folder = run(TRIALS)
    (folder / STATES).write_text(body, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(found(folder))
    assert said in caught.value.message
    assert check(read(found(folder), salvage=True), "salvaged") is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instance_id": None}, "instance_id is None"),
        ({"train_trial_index": "a"}, "train_trial_index is 'a'"),
        ({"stats": {}}, "stats is {}"),
        ({"stats": [{"name": "em"}]}, "which names no metric"),
        ({"stats": [{"name": {"name": "em", "split": "test"}, "mean": "x"}]}, "em is 'x', not a number"),
    ],
)
def test_broken_rows_are_named(run: Callable[[str], Path], change: dict[str, Any], said: str) -> None:
    folder = run(TRIALS)
    changed(folder / STATS, lambda rows: rows[1].update(change))
    (folder / STATS).write_text((folder / STATS).read_text().replace("[{", '[{"instance_id": "a", "stats": []}, {', 1))
    with pytest.raises(InputError) as caught:
        read(found(folder))
    assert said in caught.value.message
    assert str(folder / STATS) in caught.value.message


def test_a_value_outside_0_to_1_leaves_its_metric_out_and_none_is_missing(run: Callable[[str], Path]) -> None:
    folder = run(TRIALS)

    def add(rows: list[Any]) -> None:
        for i, row in enumerate(rows[:10]):
            for stat in row["stats"]:
                if stat["name"]["name"] == "exact_match" and i == 1:
                    del stat["mean"]
                if stat["name"]["name"] == "quasi_exact_match":
                    stat["mean"] = 7

    changed(folder / STATS, add)
    log = read(found(folder))
    assert "quasi_exact_match" not in log.metrics
    assert check(log, "metric_left_out") is not None
    assert np.isnan(log.passed["exact_match"]).tolist() == [True, False, False, False]


def test_reading_stops_when_asked() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read(found(SUITE / TRIALS), cancel=cancel)


def test_requests_larger_than_a_piece_are_read_whole(tmp_path: Path) -> None:
    texts = ["x" * size for size in (10, 1 << 19, 1 << 21)]
    states = [{"instance": {"id": f"id{i}", "input": {"text": text}}} for i, text in enumerate(texts)]
    (tmp_path / STATES).write_text(json.dumps({"request_states": states}))
    assert [instance.text for instance in instances(tmp_path / STATES)] == texts


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_runs_are_read_or_refused_and_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / "runs" / "v1" / TRIALS
    if not folder.exists():
        shutil.copytree(SUITE / TRIALS, folder)
    name = data.draw(st.sampled_from([STATS, SPEC, STATES]))
    original = (SUITE / TRIALS / name).read_bytes()
    body = bytearray(original)
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b"null", b'"', b"{", b"]", b"1e999", b"\xff", b"NaN", b'"\\ud800"'])
        )
    (folder / name).write_bytes(body)
    try:
        for one in detect([folder]).found:
            for salvage in (False, True):
                with contextlib.suppress(InputError):
                    read(one, salvage=salvage)
    finally:
        (folder / name).write_bytes(original)


@pytest.mark.shared
def test_the_items_of_gsm8k_are_told_by_their_questions(shared: Path, run: Callable[[str], Path]) -> None:
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines[:6]]
    folder = run(TRIALS)

    def fill(body: Any) -> None:
        for state in body["request_states"]:
            state["instance"]["input"]["text"] = docs[int(state["instance"]["id"].removeprefix("id"))]["question"]

    changed(folder / STATES, fill)
    changed(folder / SPEC, lambda body: body.update(name="gsm:model=simple_model1"))
    one = found(folder)
    assert one.benchmark.name == "gsm8k"
    log = read(one)
    assert log.benchmark.name == "gsm8k"
    assert log.keys == ("2", "3", "4", "5")
    assert log.passed["exact_match"].tolist() == [2, 0, 2, 2]
    partial = check(log, "partial")
    assert partial is not None
    assert "4 of 1319" in partial.message


@pytest.mark.shared
def test_the_items_of_ifeval_carry_their_content(shared: Path, run: Callable[[str], Path]) -> None:
    lines = (shared / "data" / "ifeval" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines[:6]]
    folder = run(TRIALS)

    def fill(body: Any) -> None:
        for state in body["request_states"]:
            doc = docs[int(state["instance"]["id"].removeprefix("id"))]
            state["instance"]["input"]["text"] = doc["prompt"]
            state["instance"]["extra_data"] = {
                "instruction_ids": doc["instruction_id_list"],
                "instruction_kwargs": doc["kwargs"],
            }

    changed(folder / STATES, fill)
    changed(folder / SPEC, lambda body: body.update(name="ifeval:model=simple_model1"))
    log = read(found(folder))
    assert log.benchmark.name == "ifeval"
    assert set(log.hashes) == {content_hash(BENCHMARKS["ifeval"], doc) for doc in docs[2:]}
