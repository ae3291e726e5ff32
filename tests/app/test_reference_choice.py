from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.reference_choice import stored_reference
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import UsageError
from mince_gui.report.types import Ratio, Reference, RunData
from mince_gui.store import Workspace, references
from mince_gui.store.runs import NewRun, StoredRun

NPU = "Llama-3.1-8B-Instruct_rai_1.7.0_npu_8K"
STRICT = "prompt_level_strict_acc"
ASKED = {
    "examples": 0, "chat_template": "chat_template.jinja", "chat_template_sha256": "ab" * 32, "model_sha256": "cd" * 32,
}  # fmt: skip


def run_of(model: str = NPU, task: str = "ifeval", **conditions: Any) -> StoredRun:
    """A run on an NPU as it is stored: no NPU is here to make one."""
    plan = NewRun(task.split("_")[0], task, "s", 541, 250, 250, model, Path("m"), Path("gone.mincepack"), "", {})
    return StoredRun(
        "r",
        "2026-11-29T20:00:00+00:00",
        plan,
        {**ASKED, **conditions},
        "ended",
        "done",
        "",
        None,
        "t",
        250,
        0,
        60.0,
        "",
        {},
    )


def data_of(run: StoredRun, precision: str = "int4", total: int = 541) -> RunData:
    return RunData(
        run_id="r", benchmark=run.plan.benchmark, model=run.plan.model, subset_name="s", subset_keys=("1",),
        total_items=total, bound_pp=None, rows={}, categories={}, wall_seconds=None, item_seconds=(),
        first_token_seconds=(), prefill_rates=(), decode_rates=(), missing={}, conditions=run.conditions or {},
        created="", ended="", device_key="", precision=precision,
    )  # fmt: skip


def known(reference_id: str, model: str = NPU, **fields: Any) -> Reference:
    """A reference that was asked as the run is."""
    facts: dict[str, Any] = {
        "kind": "imported", "benchmark": "ifeval", "metrics": {STRICT: Ratio(400.0, 541.0, 541)}, "source": "s",
        "date": "2026-01-01", "precision": "bf16", "task": "ifeval", "task_version": "4", "few_shot": 0,
        "chat_template": "applied", **fields,
    }  # fmt: skip
    return Reference(reference_id, model=model, **facts)


@pytest.fixture
def ws(tmp_path: Path) -> Any:
    with Workspace(tmp_path / "ws") as opened:
        yield opened


def chosen(ws: Workspace, *stored: Reference, run: StoredRun | None = None, named: str | None = None) -> Reference:
    for reference in stored:
        references.add(ws, reference)
    run = run or run_of()
    found = stored_reference(ws, run, data_of(run), named)
    assert found is not None
    return found


ROWS = {"1000": {STRICT: (1.0, 1.0)}}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # The very name, before the same model otherwise packed, before anything else.
        ({"kind": "typed in"}, {"model": "Llama-3.1-8B-Instruct", "rows": ROWS}),
        ({"model": "Llama-3.1-8B-Instruct"}, {"model": "Llama-3.1-8B", "rows": ROWS}),
        ({"rows": ROWS}, {"rows": None}),
        ({"kind": "imported"}, {"kind": "typed in"}),
        ({"kind": "imported", "rows": ROWS, "precision": ""}, {"kind": "imported"}),
        # What a quantised model lost, the unquantised one tells, wherever it is known from.
        ({"precision": "", "kind": "published"}, {"precision": "int4", "rows": ROWS}),
        ({"precision": "bf16"}, {"precision": ""}),
        ({"precision": "bf16"}, {"precision": "int8"}),
        ({"model": "Llama-3.1-8B-Instruct"}, {"task": "leaderboard_ifeval"}),
        ({"task": ""}, {"task": "leaderboard_ifeval"}),
    ],
)
def test_of_two_references_the_better_one_is_taken_whichever_is_newer(
    ws: Workspace, better: dict[str, Any], worse: dict[str, Any]
) -> None:
    one, other = known("better", **better), known("worse", **worse)
    assert chosen(ws, one, other).reference_id == "better"
    references.remove(ws, "better")
    assert chosen(ws, one).reference_id == "better"


def test_of_equal_references_the_newest_stored_is_taken(ws: Workspace) -> None:
    assert chosen(ws, known("old"), known("new")).reference_id == "new"


def test_a_published_score_is_found_by_the_models_name_and_says_so(ws: Workspace) -> None:
    found = chosen(ws)
    assert found.reference_id == "published-mince-ifeval-llama-3.1-8b-instruct"
    assert found.warnings == (
        f"chosen as the model names are alike: the reference is of Llama-3.1-8B-Instruct, the run of {NPU}",
        "not known of it: task, task version, use of a chat template",
    )
    assert chosen(ws, known("typed", kind="typed in")).reference_id == "typed"


