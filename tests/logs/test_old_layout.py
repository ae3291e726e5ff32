"""lm-eval 0.4.0 to 0.4.2: one indented array per task, named after the model's arguments, beside results.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.errors import InputError
from mince_gui.logs import Detection, PerItemLog, detect, read
from mince_gui.logs.lines import JsonLines

Row = Callable[..., dict[str, Any]]
Rows = Sequence[dict[str, Any]]
ARGUMENTS = "pretrained=EleutherAI/pythia-1b,dtype=float16"
FILTERS = [{"name": "strict-match", "filter": []}, {"name": "flexible-extract", "filter": []}]


def old_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as those versions had it: no filter, metrics or hashes, arguments as lists of lists."""
    gone = {"filter", "metrics", "doc_hash", "prompt_hash", "target_hash"}
    return {k: v for k, v in row.items() if k not in gone} | {"arguments": [["Question", {"until": ["Q:"]}]]}


def write_old(
    out: Path, tasks: Mapping[str, Rows], *, arguments: str = ARGUMENTS, ascii_only: bool = False, **more: Any
) -> Path:
    """What __main__.py of 0.4.0 (ascii_only) to 0.4.2 writes for --output_path `out`; gives the folder."""
    folder = out.parent if out.suffix == ".json" else out
    folder.mkdir(parents=True, exist_ok=True)
    body = {
        "results": {task: {"alias": task} for task in tasks},
        "configs": {task: {"task": task, "filter_list": FILTERS if task == "gsm8k" else None} for task in tasks},
        "versions": dict.fromkeys(tasks, 3.0),
        "n-shot": dict.fromkeys(tasks, 5),
        "config": {"model": "hf", "model_args": arguments, "limit": None},
        "git_hash": "abc",
        **more,
    }
    results = out if out.suffix == ".json" else folder / "results.json"
    results.write_text(json.dumps(body, indent=2, ensure_ascii=ascii_only), encoding="utf-8")
    for task, rows in tasks.items():
        name = "{}_{}".format(re.sub("/|=", "__", arguments), task)
        text = json.dumps(list(rows), indent=2, ensure_ascii=ascii_only)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def only(detection: Detection) -> PerItemLog:
    (found,) = detection.found
    return read(found)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("out", ["run", "run/my.json"])
def test_an_array_is_read_with_filters_by_occurrence_and_the_models_true_name(
    tmp_path: Path, gsm8k_row: Row, ascii_only: bool, out: str
) -> None:
    rows = [old_row(gsm8k_row(i, verdict)) for verdict in (0.0, 1.0) for i in range(3)]
    rows[0]["resps"] = [["é € 你"]]
    folder = write_old(tmp_path / out, {"gsm8k": rows}, ascii_only=ascii_only)
    detection = detect([folder])
    assert detection.skipped == ()
    (found,) = detection.found
    assert (found.model, found.task, found.timestamp) == ("EleutherAI/pythia-1b", "gsm8k", "")
    assert "0.4.0 to 0.4.2" in found.why
    log = read(found)
    assert log.passed["exact_match,strict-match"].tolist() == [0, 0, 0]
    assert log.passed["exact_match,flexible-extract"].tolist() == [1, 1, 1]
    assert log.meta["n_shot"] == 5
    assert None not in log.hashes


def test_the_subject_arrays_of_mmlu_are_one_run(tmp_path: Path) -> None:
    def row(subject: str, i: int) -> dict[str, Any]:
        doc = {"question": f"{i}?", "subject": subject, "choices": ["a", "b", "c", "d"], "answer": 1}
        return {
            "doc_id": i,
            "doc": doc,
            "target": 1,
            "arguments": [["p", " A"]],
            "resps": [[[-1.0, False]]],
            "acc": 1.0,
        }

    tasks = {f"mmlu_{s}": [row(s, i) for i in range(2)] for s in ("anatomy", "college_biology")}
    log = only(detect([write_old(tmp_path, tasks)]))
    assert log.keys == ("anatomy/0", "anatomy/1", "college_biology/0", "college_biology/1")
    assert log.metrics == ("acc",)


