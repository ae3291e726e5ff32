"""ARC-Challenge: three to five choices with labels of either kind, accuracy plain and by length."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.errors import InputError, MinceError
from mince_gui.tasks import Answer, get

ARC = get("arc_challenge")


def _doc(labels: str = "ABCD", answer: str = "B", texts: list[Any] | None = None) -> dict[str, Any]:
    texts = ["gas", "a liquid", "ice", "steam", "it"][: len(labels)] if texts is None else texts
    return {"id": "own", "question": " What melts? ", "choices": {"text": texts, "label": list(labels)},
            "answerKey": answer}  # fmt: skip


@pytest.mark.parametrize("labels", ["ABC", "ABCD", "12345"])
def test_the_question_stands_alone_and_all_its_texts_are_weighed(labels: str) -> None:
    request = ARC.request(_doc(labels, labels[1]), [], render=None, max_new_tokens=None)
    assert request.prompt == "Question:  What melts? \nAnswer:"
    assert request.choices == (" gas", " a liquid", " ice", " steam", " it")[: len(labels)]
    assert (request.kind, request.prefix, ARC.uses_chat) == ("choice", "", False)


def test_with_a_chat_template_the_texts_follow_without_a_blank() -> None:
    request = ARC.request(_doc(), [], render=lambda messages: messages[-1]["content"], max_new_tokens=None)
    assert (request.prompt, request.choices[1]) == ("Question:  What melts? \nAnswer:", "a liquid")


def test_accuracy_by_length_may_choose_another_than_the_likeliest() -> None:
    answer = Answer(picked=0, logprobs=(-3.0, -4.0, -9.0, -9.0))
    assert ARC.score(_doc(answer="B"), answer).scores == {"acc": (0, 1), "acc_norm": (1, 1)}
    scored = ARC.score(_doc(answer="A"), answer)
    assert scored.scores == {"acc": (1, 1), "acc_norm": (0, 1)}
    assert (scored.extracted, scored.expected) == ({"none": "gas"}, "gas")


def test_the_first_of_equals_is_taken_and_a_text_without_characters_never() -> None:
    texts = ["", "ab", "cd", "abcd"]
    answer = Answer(picked=1, logprobs=(-0.5, -2.0, -2.0, -4.0))
    assert ARC.score(_doc(answer="B", texts=texts), answer).scores == {"acc": (1, 1), "acc_norm": (1, 1)}


def test_length_is_counted_in_characters_not_bytes() -> None:
    answer = Answer(picked=0, logprobs=(-3.0, -4.0, -9.0))
    doc = _doc("123", "2", ["\u4e2d", "\u6587\u6587", "z"])
    assert ARC.score(doc, answer).scores["acc_norm"] == (1, 1)


@pytest.mark.parametrize(
    "answer", [Answer(), Answer(picked=4, logprobs=(-1.0,) * 4), Answer(picked=0, logprobs=(-1.0,))]
)
def test_an_answer_that_is_not_whole_is_not_a_wrong_answer(answer: Answer) -> None:
    with pytest.raises(MinceError, match=r"no picked choice|1 log-probabilities for 4 choices"):
        ARC.score(_doc(), answer)


@pytest.mark.parametrize(
    "change",
    [
        {"choices": None},
        {"choices": ["a", "b"]},
        {"choices": {"text": ["a", "b"], "label": ["A"]}},
        {"choices": {"text": ["a", 2], "label": ["A", "B"]}},
        {"answerKey": "E"},
        {"answerKey": None},
    ],
)
def test_a_doc_that_does_not_tell_its_choices_or_answer_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"'choices'"):
        ARC.score({**_doc(), **change}, Answer(picked=0, logprobs=(-1.0,) * 4))


def test_prompts_and_verdicts_equal_those_that_lm_eval_logged() -> None:
    """Its log shows one example before each question, which is no part of the task's own 0-shot prompt."""
    [log] = (Path(__file__).parent / "data" / "logged").glob("*/samples_arc_challenge_*.jsonl")
    right = {"acc": 0.0, "acc_norm": 0.0}
    for row in map(json.loads, log.read_text(encoding="utf-8").splitlines()):
        request = ARC.request(row["doc"], [], render=None, max_new_tokens=None)
        asked = [row["arguments"][f"gen_args_{place}"] for place in range(len(request.choices))]
        assert len(asked) == len(row["arguments"])
        assert all(one["arg_0"].endswith(f"\n\n{request.prompt}") for one in asked)
        assert tuple(one["arg_1"] for one in asked) == request.choices
        logprobs = tuple(float(value) for value, _ in row["filtered_resps"])
        scored = ARC.score(row["doc"], Answer(picked=logprobs.index(max(logprobs)), logprobs=logprobs))
        assert scored.scores == {metric: (row[metric], 1) for metric in right}
        assert scored.expected == row["doc"]["choices"]["text"][int(row["target"])]
        for metric in right:
            right[metric] += row[metric]
    assert all(0 < count < 10 for count in right.values())
