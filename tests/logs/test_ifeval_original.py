"""Files of IFEval's own script, derived from the real logs or made up."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.logs import PerItemLog, detect, read

Write = Callable[..., Path]


def verdict(prompt: str, each: Sequence[bool], **other: Any) -> dict[str, Any]:
    ids = ["punctuation:no_comma", "keywords:existence"][: len(each)]
    return {
        "follow_all_instructions": all(each), "follow_instruction_list": list(each), "instruction_id_list": ids,
        "prompt": prompt, "response": f"Answer to {prompt}",
    } | other  # fmt: skip


def write(folder: Path, kind: str, rows: Sequence[dict[str, Any]], prefix: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{prefix}eval_results_{kind}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def derived(shared: Path, tmp_path: Path) -> tuple[Path, PerItemLog]:
    """One real lm-eval log in the original layout, and the log as lm-eval's."""
    source = shared / "data" / "logs" / "lm_eval" / "claude-3-5-sonnet-20240620"
    (path,) = source.glob("samples_ifeval_*")
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    folder = tmp_path / "out"
    for kind in ("strict", "loose"):
        write(
            folder, kind,
            [
                verdict(
                    row["arguments"]["gen_args_0"]["arg_0"], row[f"inst_level_{kind}_acc"],
                    instruction_id_list=row["doc"]["instruction_id_list"], response=row["resps"][0][0],
                )
                for row in rows
            ],
        )  # fmt: skip
    (folder / "input_response_data_gpt-4o.jsonl").write_text('{"prompt": "a", "response": "b"}\n', encoding="utf-8")
    return folder, next(read(found) for found in detect([source]).found if found.benchmark.name == "ifeval")


@pytest.mark.shared
def test_a_real_log_in_the_original_layout_is_the_same_log(derived: tuple[Path, PerItemLog]) -> None:
    folder, as_lm_eval = derived
    detection = detect([folder])
    (found,) = detection.found
    assert (found.model, found.benchmark.name, detection.skipped) == ("gpt-4o", "ifeval", ())
    assert "eval_results_strict and _loose" in found.why
    log = read(found)
    assert log.keys == as_lm_eval.keys
    assert log.categories == as_lm_eval.categories
    assert set(log.metrics) == set(as_lm_eval.metrics)
    for metric in log.metrics:
        assert np.array_equal(log.passed[metric], as_lm_eval.passed[metric])
        assert np.array_equal(log.trials[metric], as_lm_eval.trials[metric])
    noticed = [
        {check.kind: (check.count, set(check.examples)) for check in one.checks if check.kind == "loose_below_strict"}
        for one in (log, as_lm_eval)
    ]
    assert noticed[0] == noticed[1] != {}


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["strict", "loose"])
def test_one_file_alone_gives_its_own_metrics_only(derived: tuple[Path, PerItemLog], kind: str) -> None:
    folder, as_lm_eval = derived
    log = read(detect([folder / f"eval_results_{kind}.jsonl"]).found[0])
    assert log.metrics == (f"prompt_level_{kind}_acc", f"inst_level_{kind}_acc")
    assert log.score(f"inst_level_{kind}_acc") == as_lm_eval.score(f"inst_level_{kind}_acc")


@pytest.mark.shared
def test_a_cut_log_is_partial_and_names_what_it_lacks(derived: tuple[Path, PerItemLog]) -> None:
    folder, as_lm_eval = derived
    for kind in ("strict", "loose"):
        path = folder / f"eval_results_{kind}.jsonl"
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:500]))
    checks = {check.kind: check for check in read(detect([folder]).found[0]).checks}
    assert (checks["partial"].severity, checks["partial"].count) == ("refusal", 41)
    assert checks["partial"].examples == as_lm_eval.keys[500:505]
    assert "the first ones" in checks["partial"].message


def test_prompts_of_another_benchmark_make_one_of_their_own(tmp_path: Path) -> None:
    rows = [verdict("Schreib etwas.", [True]), verdict("Und noch etwas.", [False, True])]
    write(tmp_path, "strict", rows)
    write(tmp_path, "loose", list(reversed(rows)))
    log = read(detect([tmp_path]).found[0])
    assert (log.benchmark.name, log.keys) == ("ifeval-original", ("0", "1"))
    assert log.passed["inst_level_strict_acc"].tolist() == [1, 1]
    assert log.trials["inst_level_loose_acc"].tolist() == [1, 2]
    assert "2 of 2 items not recognised as any of IFEVAL" in {c.kind: c.message for c in log.checks}["unknown_items"]


def test_the_model_is_named_by_prefix_by_responses_or_by_folder(tmp_path: Path) -> None:
    write(tmp_path / "run", "strict", [verdict("a", [True])])
    write(tmp_path / "many", "strict", [verdict("a", [True])], prefix="model-a_")
    write(tmp_path / "many", "strict", [verdict("a", [False])], prefix="model-b_")
    write(tmp_path / "named", "loose", [verdict("a", [True])])
    (tmp_path / "named" / "input_response_data_gpt4_20231107.jsonl").write_text("{}\n", encoding="utf-8")
    assert [found.model for found in detect([tmp_path]).found] == ["model-a", "model-b", "gpt4_20231107", "run"]


def test_responses_without_verdicts_are_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "input_response_data_gpt4.jsonl").write_text('{"prompt": "a", "response": "b"}\n', encoding="utf-8")
    detection = detect([tmp_path])
    assert detection.found == ()
    assert "evaluation_main" in detection.skipped[0][1]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (verdict("b", [True]) | {"prompt": None}, "prompt is None"),
        (verdict("b", [True], follow_instruction_list=[]), "follow_instruction_list is []"),
        (verdict("b", [True], follow_instruction_list=[1]), "follow_instruction_list is [1]"),
        (verdict("b", [True], follow_all_instructions=False), "contradicts"),
        (verdict("a", [False]), "a second time with another"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    path = write(tmp_path, "strict", [verdict("a", [True]), row])
    with pytest.raises(InputError) as caught:
        read(detect([tmp_path]).found[0])
    assert caught.value.message.startswith(f"{path}, line 2: ")
    assert words in caught.value.message
    assert caught.value.remedy


def test_what_is_whole_in_front_of_a_cut_row_is_read_if_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "strict", [verdict("a", [True]), verdict("b", [True])])
    path.write_bytes(path.read_bytes()[:-20])
    found = detect([tmp_path]).found[0]
    with pytest.raises(InputError, match="line 2"):
        read(found)
    log = read(found, salvage=True)
    assert log.keys == ("0",)
    assert "line 2" in {check.kind: check.message for check in log.checks}["salvaged"]


def test_null_and_empty_responses_are_counted(tmp_path: Path) -> None:
    rows = [verdict(text, [True], response=answer) for text, answer in (("a", None), ("b", " "), ("c", "x"))]
    rows[2].pop("response")
    write(tmp_path, "strict", rows)
    checks = {check.kind: check.examples for check in read(detect([tmp_path]).found[0]).checks}
    assert checks["null_responses"] == ("0",)
    assert checks["empty_responses"] == ("1",)


def test_progress_is_told_and_cancel_ends_it(tmp_path: Path) -> None:
    write(tmp_path, "strict", [verdict(str(i), [i % 2 == 0]) for i in range(600)])
    found = detect([tmp_path]).found[0]
    events: list[Event] = []
    read(found, emit=events.append)
    told = [event.done for event in events if isinstance(event, Progress)]
    assert told == sorted(told)
    assert told[-1] == found.files[0].stat().st_size
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read(found, cancel=cancel)
