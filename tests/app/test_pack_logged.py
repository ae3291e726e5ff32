"""From lm-eval's logs alone to scores: import, pack, run with the demo's model, without dataset or lm-eval."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.pack import Packed, pack
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Event, Warned
from mince_gui.cli import main
from mince_gui.logs import detect
from mince_gui.logs.lm_eval.requests import LoggedRequests, read_requests
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from mince_gui.store.runs import StoredItem
from mince_gui.subset import read_pack
from mince_gui.tasks.logged import task_of

LOGS = Path(__file__).resolve().parents[1] / "tasks" / "data" / "logged"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the logs that can be moved and changed."""
    folder = tmp_path_factory.mktemp("logs")
    shutil.copytree(LOGS / "demo-device-int4", folder / "demo-device-int4")
    return folder


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Path:
    """A workspace that knows the logs and nothing else."""
    place = tmp_path_factory.mktemp("logged") / "ws"
    with look([logs]) as found:
        import_logs(place, found)
    return place


def _log(task: str) -> LoggedRequests:
    with detect([LOGS]) as seen:
        (found,) = [run for run in seen.found if run.task == task]
        return read_requests(found)


def _run(workspace: Path, packed: Packed, demo: Path) -> list[StoredItem]:
    model = demo / str(json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"])
    run_id = create(workspace, RunOrder(model, subset=packed.pack.subset.name))
    summary = execute(workspace, run_id)
    assert summary.done == len(packed.pack.items)
    with Workspace(workspace) as ws:
        return stored_runs.items(ws, run_id)


@pytest.mark.parametrize("task", ["commonsense_qa", "hellaswag", "winogrande"])
def test_a_run_from_the_log_gives_the_logged_picks(workspace: Path, demo: Path, task: str) -> None:
    packed = pack(workspace, all_of=task)
    assert packed.prompts_of == "demo-device-int4"
    assert packed.left_out == ()
    log = _log(task)
    for item in _run(workspace, packed, demo):
        logged = [float(number) for number, _ in log.items[item.item_key].responses]
        # other processors round otherwise; another prompt would move these by far more
        assert list(item.logprobs) == pytest.approx(logged, abs=0.5)
        assert item.picked is not None
        assert logged[item.picked] >= max(logged) - 0.5


def test_a_run_from_the_log_gives_the_logged_texts(workspace: Path, demo: Path) -> None:
    packed = pack(workspace, all_of="mmlu_pro")
    log = _log("mmlu_pro")
    items = _run(workspace, packed, demo)
    same = sum(item.text == log.items[item.item_key].responses[0] for item in items)
    assert same >= len(items) - 2, "a tie may fall otherwise on another processor, a prompt may not be another"
    assert {item.item_key.partition("/")[0] for item in items} == {"mmlu_pro_law", "mmlu_pro_math"}


def test_a_logged_pack_is_read_back_as_it_was_written(workspace: Path) -> None:
    packed = pack(workspace, all_of="piqa")
    again = read_pack(packed.path)
    assert again == packed.pack
    assert again.logged is not None
    assert task_of(again.logged).metrics == ("acc", "acc_norm")
    assert again.unverified == ()
    text = json.dumps(again.logged)
    assert str(workspace.parent) not in text
    assert "/demo-device-int4" not in text


def test_logs_that_are_gone_are_named_with_the_way_out(workspace: Path, logs: Path, tmp_path: Path) -> None:
    (file,) = logs.rglob("samples_piqa_*")
    moved = tmp_path / file.name
    shutil.move(file, moved)
    try:
        with pytest.raises(InputError, match="is gone") as error:
            pack(workspace, all_of="piqa")
        assert str(file) in error.value.message
        assert "--dataset LOGS" in error.value.remedy
        assert pack(workspace, moved, all_of="piqa").pack.logged is not None
    finally:
        shutil.move(moved, file)


def test_logs_in_an_archive_are_found_again(tmp_path: Path, logs: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "logs"), "zip", logs))
    with look([archive]) as found:
        import_logs(tmp_path / "ws", found)
    assert len(pack(tmp_path / "ws", all_of="piqa").pack.items) == 10


