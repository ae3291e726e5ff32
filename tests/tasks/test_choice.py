"""Prompts and accuracy of four-choice tasks."""

from __future__ import annotations

from typing import Any

import pytest

from mince_gui.base.errors import InputError, MinceError
from mince_gui.tasks import Answer, get


def _doc(question: str, topic: str = "odd_things", answer: Any = 1, field: str = "subject") -> dict[str, Any]:
    return {field: topic, "question": question, "choices": [" one", "two", "three", "four"], "answer": answer}


_SHOTS = [_doc(f" Shot {i}? ", answer=i % 4) for i in range(6)]
_SHOWN = "".join(
    f"Shot {i}?\nA.  one\nB. two\nC. three\nD. four\nAnswer: {letter}\n\n" for i, letter in enumerate("ABCDA")
)
_ABOUT = "The following are multiple choice questions (with answers) about odd things.\n\n"


def test_the_prompt_has_description_five_examples_and_the_question() -> None:
    request = get("mmlu").request(_doc("\nWhy?\n"), _SHOTS, render=None, max_new_tokens=None)
    assert request.prefix == _ABOUT + _SHOWN
    assert request.prompt == request.prefix + "Why?\nA.  one\nB. two\nC. three\nD. four\nAnswer:"
    assert request.choices == (" A", " B", " C", " D")
    assert (request.kind, request.until, request.max_new_tokens) == ("choice", (), 0)


def test_examples_of_other_subjects_are_passed_over() -> None:
    others = [_doc("Other?", topic="other_things")]
    mixed = [row for shot in _SHOTS for row in (*others, shot)]
    expected = get("mmlu").request(_doc("Why?"), _SHOTS, render=None, max_new_tokens=None)
    assert get("mmlu").request(_doc("Why?"), mixed, render=None, max_new_tokens=None) == expected


def test_an_example_without_a_known_answer_is_passed_over() -> None:
    shots = [_doc("Unknown?", answer=None), *_SHOTS]
    request = get("mmlu").request(_doc("Why?"), shots, render=None, max_new_tokens=None)
    assert request.prefix == _ABOUT + _SHOWN


def test_a_subjects_own_task_needs_no_subject_in_the_docs() -> None:
    doc, shots = _doc("Why?"), [dict(shot) for shot in _SHOTS]
    for row in (doc, *shots):
        del row["subject"]
    request = get("mmlu_high_school_us_history").request(doc, shots, render=None, max_new_tokens=None)
    assert request.prefix == _ABOUT.replace("odd things", "high school us history") + _SHOWN


_ALTERNATING = [
    [
        _doc(f"{name} {topic} {i}?", topic=topic, answer=i % 4)
        for topic in ("odd_things", "even_things")
        for i in range(5)
    ]
    for name in ("First", "Second")
]
"""Two lists of examples, each of two topics."""


@pytest.mark.parametrize("step", [1, 3, 5, 7])
def test_topics_and_examples_that_alternate_give_every_item_its_own_beginning(step: int) -> None:
    cases = [(topic, shots) for topic in ("odd_things", "even_things") for shots in _ALTERNATING]
    for number in range(0, 8 * step, step):
        topic, shots = cases[number % 4]
        doc = _doc("Why?", topic=topic)
        # Copies have no identity in common with what was asked before: nothing that is kept fits them.
        fresh = get("mmlu").request(doc, [dict(shot) for shot in shots], render=None, max_new_tokens=None)
        assert get("mmlu").request(doc, shots, render=None, max_new_tokens=None) == fresh
        chat = [
            get("mmlu").request(doc, given, render=repr, max_new_tokens=None)
            for given in (shots, [dict(shot) for shot in shots])
        ]
        assert chat[0] == chat[1]
        assert fresh.prefix.count(f"{shots[0]['question'].split()[0]} {topic}") == 5


