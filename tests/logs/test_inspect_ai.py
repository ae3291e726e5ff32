from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.benchmarks import BENCHMARKS, content_hash
from mince_gui.logs import Check, PerItemLog, assemble, detect, formats, read
from mince_gui.logs.inspect_ai import archive, library
from mince_gui.logs.inspect_ai.scores import added
from mince_gui.logs.types import Found

DATA = Path(__file__).parent / "data" / "inspect_ai"
JSON = DATA / "2026-01-02T03-04-05+00-00_kinds_Ab.json"


def found(path: Path) -> Found:
    (one,) = detect([path]).found
    return one


def log_of(name: str) -> PerItemLog:
    return read(found(DATA / f"{name}.eval"))


def check(log: PerItemLog, kind: str) -> Check | None:
    return next((c for c in log.checks if c.kind == kind), None)


def changed(tmp_path: Path, change: Callable[[Any], None], source: str = "sums", suffix: str = "eval") -> Path:
    """A real log, changed and written again by the library itself."""
    from inspect_ai.log import read_eval_log, write_eval_log

    log = read_eval_log(str(DATA / f"{source}.eval"))
    change(log)
    path = tmp_path / f"2026-01-02T03-04-05+00-00_changed.{suffix}"
    write_eval_log(log, str(path))
    return path


def test_a_log_is_found_with_model_task_and_time_from_its_header() -> None:
    one = found(DATA / "sums.eval")
    assert (one.format, one.model, one.task) == ("inspect_ai", "mockllm/model", "sums")
    assert one.benchmark.name == "inspect-sums"
    assert one.benchmark.total_items is None
    assert one.timestamp.startswith("2026-11-30T")
    assert "a benchmark of its own" in one.why


def test_every_scorer_is_a_metric_and_the_scores_are_the_logs_own() -> None:
    log = log_of("sums")
    assert log.keys == tuple(f"sum-{i}" for i in range(2, 8))
    assert log.metrics == ("match", "includes")
    assert log.passed["match"].tolist() == [1, 0, 1, 1, 0, 1]
    assert log.categories == ("even", "odd") * 3
    assert all(log.hashes)
    assert log.meta["reported"]["match"] == pytest.approx(4 / 6)
    assert check(log, "results_disagree") is None
    assert log.meta["inspect_version"] == "0.3.285"
    assert log.meta["task_version"] == 3
    empty = check(log, "empty_responses")
    assert empty is not None
    assert empty.examples == ("sum-6",)


def test_letters_words_and_numbers_count_as_inspect_ai_counts_them() -> None:
    log = log_of("kinds")
    assert log.passed["graded"].tolist() == [1, 0, 0.5, 0, 1, 0.25]
    assert log.meta["reported"]["graded"] == pytest.approx(log.passed["graded"].mean())


def test_nan_is_missing_and_lists_and_dictionaries_are_ratios_and_metrics() -> None:
    log = log_of("kinds")
    assert np.isnan(log.passed["unscored"]).tolist() == [False, False, True, False, False, False]
    missing = check(log, "missing_values")
    assert missing is not None
    assert missing.examples == ("sum-4",)
    assert (log.passed["parts"][0], log.trials["parts"][0]) == (2, 3)
    assert log.passed["style.clear"].tolist() == [0.5] * 6
    assert log.passed["style.short"].tolist() == [1, 1, 1, 0, 1, 1]


def test_a_metric_outside_0_to_1_is_left_out_and_said() -> None:
    log = log_of("kinds")
    assert "length" not in log.metrics
    left_out = check(log, "metric_left_out")
    assert left_out is not None
    assert "length" in left_out.message


def test_a_json_log_reads_as_the_zip_of_the_same_run() -> None:
    from_json, from_zip = read(found(JSON)), log_of("kinds")
    assert from_json.keys == from_zip.keys
    assert from_json.hashes == from_zip.hashes
    for metric in from_json.metrics:
        np.testing.assert_array_equal(from_json.passed[metric], from_zip.passed[metric])


def test_epochs_are_trials_of_their_item() -> None:
    log = log_of("epochs")
    assert log.passed["by_epoch"].tolist() == [2, 3, 0, 1, 2, 3]
    assert log.trials["by_epoch"].tolist() == [3] * 6
    assert log.score("by_epoch") == pytest.approx(100 * log.meta["reported"]["by_epoch"])


