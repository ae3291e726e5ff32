from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mince_gui.logs import detect, read

Row = Callable[..., dict[str, Any]]
Write = Callable[..., Path]


def test_an_empty_folder_and_an_absent_one_are_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    detection = detect([empty, tmp_path / "absent"])
    assert detection.found == ()
    assert dict(detection.skipped) == {
        empty: "an empty folder",
        tmp_path / "absent": "there is no such file or folder",
    }


def test_a_folder_of_binary_files_is_skipped_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(range(256)))
    (tmp_path / "samples_ifeval_2026-01-02T03-04-05.000001.jsonl").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(99))
    (tmp_path / "samples_gsm8k_2026-01-02T03-04-05.000001.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00broken")
    (tmp_path / "samples_gsm8k_2026-01-02T03-04-06.000001.jsonl").write_bytes(b"")
    detection = detect([tmp_path])
    assert detection.found == ()
    reasons = {path.name: why for path, why in detection.skipped}
    assert len(reasons) == 4
    assert "no per-item log of a known format" in reasons["photo.jpg"]
    assert "does not begin with a JSON object" in reasons["samples_ifeval_2026-01-02T03-04-05.000001.jsonl"]
    assert "cannot be read" in reasons["samples_gsm8k_2026-01-02T03-04-05.000001.jsonl.gz"]
    assert reasons["samples_gsm8k_2026-01-02T03-04-06.000001.jsonl"] == "empty"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_linked_folder_is_named_with_the_way_out_and_its_parent_is_not_called_empty(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    write_run(tmp_path / "elsewhere", "gsm8k", [gsm8k_row(0, 1.0)])
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "run").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    detection = detect([logs])
    assert detection.found == ()
    assert detection.skipped == ((logs / "run", "a link to a folder, which is not followed: name it itself"),)
    assert len(detect([logs / "run"]).found) == 1


def test_blank_lines_in_front_do_not_make_a_log_empty(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    path.write_bytes(b"\n" * 100 + path.read_bytes())
    blank = tmp_path / "samples_gsm8k_2026-01-02T03-04-06.000001.jsonl"
    blank.write_bytes(b"\n" * 1_000)
    detection = detect([tmp_path])
    (found,) = detection.found
    assert read(found).keys == ("0",)
    assert dict(detection.skipped)[blank] == "empty"


def test_an_array_named_like_a_samples_file_is_read(tmp_path: Path, gsm8k_row: Row) -> None:
    path = tmp_path / "samples_gsm8k_2024-06-08T05-42-41.351110.json"
    path.write_text(json.dumps([gsm8k_row(0, 1.0)], indent=2), encoding="utf-8")
    (found,) = detect([tmp_path]).found
    assert (found.task, found.timestamp) == ("gsm8k", "2024-06-08T05-42-41.351110")
    assert read(found).keys == ("0",)


def test_the_subject_files_of_mmlu_are_one_run_and_mmlu_pro_is_another(tmp_path: Path, write_run: Write) -> None:
    row = {"doc_id": 0, "metrics": ["acc"], "acc": 1.0}
    for task in ("mmlu_anatomy", "mmlu_virology", "mmlu_pro_law"):
        write_run(tmp_path, task, [row])
    mmlu, pro = sorted(detect([tmp_path]).found, key=lambda found: found.benchmark.name)
    assert (mmlu.benchmark.name, mmlu.task, len(mmlu.files)) == ("mmlu", "mmlu", 2)
    assert (pro.benchmark.name, pro.task, len(pro.files)) == ("mmlu_pro_law", "mmlu_pro_law", 1)


def test_two_tasks_of_one_benchmark_are_two_runs(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    for task in ("gsm8k", "gsm8k_cot_zeroshot"):
        write_run(tmp_path, task, [gsm8k_row(0, 1.0)])
    assert [(f.benchmark.name, f.task) for f in detect([tmp_path]).found] == [
        ("gsm8k", "gsm8k"),
        ("gsm8k", "gsm8k_cot_zeroshot"),
    ]


def test_two_time_stamps_in_one_folder_are_two_runs(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    stamps = ("2026-01-02T03-04-05.000001", "2026-01-03T03-04-05")
    for stamp in stamps:
        write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)], stamp=stamp)
    found = detect([tmp_path]).found
    assert tuple(f.timestamp for f in found) == stamps
    assert [f.results_file.name for f in found if f.results_file] == [f"results_{stamp}.json" for stamp in stamps]


