"""A run in lm-eval's layout: beside what lm-eval itself wrote, and read by it."""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mince_gui.report.lm_eval_export import AnsweredItem, ExportFacts, files_of
from mince_gui.tasks import Answer, Request, get

_FACTS = ExportFacts(
    model="models/smollm2-135m-instruct-int4-cpu", timestamp="2026-11-29T21-21-07", date=1.0, seconds=2.5,
    config_of={}, version_of={}, shots_of={}, originals={}, generation={"do_sample": False},
)  # fmt: skip


def _rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.decode().splitlines()]


def _answered(row: dict[str, Any], task_name: str, lm_task: str) -> AnsweredItem:
    """What a run would have kept had it given the answers of lm-eval's row; scored by our own task."""
    task = get(task_name)
    arguments = list(row["arguments"].values())
    prompt = arguments[0]["arg_0"]
    if task.kind == "choice":
        pairs = [resp[0] for resp in row["resps"]]
        logprobs = tuple(float(pair[0]) for pair in pairs)
        answer = Answer(
            picked=logprobs.index(max(logprobs)), logprobs=logprobs, greedy=tuple(pair[1] == "True" for pair in pairs)
        )
        request = Request("choice", prompt, choices=tuple(given["arg_1"] for given in arguments))
    else:
        answer = Answer(text=row["resps"][0][0])
        options = arguments[0]["arg_1"]
        request = Request("generate", prompt, until=tuple(options["until"]), max_new_tokens=options["max_gen_toks"])
    scored = task.score(row["doc"], answer)
    return AnsweredItem(
        lm_task, row["doc_id"], row["doc"], request, row["target"], answer.text, answer.logprobs, answer.greedy,
        scored.extracted, {metric: scored.scores[metric] for metric in task.metrics},
    )  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize(
    ("run", "task", "generation", "rows_expected"),
    [
        ("gsm8k_cot_zeroshot", "gsm8k_cot_zeroshot", {"do_sample": False}, 24),
        ("gsm8k_cot_zeroshot_chat", "gsm8k_cot_zeroshot", {"do_sample": False}, 12),
        ("ifeval_chat", "ifeval", {"do_sample": False, "temperature": 0.0}, 12),
        ("mmlu_5shot", "mmlu", {"do_sample": False}, 40),
    ],
)
def test_rows_are_those_that_lm_eval_wrote_of_the_same_answers(
    shared: Path, run: str, task: str, generation: dict[str, Any], rows_expected: int
) -> None:
    """Key for key, type for type and hash for hash; and the same means, standard errors and task hashes."""
    (results_path,) = (shared / "reference/lm_eval_runs" / run).glob("*/results_*.json")
    theirs = json.loads(results_path.read_text(encoding="utf-8"))
    compared = 0
    for path in sorted(results_path.parent.glob("samples_*.jsonl")):
        lm_task = path.name.removeprefix("samples_").rpartition("_")[0]
        rows = _rows(path.read_bytes())
        items = {row["doc_id"]: _answered(row, task, lm_task) for row in rows}
        made = files_of(list(items.values()), replace(_FACTS, generation=generation))
        ours = _rows(made[f"samples_{lm_task}_{_FACTS.timestamp}.jsonl"])
        for mine, row in zip(ours, rows, strict=True):
            assert list(mine) == list(row)
            # The texts of log-probabilities came through a float here.
            assert mine == row
            compared += 1
        results = json.loads(made[f"results_{_FACTS.timestamp}.json"])
        assert results["results"][lm_task] == {
            **{k: pytest.approx(v) if isinstance(v, float) else v for k, v in theirs["results"][lm_task].items()},
            "alias": lm_task,
        }
        for name in ("task_hashes", "higher_is_better"):
            assert results[name][lm_task] == theirs[name][lm_task]
        for name in ("model_name", "model_name_sanitized"):
            assert results[name] == theirs[name]
        assert set(theirs["n-samples"][lm_task]) == set(results["n-samples"][lm_task])
        assert isinstance(results["total_evaluation_time_seconds"], str)
    assert compared == rows_expected