def test_an_item_that_lacks_an_epoch_is_missing(tmp_path: Path) -> None:
    def drop(log: Any) -> None:
        log.samples = [s for s in log.samples if (s.id, s.epoch) != ("sum-3", 2)]

    log = read(found(changed(tmp_path, drop, "epochs")))
    assert np.isnan(log.passed["by_epoch"]).tolist() == [False, True, False, False, False, False]


def test_other_reducers_than_the_mean_are_said(tmp_path: Path) -> None:
    def reduce(log: Any) -> None:
        log.eval.config.epochs_reducer = ["pass_at_2"]

    other = check(read(found(changed(tmp_path, reduce, "epochs"))), "other_reducer")
    assert other is not None
    assert "pass_at_2" in other.message


def test_the_counts_of_ifeval_become_the_ratios_that_they_stand_for() -> None:
    log = log_of("ifeval")
    assert set(log.metrics) == {metric.name for metric in BENCHMARKS["ifeval"].metrics}
    assert log.passed["inst_level_strict_acc"].tolist() == [1, 1, 2, 2, 2, 2]
    assert log.trials["inst_level_strict_acc"].tolist() == [2] * 6
    assert log.passed["prompt_level_strict_acc"].tolist() == [0, 0, 1, 1, 1, 1]


def test_a_sample_that_failed_is_missing_not_wrong() -> None:
    log = log_of("errors")
    assert len(log.keys) == 6
    assert np.isnan(log.trials["match"]).tolist() == [False, False, False, True, False, False]
    assert check(log, "partial") is None


def test_a_run_that_stopped_is_partial_and_says_why() -> None:
    log = log_of("stopped")
    partial, unfinished = check(log, "partial"), check(log, "unfinished_run")
    assert partial is not None
    assert partial.severity == "refusal"
    assert unfinished is not None
    assert "the solver stumbled" in unfinished.message


def test_a_limited_run_is_partial() -> None:
    partial = check(log_of("limited"), "partial")
    assert partial is not None
    assert "2 of 6" in partial.message
    assert "limit of 2" in partial.message


def test_a_sample_taken_back_is_missing(tmp_path: Path) -> None:
    from inspect_ai.log import ProvenanceData

    def invalidate(log: Any) -> None:
        log.samples[1].invalidation = ProvenanceData(author="someone", reason="leak")
        log.invalidated = True

    log = read(found(changed(tmp_path, invalidate)))
    assert np.isnan(log.passed["match"]).tolist() == [False, True, False, False, False, False]
    assert check(log, "invalidated") is not None


def test_whole_numbers_as_ids_sort_as_numbers() -> None:
    assert log_of("numbered").keys == ("0", "1", "2", "3", "4", "5")


def test_the_same_id_as_number_and_as_text_is_refused(tmp_path: Path) -> None:
    def twice(log: Any) -> None:
        log.samples[1] = log.samples[1].model_copy(update={"id": "0"})
        log.samples[0] = log.samples[0].model_copy(update={"id": 0})
        log.eval.dataset.sample_ids = None

    path = changed(tmp_path, twice, "numbered", "json")
    with pytest.raises(InputError, match=r"sample .*, epoch 1: comes a second time"):
        read(found(path))


def test_an_index_of_logs_is_no_log() -> None:
    detection = detect([DATA / "logs.json"])
    assert not detection.found
    assert "headers only" in detection.skipped[0][1]


def test_other_json_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "2026-01-02T03-04-05_a.json").write_text('{"version": 2, "other": {}}')
    detection = detect([tmp_path])
    assert not detection.found
    assert detection.skipped[0][1] == formats.UNKNOWN


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one = found(DATA / "sums.eval")
    monkeypatch.setattr(library, "installed", lambda: False)
    (skipped,) = detect([DATA / "sums.eval"]).skipped
    assert "mince-gui[inspect]" in skipped[1]
    with pytest.raises(InputError) as caught:
        read(one)
    assert "mince-gui[inspect]" in caught.value.remedy


def test_reading_tells_its_progress_and_stops_when_asked() -> None:
    events: list[Event] = []
    read(found(DATA / "sums.eval"), emit=events.append)
    progress = [event for event in events if isinstance(event, Progress)]
    assert progress[-1].done == progress[-1].total == (DATA / "sums.eval").stat().st_size
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read(found(DATA / "sums.eval"), cancel=cancel)


