"""A small run that EvalScope 1.14.1 wrote (data/make_evalscope.py), and rows in its shape over the shared items."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.logs import PerItemLog, detect, read

RUN = Path(__file__).parent / "data" / "evalscope" / "20261130_014420"
REVIEWS = Path("reviews") / "tiny-model" / "gsm8k_default.jsonl"


def copied(folder: Path) -> Path:
    """The run as EvalScope named it, free to be changed.

    Its items are invented (shelves of books), and kept under a name that says so;
    EvalScope's loader of GSM8K read them.
    """
    copy = Path(shutil.copytree(RUN, folder / RUN.name))
    for path in copy.rglob("shelves_default.jsonl"):
        path.rename(path.with_name("gsm8k_default.jsonl"))
    return copy


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return copied(tmp_path)


def one(*paths: Path) -> PerItemLog:
    (found,) = detect(paths).found
    return read(found)


def reviewed(index: int, text: str, value: dict[str, Any], **score: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "so"}]
    scored = {"score": {"value": value, "status": "success", "metadata": {}} | score, "sample_id": index}
    return {"index": index, "target": None, "messages": messages, "sample_score": scored}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_real_run_is_found_with_its_model_time_and_setup(run: Path) -> None:
    detection = detect([run])
    (found,) = detection.found
    assert (found.format, found.model, found.timestamp) == ("EvalScope reviews", "tiny-model", "2026-11-30T01-44-20")
    assert (found.benchmark.name, detection.skipped) == ("gsm8k", ())
    meta = read(found).meta
    assert (meta["evalscope_version"], meta["n_shot"]) == ("1.14.1", "2")


def test_repeats_are_trials_of_their_item(run: Path) -> None:
    log = one(run)
    assert log.keys == ("0", "1", "2", "3")
    assert log.passed["accuracy"].tolist() == [2, 1, 1, 2]
    assert log.trials["accuracy"].tolist() == [2, 2, 2, 2]


def test_questions_of_another_data_set_make_a_benchmark_of_its_own_with_its_limit(run: Path) -> None:
    log = one(run)
    assert log.benchmark.name == "evalscope-gsm8k"
    checks = {check.kind: check for check in log.checks}
    assert checks["unknown_items"].count == 4
    assert "limit of 4" in checks["partial"].message
    assert checks["empty_responses"].examples == ("2",)


def test_a_metric_that_is_stored_under_another_name_is_left_out_by_that_name(tmp_path: Path) -> None:
    rows = [
        reviewed(i, f"Question {i}", {"prompt_level_strict": score, "accuracy": 1.0})
        for i, score in enumerate([1.0, 0.5, 75.0, 0.0])
    ]
    log = one(write(tmp_path / "run" / "reviews" / "m" / "own_default.jsonl", rows).parent)
    assert log.metrics == ("accuracy",)
    assert "prompt_level_strict_acc is left out" in next(c.message for c in log.checks if c.kind == "metric_left_out")


def test_predictions_alone_are_refused_with_the_way_out(run: Path) -> None:
    shutil.rmtree(run / "reviews")
    detection = detect([run])
    assert detection.found == ()
    why = {path.name: reason for path, reason in detection.skipped}
    assert "--use-cache" in why["gsm8k_default.jsonl"]


def test_without_report_and_configuration_the_folders_name_counts(run: Path) -> None:
    for part in ("reports", "configs", "predictions"):
        shutil.rmtree(run / part)
    (found,) = detect([run / REVIEWS]).found
    assert (found.model, found.task) == ("tiny-model", "evalscope/gsm8k")
    assert "folder" in found.why
    assert "partial" not in {check.kind for check in read(found).checks}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"index": "0"}, "index is '0'"),
        ({"sample_score": {}}, "no sample_score.score"),
        ({"sample_score": {"score": {"value": 1.0}}}, "value is 1.0"),
        ({"sample_score": {"score": {"value": {"accuracy": "yes"}}}}, "'yes', not a number"),
        ({"index": 1}, "a second time"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(run: Path, change: dict[str, Any], words: str) -> None:
    path = run / REVIEWS
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[2] |= change
    if change == {"index": 1}:
        rows[2]["sample_score"]["group_id"] = 0
    write(path, rows)
    with pytest.raises(InputError) as caught:
        one(run)
    assert f"{path}, line 3: " in caught.value.message
    assert words in caught.value.message


def test_a_score_that_could_not_be_had_is_missing_and_not_wrong(tmp_path: Path) -> None:
    rows = [
        reviewed(0, "a", {"accuracy": 1.0, "em": 0.0}),
        reviewed(1, "b", {}, status="parse_error"),
        reviewed(2, "c", {"accuracy": float("nan"), "em": 1.0}),
    ]
    write(tmp_path / "reviews" / "m" / "own_test.jsonl", rows)
    log = one(tmp_path)
    assert log.benchmark.name == "evalscope-own_test"
    assert np.isnan(log.passed["accuracy"]).tolist() == [False, True, True]
    assert log.passed["em"].tolist()[2] == 1.0
    assert {check.kind: check.count for check in log.checks}["missing_values"] == 2


def test_a_metric_outside_0_to_1_is_left_out_and_said_so(tmp_path: Path) -> None:
    rows = [reviewed(i, "a", {"acc": 1.0, "length": 7.0 * i}) for i in range(3)]
    write(tmp_path / "reviews" / "m" / "own_test.jsonl", rows)
    log = one(tmp_path)
    assert log.metrics == ("acc",)
    assert {check.kind: check.count for check in log.checks}["metric_left_out"] == 2
    write(tmp_path / "reviews" / "m" / "own_test.jsonl", [reviewed(0, "a", {"length": 7.0})])
    with pytest.raises(InputError, match="length is outside 0 to 1"):
        one(tmp_path)


def test_a_mean_over_instructions_gets_its_number_of_instructions_back(tmp_path: Path) -> None:
    rows = [
        reviewed(0, "a", {"inst_level_strict": 2 / 3}, metadata={"metric_weights": {"inst_level_strict": 3}}),
        reviewed(1, "b", {"inst_level_strict": 0.5}),
    ]
    rows[1]["sample_score"]["sample_metadata"] = {"instruction_id_list": ["x:y", "z:w"]}
    path = write(tmp_path / "reviews" / "m" / "ifeval_default.jsonl", rows)
    log = one(tmp_path)
    assert log.passed["inst_level_strict_acc"].tolist() == [2, 1]
    assert log.trials["inst_level_strict_acc"].tolist() == [3, 2]
    rows[1]["sample_score"]["score"]["value"]["inst_level_strict"] = 0.4
    write(path, rows)
    with pytest.raises(InputError, match=r"line 2: inst_level_strict is 0\.4, which is no mean over 2"):
        one(tmp_path)


@pytest.mark.shared
def test_the_subjects_of_mmlu_are_one_run_and_every_item_is_recognised(shared: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((shared / "data" / "mmlu" / "test.jsonl.gz").read_bytes()).splitlines()
    subjects: dict[str, list[dict[str, Any]]] = {}
    for doc in map(json.loads, lines):
        subjects.setdefault(doc["subject"], []).append(doc)
    for subject, docs in subjects.items():
        rows = []
        for doc in docs:
            choices = "\n".join(f"{letter}) {text}" for letter, text in zip("ABCD", doc["choices"], strict=True))
            shot = "What is made up?\nA) this\nB) that\nC) both\nD) none\nANSWER: A\n\n"
            prompt = f"Here are examples.\n\n{shot}Answer the following question.\n\n{doc['question']}\n\n{choices}"
            rows.append(reviewed(doc["doc_id"], prompt, {"acc": float(doc["doc_id"] % 2)}))
        write(tmp_path / "20260102_030405" / "reviews" / "lab" / "big" / f"mmlu_{subject}.jsonl", reversed(rows))
    log = one(tmp_path)
    assert (log.model, log.benchmark.name, len(log.keys)) == ("lab__big", "mmlu", 14_042)
    assert [check.kind for check in log.checks] == ["no_docs", "order"]
    right = dict(zip(log.keys, log.passed["acc"].tolist(), strict=True))
    wrong = [key for key, value in right.items() if value != int(key.rpartition("/")[2]) % 2]
    # items that the benchmark holds twice may change places
    assert len(wrong) <= 54


@pytest.mark.shared
def test_ifeval_rows_carry_the_content_of_their_items(shared: Path, tmp_path: Path) -> None:
    rows = []
    for i, line in enumerate((shared / "data" / "ifeval" / "test.jsonl").read_bytes().splitlines()):
        doc = json.loads(line)
        row = reviewed(i, doc["prompt"], {"prompt_level_strict": float(i % 3 > 0)})
        row["sample_score"]["sample_metadata"] = doc
        rows.append(row)
    write(tmp_path / "reviews" / "m" / "ifeval_default.jsonl", rows)
    log = one(tmp_path)
    assert (log.benchmark.name, len(log.keys), log.checks) == ("ifeval", 541, ())
    assert all(log.hashes)
    assert log.categories[0]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_damaged_files_end_in_logs_or_reasons(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = copied(tmp_path_factory.mktemp("damaged"))
    path = run / REVIEWS
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        put = data.draw(st.sampled_from([b"", b"null", b"[]", b"-1", b"1e999", b"NaN", b'"', b"\n", b"\xff", b"}"]))
        raw[place : place + data.draw(st.integers(0, 9))] = put
    path.write_bytes(bytes(raw))
    for found in detect([run]).found:
        with contextlib.suppress(InputError):
            assert len(read(found).keys) > 0
