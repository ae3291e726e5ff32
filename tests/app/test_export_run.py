"""Runs written for other tools, and the way back."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.export_run import ExportedRun, export_run
from mince_gui.app.import_logs import import_logs, look
from mince_gui.app.pack import pack
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import InputError, MinceError
from mince_gui.base.events import Event, Warned
from mince_gui.cli.main import main
from mince_gui.run.types import ItemResult
from mince_gui.store import Workspace, logs
from mince_gui.store import runs as stored_runs
from mince_gui.tasks.types import Scored
from tests.app.conftest import Walked

MODEL = "smollm2-135m-instruct-int4-cpu"


def _runs(workspace: Path, subset: str) -> str:
    with Workspace(workspace) as ws:
        return next(run.run_id for run in stored_runs.runs(ws) if run.plan.subset == subset)


def _imported(folder: Path, workspace: Path) -> dict[str, Any]:
    """Metric -> score in percent of the only log, and how many items it has."""
    import_logs(workspace, look([folder]))
    with Workspace(workspace) as ws:
        (stored,) = logs.listing(ws)
        (log,) = [logs.load(ws, stored.log_id)]
    return {"items": len(log.keys), **{metric: log.score(metric) for metric in log.metrics}}


def _scores(workspace: Path, run_id: str) -> dict[str, float]:
    with Workspace(workspace) as ws:
        return {metric: 100 * p / t for metric, (p, t) in stored_runs.totals(ws, run_id).items()}


@pytest.mark.parametrize("subset", ["demo-choice-full", "demo-math-full", "demo-choice-250", "demo-math-175"])
def test_importing_a_run_that_was_exported_gives_its_scores_back(walked: Walked, tmp_path: Path, subset: str) -> None:
    run_id = _runs(walked.workspace, subset)
    exported = export_run(walked.workspace, run_id, "lm-eval", out=tmp_path / "out")
    found = _imported(tmp_path / "out", tmp_path / "ws")
    assert found.pop("items") == exported.items == exported.planned
    assert found == pytest.approx(_scores(walked.workspace, run_id))


def test_the_same_run_gives_the_same_bytes(walked: Walked, tmp_path: Path) -> None:
    run_id = _runs(walked.workspace, "demo-math-175")
    first, second = (export_run(walked.workspace, run_id, "lm-eval", out=tmp_path / name) for name in "ab")
    assert [file.name for file in first.files] == [file.name for file in second.files]
    assert [file.read_bytes() for file in first.files] == [file.read_bytes() for file in second.files]


def test_the_results_file_says_who_wrote_it_and_on_what(walked: Walked, tmp_path: Path) -> None:
    run_id = _runs(walked.workspace, "demo-choice-250")
    exported = export_run(walked.workspace, run_id, "lm-eval", out=tmp_path)
    results = json.loads(next(f for f in exported.files if f.name.startswith("results_")).read_text())
    assert "lm_eval_version" not in results
    own = results["mince_gui"]
    assert own["run_id"] == run_id
    assert own["items"] == {"done": 250, "planned": 250, "subset": 250, "benchmark": 1000}
    assert own["conditions"]["oga_version"]
    assert results["n-samples"]["demo_choice"] == {"original": 1000, "effective": 250}


@pytest.fixture
def some_done(walked: Walked, tmp_path: Path) -> tuple[Path, str]:
    """A copy of the demo's workspace in which one item of a run has an odd answer, and one is missing."""
    workspace = tmp_path / "copy"
    shutil.copytree(walked.workspace, workspace)
    run_id = _runs(workspace, "demo-math-175")
    odd = "=1+1\x1b[31m\n#### 2"
    with Workspace(workspace) as ws:
        first, second = stored_runs.items(ws, run_id)[:2]
        with ws.writing() as db:
            db.execute("DELETE FROM run_items WHERE run_id = ? AND position < 2", (run_id,))
        scored = Scored({"exact_match,strict-match": (0.0, 1.0)}, {"strict-match": "2"}, "3")
        stored_runs.add_item(ws, run_id, ItemResult(0, first.item_key, None, "done", scored, odd, None, (), None), 0.1)
        stored_runs.add_item(
            ws, run_id, ItemResult(1, second.item_key, None, "missing", None, None, None, (), None, cause="hung"), 0.1
        )
    return workspace, run_id