def repacked(path: Path, target: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """The archive again with changed members, packed without compression."""
    import inspect_ai.log  # noqa: F401 - teaches zipfile Zstandard

    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return target


def test_a_broken_sample_is_named_and_with_salvage_what_is_before_it_counts(tmp_path: Path) -> None:
    def cut(name: str, body: bytes) -> bytes:
        return body[: len(body) // 2] if name == "samples/sum-4_epoch_1.json" else body

    path = repacked(DATA / "sums.eval", tmp_path / "cut.eval", cut)
    with pytest.raises(InputError, match=r"cut\.eval, sample 'sum-4', epoch 1"):
        read(found(path))
    # an open file could not be deleted on Windows
    assert str(path) not in [file.path for file in psutil.Process().open_files()]
    log = read(found(path), salvage=True)
    assert log.keys == ("sum-2", "sum-3")
    salvaged = check(log, "salvaged")
    assert salvaged is not None
    assert "sum-4" in salvaged.message
    partial = check(log, "partial")
    assert partial is not None
    assert partial.severity == "refusal"


def test_a_cut_json_log_gives_the_samples_before_the_cut_when_asked(tmp_path: Path) -> None:
    text = JSON.read_text(encoding="utf-8")
    path = tmp_path / JSON.name
    path.write_text(text[: text.index('"id": "sum-5"') + 40], encoding="utf-8")
    with pytest.raises(InputError, match=r"line \d+: not JSON \(cut off in entry 4 of samples\)[^$]*--salvage"):
        read(found(path))
    log = read(found(path), salvage=True)
    assert log.keys == ("sum-2", "sum-3", "sum-4")
    salvaged = check(log, "salvaged")
    assert salvaged is not None
    assert "entry 4 of samples" in salvaged.message


def lying(path: Path, member: bytes, declared: int, packed: bytes) -> None:
    """A zip of one member that says it is smaller than it unpacks to."""
    name = b"header.json"
    crc = 0
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 63, 0, 93, 0, 33, crc, len(packed), declared, len(name), 0) + name
    central = struct.pack(
        "<4s6H3I5H2I", b"PK\x01\x02", 63, 63, 0, 93, 0, 33, crc, len(packed), declared, len(name), 0, 0, 0, 0, 0, 0
    )
    start = len(local) + len(packed)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(central) + len(name), start, 0)
    path.write_bytes(local + packed + central + name + end)


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    packed = zstandard.ZstdCompressor().compress(bytes(300 << 20))
    assert len(packed) < 100_000
    lying(tmp_path / "bomb.eval", b"header.json", 100, packed)
    detection = detect([tmp_path])
    assert not detection.found
    assert "unpacks to more than the 100 bytes it says" in detection.skipped[0][1]


def test_a_member_larger_than_any_sample_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 1000)
    detection = detect([DATA / "sums.eval"])
    assert not detection.found
    assert "larger than" in detection.skipped[0][1]


def test_an_encrypted_or_strangely_packed_member_is_refused(tmp_path: Path) -> None:
    raw = (DATA / "sums.eval").read_bytes()
    place = raw.index(b"PK\x01\x02")
    for offset, value, said in ((8, 1, "encrypted"), (10, 12, "method 12")):
        body = bytearray(raw)
        body[place + offset] = value
        (tmp_path / "odd.eval").write_bytes(body)
        (skipped,) = detect([tmp_path]).skipped
        assert said in skipped[1]


@pytest.mark.parametrize("body", [b"", b"PK\x03\x04", b"no zip at all"])
def test_what_is_no_zip_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "x.eval").write_bytes(body)
    detection = detect([tmp_path])
    assert not detection.found
    assert len(detection.skipped) == 1


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.eval").write_bytes((DATA / "sums.eval").read_bytes()[:-100])
    (skipped,) = detect([tmp_path]).skipped
    assert "whole copy" in skipped[1]


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no ':' in names")
def test_a_name_that_the_library_would_take_for_an_address_is_refused(tmp_path: Path) -> None:
    shutil.copyfile(JSON, tmp_path / f"simplecache::{JSON.name}")
    (skipped,) = detect([tmp_path]).skipped
    assert "rename the file" in skipped[1]


def test_a_json_log_on_one_line_is_read_a_sample_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / JSON.name
    path.write_text(json.dumps(json.loads(JSON.read_bytes())), encoding="utf-8")
    given: list[str] = []
    cancel = CancelToken()
    sample_of = library.sample_of

    def watched(path: Path, body: Any) -> Any:
        given.append(body["id"])
        if len(given) == 2:
            cancel.cancel()
        return sample_of(path, body)

    expected = read(found(JSON))
    assert read(found(path)).keys == expected.keys
    monkeypatch.setattr(library, "sample_of", watched)
    monkeypatch.setattr(assemble, "_ROWS_PER_STEP", 1)
    with pytest.raises(CancelledError):
        read(found(path), cancel=cancel)
    assert given == ["sum-2", "sum-3"]


