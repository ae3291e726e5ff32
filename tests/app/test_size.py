"""Sizing in the workspace: whose outcomes a kept sizing speaks of, and what is said where a pool cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mince_gui.app.freeze import freeze
from mince_gui.app.import_logs import import_logs, look, set_excluded
from mince_gui.app.size import SizeQuestion, ask, size
from mince_gui.base.errors import UsageError

ITEMS = 400
MODELS = ("weak", "middle", "strong")


def _import_runs(workspace: Path, folder: Path, shares: tuple[float, ...], day: int) -> None:
    for seed, (model, share) in enumerate(zip(MODELS, shares, strict=True)):
        right = np.random.default_rng(seed).random(ITEMS) < share
        lines = (json.dumps({"doc_id": i, "metrics": ["acc"], "acc": float(right[i])}) for i in range(ITEMS))
        path = folder / f"day{day}" / model / f"samples_own_task_2026-01-{day:02}T03-04-05.678901.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with look([folder / f"day{day}"]) as found:
        import_logs(workspace, found)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    _import_runs(tmp_path / "ws", tmp_path / "logs", (0.3, 0.5, 0.8), day=2)
    return tmp_path / "ws"


def test_a_sizing_of_logs_that_were_evaluated_anew_is_no_evidence_any_more(workspace: Path, tmp_path: Path) -> None:
    size(workspace, SizeQuestion(benchmark="own_task"))
    before = freeze(workspace, "own_task", 100).subset
    assert before.p95_pp is not None
    _import_runs(workspace, tmp_path / "logs", (0.98, 0.97, 0.8), day=9)
    with pytest.raises(UsageError, match="changed since it was sized"):
        freeze(workspace, "own_task", 100, name="again")
    with pytest.raises(UsageError, match="changed since it was sized"):
        ask(workspace, "own_task", target_pp=3.0)
    size(workspace, SizeQuestion(benchmark="own_task"))
    after = freeze(workspace, "own_task", 100, name="again").subset
    assert after.p95_pp is not None
    assert after.p95_pp < before.p95_pp


def test_a_sizing_of_some_models_stays_the_answer_when_another_model_comes(workspace: Path) -> None:
    part = size(workspace, SizeQuestion(benchmark="own_task", models=("weak", "strong")))
    answer = ask(workspace, "own_task", hours=1.0, seconds_per_item=60.0)
    assert set(answer.models) == {"weak", "strong"}
    assert answer.p95_pp == part.p95_pp
    assert answer.budget is not None
    assert answer.budget.bound.n == 60


def test_a_model_that_is_not_there_is_named_whatever_else_is(workspace: Path) -> None:
    with pytest.raises(UsageError, match="No log of own_task for: nope") as refused:
        size(workspace, SizeQuestion(benchmark="own_task", models=("nope",)))
    assert "middle, strong, weak" in refused.value.remedy


def test_a_pool_of_which_every_model_is_excluded_says_how_to_include_one(workspace: Path) -> None:
    set_excluded(workspace, MODELS, True)
    with pytest.raises(UsageError, match="No logs of own_task are in use") as refused:
        size(workspace, SizeQuestion(benchmark="own_task"))
    assert "--include" in refused.value.remedy
