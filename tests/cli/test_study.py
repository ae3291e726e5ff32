from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mince_gui.cli import main
from mince_gui.cli.study import as_csv
from mince_gui.sizing.studies import Table


@pytest.fixture(scope="module")
def workspace(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("study"))
    assert main(["import", str(demo / "logs"), "--workspace", folder]) == 0
    return folder


def run(workspace: str, *words: str) -> int:
    return main(["study", *words, "--benchmark", "demo-choice", "--draws", "300", "--workspace", workspace])


def test_a_study_prints_its_table_and_its_sentences(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "leave-out") == 0
    out = capsys.readouterr().out
    assert "models left" in out
    assert "Without 1 model: 6 ways" in out
    assert "demo-300-steps" in out


def test_json_is_one_object_with_the_rows_and_the_sizing(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "tau", "--taus", "0.5,2", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["kind"] == "tau"
    assert [row["tau_pp"] for row in body["rows"]] == [0.5, 2.0]
    assert body["sizing"]["benchmark"] == "demo-choice"


def test_the_csv_file_has_every_row_at_full_precision(
    workspace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table.csv"
    assert run(workspace, "leave-out", "--out", str(out), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    with out.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(rows) == 41
    assert float(read[0]["p95_pp"]) == rows[0]["p95_pp"]


def test_both_rules_are_for_seeds_alone(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "seeds", "--seeds", "2", "--worst", "both") == 0
    out = capsys.readouterr().out
    assert "joint: n* over 2 seeds" in out
    assert run(workspace, "tau", "--worst", "both") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tau", "--n", "50"], "--n is for samplers, ranks, holdout"),
        (["ranks", "--taus", "1"], "--taus is for tau"),
        (["leave-out", "--seeds", "3"], "--seeds is for"),
        (["tau", "--most-out", "2"], "--most-out is for leave-out"),
        (["tau", "--taus", "1,x"], "numbers with commas"),
        (["tau", "--taus", "0"], "above 0"),
        (["tau", "--step", "5", "--sizes", "5,10"], "either --step or --sizes"),
        (["holdout"], "--held"),
        (["nonsense"], "nonsense"),
    ],
)
def test_what_a_study_does_not_take_is_refused_by_name(
    workspace: str, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run(workspace, *words) == 2
    assert said in capsys.readouterr().err


def test_what_is_not_there_is_an_empty_cell_and_text_is_no_formula() -> None:
    table = Table(("model", "n_star"), (("=1+1", None), ("a,b", 5)), (0, 1))
    assert list(csv.reader(as_csv(table).splitlines())) == [["model", "n_star"], ["'=1+1", ""], ["a,b", "5"]]