def test_a_json_log_too_large_to_read_whole_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from mince_gui.logs.inspect_ai import files

    monkeypatch.setattr(files, "JSON_LIMIT", 1000)
    (skipped,) = detect([JSON]).skipped
    assert "inspect log convert" in skipped[1]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_logs_are_read_or_refused_and_nothing_else(tmp_path: Path, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from([DATA / "sums.eval", JSON, DATA / "epochs.eval"]))
    body = bytearray(source.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / source.name
    path.write_bytes(body)
    for one in detect([path]).found:
        for salvage in (False, True):
            with contextlib.suppress(InputError):
                read(one, salvage=salvage)


OUTCOME = st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(3, 4))


@given(st.lists(st.lists(OUTCOME, max_size=2, unique_by=lambda outcome: outcome[0]), min_size=1, max_size=4))
def test_sums_over_epochs_lose_nothing(epochs: list[list[tuple[str, int, int]]]) -> None:
    sums = {metric: (passed, trials) for metric, passed, trials in added(epochs)}
    for metric in "ab":
        rows = [outcome for outcomes in epochs for outcome in outcomes if outcome[0] == metric]
        if len(rows) == len(epochs):
            assert sums[metric] == (sum(row[1] for row in rows), sum(row[2] for row in rows))
        elif rows:
            assert all(np.isnan(sums[metric]))


@pytest.mark.shared
@pytest.mark.parametrize("foreign", [False, True])
def test_the_items_of_gsm8k_are_told_by_their_questions(shared: Path, tmp_path: Path, *, foreign: bool) -> None:
    lines = (shared / "data" / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines[:6]]

    def fill(log: Any) -> None:
        log.eval.task = "inspect_evals/gsm8k"
        for i, (sample, doc) in enumerate(zip(log.samples, reversed(docs), strict=True)):
            reasoning, _, target = doc["answer"].rpartition("####")
            text = "Another question?" if foreign and i == 5 else doc["question"]
            sample.id, sample.input, sample.target = f"gsm8k_{i}", text, target.strip()
            sample.metadata = {"reasoning": reasoning.strip()}
        log.eval.dataset.sample_ids = [sample.id for sample in log.samples]

    one = found(changed(tmp_path, fill))
    assert one.benchmark.name == "gsm8k"
    log = read(one)
    if foreign:
        assert log.benchmark.name == "inspect-gsm8k"
        assert log.keys[0] == "gsm8k_0"
        assert check(log, "unknown_items") is not None
        return
    assert log.benchmark.name == "gsm8k"
    assert log.keys == ("0", "1", "2", "3", "4", "5")
    assert log.hashes == tuple(content_hash(BENCHMARKS["gsm8k"], doc) for doc in docs)
    assert log.passed["match"].tolist() == [1, 0, 1, 1, 0, 1]
    partial = check(log, "partial")
    assert partial is not None
    assert "6 of 1319" in partial.message


@pytest.mark.shared
def test_the_items_of_ifeval_are_told_by_their_prompts(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "data" / "ifeval" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    docs = [json.loads(line) for line in lines[:6]]

    def fill(log: Any) -> None:
        for sample, doc in zip(log.samples, docs, strict=True):
            sample.id, sample.input = doc["key"], doc["prompt"]
            arguments = {i: {k: v for k, v in entry.items() if v} for i, entry in enumerate(doc["kwargs"])}
            sample.metadata = {"instruction_id_list": doc["instruction_id_list"], "kwargs": arguments}
        log.eval.dataset.sample_ids = [sample.id for sample in log.samples]

    log = read(found(changed(tmp_path, fill, "ifeval")))
    assert log.benchmark.name == "ifeval"
    assert log.keys == tuple(sorted(str(doc["key"]) for doc in docs))
    assert set(log.hashes) == {content_hash(BENCHMARKS["ifeval"], doc) for doc in docs}
    assert log.metrics == tuple(metric.name for metric in BENCHMARKS["ifeval"].metrics)
    assert log.trials["inst_level_strict_acc"].tolist() == [2] * 6
