from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.logs import Check, PerItemLog, detect, read
from mince_gui.logs.lighteval import reader
from mince_gui.logs.lighteval.files import details_file
from mince_gui.logs.types import Found

DATA = Path(__file__).parent / "data" / "lighteval"
STAMP = "2026-01-02T03-04-05.678901"
Row = dict[str, Any]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lighteval's file names cannot exist on Windows")


@pytest.fixture
def output(tmp_path: Path) -> Callable[[str], Path]:
    """A folder as lighteval wrote it, with the names it gives its files."""

    def copied(layout: str) -> Path:
        for path in (DATA / layout).rglob("*"):
            if path.is_file():
                target = tmp_path / str(path.relative_to(DATA)).replace("+", "|").replace("=", ":")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        return tmp_path / layout

    return copied


def runs(folder: Path) -> dict[str, Found]:
    return {found.task: found for found in detect([folder]).found}


def check(log: PerItemLog, kind: str) -> Check | None:
    return next((c for c in log.checks if c.kind == kind), None)


def a_row(i: int, value: Any, *, query: str | None = None, item_id: str | None = None, **more: Any) -> Row:
    return {
        "doc": {"query": query or f"Question: What is {i}?\nAnswer:", "choices": [str(i)], "gold_index": 0,
                "id": str(i) if item_id is None else item_id, **more},
        "metric": value if isinstance(value, dict) else {"em": value},
        "model_response": {"text": [str(i)]},
    }  # fmt: skip


def written(folder: Path, rows: Sequence[Row], task: str = "odd|0", group: int = 1000) -> Path:
    target = folder / "details" / "lab" / "model" / STAMP / f"details_{task}_{STAMP}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), target, row_group_size=group, compression="none")
    return target


def only(path: Path, **how: Any) -> PerItemLog:
    (found,) = detect([path]).found
    return read(found, **how)


@pytest.mark.parametrize("layout", ["new", "structs"])
def test_a_run_is_found_with_model_tasks_and_time(output: Callable[[str], Path], layout: str) -> None:
    detection = detect([output(layout)])
    assert not detection.skipped
    assert {(found.task, len(found.files)) for found in detection.found} == {("gsm8k", 1), ("ifeval", 1), ("mmlu", 2)}
    for found in detection.found:
        assert found.format == "lighteval details"
        assert found.model == "lab/small-model"
        assert found.timestamp.startswith("2026-11-30T01-38-")
        assert found.results_file is not None
        assert found.results_file.name in found.why
        assert found.benchmark.name == f"lighteval-{found.task}"
        assert "row 1 is none of" in found.why


@pytest.mark.parametrize("layout", ["new", "structs"])
def test_values_are_those_of_the_rows_and_their_mean_that_of_the_results(
    output: Callable[[str], Path], layout: str
) -> None:
    log = read(runs(output(layout))["gsm8k"])
    assert log.keys == ("0", "1", "2", "3", "4")
    assert log.metrics == ("extractive_match",)
    assert log.passed["extractive_match"].tolist() == [1, 0, 1, 0, 1]
    assert log.meta["reported"] == {"extractive_match": 0.6}
    assert log.meta["n_shot"] == 0
    assert check(log, "results_disagree") is None
    left_out, empty = check(log, "metric_left_out"), check(log, "empty_responses")
    assert left_out is not None
    assert "length" in left_out.message
    assert empty is not None
    assert empty.examples == ("3",)


def test_both_layouts_tell_the_same_items(output: Callable[[str], Path]) -> None:
    new, old = runs(output("new")), runs(output("structs"))
    for task in ("gsm8k", "ifeval"):
        one, other = read(new[task]), read(old[task])
        assert one.keys == other.keys
        assert one.hashes == other.hashes
        assert all(one.hashes)


@pytest.mark.parametrize("layout", ["new", "structs"])
def test_lists_of_verdicts_are_ratios(output: Callable[[str], Path], layout: str) -> None:
    log = read(runs(output(layout))["ifeval"])
    assert set(log.metrics) == {metric.name for metric in BENCHMARKS["ifeval"].metrics}
    assert log.passed["inst_level_strict_acc"].tolist() == [1, 1, 1, 1]
    assert log.trials["inst_level_strict_acc"].tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("layout", ["new", "structs"])
def test_the_subjects_of_mmlu_are_one_run(output: Callable[[str], Path], layout: str) -> None:
    log = read(runs(output(layout))["mmlu"])
    assert log.keys == ("anatomy/0", "anatomy/1", "anatomy/2", "virology/0", "virology/1")
    assert log.categories == ("anatomy",) * 3 + ("virology",) * 2
    assert log.passed["em"].tolist() == [1, 0, 0, 1, 0]
    assert log.meta["n_shot"] == 5


