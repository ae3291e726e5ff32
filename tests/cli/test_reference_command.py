from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.cli import main

ADD = ["reference", "add", "--benchmark", "mmlu", "--model", "m", "--source", "a paper"]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_reference_is_added_shown_listed_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    facts = [
        "--precision", "bf16", "--task", "mmlu", "--task-version", "1", "--few-shot", "5",
        "--lm-eval-version", "0.4.13", "--runtime", "vllm", "--device", "MI300X", "--seconds", "3600",
        "--machine", "lab-7", "--chat-template", "none", "--note", "by hand", "--date", "2026-03",
    ]  # fmt: skip
    (made,) = printed(capsys, *ADD, "--metric", "acc=65.39", *facts)
    assert printed(capsys, "reference", "show", made["reference_id"]) == made
    assert main(["reference", "show", made["reference_id"]]) == 0
    shown = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    told = {name: value.strip() for name, value in shown.items()}
    assert (told["acc"], told["wall clock"], told["examples"]) == ("65.39 % of 14,042 items", "1 h", "5")
    assert (told["device"], told["machine"], told["date"], told["note"]) == ("MI300X", "lab-7", "2026-03", "by hand")
    assert made in printed(capsys, "reference", "list", "--benchmark", "mmlu")
    assert main(["reference", "remove", made["reference_id"]]) == 0
    capsys.readouterr()
    assert made not in printed(capsys, "reference", "list")


def test_the_list_says_what_each_reference_is_and_where_it_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ADD, "--metric", "acc=65.39", "--date", "2026-03-01"]) == 0
    capsys.readouterr()
    assert main(["reference", "list", "--benchmark", "mmlu"]) == 0
    head, _, first, *rest = capsys.readouterr().out.splitlines()
    assert head.split() == ["reference", "kind", "benchmark", "model", "precision", "scores", "date", "source"]
    assert first.split()[1:] == ["typed", "in", "mmlu", "m", "-", "acc", "65.39", "%", "2026-03-01", "a", "paper"]
    assert len(rest) == 7
    assert all("published" in line and "bf16" in line and "MINCE" in line for line in rest)


def test_the_list_has_one_score_of_each_and_counts_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference", "list", "--benchmark", "ifeval"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == 7
    assert all("prompt_level_strict_acc" in line and ", 3 more" in line for line in lines)
    assert not any("inst_level" in line for line in lines)


def test_what_is_not_known_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reference", "show", "published-mince-gsm8k-qwen3-8b"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "task version not known" in lines
    assert "outcomes of items no" in lines
    assert any(line.startswith("caution the paper gives one score") for line in lines)


def test_shares_are_taken_by_the_unit(capsys: pytest.CaptureFixture[str]) -> None:
    (made,) = printed(capsys, *ADD, "--metric", "acc=0.6539", "--unit", "share")
    assert made["scores"]["acc"] == pytest.approx(65.39)
    (low,) = printed(capsys, *ADD, "--metric", "acc=0.6539", "--unit", "percent")
    assert low["scores"]["acc"] == pytest.approx(0.6539)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*ADD, "--metric", "acc=0.6539"], "65.39 %, or a percentage, 0.6539 %"),
        ([*ADD, "--metric", "acc"], "not NAME=PERCENT"),
        ([*ADD, "--metric", "acc=65,39"], "write 65.39"),
        ([*ADD, "--metric", "acc=65", "--metric", "acc=66"], "there twice"),
        ([*ADD, "--metric", "acc=65", "--date", "yesterday"], "no date"),
        ([*ADD, "--metric", "acc=65", "--seconds", "60"], "--machine"),
        ([*ADD, "--metric", "acc=65", "--few-shot", "-1"], "--few-shot"),
        (["reference", "add", "--benchmark", "mmlu", "--model", "m", "--metric", "acc=65"], "--source"),
        (["reference", "import"], "either a PATH or --log"),
        (["reference", "import", ".", "--log", "m"], "either a PATH or --log"),
        (["reference", "import", ".", "--benchmark", "mmlu"], "goes with --log"),
        (["reference", "import", "--log", "m", "--unit", "share"], "for results files"),
        (["reference", "import", "--log", "m"], "no log of 'm'"),
        (["reference", "show", "nope"], "no reference 'nope'"),
        (["reference", "remove", "nope"], "no reference 'nope'"),
        (["reference", "remove", "published-mince-mmlu-qwen3-8b"], "ships with the program"),
        (["reference", "list", "--benchmark", "nope"], "no benchmark 'nope'"),
    ],
)
def test_a_request_that_cannot_be_met_names_the_way_out(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_a_results_file_in_percent_is_refused_until_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results_1.json"
    file.write_text(json.dumps({"results": {"ifeval": {"prompt_level_strict_acc,none": 73.94}}}), encoding="utf-8")
    assert main(["reference", "import", str(file)]) == 3
    assert "--unit percent" in capsys.readouterr().err
    (made,) = printed(capsys, "reference", "import", str(file), "--unit", "percent", "--model", "mine")
    assert (made["model"], made["scores"]) == ("mine", {"prompt_level_strict_acc": 73.94})


def test_a_name_cannot_write_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    add = ["reference", "add", "--benchmark", "mmlu", "--model", "\x1b[31mred", "--source", "s", "--metric", "acc=65"]
    assert main(add) == 0
    assert "\x1b" not in capsys.readouterr().out