def test_a_list_of_examples_that_has_grown_since_the_last_item_shows_them_all() -> None:
    shots = _SHOTS[:3]
    before = get("mmlu").request(_doc("Why?"), shots, render=None, max_new_tokens=None)
    shots += _SHOTS[3:5]
    after = get("mmlu").request(_doc("Why?"), shots, render=None, max_new_tokens=None)
    assert after.prefix == _ABOUT + _SHOWN
    assert after.prefix.startswith(before.prefix)
    assert after != before


def test_two_tasks_that_are_given_the_same_examples_begin_each_in_its_own_way() -> None:
    doc = _doc("Why?", topic="high_school_us_history")
    shots = [_doc(f"Shot {i}?", topic="high_school_us_history", answer=0) for i in range(5)]
    for shot in shots:
        shot["category"] = "high_school_us_history"
    five = get("mmlu").request(doc, shots, render=None, max_new_tokens=None)
    demo = get("demo_choice").request({**doc, "category": doc["subject"]}, shots, render=None, max_new_tokens=None)
    assert five.prefix.count("Shot") == 5
    assert demo.prefix.count("Shot") == 2


def test_no_example_of_the_subject_is_refused() -> None:
    with pytest.raises(InputError, match=r"5 examples .* none for 'odd_things'"):
        get("mmlu").request(_doc("Why?"), [_doc("Other?", topic="other")], render=None, max_new_tokens=None)


def test_the_demo_shows_two_examples_of_the_category_and_weighs_the_texts() -> None:
    shots = [_doc(f"Shot {i}?", topic=topic, field="category") for i in range(3) for topic in ("odd_things", "even")]
    doc = _doc("Why?", field="category")
    request = get("demo_choice").request(doc, shots, render=None, max_new_tokens=None)
    one = "Options:  one, two, three, four\nAnswer:"
    assert request.prompt == f"{_ABOUT}Shot 0?\n{one} two\n\nShot 1?\n{one} two\n\nWhy?\n{one}"
    assert request.choices == ("  one", " two", " three", " four")
    scored = get("demo_choice").score(doc, Answer(picked=2))
    assert (scored.extracted, scored.expected) == ({"none": "three"}, "two")


def test_a_chat_template_gets_examples_as_turns_and_letters_without_a_blank() -> None:
    seen: list[dict[str, str]] = []

    def render(messages: Any) -> str:
        seen.extend(messages)
        return "rendered"

    request = get("mmlu").request(_doc("Why?"), _SHOTS, render=render, max_new_tokens=None)
    assert (request.prompt, request.prefix, request.choices) == ("rendered", "", ("A", "B", "C", "D"))
    assert [message["role"] for message in seen] == ["system"] + ["user", "assistant"] * 5 + ["user"]
    assert [message["content"] for message in seen if message["role"] == "assistant"] == list("ABCDA")


def test_the_picked_letter_is_right_or_wrong() -> None:
    right = get("mmlu").score(_doc("Why?"), Answer(picked=1))
    wrong = get("mmlu").score(_doc("Why?"), Answer(picked=3))
    assert (right.scores, right.extracted, right.expected) == ({"acc": (1, 1)}, {"none": "B"}, "B")
    assert (wrong.scores, wrong.extracted, wrong.expected) == ({"acc": (0, 1)}, {"none": "D"}, "B")


@pytest.mark.parametrize("picked", [None, -1, 4])
def test_no_pick_is_not_a_wrong_answer(picked: int | None) -> None:
    with pytest.raises(MinceError, match="no picked choice"):
        get("mmlu").score(_doc("Why?"), Answer(picked=picked))


@pytest.mark.parametrize("answer", [None, 4, -1, "B", True, 1.0])
def test_an_odd_gold_is_refused(answer: object) -> None:
    with pytest.raises(InputError, match="not 0 to 3"):
        get("mmlu").score(_doc("Why?", answer=answer), Answer(picked=1))


@pytest.mark.parametrize("choices", [None, "ABCD", ["a", "b", "c"]])
def test_odd_choices_are_refused(choices: object) -> None:
    doc = {**_doc("Why?"), "choices": choices}
    with pytest.raises(InputError, match="four 'choices'"):
        get("mmlu").request(doc, _SHOTS, render=None, max_new_tokens=None)
