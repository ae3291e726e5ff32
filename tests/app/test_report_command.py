"""`mince report` over the demo's own runs: documents, limits and their exit codes, several runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mince_gui.cli import main
from mince_gui.store import Workspace, references
from tests.app.conftest import Walked
from tests.app.test_partners import copied


@pytest.fixture
def workspace(walked: Walked, tmp_path: Path) -> Path:
    copy = tmp_path / "workspace"
    shutil.copytree(walked.workspace, copy)
    return copy


@pytest.fixture
def run(walked: Walked) -> str:
    return next(part.subset_run.run_id for part in walked.parts if part.subset.benchmark == "demo-math")


def mince(*words: str, workspace: Path) -> int:
    return main([*words, "--workspace", str(workspace)])


@pytest.mark.parametrize("kind", ["html", "pdf", "json", "csv", "md"])
def test_the_same_run_gives_the_same_bytes_of_every_kind(workspace: Path, run: str, tmp_path: Path, kind: str) -> None:
    first, second = tmp_path / f"first.{kind}", tmp_path / f"second.{kind}"
    for out in (first, second):
        assert mince("report", run, "--out", str(out), workspace=workspace) == 0
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1_000


def test_a_limit_that_is_kept_ends_with_0_and_one_line(
    workspace: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mince("report", run, "--max-drift", "90", workspace=workspace) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("gate within: drift within (")


def test_a_limit_that_is_exceeded_ends_with_5_and_the_reason(
    workspace: Path, run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drift = json_report(workspace, run, capsys)["metrics"][0]["drift_pp"]
    limit = str(abs(drift) / 2)
    out = tmp_path / "report.json"
    assert mince("report", run, "--max-drift", limit, "--out", str(out), workspace=workspace) == 5
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("mince: gate beyond: drift beyond (")
    assert json.loads(out.read_text(encoding="utf-8"))["gate"]["outcome"] == "beyond"


def json_report(workspace: Path, run: str, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert mince("report", run, "--json", *words, workspace=workspace) == 0
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_a_limit_that_cannot_be_judged_is_no_pass(
    workspace: Path, run: str, walked: Walked, capsys: pytest.CaptureFixture[str]
) -> None:
    # The demo ships outcomes per item of its model before it was quantised: without them there is no pair.
    with Workspace(workspace) as ws:
        for reference in references.listing(ws):
            references.remove(ws, reference.reference_id)
    assert mince("report", run, "--max-delta", "90", workspace=workspace) == 1
    assert "no other run of the same items" in capsys.readouterr().err
    full = next(part.full.run_id for part in walked.parts if part.full and part.subset.benchmark == "demo-math")
    assert mince("report", full, "--max-drift", "90", workspace=workspace) == 1
    assert "this is the full run" in capsys.readouterr().err


def test_a_pair_may_be_named_for_a_limit(workspace: Path, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    npu = copied(workspace, run, "npu", flip=9, precision="int4", device="NPU (RyzenAI)", device_proven=False)
    assert mince("report", npu, "--max-delta", "90", workspace=workspace) == 0
    assert mince("report", npu, "--max-delta", "0.01", "--against", run, workspace=workspace) == 5
    assert "paired delta beyond" in capsys.readouterr().err


def test_several_runs_are_compared_and_limits_are_for_one(
    workspace: Path, walked: Walked, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [part.subset_run.run_id for part in walked.parts]
    assert mince("report", *runs, "--json", workspace=workspace) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["schema"] == "mince-gui/comparison"
    for words in (["--all"], ["--history", run]):
        assert mince("report", *words, workspace=workspace) == 0
        assert "demo-device-int4" in capsys.readouterr().out
    again = copied(workspace, run, "again", flip=9)
    for first, second in ((run, again), (again, run)):
        assert mince("report", first, second, "--history", "--json", workspace=workspace) == 0
        (history,) = json.loads(capsys.readouterr().out)["histories"]
        assert (history["pairing"]["paired"]["ident"], history["pairing"]["run_id"]) == (first, second)
    for words in ([*runs, "--max-drift", "1"], ["--all", run], ["--history"], [run, again, *runs, "--history"], []):
        assert mince("report", *words, workspace=workspace) == 2
