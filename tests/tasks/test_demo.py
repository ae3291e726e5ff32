"""The demo's prompts and verdicts equal those in the logs that ship with it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.canonical import sha256_text
from mince_gui.base.paths import resources
from mince_gui.tasks import Answer, get


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def _logs(task: str) -> list[Path]:
    return sorted((resources() / "demo").rglob(f"samples_{task}_*.jsonl.gz"))


@pytest.mark.parametrize("task", ["demo_choice", "demo_math"])
def test_the_demo_ships_logs_of_its_pool_and_its_reference(task: str) -> None:
    assert len(_logs(task)) >= 6


def test_choice_prompts_and_verdicts_equal_the_logged_ones() -> None:
    task = get("demo_choice")
    dev = (resources() / "demo/demo-choice/dev.jsonl").read_text(encoding="utf-8").splitlines()
    shots = [json.loads(line) for line in dev]
    for row in [row for path in _logs("demo_choice") for row in _rows(path)]:
        request = task.request(row["doc"], shots, render=None, max_new_tokens=None)
        assert sha256_text(request.prompt) == row["prompt_hash"]
        logged = [row["arguments"][f"gen_args_{index}"] for index in range(4)]
        assert request.prompt.endswith(logged[0]["arg_0"])
        assert list(request.choices) == [arguments["arg_1"] for arguments in logged]
        likely = [float(pair[0]) for pair in row["filtered_resps"]]
        scored = task.score(row["doc"], Answer(picked=likely.index(max(likely))))
        assert scored.scores == {"acc": (row["acc"], 1)}


def test_math_prompts_and_verdicts_equal_the_logged_ones() -> None:
    task = get("demo_math")
    right = 0
    for row in [row for path in _logs("demo_math") for row in _rows(path)]:
        request = task.request(row["doc"], [], render=None, max_new_tokens=None)
        logged = row["arguments"]["gen_args_0"]
        assert request.prompt == logged["arg_0"]
        assert list(request.until) == logged["arg_1"]["until"]
        assert request.max_new_tokens == logged["arg_1"]["max_gen_toks"]
        scored = task.score(row["doc"], Answer(text=row["resps"][0][0]))
        assert scored.extracted[row["filter"]] == row["filtered_resps"][0]
        assert scored.scores[f"exact_match,{row['filter']}"] == (row["exact_match"], 1)
        right += int(row["exact_match"])
    assert right > 0