def test_the_model_is_named_by_the_results_file(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    rows = [gsm8k_row(0, 1.0)]
    write_run(tmp_path / "lab__model", "gsm8k", rows, model="lab/model")
    write_run(
        tmp_path / "x", "gsm8k", rows, model="",
        results={"config": {"model_args": "dtype=auto,pretrained=lab/b=4,peft=lab/adapter"}},
    )  # fmt: skip
    write_run(tmp_path / "y", "gsm8k", rows, model="", results={"config": {"model_args": {"pretrained": "lab/c"}}})
    assert [f.model for f in detect([tmp_path]).found] == ["lab/model", "lab/adapter", "lab/c"]


@pytest.mark.parametrize("body", [None, b"{", b"[]", b"\xff\xfe\x00", b'{"model_name": 7, "config": []}'])
def test_without_a_usable_results_file_the_folder_names_the_model(
    tmp_path: Path, gsm8k_row: Row, write_run: Write, body: bytes | None
) -> None:
    path = write_run(tmp_path / "my-model", "gsm8k", [gsm8k_row(0, 1.0)], model=None)
    if body is not None:
        path.with_name("results_2026-01-02T03-04-05.678901.json").write_bytes(body)
    (found,) = detect([tmp_path]).found
    assert found.model == "my-model"
    assert "the folder's name is taken" in found.why


def test_results_without_samples_are_skipped_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "results_2026-01-02T03-04-05.000001.json").write_text("{}", encoding="utf-8")
    ((_, why),) = detect([tmp_path]).skipped
    assert "--log_samples" in why


def test_a_single_samples_file_finds_its_results_file_beside_it(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)], model="lab/model")
    write_run(tmp_path, "ifeval", [gsm8k_row(0, 1.0)], model="lab/model")
    (found,) = detect([path]).found
    assert (found.model, found.files) == ("lab/model", (path,))


def test_results_named_by_the_user_belong_to_samples_of_the_same_time(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)], model="lab/model")
    (tmp_path / "results_2026-01-02T03-04-05.678901.json").rename(tmp_path / "out_2026-01-02T03-04-05.678901.json")
    detection = detect([tmp_path])
    assert [f.model for f in detection.found] == ["lab/model"]
    assert detection.skipped == ()


def test_a_gzipped_copy_beside_the_plain_file_is_not_a_second_run(
    tmp_path: Path, gsm8k_row: Row, write_run: Write
) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)])
    copy = path.with_name(path.name + ".gz")
    copy.write_bytes(gzip.compress(path.read_bytes()))
    detection = detect([tmp_path, tmp_path])
    assert [f.files for f in detection.found] == [(path,)]
    assert [p for p, _ in detection.skipped] == [copy]


def test_a_samples_file_without_time_stamp_is_found(tmp_path: Path, gsm8k_row: Row, write_run: Write) -> None:
    path = write_run(tmp_path, "gsm8k", [gsm8k_row(0, 1.0)], model=None)
    path.rename(tmp_path / "samples_gsm8k.jsonl")
    (tmp_path / "results.json").write_text('{"model_name": "lab/model"}', encoding="utf-8")
    (found,) = detect([tmp_path]).found
    assert (found.task, found.timestamp, found.model) == ("gsm8k", "", "lab/model")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX pipes")
def test_a_pipe_and_a_link_to_nothing_are_passed_over_without_waiting(tmp_path: Path) -> None:
    pipe, link = tmp_path / "samples_gsm8k.jsonl", tmp_path / "samples_ifeval.jsonl"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "absent")
    detection = detect([tmp_path])
    assert [path for path, _ in detection.skipped] == [pipe, link]
    assert all("no regular file" in why for _, why in detection.skipped)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid"), reason="POSIX names")
def test_a_file_name_that_is_not_text_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"photo\xff.jpg")).write_bytes(b"\xff")
    assert len(detect([tmp_path]).skipped) == 1


@pytest.mark.shared
def test_the_shared_logs_are_27_runs_of_25_models(shared: Path) -> None:
    detection = detect([shared / "data" / "logs" / "lm_eval"])
    assert detection.skipped == ()
    counts: dict[str, int] = {}
    for found in detection.found:
        counts[found.benchmark.name] = counts.get(found.benchmark.name, 0) + 1
    assert counts == {"ifeval": 17, "gsm8k": 8, "mmlu": 2}
    assert {len(f.files) for f in detection.found if f.benchmark.name == "mmlu"} == {57}
    assert "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4" in {f.model for f in detection.found}
