"""lm-eval itself as the oracle of logged tasks: fresh logs ask the same, and its filters and metrics judge the same."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mince_gui.logs import detect
from mince_gui.logs.lm_eval.requests import read_requests
from mince_gui.tasks.logged import filters, metrics

LOGS = Path(__file__).parent / "data" / "logged"
TEXTS = (
    "The answer is 1,200.", "#### 12\n#### 13", "$3.50", "-7", "", "  (B) ", "answer: A", "guilty of romance!",
    "Guilty", "İstanbul", "a\0b\0", "The answer is (C).", "yes No", "1.", "no 5 apples, 6 pears",
)  # fmt: skip


@pytest.mark.oracle
def test_lm_eval_asks_the_same_again(tmp_path: Path) -> None:
    maker = Path(__file__).parent / "make_logged_logs.py"
    subprocess.run([sys.executable, str(maker), str(tmp_path)], check=True, stdout=subprocess.DEVNULL)

    def asked(folder: Path) -> dict[str, Any]:
        with detect([folder]) as seen:
            logs = {found.task: read_requests(found) for found in seen.found}
        return {
            task: {key: (item.prompts, item.arguments, item.target, item.doc) for key, item in log.items.items()}
            for task, log in logs.items()
        }

    assert asked(tmp_path) == asked(LOGS)


@pytest.mark.oracle
def test_filters_read_what_lm_evals_read() -> None:
    build: Any = importlib.import_module("lm_eval.filters").build_filter_ensemble
    choices = ["Guilty", "Guilty of Romance", "5"]
    pipelines: list[list[tuple[str, dict[str, Any]]]] = [
        [("take_first", {})],
        [("remove_whitespace", {}), ("take_first", {})],
        [("lowercase", {}), ("take_first", {})],
        [("uppercase", {}), ("take_first", {})],
        [("regex", {}), ("take_first", {})],
        [("regex", {"regex_pattern": r"(-?[$0-9.,]{2,})|(-?[0-9]+)", "group_select": -1}), ("take_first", {})],
        [("regex", {"regex_pattern": r"([A-E])|x*", "fallback": "none"}), ("take_first", {})],
        [("map", {"mapping_dict": {"1.": "one"}, "default_value": "other"}), ("take_first", {})],
        *(
            [("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))", "group_select": place, "ignore_case": case,
                                     "ignore_punctuation": marks, "regexes_to_ignore": ignored}), ("take_first", {})]
            for place in (0, -1) for case in (True, False) for marks in (True, False) for ignored in ([], [r"\d"])
        ),
    ]  # fmt: skip
    for steps in pipelines:
        theirs = build("f", [[name, options] for name, options in steps])
        read: Any = [[text] for text in TEXTS]
        for step in theirs.filters:
            read = list(step().apply(read, [{"choices": choices}] * len(TEXTS)))
        assert [filters.apply(steps, text, choices) for text in TEXTS] == read, steps


@pytest.mark.oracle
def test_exact_match_judges_as_lm_evals_does() -> None:
    judge: Any = importlib.import_module("lm_eval.api.metrics").exact_match_hf_evaluate
    judged = 0
    for options in (
        {}, {"ignore_case": True}, {"ignore_punctuation": True}, {"ignore_numbers": True, "ignore_case": True},
        {"regexes_to_ignore": [",", r"\$", r"(?s).*#### ", r"\.$"], "ignore_case": True},
    ):  # fmt: skip
        for read in TEXTS:
            for gold in ([TEXTS[0]], ["12"], ["1", "guilty", "i̇stanbul"], [read.upper(), "x"], [read]):
                theirs = judge([read] * len(gold), gold, **options)["exact_match"]
                assert metrics.exact_match(read, gold, options) == float(theirs > 0), (read, gold, options)
                judged += 1
    assert judged == 5 * 5 * len(TEXTS)
