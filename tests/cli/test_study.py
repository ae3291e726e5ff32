from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mince_gui.cli import main
from mince_gui.cli.study import as_csv, print_study, short_names
from mince_gui.sizing.studies import Table


@pytest.fixture(scope="module")
def workspace(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("study"))
    assert main(["import", str(demo / "logs"), "--workspace", folder]) == 0
    return folder


@dataclass(frozen=True)
class Wide:
    """A study of two models whose names are `length` characters longer than they need to be."""

    length: int
    kind: str = "leave-out"
    warnings: tuple[str, ...] = ()

    def table(self) -> Table:
        names = tuple(f"model-{k}-{'x' * self.length}" for k in range(2))
        return Table(
            ("removed", "drift_model"), ((" + ".join(names), names[0]),), (0,), names, ("removed", "drift_model")
        )

    def summary(self) -> tuple[str, ...]:
        return ()

    def to_json(self) -> dict[str, Any]:
        return {}


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


def test_the_whole_path_of_a_file_is_said(
    workspace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(workspace, "tau", "--out", "new/folder/table.csv") == 0
    written = tmp_path.resolve() / "new" / "folder" / "table.csv"
    assert f"Written to {written}" in capsys.readouterr().out
    assert written.is_file()


def test_the_bound_is_headed_by_its_quantile(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "tau", "--quantile", "0.5") == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert "P50" in head
    assert "95" not in head


def test_both_rules_are_for_seeds_alone(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(workspace, "seeds", "--seeds", "2", "--worst", "both") == 0
    out = capsys.readouterr().out
    assert "joint: n* over 2 seeds" in out
    assert run(workspace, "tau", "--worst", "both") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tau", "--n", "50"], "--n is for samplers, ranks, holdout"),
        (["tau", "--tau", "2"], "not for tau. Use --taus."),
        (["samplers", "--dataset", "."], "--dataset is read for --embedding-model alone"),
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


def test_names_are_cut_where_no_other_name_begins_alike() -> None:
    names = ("a/Qwen2.5-0.5B-Instruct", "a/Qwen2.5-0.5B-Instruct-GPTQ", "b/aya", "b/claude-3-opus-20240229")
    assert list(short_names(names).values()) == [
        "Qwen2.5-0.5B-Instruct",
        "Qwen2.5-0.5B-Instruct-~",
        "aya",
        "claude-3-o~",
    ]
    assert short_names(("a/model", "b/model")) == {"a/model": "a/model", "b/model": "b/model"}


def test_a_table_too_wide_for_a_screen_shortens_names_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_study(Wide(60))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    assert "model-0-xx~ + model-1-xx~" in out
    assert "Names of models are shortened" in out
    print_study(Wide(8))
    out = capsys.readouterr().out
    assert "model-0-xxxxxxxx + model-1-xxxxxxxx" in out
    assert "shortened" not in out
