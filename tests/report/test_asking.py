"""How items were asked and scored, and what became of the answers, in words and in every document."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from mince_gui.report import build, csv_text, html_text, json_text, markdown_text
from mince_gui.report.answers import Answers
from mince_gui.report.asking import asking_lines
from tests.report.conftest import MakeRun


def _lines(conditions: dict[str, Any] | None = None, **given: Any) -> dict[str, str]:
    facts: dict[str, Any] = {"benchmark": "gsm8k", "budget": None, "methods": {}, "keys": ()}
    return dict(asking_lines({"task": "gsm8k_cot", **(conditions or {})}, **{**facts, **given}))


def _counted(*items: dict[str, Any]) -> Answers:
    answers = Answers(256)
    for item in items:
        answers = answers.counting(
            **{"text": "7", "cause": None, "capped": False, "finish": "eos", "repeats": None, **item}
        )
    return answers


def test_each_answer_is_counted_under_what_became_of_it() -> None:
    answers = _counted(
        {}, {"capped": True, "finish": "budget"}, {"capped": True, "finish": "context"}, {"text": ""},
        {"capped": True, "finish": "time"}, {"repeats": 3}, {"capped": True, "finish": "budget", "repeats": 1},
        {"text": " \n\t"}, {"text": None, "finish": None, "cause": "does_not_fit: 9000 tokens, the ceiling is 4096"},
        {"text": None, "finish": None, "cause": "skipped by the user"}, {"text": None, "finish": None},
    )  # fmt: skip
    assert answers == Answers(budget=256, capped=3, by_ceiling=1, by_time=1, repeating=2, empty=2, not_fitting=1)


def test_a_cap_whose_kind_was_not_kept_is_not_said_to_be_the_ceilings() -> None:
    assert _counted({"capped": True, "finish": None}).by_ceiling == 0


def test_counts_of_zero_are_not_said() -> None:
    assert Answers(256).words() == ()


def test_the_words_of_a_count_name_budget_and_ceiling() -> None:
    words = Answers(budget=1280, capped=3, by_ceiling=1, by_time=2, repeating=1, empty=1, not_fitting=2).words()
    assert [short for short, _ in words] == [
        "3 capped at 1,280 tokens (1 by the model's ceiling)", "2 cut by time", "1 repeating", "1 empty",
        "2 do not fit",
    ]  # fmt: skip
    assert words[2][1].startswith("1 answer ends in the same words over and over")
    assert words[4][1] == "2 prompts do not fit the model's ceiling: missing, never cut."


def test_items_with_fewer_examples_are_counted_beside_the_most() -> None:
    told = _lines({"examples": 5, "fewer_examples": 98})["task"]
    assert told == "gsm8k_cot, up to 5 examples before each question (98 items have fewer)"


def test_a_run_whose_model_never_loaded_has_no_prompt_to_tell_of() -> None:
    assert _lines({"system_prompt": "Be brief."})["prompt"] == "not recorded (no model was loaded)"
    assert _lines({"system_prompt": "Be brief."})["system prompt"] == "Be brief."


def test_parity_is_not_promised_for_choices_whose_method_was_not_kept() -> None:
    told = _lines(methods={"last_logits": 5, "not recorded": 95})["choices scored by"]
    assert "not recorded (95 items): an older version kept no record" in told
    assert told.endswith("not for 95 items.")


@pytest.mark.parametrize("number", [0, 1, 8])
def test_the_task_is_named_with_its_examples(number: int) -> None:
    one = "example" if number == 1 else "examples"
    assert _lines({"examples": number})["task"] == f"gsm8k_cot, {number} {one} before each question"


def test_examples_that_are_not_known_are_not_said_to_be_none() -> None:
    assert _lines({"examples": None})["task"] == "gsm8k_cot"


def test_a_template_is_named_with_its_hash_and_the_switch_for_thinking() -> None:
    said = {"chat_template": "chat_template.jinja", "chat_template_sha256": "ab" * 32, "thinking_off": True}
    prompt = _lines(said)["prompt"]
    assert "chat_template.jinja" in prompt
    assert "ab" * 32 in prompt
    assert "thinking switched off" in prompt
    assert _lines({"chat_template": "none (as asked for)", "chat_template_sha256": ""})["prompt"].startswith("plain")


def test_the_budget_says_whose_it_is() -> None:
    assert _lines(budget=256)["token budget"] == "256 new tokens per answer (the task's own)"
    assert _lines({"max_new_tokens": 64}, budget=64)["token budget"] == "64 new tokens per answer (as asked for)"
    assert "token budget" not in _lines()


def test_parity_is_promised_for_one_pass_over_the_last_position_alone() -> None:
    assert _lines(methods={"last_logits": 9, "row_before": 1})["choices scored by"].endswith(
        "Parity with lm-eval is promised for this."
    )
    mixed = _lines(methods={"last_logits": 9, "fresh": 3})["choices scored by"]
    assert "fresh (3 items)" in mixed
    assert "kept_prefix, last_logits and row_before only: not for 3 items" in mixed


def test_fast_timing_promises_parity_and_tells_what_its_probe_found() -> None:
    probe = "on: bit-identical logits for 9 prompts of 3 groups that keep 61 to 65 tokens"
    told = _lines({"fast_probe": probe}, methods={"kept_prefix": 90, "last_logits": 10})
    assert "read once and kept" in told["choices scored by"]
    # What the command line shows of a line: the other methods and the promise are not cut off.
    assert len(told["choices scored by"]) <= 300
    assert told["choices scored by"].endswith("Parity with lm-eval is promised for this.")
    assert told["fast timing"] == probe
    assert "fast timing" not in _lines({"fast_probe": ""})


def test_the_ifeval_items_of_a_random_letter_are_named_where_the_run_holds_them() -> None:
    both = _lines(benchmark="ifeval", keys=("1000", "1129", "1122"))["known difference"]
    assert "1122 and 1129" in both
    assert "known difference" not in _lines(benchmark="ifeval", keys=("1000",))
    assert "known difference" not in _lines(benchmark="gsm8k", keys=("1122",))


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("equal", "equal to those that the folder's tokenizer.json gives for the first prompt"),
        (
            "equal, special tokens included",
            "equal to those that the folder's tokenizer.json gives for the first prompt, special tokens included",
        ),
        (
            "not compared: the model folder has no tokenizer.json",
            "not compared: the model folder has no tokenizer.json",
        ),
    ],
)
def test_the_check_of_the_token_ids_is_told_whatever_it_found(check: str, words: str) -> None:
    assert _lines({"token_check": check})["token ids"] == words


def test_a_wrong_beginning_and_other_token_ids_are_cautions(make_run: MakeRun) -> None:
    found = {"bos_check": "doubled: prompts begin with 2 BOS tokens (id 1)", "token_check": "differ from token 3 on"}
    for conditions, number in (({}, 0), (found, 2), ({"bos_check": "", "token_check": "equal"}, 0)):
        run = make_run(conditions=conditions)
        cautions = build(run, own_full=None, other=None).warnings
        assert sum("BOS" in words or "token ids" in words for words in cautions) == number


def test_every_document_tells_how_it_was_asked_and_what_became_of_the_answers(make_run: MakeRun) -> None:
    run = make_run()
    told = {
        "task": "ifeval", "examples": 0, "system_prompt": "Be <brief> | @all", "chat_template": "t.jinja",
        "chat_template_sha256": "cd" * 32, "thinking_off": True, "bos_check": "BOS is doubled", "token_check": "equal",
    }  # fmt: skip
    answers = Answers(budget=1280, capped=3, by_ceiling=1, by_time=5, repeating=6, empty=2, not_fitting=4)
    report = build(
        make_run(conditions={**run.conditions, **told}, answers=answers, methods={"fresh": 250}),
        own_full=None,
        other=None,
    )
    page, table, sheet = html_text(report), markdown_text(report), csv_text(report)
    for text in (page, table, sheet):
        for words in ("cd" * 32, "t.jinja", "1,280", "thinking switched off", "fresh", "BOS is doubled", "empty"):
            assert words in text
        assert "4 prompts do not fit" in text
    assert "<brief>" not in page
    row = next(csv.DictReader(io.StringIO(sheet)))
    names = ("capped", "capped_by_ceiling", "cut_by_time", "repeating", "empty", "not_fitting")
    assert ([row[f"items_{name}"] for name in names], row["token_budget"]) == (["3", "1", "5", "6", "2", "4"], "1280")
    body = json.loads(json_text(report))
    assert body["answers"] == {
        "token_budget": 1280, "capped": 3, "capped_by_ceiling": 1, "cut_by_time": 5, "repeating": 6, "empty": 2,
        "does_not_fit": 4,
    }  # fmt: skip
    assert (body["capped"], body["methods"]) == (3, {"fresh": 250})
    assert body["asking"]["system prompt"] == "Be <brief> | @all"
