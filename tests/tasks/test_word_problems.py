"""Both filters and exact match of the word-problem tasks, and their prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError, MinceError, UsageError
from mince_gui.benchmarks import BENCHMARKS
from mince_gui.tasks import Answer, get
from mince_gui.tasks.gsm8k import extract


def _doc(gold: str, question: str = "How many?") -> dict[str, Any]:
    return {"question": question, "answer": f"Some steps, <<1+1=2>>2.\n#### {gold}"}


def _marks(text: str, gold: str, task: str = "gsm8k_cot_zeroshot") -> tuple[float, float]:
    scores = get(task).score(_doc(gold), Answer(text=text)).scores
    assert all(trials == 1 for _, trials in scores.values())
    return scores["exact_match,strict-match"][0], scores["exact_match,flexible-extract"][0]


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("So 3 + 4 = 7. The answer is 7.", "7"),
        ("The answer is 1,234.", "1234"),
        ("The answer is 1234.", "1,234"),
        ("The answer is -5.", "-5"),
        ("The answer is 0.25.", "0.25"),
        ("The answer is 70 apples", "70"),
        ("The answer is 7 .", "7"),
    ],
)
def test_a_right_answer_passes_both_filters(text: str, gold: str) -> None:
    assert _marks(text, gold) == (1, 1)


@pytest.mark.parametrize(
    ("text", "gold", "marks"),
    [
        ("So he pays $29.00", "29.00", (0, 1)),
        ("So he pays $29.00", "29", (0, 0)),
        ("The answer is $29.", "29", (0, 1)),
        ("the answer is 29.", "29", (0, 1)),
        ("The answer is 29", "29", (0, 1)),  # the strict phrase wants a sign after the number: it reads 2
        ("The answer is 2", "2", (0, 1)),
        ("The answer is 29.\nThe answer is 30.", "29", (1, 0)),
        ("The answer is 29.\nThat took 30 days.", "29", (1, 0)),
        ("29 - 31 is - 2", "-2", (0, 0)),
        ("In words: seven", "7", (0, 0)),
        ("", "7", (0, 0)),
    ],
)
def test_where_the_filters_part(text: str, gold: str, marks: tuple[float, float]) -> None:
    assert _marks(text, gold) == marks


@pytest.mark.parametrize(
    ("text", "strict", "flexible"),
    [
        ("The answer is 29", "2", "29"),
        ("The answer is 1,234.50 dollars.", "1,234.50", "1,234.50"),
        ("The answer is 18..", "18.", "18.."),
        ("It costs $29.00.", "[invalid]", "$29.00."),
        ("5 and 6 and -7", "[invalid]", "-7"),
        ("wait... what", "[invalid]", "..."),
        ("no number", "[invalid]", "[invalid]"),
        ("", "[invalid]", "[invalid]"),
        ("\u0665 in Arabic signs", "[invalid]", "[invalid]"),
    ],
)
def test_what_each_filter_reads(text: str, strict: str, flexible: str) -> None:
    assert extract(text, "strict-match") == strict
    assert extract(text, "flexible-extract") == flexible


def test_the_strict_phrase_is_the_tasks_own() -> None:
    assert extract("#### 12\n#### 13", "strict-match", "gsm8k") == "12"
    assert extract("The final answer is $12. The final answer is 13", "strict-match", "gsm8k_cot_llama") == "13"
    assert _marks("#### 1,200", "1200", "gsm8k") == (1, 1)
    assert _marks("The final answer is $1,200.", "1200", "gsm8k_cot_llama") == (1, 1)
    assert _marks("The answer is 1,200.", "1200", "gsm8k_cot") == (1, 1)
    assert _marks("#### 12", "12", "demo_math") == (1, 1)


def test_of_several_gold_marks_the_last_one_counts() -> None:
    doc = {"question": "How many?", "answer": "#### 3 of them\n#### 1,007"}
    scored = get("gsm8k").score(doc, Answer(text="#### 1007"))
    assert scored.expected == "1007"
    assert scored.scores["exact_match,strict-match"] == (1, 1)


def test_blanks_around_the_gold_count_only_where_lm_eval_counts_them() -> None:
    doc = {"question": "How many?", "answer": "####  7 "}
    golds = {name: get(name).score(doc, Answer(text="")).expected for name in BENCHMARKS["gsm8k"].tasks}
    assert golds == {"gsm8k": " 7 ", "gsm8k_cot": "7", "gsm8k_cot_zeroshot": " 7 ", "gsm8k_cot_llama": "7"}


def test_the_item_keeps_what_was_read_and_the_gold() -> None:
    scored = get("gsm8k_cot_zeroshot").score(_doc("1,234"), Answer(text="The answer is 1,234."))
    assert scored.extracted == {"strict-match": "1,234", "flexible-extract": "1,234."}
    assert scored.expected == "1234"


def test_an_unknown_filter_is_named() -> None:
    with pytest.raises(UsageError, match="'best'"):
        extract("7", "best")


@pytest.mark.parametrize("answer", [None, 7, "seven", "####7"])
def test_a_doc_without_gold_is_refused(answer: object) -> None:
    with pytest.raises(MinceError, match="no gold"):
        get("gsm8k").score({"question": "q", "answer": answer}, Answer(text="7"))


def test_no_text_is_not_a_wrong_answer() -> None:
    with pytest.raises(MinceError, match="no generated text"):
        get("gsm8k").score(_doc("7"), Answer())


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    for name in ("gsm8k", "gsm8k_cot", "gsm8k_cot_llama", "gsm8k_cot_zeroshot", "demo_math"):
        scored = get(name).score(_doc("7"), Answer(text=text))
        assert all(passed in (0, 1) for passed, _ in scored.scores.values())
        assert all(scored.extracted.values())


@settings(max_examples=50, deadline=None)
@given(st.integers(-(10**9), 10**9), st.sampled_from(["{}", "{:,}"]))
def test_every_whole_number_said_as_asked_is_right(number: int, form: str) -> None:
    assert _marks(f"The answer is {form.format(number)}.", str(number)) == (1, 1)


_TRAIN = [{"question": f"Q{i}?", "answer": f"because\n#### {i}"} for i in range(6)]


def test_gsm8k_shows_the_first_five_training_examples() -> None:
    request = get("gsm8k").request(_doc("7"), _TRAIN, render=None, max_new_tokens=None)
    shown = "".join(f"Question: Q{i}?\nAnswer: because\n#### {i}\n\n" for i in range(5))
    assert request.prompt == f"{shown}Question: How many?\nAnswer:"
    assert request.until == ("Question:", "</s>", "<|im_end|>")
    assert (request.kind, request.max_new_tokens, request.prefix) == ("generate", 256, "")


def test_gsm8k_without_training_examples_is_refused() -> None:
    with pytest.raises(InputError, match="5 training examples") as caught:
        get("gsm8k").request(_doc("7"), _TRAIN[:4], render=None, max_new_tokens=None)
    assert "train.jsonl" in caught.value.remedy
    assert caught.value.remedy.endswith("gsm8k_cot_zeroshot, gsm8k_cot, gsm8k_cot_llama.")


def test_examples_become_turns_of_a_chat() -> None:
    seen: list[dict[str, str]] = []

    def render(messages: Any) -> str:
        seen.extend(messages)
        return "rendered"

    request = get("gsm8k_cot").request(_doc("7"), [], render=render, max_new_tokens=9)
    assert (request.prompt, request.max_new_tokens) == ("rendered", 9)
    assert [message["role"] for message in seen] == ["user", "assistant"] * 8 + ["user"]
    assert seen[0]["content"].startswith("Q: There are 15 trees")
    assert seen[1]["content"].endswith("The answer is 6.")
    assert seen[-1]["content"] == "Q: How many?\nA:"


def test_a_question_with_braces_is_left_as_it_is() -> None:
    request = get("demo_math").request(_doc("7", "{x} or {0}?"), [], render=None, max_new_tokens=None)
    assert request.prompt == "Question: {x} or {0}?\nAnswer:"
    assert (request.until, request.max_new_tokens) == (("Question:",), 48)


def test_a_doc_without_a_question_is_named() -> None:
    with pytest.raises(InputError, match="no text 'question'"):
        get("gsm8k_cot").request({"prompt": "x"}, [], render=None, max_new_tokens=None)


_BAKER = [
    {"question": f"A baker has {trays} trays of {rolls} rolls and sells {sold}. How many rolls are left?"}
    for trays, rolls, sold in [(3, 12, 7), (5, 8, 13), (2, 40, 61), (100, 24, 5)]
]
_POTS = [
    {
        "question": f"Row {i} has {i + 2} pots with {i + 1} seeds each. How many seeds are there?",
        "answer": f"{i + 2}*{i + 1}={(i + 2) * (i + 1)}.\n#### {(i + 2) * (i + 1)}",
    }
    for i in range(5)
]


@pytest.mark.parametrize(
    ("name", "plain", "chat"),
    [
        (
            "gsm8k",
            "e378897666c28e505b79006c2c7f6f7378fe4afc935909d5cddde32dc79e5c0f",
            "fbb3ee2f87fcc86a1f1473c1285ca6ea9026944bddb2b7e9a61fd458a54c120a",
        ),
        (
            "gsm8k_cot",
            "57fee64a4653a1d0d44b3b6a4589b51da03c5d62471f05fff1b3a7a3fc903ad2",
            "be49610e65d5de513e68624667af229655b351aa52d360b2d3cb2c5165d11bf6",
        ),
        (
            "gsm8k_cot_llama",
            "292c9cc693797d82aa795592856c2300f311bb50d16181a77de65957f70d06a8",
            "06764f8bb7fe1b48292afac87eebef8df6db30532b7ee892b327c644b0f9c7f3",
        ),
        (
            "gsm8k_cot_zeroshot",
            "94ede2538725713c054022bc1cf701d089134b2147efcdc27e953f2414a5c0bf",
            "5bfc9011d8d85e69c4b6155140689a2e0a2e80262ddbf665949f6f6f86acde44",
        ),
    ],
)
def test_prompts_equal_those_that_lm_eval_makes_of_the_same_docs(name: str, plain: str, chat: str) -> None:
    """SHA-256 of the four prompts that lm-eval 0.4.13 made of these docs, test_oracle_tasks.py makes them again."""
    for render, expected in ((None, plain), (json.dumps, chat)):
        prompts = [get(name).request(doc, _POTS, render=render, max_new_tokens=None).prompt for doc in _BAKER]
        assert sha256_text("".join(prompts)) == expected
