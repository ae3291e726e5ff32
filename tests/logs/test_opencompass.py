"""Results of OpenCompass 0.5.4's own evaluator (data/make_opencompass.py), and the same shape over real items."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import PerItemLog, detect, read

DATA = Path(__file__).parent / "data" / "opencompass"
RUN = DATA / "20261130_014500"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The run, free to be changed."""
    return Path(shutil.copytree(RUN, tmp_path / RUN.name))


def write(path: Path, body: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(body, indent=4), encoding="utf-8")
    return path


def log_of(path: Path, task: str) -> PerItemLog:
    return next(read(found) for found in detect([path]).found if found.task == f"opencompass/{task}")


def test_results_with_details_are_found_and_those_without_refused_with_the_way_out() -> None:
    detection = detect([DATA])
    assert [(found.model, found.benchmark.name, found.timestamp) for found in detection.found] == [
        ("tiny-model", "opencompass-puzzles", "2026-11-30T01-45-00"),
        ("tiny-model", "opencompass-repeated", "2026-11-30T01-45-00"),
    ]
    ((path, why),) = detection.skipped
    assert path.name == "bare.json"
    assert "--dump-eval-details" in why


def test_the_verdicts_are_those_of_the_details_and_agree_with_the_reported_score() -> None:
    log = log_of(DATA, "puzzles")
    assert log.passed["accuracy"].tolist() == [1, 0, 1, 1]
    assert log.meta["reported"] == {"accuracy": 0.75}
    assert {check.kind for check in log.checks} == {"no_docs"}


def test_repeats_are_trials_of_their_item() -> None:
    log = log_of(DATA, "repeated")
    assert log.passed["accuracy"].tolist() == [2, 1, 1, 2]
    assert log.trials["accuracy"].tolist() == [2, 2, 2, 2]


def test_predictions_alone_are_refused_with_the_way_out(run: Path) -> None:
    shutil.rmtree(run / "results")
    detection = detect([run])
    assert detection.found == ()
    assert "predictions without verdicts" in detection.skipped[0][1]
    assert "--dump-eval-details" in detection.skipped[0][1]


def test_details_of_older_versions_are_read_too(tmp_path: Path) -> None:
    details = {"type": "GEN"} | {
        str(i): {"prompt": f"Question: {i}", "predictions": "7", "references": "7", "correct": i > 0} for i in range(3)
    }
    write(tmp_path / "results" / "m" / "sums.json", {"accuracy": 66.6, "details": details})
    log = log_of(tmp_path, "sums")
    assert log.passed["accuracy"].tolist() == [0, 1, 1]
    assert {check.kind: check.message for check in log.checks}["results_disagree"]


def test_parts_of_a_data_set_are_one(tmp_path: Path) -> None:
    for part in (10, 0, 1):
        details = [{"pred": "7", "answer": "7", "correct": part != 1}, {"pred": "7", "answer": "7", "correct": True}]
        write(tmp_path / "results" / "m" / f"sums_{part}.json", {"accuracy": 100.0, "details": details})
    (found,) = detect([tmp_path]).found
    assert [path.name for path in found.files] == ["sums_0.json", "sums_1.json", "sums_10.json"]
    log = read(found)
    assert log.keys == ("0", "1", "2", "3", "4", "5")
    assert log.passed["accuracy"].tolist() == [1, 1, 0, 1, 1, 1]


def test_details_without_verdicts_are_refused(tmp_path: Path) -> None:
    details = {"type": "GEN", "0": {"prompt": "a", "predictions": "7", "references": "7"}}
    write(tmp_path / "results" / "m" / "sums.json", {"score": 5.0, "details": details})
    with pytest.raises(InputError, match="item 0 of details: there is no verdict"):
        log_of(tmp_path, "sums")


@pytest.mark.parametrize(
    ("details", "words"),
    [([7], "7 in place of an object"), ([{"correct": "yes"}], "accuracy is 'yes'"), ([{"correct": 0.5}], "0.5")],
)
def test_a_bad_item_is_named(tmp_path: Path, details: list[Any], words: str) -> None:
    path = write(tmp_path / "results" / "m" / "sums.json", {"accuracy": 5.0, "details": [{"correct": True}, *details]})
    with pytest.raises(InputError) as caught:
        log_of(tmp_path, "sums")
    assert f"{path}, item 1 of details: " in caught.value.message
    assert words in caught.value.message


def test_a_null_verdict_is_missing(tmp_path: Path) -> None:
    write(tmp_path / "results" / "m" / "sums.json", {"details": [{"correct": True}, {"correct": None}]})
    log = log_of(tmp_path, "sums")
    assert np.isnan(log.passed["accuracy"]).tolist() == [False, True]


def test_a_cut_file_is_named_with_its_line_and_its_whole_items_are_read_if_asked_for(run: Path) -> None:
    path = run / "results" / "tiny-model" / "puzzles.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index("puzzles_test_3")], encoding="utf-8")
    found = next(found for found in detect([run]).found if found.task == "opencompass/puzzles")
    with pytest.raises(InputError, match=r"puzzles\.json, line \d+: not JSON"):
        read(found)
    log = read(found, salvage=True)
    assert log.passed["accuracy"].tolist() == [1, 0, 1]
    assert "salvaged" in {check.kind for check in log.checks}