def _choice(task: str, doc_id: int, right: bool) -> AnsweredItem:
    request = Request("choice", "Which?", choices=(" A", " B"))
    return AnsweredItem(
        task, doc_id, {"q": "x"}, request, "0", None, (-1.0, -2.0), (True, False), {"none": "A"},
        {"acc": (float(right), 1.0)},
    )  # fmt: skip


def test_a_group_has_the_mean_over_items_and_the_pooled_error() -> None:
    items = [_choice("mmlu_a", i, i < 1) for i in range(4)] + [_choice("mmlu_b", i, True) for i in range(2)]
    results = json.loads(files_of(items, replace(_FACTS, group="mmlu"))[f"results_{_FACTS.timestamp}.json"])
    assert results["results"]["mmlu"]["acc,none"] == pytest.approx(3 / 6)
    assert results["results"]["mmlu_a"]["acc_stderr,none"] == pytest.approx(math.sqrt(0.75 / 3 / 4))
    # Pooled over subjects: ((4-1) * 4 * se_a^2 + (2-1) * 2 * 0) / (6 - 2) / 6.
    assert results["groups"]["mmlu"]["acc_stderr,none"] == pytest.approx(math.sqrt(12 * 0.0625 / 4 / 6))
    assert results["groups"]["mmlu"]["sample_count"] == {"acc,none": 6}
    assert results["groups"]["mmlu"]["sample_len"] == 6
    assert results["group_subtasks"] == {"mmlu": ["mmlu_a", "mmlu_b"]}


def test_one_item_has_no_standard_error() -> None:
    results = json.loads(files_of([_choice("t", 0, True)], _FACTS)[f"results_{_FACTS.timestamp}.json"])
    assert results["results"]["t"]["acc_stderr,none"] == "N/A"


def test_every_choice_with_a_prompt_of_its_own_keeps_it() -> None:
    request = Request("choice", "Ann took", choices=(" it.", " it."), contexts=("Ann took", "Bob took"))
    item = replace(_choice("t", 0, True), request=request)
    (row,) = _rows(files_of([item], _FACTS)[f"samples_t_{_FACTS.timestamp}.jsonl"])
    assert [given["arg_0"] for given in row["arguments"].values()] == ["Ann took", "Bob took"]


def test_a_lone_surrogate_of_a_dataset_stays_what_it_is() -> None:
    item = replace(_choice("t", 0, True), doc={"q": "a\ud800b"})
    (row,) = _rows(files_of([item], _FACTS)[f"samples_t_{_FACTS.timestamp}.jsonl"])
    assert row["doc"] == {"q": "a\ud800b"}


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
def test_lm_evals_own_functions_find_the_files_and_print_the_results(tmp_path: Path) -> None:
    utils = importlib.import_module("lm_eval.utils")
    items = [_choice("mmlu_anatomy", i, i % 2 == 0) for i in range(4)]
    for name, content in files_of(items, replace(_FACTS, group="mmlu")).items():
        (tmp_path / name).write_bytes(content)
    names = [str(path) for path in tmp_path.iterdir()]
    latest = utils.get_latest_filename([Path(name).name for name in utils.get_sample_results_filenames(names)])
    assert utils.get_file_task_name(latest) == "mmlu_anatomy"
    assert utils.get_file_datetime(latest) == _FACTS.timestamp
    (results_name,) = utils.get_results_filenames(names)
    results = json.loads(Path(results_name).read_text(encoding="utf-8"))
    shown = utils.make_table(results)
    assert "mmlu_anatomy" in shown
    assert "0.5" in shown
    schema = importlib.import_module("lm_eval.result_schema")
    known = set(schema.EvalResults.__annotations__) | {"task_hashes", "model_source", "mince_gui"}
    tracker = importlib.import_module("lm_eval.loggers.evaluation_tracker").GeneralConfigTracker
    assert set(results) <= known | set(tracker.__annotations__)
    row_keys = set(schema.SampleResult.__annotations__)
    assert set(_rows((tmp_path / latest).read_bytes())[0]) - {"acc"} <= row_keys
