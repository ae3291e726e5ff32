from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mince_gui.cli import main


def _rows(folder: Path, model: str, right: list[int]) -> None:
    """A small log in lm-eval's layout, of a task that no benchmark knows."""
    target = folder / model
    target.mkdir(parents=True)
    lines = [
        json.dumps({"doc_id": i, "doc": {"q": f"item {i}"}, "filter": "none", "metrics": ["acc"], "acc": float(r)})
        for i, r in enumerate(right)
    ]
    (target / "samples_tiny_2026-01-01T00-00-00.000001.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    for k, model in enumerate(("alpha", "beta", "gamma")):
        _rows(tmp_path / "logs", model, [int((i * 7 + k) % (k + 2) == 0) for i in range(600)])
    return tmp_path / "logs"


def test_help_loads_neither_numpy_nor_qt() -> None:
    code = (
        "import sys; from mince_gui.cli import main; main(['--help']);"
        "heavy = {'numpy', 'scipy', 'PySide6', 'pandas', 'pyarrow', 'onnxruntime_genai'} & set(sys.modules);"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout


def test_every_command_of_the_help_page_can_be_called(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    listed = capsys.readouterr().out.split("Commands:")[1]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
    assert len(names) > 8
    for name in names:
        assert main([name, "--help"]) == 0
        assert "Usage: mince" in capsys.readouterr().out


def test_import_size_and_freeze_work_on_a_task_that_is_not_declared(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ws = ["--workspace", str(tmp_path / "ws")]
    assert main(["import", str(tiny), *ws]) == 0
    assert "alpha" in capsys.readouterr().out
    assert main(["size", "--benchmark", "tiny", "--json", *ws]) == 0
    sizing = json.loads(capsys.readouterr().out)
    assert sizing["total_items"] == 600
    assert sizing["gain_pp"][0] is None
    assert sizing["method"] == "exact"
    assert len(sizing["p95_pp"]) == len(sizing["sizes"])
    out = tmp_path / "tiny.json"
    assert main(["freeze", "--benchmark", "tiny", "--n", str(sizing["sizes"][2]), "--out", str(out), *ws]) == 0
    assert json.loads(out.read_text())["n"] == sizing["sizes"][2]


def test_a_log_imported_into_one_workspace_is_listed_there(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ws = str(tmp_path / "here")
    assert main(["--workspace", ws, "import", str(tiny)]) == 0
    assert main(["logs", "--workspace", ws, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out.partition("[")[2].join(["[", ""]))
    assert {log["model"] for log in listed} == {"alpha", "beta", "gamma"}


@pytest.mark.parametrize(
    "words",
    [
        ["--workspace", "WS", "reference", "list", "--json"],
        ["reference", "--workspace", "WS", "list", "--json"],
        ["reference", "list", "--workspace", "WS", "--json"],
    ],
)
def test_the_workspace_may_stand_at_any_place(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ws = str(tmp_path / "here")
    add = ["reference", "add", "--benchmark", "mmlu", "--model", "m", "--metric", "acc=65", "--source", "s"]
    assert main([*add, "--workspace", ws]) == 0
    capsys.readouterr()
    assert main([ws if word == "WS" else word for word in words]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["model"] for one in listed if one["kind"] == "typed in"] == ["m"]


def test_json_may_stand_before_the_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["runs", "--json", "show", "nope"]) == 2


def test_resume_refuses_options_that_it_would_pass_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--resume", "r", "--limit", "5", "--task", "gsm8k"]) == 2
    assert "--limit, --task" in capsys.readouterr().err


def test_a_share_is_told_from_a_percentage(capsys: pytest.CaptureFixture[str]) -> None:
    add = ["reference", "add", "--benchmark", "mmlu", "--model", "m", "--source", "s", "--json", "--metric"]
    assert main([*add, "acc=0.8"]) == 2
    assert main([*add, "acc=0.8%"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["scores"]["acc"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["size", "--benchmark", "nope"], 2, "no benchmark 'nope'"),
        (["size", "--benchmark", "ifeval"], 2, "mince import"),
        (["size", "--benchmark", "ifeval", "--step", "0"], 2, "--step"),
        (["import", "not-there"], 3, "not-there does not exist"),
        (["freeze", "--benchmark", "ifeval", "--n", "5"], 2, "mince import"),
        (["run"], 2, "--model"),
        (["run", "--model", ".", "--subset", "nope"], 2, "nope"),
        (["run", "--resume", "nope"], 2, "nope"),
        (["runs", "show", "nope"], 2, "nope"),
        (["report", "nope"], 2, "nope"),
        (["reference", "add", "--benchmark", "mmlu", "--model", "m", "--metric", "acc=0.65", "--source", "s"], 2, "65"),
        (["reference", "add", "--benchmark", "mmlu", "--model", "m", "--metric", "f1=65", "--source", "s"], 2, "f1"),
        (["nonsense"], 2, "nonsense"),
    ],
)
def test_a_wrong_request_ends_with_its_code_and_no_traceback(
    argv: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_a_folder_without_logs_is_refused_with_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a log")
    assert main(["import", str(tmp_path)]) == 3
    assert "photo.jpg" in capsys.readouterr().err


def test_a_typed_in_reference_is_listed_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["reference", "add", "--benchmark", "mmlu", "--model", "m", "--metric", "acc=65.39", "--source", "a paper"]
    assert main([*words, "--precision", "bf16", "--json"]) == 0
    capsys.readouterr()
    assert main(["reference", "list", "--json"]) == 0
    reference = json.loads(capsys.readouterr().out)[0]
    assert reference["scores"]["acc"] == pytest.approx(65.39)
    assert (reference["kind"], reference["precision"]) == ("typed in", "bf16")