def test_two_models_in_one_folder_are_two_runs_though_results_json_holds_the_last_alone(
    tmp_path: Path, gsm8k_row: Row
) -> None:
    rows = [old_row(gsm8k_row(i, verdict)) for verdict in (0.0, 1.0) for i in range(3)]
    write_old(tmp_path, {"gsm8k": rows}, arguments="pretrained=lab/first", git_hash="old")
    write_old(tmp_path, {"gsm8k": rows}, arguments="pretrained=lab/second")
    first, second = sorted(detect([tmp_path]).found, key=lambda found: found.model)
    assert (first.model, second.model) == ("lab/second", "lab__first")
    assert "of a later run" in second.why
    log = read(second)
    assert log.metrics == ("exact_match,strict-match", "exact_match,flexible-extract")
    assert "git_hash" not in log.meta
    assert read(first).meta["git_hash"] == "abc"


def test_without_results_json_a_known_task_is_told_by_its_name(tmp_path: Path, gsm8k_row: Row) -> None:
    write_old(tmp_path, {"gsm8k": [old_row(gsm8k_row(0, 1.0))]})
    (tmp_path / "results.json").unlink()
    (found,) = detect([tmp_path]).found
    assert (found.model, found.task) == ("EleutherAI__pythia-1b", "gsm8k")


def test_without_results_json_an_unknown_task_is_not_guessed(tmp_path: Path) -> None:
    write_old(tmp_path, {"arc_easy": [{"doc_id": 0, "acc": 1.0}]})
    (tmp_path / "results.json").unlink()
    detection = detect([tmp_path])
    assert detection.found == ()
    ((_, why),) = detection.skipped
    assert "results.json beside it" in why


def test_a_verdict_that_was_numpys_is_a_word(tmp_path: Path) -> None:
    rows = [{"doc_id": i, "doc": {"q": i}, "target": "1", "acc": word} for i, word in enumerate(["True", "False"])]
    log = only(detect([write_old(tmp_path, {"my_task": rows})]))
    assert log.passed["acc"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('[\n  {\n    "doc_id": 0,\n', 2, "cut off"),
        ('[\n  {\n    "doc_id": 0\n  },\n  {"doc_id": "cut in the te', 5, "cut off"),
        ('[\n  {"doc_id": 0}', 2, "cut off"),
        ('[\n  {"doc_id": 0},\n', 3, "cut off"),
        ('[\n  {"doc_id": 0},\n  {"doc_id": nonsense, "x": "' + "y" * 99 + '"}\n]', 3, "not JSON"),
        ('[\n  {"doc_id": 0}\n  {"doc_id": 1}\n]', 3, "neither a comma nor the array's end"),
        ('[\n  {"doc_id": 0}\n]\nmore', 4, "something follows"),
        ('[\n  {"doc_id": 0},\n  7\n]', 3, "not a row"),
        ('[\n  {"doc_id": ' + "9" * 5_000 + "}\n]", 2, "not a row of a log"),
        ('[{"doc_id": ' + "[" * 100_000, 1, "not a row of a log"),
    ],
)
def test_a_broken_array_is_named_with_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = tmp_path / "x_gsm8k.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"{re.escape(str(path))}, line {line}: .*{words}"), JsonLines(path) as lines:
        list(lines)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_longer_than_what_is_read_at_once_come_whole(tmp_path: Path, indent: int | None, encoding: str) -> None:
    rows = [{"doc_id": i, "text": 'é\\"]}[{' * size} for i, size in enumerate((1, 70_000, 3, 200_000, 0))]
    path = tmp_path / "x_gsm8k.jsonl"
    path.write_text(json.dumps(rows, indent=indent), encoding=encoding)
    with JsonLines(path) as lines:
        got = list(lines)
    assert [row for _, row in got] == rows
    assert [number for number, _ in got] == ([2, 6, 10, 14, 18] if indent else [1] * 5)