def test_the_layout_of_0_7_and_older_holds_pythons_text_of_every_value(output: Callable[[str], Path]) -> None:
    # lighteval 0.6.2 writes Dataset.from_list([{k: str(v) for k, v in asdict(detail).items()} ...]) of the same fields
    folder = output("structs")
    before = {task: read(found) for task, found in runs(folder).items()}
    for path in folder.rglob("*.parquet"):
        rows = [{name: str(value) for name, value in row.items()} for row in pq.read_table(path).to_pylist()]
        pq.write_table(pa.Table.from_pylist(rows), path)
    for task, found in runs(folder).items():
        log = read(found)
        assert log.keys == before[task].keys
        assert log.hashes == before[task].hashes
        for metric in log.metrics:
            np.testing.assert_array_equal(log.passed[metric], before[task].passed[metric])
            np.testing.assert_array_equal(log.trials[metric], before[task].trials[metric])


@pytest.mark.parametrize(
    ("text", "value"),
    [("{'em': np.float64(0.5)}", 0.5), ("{'em': nan}", None), ("{'em': -inf}", None), ("{'em': None}", None)],
)
def test_numpy_and_nan_in_pythons_text_are_understood(tmp_path: Path, text: str, value: float | None) -> None:
    row = {"example": "What?", "metrics": "{'em': 1}", "predictions": "['x']"}
    log = only(written(tmp_path, [{**row, "metrics": text}, {**row, "example": "Which?"}]))
    assert log.passed["em"].tolist()[0] == (
        pytest.approx(value) if value is not None else pytest.approx(np.nan, nan_ok=True)
    )


def test_code_in_place_of_a_value_is_refused_with_its_row(tmp_path: Path) -> None:
    row = {"example": "What?", "metrics": "{'em': 1}"}
    path = written(tmp_path, [row, {**row, "metrics": "__import__('os').abort()"}])
    with pytest.raises(InputError, match="row 2: metrics is"):
        only(path)


def test_items_are_named_by_their_id_not_by_their_shuffled_place(tmp_path: Path) -> None:
    log = only(written(tmp_path, [a_row(2, 0.0), a_row(0, 1.0), a_row(1, 0.5)]))
    assert log.keys == ("0", "1", "2")
    assert log.passed["em"].tolist() == [1.0, 0.5, 0.0]


def test_rows_of_several_sampling_methods_are_one_item(tmp_path: Path) -> None:
    rows = [a_row(i, {"em": float(i), "acc": None}) for i in range(2)] + [
        a_row(i, {"em": None, "acc": 1.0 - i}) for i in range(2)
    ]
    log = only(written(tmp_path, rows))
    assert log.keys == ("0", "1")
    assert log.passed["em"].tolist() == [0, 1]
    assert log.passed["acc"].tolist() == [1, 0]


def test_two_values_for_one_item_are_a_contradiction(tmp_path: Path) -> None:
    path = written(tmp_path, [a_row(0, 1.0), a_row(1, 1.0), a_row(0, 0.0)])
    with pytest.raises(InputError, match="row 3: item 0 comes a second time with another em"):
        only(path)


def test_null_is_missing_and_a_text_leaves_the_metric_out(tmp_path: Path) -> None:
    log = only(written(tmp_path, [a_row(0, {"em": None, "grade": "A"}), a_row(1, {"em": 1.0, "grade": "B"})]))
    assert np.isnan(log.passed["em"]).tolist() == [True, False]
    assert log.metrics == ("em",)
    assert check(log, "metric_left_out") is not None


def test_a_run_with_max_samples_is_partial(tmp_path: Path) -> None:
    path = written(tmp_path, [a_row(0, 1.0), a_row(1, 0.0)])
    results = tmp_path / "results" / "lab" / "model" / f"results_{STAMP}.json"
    results.parent.mkdir(parents=True)
    results.write_text(json.dumps({"config_general": {"max_samples": 2, "model_name": "lab/true-name"}}))
    log = only(path)
    assert log.model == "lab/true-name"
    partial = check(log, "partial")
    assert partial is not None
    assert "limit of 2" in partial.message


def test_a_broken_results_file_is_named_and_the_details_count(tmp_path: Path) -> None:
    written(tmp_path, [a_row(0, 1.0), a_row(1, 0.0)])
    results = tmp_path / "results" / "lab" / "model" / f"results_{STAMP}.json"
    results.parent.mkdir(parents=True)
    results.write_text('{"config_general"')
    detection = detect([tmp_path])
    assert detection.found[0].model == "lab/model"
    assert "not a JSON results file" in dict(detection.skipped)[results]


