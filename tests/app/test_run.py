"""One run: what is refused before a model is loaded, and what a resume may not change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.freeze import freeze
from mince_gui.app.listings import show_run
from mince_gui.app.reference import typed_in
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.app.summary import conditions_of, methods_of
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Event, ItemDone
from mince_gui.store import Workspace, runs
from mince_gui.store.runs import StoredItem


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the demo model that a test may change."""
    copy = tmp_path / model_dir().name
    shutil.copytree(model_dir(), copy)
    return copy


def _stop_after(items: int, cancel: CancelToken) -> list[Event]:
    class Stopping(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            if isinstance(event, ItemDone) and event.done >= items:
                cancel.cancel()

    return Stopping()


def _started(workspace: Path, model: Path) -> str:
    """A run of six items, stopped after two."""
    cancel = CancelToken()
    run_id = create(workspace, RunOrder(model, "demo-choice-full", limit=6))
    summary = execute(workspace, run_id, emit=_stop_after(2, cancel).append, cancel=cancel)
    assert (summary.cause, summary.done) == ("stopped", 2)
    return run_id


def test_a_resume_on_a_changed_model_folder_is_refused_and_nothing_is_mixed(prepared: Path, model: Path) -> None:
    run_id = _started(prepared, model)
    config = model / "genai_config.json"
    body = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(InputError, match="has changed since 2 items"):
        execute(prepared, run_id)
    run, items = show_run(prepared, run_id)
    assert (run.cause, len(items)) == ("failed", 2)


def test_a_resume_with_other_prompts_is_refused(prepared: Path) -> None:
    run_id = _started(prepared, model_dir())
    with Workspace(prepared) as ws, ws.writing() as db:
        db.execute("UPDATE run_items SET prompt_sha256 = ? WHERE run_id = ? AND position = 1", ("0" * 64, run_id))
    with pytest.raises(InputError, match="is not what it was"):
        execute(prepared, run_id)


def test_a_resume_with_the_model_as_it_was_ends_the_run(prepared: Path, model: Path) -> None:
    run_id = _started(prepared, model)
    summary = execute(prepared, run_id)
    assert (summary.cause, summary.done, summary.items, summary.subset_items) == ("done", 6, 6, 1000)


def test_a_finished_run_stays_finished_whatever_becomes_of_its_pack(prepared: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(prepared, workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-math-full", limit=2))
    execute(workspace, run_id)
    (workspace / "packs" / "demo-math-full.mincepack").unlink()
    assert execute(workspace, run_id).cause == "done"
    assert compute(workspace, run_id).coverage.done == 2


def test_native_code_in_a_model_folder_is_named_and_needs_a_word(prepared: Path, model: Path) -> None:
    config = model / "genai_config.json"
    body = json.loads(config.read_text(encoding="utf-8"))
    body["model"]["decoder"]["session_options"]["custom_ops_library"] = "onnx_custom_ops.dll"
    config.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(UsageError, match=r"onnx_custom_ops\.dll"):
        create(prepared, RunOrder(model, "demo-choice-full"))
    assert create(prepared, RunOrder(model, "demo-choice-full", trust_native_code=True))


def test_a_cancel_before_the_model_is_loaded_ends_the_run_as_stopped(prepared: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    run_id = create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=3))
    assert execute(prepared, run_id, cancel=cancel).cause == "stopped"


def test_a_front_end_that_goes_away_does_not_end_the_run(prepared: Path) -> None:
    def gone(event: Event) -> None:
        raise BrokenPipeError

    run_id = create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=3))
    assert execute(prepared, run_id, emit=gone).cause == "done"


def test_an_event_file_that_cannot_be_written_does_not_end_the_run(prepared: Path) -> None:
    events: list[Event] = []
    run_id = create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=3))
    with Workspace(prepared) as ws:
        ws.events_file(run_id).mkdir(parents=True)
    assert execute(prepared, run_id, emit=events.append).cause == "done"
    assert any("cannot be written" in getattr(event, "message", "") for event in events)


def test_a_sitting_on_another_device_makes_no_wall_clock(prepared: Path, model: Path) -> None:
    run_id = _started(prepared, model)
    with Workspace(prepared) as ws:
        conditions = runs.get(ws, run_id).conditions
        assert conditions is not None
        runs.set_conditions(ws, run_id, {**conditions, "machine": "another laptop"})
    events: list[Event] = []
    execute(prepared, run_id, emit=events.append)
    assert any("differs from before in: machine" in getattr(event, "message", "") for event in events)
    run, _ = show_run(prepared, run_id)
    assert run.conditions is not None
    assert run.conditions["changed"] == ["machine"]


def test_the_demos_scores_are_no_drift_for_another_model(prepared: Path, model: Path) -> None:
    body = json.loads((model / "genai_config.json").read_text(encoding="utf-8"))
    (model / "genai_config.json").write_text(json.dumps(body), encoding="utf-8")
    run_id = create(prepared, RunOrder(model, "demo-choice-full", limit=3))
    execute(prepared, run_id)
    (metric,) = compute(prepared, run_id).metrics
    assert metric.drift_pp is None
    assert metric.total_gap_pp is not None


def test_the_newest_reference_of_the_models_name_is_taken(prepared: Path) -> None:
    run_id = create(prepared, RunOrder(model_dir(), "demo-math-full", limit=2))
    execute(prepared, run_id)
    for percent in (30.0, 40.0, 50.0):
        typed_in(
            prepared,
            benchmark="demo-math",
            model=model_dir().name,
            scores={"exact_match,strict-match": percent},
            source=f"note {percent}",
        )
    metric = compute(prepared, run_id).metric("exact_match,strict-match")
    assert metric.other is not None
    assert metric.other.percent == pytest.approx(50.0)


