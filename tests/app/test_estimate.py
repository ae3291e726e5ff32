"""How long a run will take by what earlier runs took: real runs of the demo's model."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.estimate import forecast, forecast_run, sum_interval
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import InputError, UsageError
from mince_gui.cli.main import main
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs


@pytest.fixture(scope="module")
def ran(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A workspace with one run of 40 items of the choices, and its id."""
    workspace = tmp_path_factory.mktemp("ran") / "workspace"
    shutil.copytree(prepared, workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-250", limit=40))
    assert execute(workspace, run_id).done == 40
    return workspace, run_id


def test_before_the_first_run_of_a_model_nothing_is_claimed_and_nothing_made(prepared: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(prepared, workspace)
    model = tmp_path / "never-run"
    shutil.copytree(model_dir(), model)
    found = forecast(workspace, RunOrder(model, "demo-choice-250"))
    assert (found.items, found.low, found.high, found.run_id) == (250, None, None, None)
    assert "not known for 250 items before the model is loaded" in found.words
    with Workspace(workspace) as ws:
        assert stored_runs.runs(ws) == []


def test_the_same_task_is_told_by_the_times_of_its_items(ran: tuple[Path, str]) -> None:
    workspace, run_id = ran
    found = forecast(workspace, RunOrder(model_dir(), "demo-choice-full"))
    with Workspace(workspace) as ws:
        times = [item.elapsed_seconds or 0.0 for item in stored_runs.items(ws, run_id)]
    assert (found.items, found.run_id) == (1_000, run_id)
    assert (found.low, found.high) == sum_interval(times, 1_000)
    assert f"of 40 items of run {run_id}" in found.words
    assert forecast(workspace, RunOrder(model_dir(), "demo-choice-full", limit=10)).items == 10


def test_another_task_is_told_by_the_rates_of_the_model(ran: tuple[Path, str]) -> None:
    workspace, run_id = ran
    found = forecast(workspace, RunOrder(model_dir(), "demo-math-175"))
    assert found.run_id == run_id
    assert "by the rates of run" in found.words
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.high


def test_other_threads_or_another_timing_are_no_evidence_of_the_items_times(ran: tuple[Path, str]) -> None:
    workspace, _ = ran
    order = RunOrder(model_dir(), "demo-choice-250")
    assert forecast(workspace, replace(order, threads=1)).low is None
    assert "by the rates" in forecast(workspace, replace(order, timing="fast")).words
    assert "by the rates" in forecast(workspace, replace(order, system_prompt="Be right.")).words
    assert "normal approximation" in forecast(workspace, replace(order, system_prompt="  ")).words


def test_a_model_folder_that_has_changed_is_another_model(ran: tuple[Path, str], tmp_path: Path) -> None:
    workspace, _ = ran
    changed = tmp_path / model_dir().name
    shutil.copytree(model_dir(), changed)
    body = json.loads((changed / "genai_config.json").read_text(encoding="utf-8"))
    (changed / "genai_config.json").write_text(json.dumps(body), encoding="utf-8")
    assert forecast(workspace, RunOrder(changed, "demo-choice-250")).low is None


def test_a_stored_run_is_told_for_what_is_left_of_it(ran: tuple[Path, str]) -> None:
    workspace, run_id = ran
    assert forecast_run(workspace, run_id).words == "nothing is left to do"
    new = create(workspace, RunOrder(model_dir(), "demo-choice-250", limit=7))
    found = forecast_run(workspace, new)
    assert (found.items, found.run_id) == (7, run_id)


def test_a_pack_that_is_gone_is_left_to_the_run_to_tell(ran: tuple[Path, str], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(ran[0], workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-math-175", limit=5))
    with Workspace(workspace) as ws:
        stored_runs.get(ws, run_id).plan.pack_path.unlink()
    assert "is gone or changed" in forecast_run(workspace, run_id).words


def test_a_subset_that_is_not_there_is_refused_as_the_run_would_be(ran: tuple[Path, str]) -> None:
    with pytest.raises(UsageError, match="neither a file nor a pack"):
        forecast(ran[0], RunOrder(model_dir(), "no-such-pack"))


def test_a_model_folder_that_is_not_there_is_refused_as_the_run_would_be(ran: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model folder"):
        forecast(ran[0], RunOrder(tmp_path / "gone", "demo-choice-250"))


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_the_interval_holds_the_sum_of_further_items_about_as_often_as_it_says(spread: float) -> None:
    rng = np.random.default_rng(7)
    held, rounds, known, items = 0, 2_000, 200, 250
    for _ in range(rounds):
        low, high = sum_interval(rng.lognormal(0.0, spread, known).tolist(), items)
        held += low <= float(rng.lognormal(0.0, spread, items).sum()) <= high
    assert 0.92 < held / rounds < 0.97


def test_a_few_times_give_no_interval_but_their_extremes() -> None:
    assert sum_interval([2.0, 4.0], 10) == (20.0, 40.0)


def test_the_command_tells_the_time_and_runs_nothing(ran: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    workspace, run_id = ran
    command = ["run", "--model", str(model_dir()), "--subset", "demo-choice-250", "--workspace", str(workspace)]
    with Workspace(workspace) as ws:
        before = len(stored_runs.runs(ws))
    assert main([*command, "--estimate"]) == 0
    assert capsys.readouterr().out.startswith("about ")
    assert main([*command, "--estimate", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["items"], told["by_run"]) == (250, run_id)
    assert told["low_seconds"] <= told["high_seconds"]
    with Workspace(workspace) as ws:
        assert len(stored_runs.runs(ws)) == before


def test_a_run_says_what_was_expected_of_it_and_how_it_was_timed(
    ran: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    workspace, run_id = ran
    there = ["--workspace", str(workspace)]
    order = ["--model", str(model_dir()), "--subset", "demo-math-175", "--limit", "4", "--max-item-seconds", "60"]
    assert main(["run", *order, "--threads", "1", "--wait", "--json", *there]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("estimate: not known for 4 items")
    told = json.loads(captured.out)
    assert told["estimate"]["low_seconds"] is None
    assert (told["timing"]["mode"], told["timing"]["threads"]) == ("standard", 1)
    assert told["timing"]["per_item"]["output_tokens"]["items"] == 4
    assert told["device_proven"] is True
    assert told["machine"]["place"].startswith("ran on CPU (proven: ")
    assert main(["runs", "show", told["run_id"], "--json", *there]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["timing"] == told["timing"]
    assert {item["attempts"] for item in shown["items"]} == {1}
    assert main(["runs", "show", run_id, *there]) == 0
    assert "ran on CPU (proven: " in capsys.readouterr().out
