"""Prompts, stop rules and scores equal those of lm-eval's own runs and of real logs."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from mince_gui.tasks import Answer, Render, get, load_template

pytestmark = pytest.mark.shared

_MODEL = "models/smollm2-135m-instruct-int4-cpu"


def _samples(shared: Path, run: str) -> list[dict[str, Any]]:
    paths = sorted((shared / "reference/lm_eval_runs" / run).glob("*/samples_*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def _render(shared: Path) -> Render:
    template = load_template(shared / _MODEL, "auto", today=date(2026, 11, 29))
    assert template is not None
    return template.render


def test_mmlu_prompts_choices_and_accuracy(shared: Path) -> None:
    task = get("mmlu")
    shots = [json.loads(line) for line in (shared / "data/mmlu/dev.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = _samples(shared, "mmlu_5shot")
    assert len(rows) == 40
    for row in rows:
        request = task.request(row["doc"], shots, render=None, max_new_tokens=None)
        logged = [row["arguments"][f"gen_args_{index}"] for index in range(4)]
        assert {arguments["arg_0"] for arguments in logged} == {request.prompt}
        assert [arguments["arg_1"] for arguments in logged] == list(request.choices)
        assert request.prompt.startswith(request.prefix)
        assert row["doc"]["question"].strip() not in request.prefix
        likely = [float(pair[0]) for pair in row["filtered_resps"]]
        scored = task.score(row["doc"], Answer(picked=likely.index(max(likely))))
        assert scored.scores == {"acc": (row["acc"], 1)}


@pytest.mark.parametrize(("run", "rows"), [("gsm8k_cot_zeroshot", 24), ("gsm8k_cot_zeroshot_chat", 12)])
def test_gsm8k_prompts_stop_rules_readings_and_marks(shared: Path, run: str, rows: int) -> None:
    task = get("gsm8k_cot_zeroshot")
    render = _render(shared) if run.endswith("_chat") else None
    samples = _samples(shared, run)
    assert len(samples) == rows
    for row in samples:
        request = task.request(row["doc"], [], render=render, max_new_tokens=None)
        logged = row["arguments"]["gen_args_0"]
        assert request.prompt == logged["arg_0"]
        assert (list(request.until), request.max_new_tokens) == (logged["arg_1"]["until"], 256)
        scored = task.score(row["doc"], Answer(text=row["resps"][0][0]))
        assert scored.extracted[row["filter"]] == row["filtered_resps"][0]
        assert scored.scores[f"exact_match,{row['filter']}"] == (row["exact_match"], 1)


def test_ifeval_prompts_stop_rules_and_all_four_metrics(shared: Path) -> None:
    task = get("ifeval")
    samples = _samples(shared, "ifeval_chat")
    assert len(samples) == 12
    for row in samples:
        request = task.request(row["doc"], [], render=_render(shared), max_new_tokens=256)
        logged = row["arguments"]["gen_args_0"]
        assert request.prompt == logged["arg_0"]
        assert (list(request.until), request.max_new_tokens) == (logged["arg_1"]["until"], 256)
        scored = task.score(row["doc"], Answer(text=row["resps"][0][0]))
        for way in ("strict", "loose"):
            verdicts = row[f"inst_level_{way}_acc"]
            assert json.loads(scored.extracted[way]) == verdicts
            assert scored.scores[f"inst_level_{way}_acc"] == (sum(verdicts), len(verdicts))
            assert scored.scores[f"prompt_level_{way}_acc"] == (row[f"prompt_level_{way}_acc"], 1)
    assert task.request(samples[0]["doc"], [], render=None, max_new_tokens=None).max_new_tokens == 1280


@pytest.mark.parametrize(
    ("model", "flexible", "differing"),
    [
        ("mistralai__Mixtral-8x7B-Instruct-v0.1", 837, 5),
        ("gpt-4-1106-preview", 1130, 0),
        ("6b_finetuning", 286, 0),
        ("6b_verification", 515, 0),
        ("175b_finetuning", 458, 0),
        ("175b_verification", 742, 0),
        ("tora-70b-v1.0", 785, 327),
        ("tora-code-34b-v1.0", 741, 325),
    ],
)
def test_flexible_extract_on_real_responses(shared: Path, model: str, flexible: int, differing: int) -> None:
    """Counts found with lm-eval's own filter; `differing` rows have another verdict from their source."""
    task = get("gsm8k")
    [path] = (shared / "data/logs/lm_eval" / model).glob("samples_gsm8k_*.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    marks = [
        task.score(row["doc"], Answer(text=row["resps"][0][0])).scores["exact_match,flexible-extract"][0]
        for row in rows
    ]
    assert len(rows) == 1319
    assert sum(marks) == flexible
    assert sum(mark != row["exact_match"] for mark, row in zip(marks, rows, strict=True)) == differing