def test_of_several_models_one_is_to_be_named(workspace: Path, logs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(logs / "demo-device-int4", other / "second")
    for file in other.rglob("results_*.json"):
        told = file.read_text(encoding="utf-8")
        told = told.replace('"model_name": "demo-device-int4"', '"model_name": "second"')
        file.write_text(told, encoding="utf-8")
    shutil.copytree(logs / "demo-device-int4", other / "first")
    with pytest.raises(UsageError, match="demo-device-int4, second") as error:
        pack(workspace, other, all_of="piqa")
    assert "--model NAME" in error.value.remedy
    assert pack(workspace, other, all_of="piqa", model="second").prompts_of == "second"
    with pytest.raises(UsageError, match="not of third"):
        pack(workspace, other, all_of="piqa", model="third")
    with pytest.raises(UsageError, match="none of third"):
        pack(workspace, all_of="piqa", model="third")


def _files_of_piqa(logs: Path) -> list[Path]:
    """Its samples and the results file of the same run, whenever that was."""
    (samples,) = logs.rglob("samples_piqa_*")
    stamp = samples.stem.removeprefix("samples_piqa_")
    return [samples, samples.with_name(f"results_{stamp}.json")]


def test_a_log_of_a_part_makes_no_pack_of_the_whole(workspace: Path, logs: Path, tmp_path: Path) -> None:
    part = tmp_path / "part" / "m"
    part.mkdir(parents=True)
    for file in _files_of_piqa(logs):
        text = file.read_text(encoding="utf-8")
        (part / file.name).write_text("".join(text.splitlines(True)[:4]) if "samples" in file.name else text)
    with pytest.raises(InputError, match="4 of the 10 items of piqa"):
        pack(workspace, part, all_of="piqa")


def test_logged_prompts_of_a_known_benchmark_are_asked_for(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not said") as error:
        pack(workspace, all_of="gsm8k")
    assert "--logged-prompts" in error.value.remedy
    with pytest.raises(InputError, match="GSM8K has 1319 items"):
        pack(workspace, all_of="gsm8k", logged_prompts=True)
    empty = tmp_path / "test.jsonl"
    empty.write_text('{"question": "a", "answer": "#### 1"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="holds no lm-eval log of GSM8K"):
        pack(workspace, empty, all_of="gsm8k", logged_prompts=True)
    with pytest.raises(UsageError, match="No lm-eval log of IFEVAL was imported"):
        pack(workspace, all_of="ifeval", logged_prompts=True)


def test_what_of_a_task_is_left_out_is_told(workspace: Path, logs: Path, tmp_path: Path) -> None:
    place = tmp_path / "changed" / "m"
    place.mkdir(parents=True)
    for file in _files_of_piqa(logs):
        text = file.read_text(encoding="utf-8")
        if "results" in file.name:
            text = text.replace('"metric": "acc_norm"', '"metric": "brier_score"')
        (place / file.name).write_text(text, encoding="utf-8")
    told: list[Event] = []
    packed = pack(workspace, place, all_of="piqa", emit=told.append)
    assert any("brier_score of piqa" in event.message for event in told if isinstance(event, Warned))
    assert any("brier_score" in why for why in packed.left_out)


def test_the_command_says_whose_prompts_it_packed_and_what_is_scored(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["pack", "--all", "piqa", "--workspace", str(workspace)]
    assert main(command) == 0
    assert "prompts of piqa as logged for demo-device-int4; scored: acc, acc_norm (20 of" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["logged"] == {
        "task": "piqa", "prompts_of": "demo-device-int4", "metrics": ["acc", "acc_norm"], "proven": 20, "left_out": [],
        "notes": [],
    }  # fmt: skip
    assert main(["pack", "--all", "gsm8k", "--workspace", str(workspace)]) == 2
    assert "--logged-prompts" in capsys.readouterr().err