@pytest.mark.shared
def test_gsm8k_is_recognised_by_the_prompts_of_its_predictions_also_in_parts(shared: Path, tmp_path: Path) -> None:
    docs = [json.loads(line) for line in (shared / "data" / "gsm8k" / "test.jsonl").read_bytes().splitlines()]
    details = [
        {"example_abbr": f"gsm8k_test_{i}", "pred": ["7"], "answer": ["8"], "correct": [i % 3 == 0]}
        for i in range(len(docs))
    ]
    write(tmp_path / "results" / "m" / "gsm8k.json", {"accuracy": 100 * 440 / 1_319, "details": details})
    assert log_of(tmp_path, "gsm8k").benchmark.name == "opencompass-gsm8k"
    for part in range(3):
        prompts = {
            str(i): {"origin_prompt": [{"role": "HUMAN", "prompt": f"Question: {doc['question']}\nAnswer:"}]}
            for i, doc in enumerate(docs[500 * part : 500 * (part + 1)])
        }
        write(tmp_path / "predictions" / "m" / f"gsm8k_{part}.json", prompts)
    log = log_of(tmp_path, "gsm8k")
    assert (log.benchmark.name, len(log.keys)) == ("gsm8k", 1_319)
    assert log.passed["accuracy"].tolist() == [float(i % 3 == 0) for i in range(1_319)]


@pytest.mark.shared
def test_ifeval_and_a_subject_of_mmlu_are_recognised_in_the_details(shared: Path, tmp_path: Path) -> None:
    docs = [json.loads(line) for line in (shared / "data" / "ifeval" / "test.jsonl").read_bytes().splitlines()]
    details: list[dict[str, Any]] = [
        {
            "example_abbr": f"IFEval_{i}", "prompt": [[{"role": "HUMAN", "prompt": doc["prompt"]}]], "pred": ["text"],
            "refer": [doc], "is_strict_correct": [i % 2 == 0], "is_loose_correct": [i % 4 != 1],
            "is_correct": [i % 2 == 0],
        }
        for i, doc in enumerate(docs)
    ]  # fmt: skip
    write(tmp_path / "results" / "m" / "IFEval.json", {"Prompt-level-strict-accuracy": 271 / 5.41, "details": details})
    log = log_of(tmp_path, "IFEval")
    assert (log.metrics, len(log.keys), log.checks) == (("prompt_level_strict_acc", "prompt_level_loose_acc"), 541, ())
    assert all(log.hashes)
    lines = gzip.decompress((shared / "data" / "mmlu" / "test.jsonl.gz").read_bytes()).splitlines()
    anatomy = [doc for doc in map(json.loads, lines) if doc["subject"] == "anatomy"]
    details = []
    for doc in anatomy:
        choices = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", doc["choices"], strict=True))
        prompt = f"There is a single choice question.\nQuestion: {doc['question']}\n{choices}\nAnswer: "
        details.append({"prompt": prompt, "pred": "A", "refr": "B", "is_correct": doc["doc_id"] % 2 == 0})
    body = {"accuracy": 50.0, "details": {str(i): item for i, item in enumerate(details)}}
    write(tmp_path / "results" / "m" / "lukaemon_mmlu_anatomy.json", body)
    log = log_of(tmp_path, "mmlu")
    assert log.keys == tuple(f"anatomy/{i}" for i in range(135))
    assert {check.kind: check.count for check in log.checks}["partial"] == 14_042 - 135


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_damaged_files_end_in_logs_or_reasons(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = Path(shutil.copytree(RUN, tmp_path_factory.mktemp("damaged") / RUN.name))
    path = run / "results" / "tiny-model" / "puzzles.json"
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        put = data.draw(st.sampled_from([b"", b"null", b"[]", b"-1", b"1e999", b"NaN", b'"', b"\n", b"\xff", b"}"]))
        raw[place : place + data.draw(st.integers(0, 9))] = put
    path.write_bytes(bytes(raw))
    for found in detect([run]).found:
        with contextlib.suppress(InputError):
            assert len(read(found).keys) > 0


@pytest.mark.parametrize("form", ["object", "array"])
def test_a_file_is_taken_in_an_item_at_a_time_and_can_be_cancelled_on_the_way(tmp_path: Path, form: str) -> None:
    items = [{"pred": "7" * 2_000, "answer": "7", "correct": i % 4 == 0} for i in range(4_000)]
    details: Any = {str(i): item for i, item in enumerate(items)} if form == "object" else items
    path = write(tmp_path / "results" / "m" / "sums.json", {"accuracy": 25.0, "details": details, "after": 1})
    size = path.stat().st_size
    del items, details
    (found,) = detect([tmp_path]).found
    events: list[Event] = []
    cancel = CancelToken()

    def late(event: Event) -> None:
        if isinstance(event, Progress) and event.done > size // 4:
            cancel.cancel()

    with pytest.raises(CancelledError):
        read(found, emit=late, cancel=cancel)
    tracemalloc.start()
    try:
        log = read(found, emit=events.append)
        assert tracemalloc.get_traced_memory()[1] < size // 2
    finally:
        tracemalloc.stop()
    assert log.score("accuracy") == pytest.approx(25.0)
    assert len({event.done for event in events if isinstance(event, Progress)}) > 10


def test_a_result_with_empty_details_is_refused(tmp_path: Path) -> None:
    body = '{"accuracy": 50.0, "details": {"0": null}, "is_correct": 1}'
    path = tmp_path / "results" / "m" / "sums.json"
    path.parent.mkdir(parents=True)
    for details, words in (("{}", "without details"), ("null", "without details"), ('{"0": 3}', "3 in place of")):
        path.write_text(body.replace('{"0": null}', details), encoding="utf-8")
        for found in detect([path]).found:
            with pytest.raises(InputError, match=words):
                read(found)