def test_freezing_a_part_then_running_it_by_its_file_names_the_missing_pack(prepared: Path) -> None:
    frozen = freeze(prepared, "demo-math", 25, seed=5)
    with pytest.raises(UsageError, match="No pack"):
        create(prepared, RunOrder(model_dir(), str(frozen.path)))


def test_answers_that_hit_the_budget_are_counted_and_the_budget_is_told(prepared: Path) -> None:
    run_id = create(prepared, RunOrder(model_dir(), "demo-math-full", limit=3, max_new_tokens=2))
    summary = execute(prepared, run_id)
    assert (summary.answers.budget, summary.answers.capped, summary.answers.by_ceiling) == (2, 3, 0)
    told = summary.to_json()
    assert told["answers"] == {
        "token_budget": 2, "capped": 3, "capped_by_ceiling": 0, "cut_by_time": 0, "repeating": 0, "empty": 0,
        "does_not_fit": 0,
    }  # fmt: skip
    assert told["capped"] == 3
    assert told["asking"]["token budget"] == "2 new tokens per answer (as asked for)"
    report = compute(prepared, run_id)
    assert report.answers == summary.answers
    assert any("3 answers were cut at the budget of 2 new tokens" in warning for warning in report.warnings)


def test_the_tasks_own_budget_is_told_where_none_was_asked_for(prepared: Path) -> None:
    summary = execute(prepared, create(prepared, RunOrder(model_dir(), "demo-math-full", limit=1)))
    assert summary.asking["token budget"] == "48 new tokens per answer (the task's own)"
    assert summary.asking["task"] == "demo_math, 0 examples before each question"


def test_prompts_that_do_not_fit_are_missing_and_counted_apart(prepared: Path) -> None:
    order = RunOrder(model_dir(), "demo-math-full", limit=2, system_prompt="Think of it. " * 400)
    summary = execute(prepared, create(prepared, order))
    assert (summary.cause, summary.done, summary.answers.not_fitting) == ("incomplete", 0, 2)
    assert all(cause.startswith("does_not_fit") for cause in summary.missing.values())
    assert ("2 do not fit", "2 prompts do not fit the model's ceiling: missing, never cut.") in summary.answers.words()


def test_choices_say_by_which_method_they_were_scored_and_have_no_budget(prepared: Path) -> None:
    run_id = create(prepared, RunOrder(model_dir(), "demo-choice-full", limit=3, system_prompt="Be right."))
    summary = execute(prepared, run_id)
    assert "Parity with lm-eval is promised" in summary.asking["choices scored by"]
    assert summary.asking["system prompt"] == "Be right."
    assert summary.answers.budget is None
    assert sum(compute(prepared, run_id).methods.values()) == 3


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (RunOrder(model_dir(), "demo-choice-250", max_new_tokens=9), "--max-new-tokens has no meaning"),
        (RunOrder(model_dir(), "demo-math-175", system_prompt="a\ud800"), "no valid text"),
        (RunOrder(model_dir(), "demo-math-175", chat_template=" "), "--chat-template is empty"),
    ],
)
def test_what_would_be_passed_over_or_blamed_on_another_is_refused(prepared: Path, order: RunOrder, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        create(prepared, order)


def test_a_system_prompt_of_blanks_is_none_and_any_other_is_kept_as_it_is(prepared: Path) -> None:
    for given, kept in (("  ", None), (" Be brief.\n", " Be brief.\n")):
        run_id = create(prepared, RunOrder(model_dir(), "demo-math-175", system_prompt=given))
        assert show_run(prepared, run_id)[0].plan.settings["system_prompt"] == kept


def test_a_run_whose_model_does_not_load_still_says_what_was_asked_for(prepared: Path, model: Path) -> None:
    (model / "model.onnx").write_bytes(b"x")
    order = RunOrder(model, "demo-math-175", limit=2, max_new_tokens=9, system_prompt="Be brief.")
    summary = execute(prepared, create(prepared, order))
    assert summary.cause == "failed"
    assert summary.asking["prompt"] == "not recorded (no model was loaded)"
    assert summary.asking["system prompt"] == "Be brief."
    assert summary.asking["token budget"].startswith("9 new tokens per answer (as asked for)")


def _stored(**changed: Any) -> StoredItem:
    facts: dict[str, Any] = dict.fromkeys(StoredItem._fields)
    facts |= {"state": "done", "prompt_tokens": 100, "prefill_seconds": 0.5, **changed}
    return StoredItem(**facts)


def test_choices_that_an_older_version_scored_are_counted_as_not_recorded() -> None:
    items = [_stored(method="last_logits"), _stored(), _stored(text="written"), _stored(state="missing")]
    assert methods_of(items) == {"last_logits": 1, "not recorded": 1}


def test_prompts_that_begin_with_another_number_of_bos_are_told(prepared: Path) -> None:
    run_id = create(prepared, RunOrder(model_dir(), "demo-math-175"))
    run, _ = show_run(prepared, run_id)
    same = [_stored(leading_bos=1)] * 3
    assert "bos_check" not in conditions_of(run, same)
    mixed = conditions_of(run, [*same, _stored(leading_bos=2), _stored()])
    assert mixed["bos_check"] == "not the same in all prompts: 3 with 1, 1 with 2"
