"""mince run: what it prints of a run."""

from __future__ import annotations

import pytest

from mince_gui.cli.run import print_asking
from mince_gui.report.answers import Answers


def test_names_from_elsewhere_bring_no_control_characters_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_asking({"task": "riddles\x1b[2J\x07\nof a pack"}, Answers(256, capped=1))
    task, cut = capsys.readouterr().out.splitlines()
    assert task == "task: riddles\\x1b[2J\\x07 of a pack"
    assert cut == "! 1 answer was cut at the budget of 256 new tokens; scored as cut."


def test_a_long_system_prompt_is_cut_with_a_mark(capsys: pytest.CaptureFixture[str]) -> None:
    print_asking({"system prompt": "word " * 99}, Answers())
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("word ...")
    assert len(line) < 330