def test_missing_items_are_not_written_and_that_is_said(some_done: tuple[Path, str], tmp_path: Path) -> None:
    workspace, run_id = some_done
    events: list[Event] = []
    exported = export_run(workspace, run_id, "lm-eval", out=tmp_path / "out", emit=events.append)
    assert (exported.items, exported.missing) == (174, 1)
    assert "1 of 175 items have no answer" in next(e for e in events if isinstance(e, Warned)).message
    results = json.loads(next(f for f in exported.files if f.name.startswith("results_")).read_text())
    assert results["mince_gui"]["items"]["done"] == 174


def test_a_table_is_safe_in_a_spreadsheet_and_shows_what_is_missing(some_done: tuple[Path, str]) -> None:
    workspace, run_id = some_done
    exported = export_run(workspace, run_id, "csv")
    with exported.path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 175
    assert rows[0]["answer"].startswith("'=1+1")
    assert (rows[0]["read by strict-match"], rows[0]["gold"]) == ("2", "3")
    assert rows[0]["exact_match,flexible-extract passed"] == ""
    assert (rows[1]["state"], rows[1]["answer"], rows[1]["cause"]) == ("missing", "", "hung")
    assert rows[2]["finish"] in ("eos", "stop", "budget")


def test_a_table_of_a_run_whose_items_are_all_missing_says_why(some_done: tuple[Path, str]) -> None:
    workspace, run_id = some_done
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("DELETE FROM run_items WHERE run_id = ? AND state = 'done'", (run_id,))
    exported = export_run(workspace, run_id, "csv")
    with exported.path.open(encoding="utf-8", newline="") as file:
        assert [row["cause"] for row in csv.DictReader(file)] == ["hung"]
    with pytest.raises(MinceError, match="No item of run"):
        export_run(workspace, run_id, "lm-eval")


def test_a_pack_that_is_gone_is_named_and_the_table_needs_none(some_done: tuple[Path, str], tmp_path: Path) -> None:
    workspace, run_id = some_done
    with Workspace(workspace) as ws:
        stored_runs.get(ws, run_id).plan.pack_path.unlink()
    with pytest.raises(InputError, match="is gone or changed"):
        export_run(workspace, run_id, "lm-eval", out=tmp_path / "out")
    assert export_run(workspace, run_id, "csv").items == 174


def test_a_prompt_that_would_be_another_today_is_not_exported_as_what_was_asked(some_done: tuple[Path, str]) -> None:
    workspace, run_id = some_done
    with Workspace(workspace) as ws, ws.writing() as db:
        db.execute("UPDATE run_items SET prompt_sha256 = 'other' WHERE run_id = ? AND position = 5", (run_id,))
    with pytest.raises(InputError, match="is not the one that run"):
        export_run(workspace, run_id, "lm-eval")