def test_results_without_details_say_how_to_get_them(tmp_path: Path) -> None:
    path = tmp_path / f"results_{STAMP}.json"
    path.write_text('{\n  "config_general": {}\n}')
    assert "--save-details" in dict(detect([tmp_path]).skipped)[path]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("gsm8k|5", ("gsm8k", 5, None)),
        ("leaderboard|gsm8k|5|0", ("gsm8k", 5, None)),
        ("harness|hendrycksTest-us_foreign_policy|5", ("hendrycksTest-us_foreign_policy", 5, "us_foreign_policy")),
        ("lighteval|mmlu:anatomy|0", ("mmlu:anatomy", 0, "anatomy")),
        ("mmlu:nonsense|0", ("mmlu:nonsense", 0, None)),
    ],
)
def test_a_files_name_tells_task_examples_and_subject(task: str, expected: tuple[str, int, str | None]) -> None:
    details = details_file(Path(f"details_{task}_{STAMP}.parquet"))
    assert details is not None
    assert (details.task, details.shots, details.subject) == expected
    assert details.timestamp == STAMP


def test_the_first_leaderboards_folder_names_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "details_lab__model" / STAMP
    folder.mkdir(parents=True)
    rows = [{"example": "What?", "full_prompt": "What?", "metrics": {"acc": 1.0}}]
    pq.write_table(pa.Table.from_pylist(rows), folder / f"details_harness|odd|5_{STAMP}.parquet")
    assert detect([tmp_path]).found[0].model == "lab/model"


def test_other_parquet_files_are_left_to_other_formats(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    named = written(tmp_path, [{"a": 1}])
    detection = detect([tmp_path])
    assert all(found.format != "lighteval details" for found in detection.found)
    assert "without the columns" in dict(detection.skipped)[named]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, [a_row(0, 1.0)])
    path.write_bytes(path.read_bytes()[:-20])
    assert "not a Parquet file" in dict(detect([path]).skipped)[path]


def test_a_damaged_part_is_named_and_with_salvage_the_rows_before_it_count(tmp_path: Path) -> None:
    path = written(tmp_path, [a_row(i, float(i % 2)) for i in range(300)], group=100)
    body = bytearray(path.read_bytes())
    place = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    body[place : place + 40] = b"\xff" * 40
    path.write_bytes(body)
    (found,) = detect([path]).found
    with pytest.raises(InputError, match="the Parquet file is damaged"):
        read(found)
    log = read(found, salvage=True)
    assert 0 < len(log.keys) <= 100
    assert check(log, "salvaged") is not None


def test_reading_tells_its_progress_and_stops_when_asked(tmp_path: Path) -> None:
    path = written(tmp_path, [a_row(i, float(i % 2)) for i in range(600)])
    events: list[Event] = []
    only(path, emit=events.append)
    progress = [event for event in events if isinstance(event, Progress)]
    assert len(progress) >= 3
    assert progress[-1].done == progress[-1].total == path.stat().st_size
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        only(path, cancel=cancel)


def test_more_rows_than_any_benchmark_has_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, [a_row(i, 1.0) for i in range(3)])
    monkeypatch.setattr(reader, "_ROWS_LIMIT", 2)
    with pytest.raises(InputError, match="3 rows, more than"):
        only(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_files_are_read_or_refused_and_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    (source,) = (DATA / "structs").rglob("*ifeval*.parquet")
    body = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / source.name.replace("+", "|")
    path.write_bytes(body)
    for found in detect([path]).found:
        for salvage in (False, True):
            with contextlib.suppress(InputError):
                read(found, salvage=salvage)


VALUES = st.one_of(st.none(), st.booleans(), st.floats(), st.integers(-2, 2), st.text(max_size=3))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=3))
def test_any_metrics_in_pythons_text_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, metrics: Any
) -> None:
    row = {"example": "What?", "metrics": str(metrics), "predictions": str(["x", None])}
    path = written(tmp_path_factory.mktemp("text"), [row, {**row, "example": "Which?"}])
    with contextlib.suppress(InputError):
        log = only(path)
        for metric in log.metrics:
            have = ~np.isnan(log.trials[metric])
            assert (log.passed[metric][have] <= log.trials[metric][have]).all()


@pytest.mark.shared
def test_the_items_of_gsm8k_are_told_by_their_questions(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines[:40]]
    rows = [
        a_row(i, float(i % 3 == 0), query=f"Question: {doc['question']}\nAnswer:", choices=[f" {doc['answer']}"])
        for i, doc in reversed(list(enumerate(docs)))
    ]
    (found,) = detect([written(tmp_path, rows, "gsm8k|5")]).found
    assert found.benchmark.name == "gsm8k"
    log = read(found)
    assert log.keys == tuple(str(i) for i in range(40))
    assert log.hashes == tuple(content_hash(BENCHMARKS["gsm8k"], doc) for doc in docs)
    assert log.passed["em"].tolist() == [float(i % 3 == 0) for i in range(40)]
    rows[0]["doc"]["query"] = "Question: Another one?\nAnswer:"
    (found,) = detect([written(tmp_path, rows[::-1], "gsm8k|5")]).found
    log = read(found)
    assert log.benchmark.name == "lighteval-gsm8k"
    unknown = check(log, "unknown_items")
    assert unknown is not None
    assert unknown.examples == ("39",)