def test_what_the_very_folder_scored_makes_no_total_gap(ws: Workspace) -> None:
    shipped = known("shipped", kind="shipped with the demo", model_sha256="cd" * 32)
    for run in (run_of(), run_of(rescored={"of": "r"})):
        assert chosen(ws, shipped, run=run).kind == "published"
    assert chosen(ws, replace(shipped, model_sha256="ef" * 32)).reference_id == "shipped"


def test_a_fine_tune_and_a_base_model_find_nothing(ws: Workspace) -> None:
    for model in ("Llama-3.1-8B-Instruct-medical-int4", "Some-7B"):
        run = run_of(model)
        assert stored_reference(ws, run, data_of(run), None) is None
    base = run_of("Llama-3.1-8B-int4-cpu")
    assert chosen(ws, run=base).model == "Llama-3.1-8B"


def test_a_reference_that_was_asked_alike_has_no_warning(ws: Workspace) -> None:
    assert chosen(ws, known("a")).warnings == ()


@pytest.mark.parametrize(
    ("fields", "warnings"),
    [
        ({"task": "leaderboard_ifeval", "task_version": "3"}, ("its task is leaderboard_ifeval, the run's ifeval",)),
        ({"task_version": "2"}, ("its task version is 2, the run's 4",)),
        ({"few_shot": 5}, ("its number of examples is 5, the run's 0",)),
        ({"chat_template": "none"}, ("its use of a chat template is none, the run's applied",)),
        ({"task": ""}, ("not known of it: task",)),
        ({"few_shot": None, "task_version": ""}, ("not known of it: task version, number of examples",)),
        ({"precision": ""}, ("not known of it: precision",)),
        ({"few_shot": 5, "chat_template": ""},
         ("its number of examples is 5, the run's 0", "not known of it: use of a chat template")),
    ],
)  # fmt: skip
def test_what_differs_or_is_not_known_is_told(ws: Workspace, fields: dict[str, Any], warnings: tuple[str, ...]) -> None:
    assert chosen(ws, known("a", **fields), named="a").warnings == warnings


def test_a_published_scores_own_caution_is_told_first(ws: Workspace) -> None:
    run = replace(run_of("Qwen3-8B-int4-cpu", "gsm8k_cot"), conditions=ASKED)
    found = stored_reference(ws, run, data_of(run, total=1319), None)
    assert found is not None
    assert "flexible extract" in found.warnings[0]
    assert len(found.warnings) > 1


def test_what_is_not_known_of_the_run_is_told(ws: Workspace) -> None:
    references.add(ws, known("a"))
    run = replace(run_of(task="ifeval"), conditions={"logged_from": "by lm-eval"})
    found = stored_reference(ws, run, data_of(run, precision=""), None)
    assert found is not None
    assert found.warnings == (
        "its task version is 4, the run's is not known",
        "its number of examples is 0, the run's is not known",
        "its use of a chat template is applied, the run's is not known",
        "the precision of the run's weights is not known",
    )


def test_plain_prompts_and_no_template_are_alike(ws: Workspace) -> None:
    run = run_of(chat_template="none (as asked for)", chat_template_sha256="")
    assert chosen(ws, known("a", chat_template="none"), run=run).warnings == ()


def test_a_named_reference_is_taken_also_of_another_model(ws: Workspace) -> None:
    references.add(ws, known("a"))
    named = chosen(ws, run=run_of(), named="published-mince-ifeval-qwen3-8b")
    assert named.warnings[0] == "it is of another model by name: Qwen3-8B"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("nope", "no reference 'nope'"),
        ("published-mince-mmlu-qwen3-8b", "is for mmlu, the run for ifeval"),
        ("part", "is not of all 541 items"),
    ],
)
def test_a_named_reference_that_cannot_be_used_is_refused(ws: Workspace, named: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        chosen(ws, known("part", metrics={STRICT: Ratio(9.0, 12.0, 12)}), named=named)


def test_a_reference_of_a_part_is_never_taken_by_itself(ws: Workspace) -> None:
    part = known("part", metrics={STRICT: Ratio(9.0, 12.0, 12)})
    assert chosen(ws, part).kind == "published"


def test_a_wall_clock_that_was_typed_in_makes_no_speedup(prepared: Path) -> None:
    run_id = create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=3))
    execute(prepared, run_id)
    before = compute(prepared, run_id)
    timed = known(
        "timed", model=model_dir().name, benchmark="demo-choice", task="demo_choice", kind="typed in",
        metrics={"acc": Ratio(50.0, 100.0, 1000)}, wall_seconds=9e6, machine="elsewhere",
    )  # fmt: skip
    with Workspace(prepared) as ws:
        references.add(ws, timed)
    after = compute(prepared, run_id)
    assert [metric.other for metric in after.metrics] != [metric.other for metric in before.metrics]
    assert after.speedup == before.speedup
