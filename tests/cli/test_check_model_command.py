"""mince check-model, with the real bundled runtime."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mince_gui.cli import main
from tests.run.checking.folders import build


@pytest.fixture
def model(demo: Path) -> Path:
    return demo / str(json.loads((demo / "demo.json").read_text(encoding="utf-8"))["model_dir"])


def test_a_model_that_runs_has_a_card_with_words_for_every_mark(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check-model", str(model)]) == 0
    card = capsys.readouterr().out
    assert "ok    precision      INT4 weights" in card
    assert "note  chat template" in card
    assert "bundled can run it." in card


def test_json_holds_facts_runtimes_and_verdict(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-model", str(model), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["ok"]
    assert body["providers"] == ["cpu"]
    assert body["ceiling"] == 512
    assert {fact["level"] for fact in body["facts"]} <= {"good", "warn", "bad"}
    assert [runtime["can_run"] for runtime in body["runtimes"]] == [True]


def test_a_model_that_no_runtime_can_run_ends_with_1_and_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = build(tmp_path, "plain-cuda")
    assert main(["check-model", str(folder)]) == 1
    said = capsys.readouterr()
    assert "it has no CUDA" in said.out
    assert "None of the runtimes can run it: it needs CUDA." in said.err
    assert "onnxruntime-genai-cuda" in said.err
    assert main(["check-model", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_one_runtime_can_be_named_by_the_path_of_its_python(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-model", str(model), "--runtime", sys.executable, "--json"]) == 0
    runtimes = json.loads(capsys.readouterr().out)["runtimes"]
    assert len(runtimes) == 1
    assert runtimes[0]["can_run"]


@pytest.mark.parametrize(("arguments", "code"), [(["--runtime", "no-such-runtime"], 2), ([], 3)])
def test_what_is_no_runtime_or_no_model_is_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    folder = model if arguments else tmp_path
    assert main(["check-model", str(folder), *arguments]) == code
    assert capsys.readouterr().out == ""


def test_a_folder_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build(tmp_path, "plain-cpu", tokenizer={"tokenizer_class": "\x1b[31mred\x07"})
    main(["check-model", str(folder)])
    out = capsys.readouterr().out
    assert "\x1b[31mred" not in out
    assert "\\x1b[31mred\\x07" in out


def test_no_model_and_no_native_library_is_loaded_into_this_process(model: Path) -> None:
    code = (
        "import sys; from mince_gui.cli import main;"
        f"code = main(['check-model', {str(model)!r}, '--json']);"
        "sys.exit(code or int(bool({'onnxruntime', 'onnxruntime_genai', 'onnx'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
