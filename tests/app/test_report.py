"""What a stored run carries into its report."""

from __future__ import annotations

import datetime
import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mince_gui.app import run as runs_of_app
from mince_gui.app.demo import folder, model_dir
from mince_gui.app.pack import pack
from mince_gui.app.reference import typed_in
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import UsageError
from mince_gui.report.types import Ratio
from mince_gui.store import Workspace, references
from mince_gui.store import runs as stored_runs

TELLS_THE_DATE = "{{ strftime_now('%d %B %Y') }}\n{% for m in messages %}{{ m.content }}{% endfor %}"


def set_day(monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    """Let a run be made at noon of that day of November 2026."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            return cls(2026, 11, day, 12, tzinfo=tz)

    monkeypatch.setattr(runs_of_app, "datetime", Clock)


def prompts(workspace: Path, run_id: str) -> list[str]:
    with Workspace(workspace) as ws:
        rows = ws.db.execute("SELECT prompt_sha256 FROM run_items WHERE run_id = ? ORDER BY position", (run_id,))
        return [row["prompt_sha256"] for row in rows]


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared workspace, so that its runs are this test's alone."""
    copy = tmp_path / "workspace"
    shutil.copytree(prepared, copy)
    return copy


@pytest.fixture
def dated(tmp_path: Path) -> RunOrder:
    """A run of the demo's word problems with a chat template that tells the date."""
    template = tmp_path / "dated.jinja"
    template.write_text(TELLS_THE_DATE, encoding="utf-8")
    return RunOrder(model_dir(), "demo-math-175", chat_template=str(template))


def order(base: RunOrder, subset: str, limit: int | None = None) -> RunOrder:
    return replace(base, subset=subset, limit=limit)


def test_a_run_that_is_resumed_another_day_keeps_the_date_in_its_prompts(
    workspace: Path, dated: RunOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_day(monkeypatch, 3)
    first, later = (create(workspace, order(dated, dated.subset or "", limit=2)) for _ in range(2))
    execute(workspace, first)
    set_day(monkeypatch, 4)
    execute(workspace, later)
    another = create(workspace, order(dated, dated.subset or "", limit=2))
    execute(workspace, another)
    assert prompts(workspace, later) == prompts(workspace, first)
    assert not set(prompts(workspace, another)) & set(prompts(workspace, first))
    assert compute(workspace, later).conditions["prompt_date"] == "2026-11-03"


def test_a_full_run_of_other_prompts_is_no_own_full_run_whatever_the_templates_file_is_called(
    workspace: Path, dated: RunOrder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_day(monkeypatch, 3)
    execute(workspace, create(workspace, order(dated, "demo-math-full")))
    same_day = create(workspace, replace(dated, limit=5))
    execute(workspace, same_day)
    set_day(monkeypatch, 4)
    next_day = create(workspace, replace(dated, limit=5))
    execute(workspace, next_day)
    set_day(monkeypatch, 3)
    other_prompt = create(workspace, replace(dated, system_prompt="Be brief.", limit=5))
    execute(workspace, other_prompt)
    same_text = tmp_path / "same.jinja"
    same_text.write_text(TELLS_THE_DATE, encoding="utf-8")
    other_file = create(workspace, replace(dated, chat_template=str(same_text), limit=5))
    execute(workspace, other_file)
    own = [
        "own full run" in [source.kind for source in compute(workspace, run).sources]
        for run in (same_day, next_day, other_prompt, other_file)
    ]
    assert own == [True, False, False, True]
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE run_items SET prompt_sha256 = ? WHERE run_id = ? AND position = 3", ("0" * 64, same_day))
    assert "own full run" not in [source.kind for source in compute(workspace, same_day).sources]


def test_a_run_whose_prompts_tell_no_date_has_none(workspace: Path) -> None:
    run_id = create(workspace, RunOrder(model_dir(), "demo-math-175", limit=1))
    execute(workspace, run_id)
    with Workspace(workspace) as ws:
        assert stored_runs.get(ws, run_id).plan.settings["prompt_date"] is None
    assert "prompt_date" not in compute(workspace, run_id).conditions


def test_differences_that_were_accepted_for_the_pack_are_in_the_report_and_nothing_is_judged(
    workspace: Path, tmp_path: Path
) -> None:
    with gzip.open(folder() / "demo-math" / "test.jsonl.gz", "rt", encoding="utf-8") as file:
        docs = [json.loads(line) for line in file]
    other = tmp_path / "test.jsonl"
    for doc in docs[::4]:
        doc["question"] += " Think."
    other.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    made = pack(workspace, other, subset="demo-math-175", accept_revision=True, out=tmp_path / "other.mincepack")
    run_id = create(workspace, RunOrder(model_dir(), str(made.path)))
    execute(workspace, run_id)
    report = compute(workspace, run_id)
    differing = [key for key in made.pack.subset.item_keys if int(key) % 4 == 0]
    assert list(report.content.accepted) == differing
    assert len(report.content.pack_sha256) == 64
    assert report.verdict == "not judged"
    assert any(f"{len(differing)} of 175 items differ in content" in warning for warning in report.warnings)


def test_a_run_of_choices_has_no_token_budget_and_says_by_which_rule_its_bound_was_made(workspace: Path) -> None:
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-250"))
    execute(workspace, run_id)
    report = compute(workspace, run_id)
    assert "max_new_tokens" not in report.conditions
    assert report.sampler == "uniform"
    assert report.bound is not None
    assert (report.bound.rule, report.bound.quantile) == ("per-model", 0.95)


def test_a_reference_of_a_part_is_neither_taken_nor_accepted(workspace: Path) -> None:
    """Stored while nobody knew how many items the benchmark has."""
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-250", limit=3))
    execute(workspace, run_id)
    known = typed_in(workspace, benchmark="demo-choice", model=model_dir().name, scores={"acc": 50.0}, source="made up")
    part = replace(known, reference_id="part", metrics={"acc": Ratio(4.0, 10.0, 10)}, date="2999-01-01")
    with Workspace(workspace) as ws:
        references.add(ws, part)
    taken = compute(workspace, run_id)
    assert [metric.other.percent for metric in taken.metrics if metric.other is not None] == [50.0]
    with pytest.raises(UsageError, match="is not of all 1,000 items"):
        compute(workspace, run_id, reference="part")