def test_a_run_without_answers_has_nothing_to_export(prepared: Path, demo: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    shutil.copytree(prepared, workspace)
    model = demo / json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"]
    run_id = create(workspace, RunOrder(model, "demo-math-175"))
    with pytest.raises(MinceError, match="No item of run"):
        export_run(workspace, run_id, "lm-eval")


def test_the_command_takes_a_run_or_a_subset_by_name(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = _runs(walked.workspace, "demo-math-175")
    there = ["--workspace", str(walked.workspace)]
    assert main(["export", run_id[:15], "--as", "lm-eval", "--out", str(tmp_path / "run"), "--json", *there]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 175
    assert main(["export", "demo-math-175", "--as", "csv", "--out", str(tmp_path / "s.csv"), *there]) == 0
    assert "175 items as csv" in capsys.readouterr().out
    assert main(["export", run_id, "--as", "quark", *there]) == 2
    assert "--as lm-eval" in capsys.readouterr().err


def test_answers_are_shown_without_obeying_them(
    some_done: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    workspace, run_id = some_done
    assert main(["runs", "show", run_id, "--items", "--wrong", "--limit", "1", "--workspace", str(workspace)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[31m" not in shown
    assert "\\x1b[31m" in shown
    assert "strict-match  2" in shown
    assert "gold    3" in shown


@pytest.mark.parametrize("task", ["commonsense_qa", "piqa", "hellaswag", "winogrande", "mmlu_pro"])
def test_a_logged_task_goes_out_as_it_came_in(demo: Path, tmp_path: Path, task: str) -> None:
    """Row by row as lm-eval wrote it, but for the answers: another CPU may give others."""
    logged = Path(__file__).parent.parent / "tasks" / "data" / "logged"
    workspace = tmp_path / "ws"
    import_logs(workspace, look([logged]), benchmark=task)
    pack(workspace, all_of=task)
    model = demo / json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"]
    run_id = create(workspace, RunOrder(model, "full"))
    execute(workspace, run_id)
    exported = export_run(workspace, run_id, "lm-eval", out=tmp_path / "out")
    answers = ("resps", "filtered_resps", "acc", "acc_norm", "exact_match")
    compared = 0
    for file in exported.files:
        if file.name.startswith("samples_"):
            (theirs,) = logged.glob(f"*/{file.name.rpartition('_')[0]}_*.jsonl")
            ours_rows, rows = (
                [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in (file, theirs)
            )
            for ours, row in zip(ours_rows, rows, strict=True):
                assert list(ours) == list(row)
                assert {k: v for k, v in ours.items() if k not in answers} == {
                    k: v for k, v in row.items() if k not in answers
                }
                compared += 1
    assert compared == (8 if task == "winogrande" else 10)


def test_a_part_of_a_group_comes_back_as_a_part(demo: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    import_logs(workspace, look([Path(__file__).parent.parent / "tasks" / "data" / "logged"]), benchmark="mmlu_pro")
    pack(workspace, all_of="mmlu_pro")
    model = demo / json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"]
    run_id = create(workspace, RunOrder(model, "full", limit=5))
    execute(workspace, run_id)
    export_run(workspace, run_id, "lm-eval", out=tmp_path / "out")
    import_logs(tmp_path / "ws2", look([tmp_path / "out"]))
    with Workspace(tmp_path / "ws2") as ws:
        (stored,) = logs.listing(ws)
    assert (stored.items, stored.total_items) == (5, 10)
    assert [check.kind for check in stored.checks if check.severity == "refusal"] == ["partial"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "dataset", "rows"),
    [("ifeval", "ifeval/test.jsonl", 3), ("gsm8k", "gsm8k/test.jsonl", 6), ("mmlu", "mmlu", 3)],
)
def test_real_benchmarks_come_back_too(shared: Path, tmp_path: Path, name: str, dataset: str, rows: int) -> None:
    subset = {"ifeval": "ifeval-250", "gsm8k": "gsm8k-400", "mmlu": "mmlu-1500"}[name]
    pack(tmp_path / "ws", shared / "data" / dataset, subset=subset)
    budget = None if name == "mmlu" else 8
    run_id = create(tmp_path / "ws", RunOrder(shared / "models" / MODEL, subset, limit=3, max_new_tokens=budget))
    execute(tmp_path / "ws", run_id)
    exported: ExportedRun = export_run(tmp_path / "ws", run_id, "lm-eval", out=tmp_path / "out")
    samples = [f for f in exported.files if f.name.startswith("samples_")]
    assert sum(len(f.read_text(encoding="utf-8").splitlines()) for f in samples) == rows
    found = _imported(tmp_path / "out", tmp_path / "ws2")
    assert found.pop("items") == 3
    assert found == pytest.approx(_scores(tmp_path / "ws", run_id))


@pytest.mark.oracle
@pytest.mark.shared
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["ifeval", "gsm8k", "mmlu"])
def test_amd_quarks_loader_reads_it(shared: Path, tmp_path: Path, name: str) -> None:
    """Each item with the verdict that the run has."""
    loader = importlib.import_module("quark.contrib.mince.data_loader")
    config = importlib.import_module("quark.contrib.mince.config")
    dataset = {"ifeval": "ifeval/test.jsonl", "gsm8k": "gsm8k/test.jsonl", "mmlu": "mmlu"}[name]
    subset = {"ifeval": "ifeval-250", "gsm8k": "gsm8k-400", "mmlu": "mmlu-1500"}[name]
    workspace = tmp_path / "ws"
    pack(workspace, shared / "data" / dataset, subset=subset)
    budget = None if name == "mmlu" else 8
    run_id = create(workspace, RunOrder(shared / "models" / MODEL, subset, limit=3, max_new_tokens=budget))
    execute(workspace, run_id)
    exported = export_run(workspace, run_id, "lm-eval", out=tmp_path / "out")
    # It takes whole benchmarks only: the count is the one thing that a few items cannot have.
    some = dataclasses.replace(config.BENCHMARKS[name], total_items=0)
    items = loader.load_benchmark_items(some, {"m": str(exported.path)})
    read = [item.model_results["m"] for item in items]
    with Workspace(workspace) as ws:
        done = {item.item_key: item.scores for item in stored_runs.items(ws, run_id)}
    assert len(read) == len(done) == 3
    metric = {"ifeval": "prompt_level_strict_acc", "gsm8k": "exact_match,flexible-extract", "mmlu": "acc"}[name]
    theirs = {"ifeval": "prompt_strict", "gsm8k": "exact_match", "mmlu": "acc"}[name]
    assert sorted(float(row[theirs]) for row in read) == sorted(scores[metric][0] for scores in done.values())
