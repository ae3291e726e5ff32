"""Every instruction type, with responses that follow it and responses that do not."""

from __future__ import annotations

from typing import Any

import pytest

from mince_gui.base.errors import MinceError
from mince_gui.tasks.ifeval import INSTRUCTIONS, check

_ENGLISH = "the river runs slowly through the old town and nobody is in a hurry today"
_GERMAN = "Der Fluss fließt langsam durch die alte Stadt und heute hat es niemand eilig."
_SENTENCES = {"num_sentences": 3, "relation": "at least"}
_WORDS = {"num_words": 4, "relation": "less than"}
_CAPITALS = {"capital_frequency": 2, "capital_relation": "at least"}
_LETTER = {"letter": "q", "let_frequency": 2, "let_relation": "at least"}
_KEYWORD = {"keyword": "tree", "frequency": 2, "relation": "less than"}
_SECTIONS = {"section_spliter": "Section", "num_sections": 2}
_THIRD = {"num_paragraphs": 3, "nth_paragraph": 3, "first_word": "Finally"}

FOLLOWED: list[tuple[str, dict[str, Any], str]] = [
    ("change_case:capital_word_frequency", _CAPITALS, "Call NASA. Then call the E-BOOK desk."),
    ("change_case:capital_word_frequency", {"capital_frequency": 1, "capital_relation": "less than"}, "Quiet here."),
    ("change_case:english_capital", {}, _ENGLISH.upper()),
    ("change_case:english_lowercase", {}, _ENGLISH),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it twice. "}, " say IT twice. Here you are."),
    ("combination:two_responses", {}, "One.\n******\nTwo."),
    ("combination:two_responses", {}, "******One.******Two.******"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] lives at [ [street]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\np. s. one more thing"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.P.S one more thing"),
    ("detectable_content:postscript", {"postscript_marker": "PS:"}, "Bye. ps: one more thing"),
    ("detectable_format:constrained_response", {}, "Well. My answer is maybe. Sorry."),
    ("detectable_format:json_format", {}, '```json\n{"a": [1, 2]}\n```'),
    ("detectable_format:json_format", {}, "17"),
    ("detectable_format:multiple_sections", _SECTIONS, "Section 1\nthis\nSection2 that"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 3}, "* one\n  - two\n* three\n** four"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "\n\n \n * after blank lines"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*one* and *two*"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "only **this**"),
    ("detectable_format:title", {}, "<<A title>>\ntext"),
    ("keywords:existence", {"keywords": ["Tree", "leaf"]}, "Leafy trees"),
    ("keywords:forbidden_words", {"forbidden_words": ["tree"]}, "Trees are fine"),
    ("keywords:frequency", _KEYWORD, "one Tree"),
    ("keywords:letter_frequency", _LETTER, "Quite quick"),
    ("language:response_language", {"language": "de"}, _GERMAN),
    ("language:response_language", {"language": "de"}, "1234 5678"),
    ("length_constraints:nth_paragraph_first_word", _THIRD, "One\n\nTwo\n\n'FINALLY, three"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One\n***\nTwo"),
    ("length_constraints:number_sentences", _SENTENCES, "Mr. Fox ran. He hid! Where?"),
    ("length_constraints:number_words", _WORDS, "one two-three"),
    ("punctuation:no_comma", {}, "no such sign; none"),
    ("startend:end_checker", {"end_phrase": "That is all."}, 'Bye. THAT IS ALL."'),
    ("startend:quotation", {}, '  "All of it"\n'),
]

BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("change_case:capital_word_frequency", _CAPITALS, "Call NASA then. OpenAI is mixed."),
    ("change_case:english_capital", {}, _ENGLISH.upper() + " and SO ON"),
    ("change_case:english_capital", {}, _GERMAN.upper()),
    ("change_case:english_lowercase", {}, _ENGLISH.capitalize()),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it twice."}, "Sure: say it twice."),
    ("combination:two_responses", {}, "One.\n******\nOne."),
    ("combination:two_responses", {}, "One.******  ******Two."),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] lives at [street\n]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye. PS one more thing"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye. P.S. one more thing"),
    ("detectable_format:constrained_response", {}, "My answer is Yes."),
    ("detectable_format:json_format", {}, 'Here: {"a": 1}'),
    ("detectable_format:multiple_sections", _SECTIONS, "Section 1\nthis\nSECTION 2\nthat"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* one\n- two\n- three"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*one* and * * and *tw\no*"),
    ("detectable_format:title", {}, "<< >>\n<<>>\n<<a\nb>>"),
    ("keywords:existence", {"keywords": ["tree", "leaf"]}, "only trees"),
    ("keywords:forbidden_words", {"forbidden_words": ["tree"]}, "A TREE, of course"),
    ("keywords:frequency", _KEYWORD, "a tree in a street"),
    ("keywords:letter_frequency", _LETTER, "quite so"),
    ("language:response_language", {"language": "fr"}, _GERMAN),
    ("length_constraints:nth_paragraph_first_word", _THIRD, "One\n\nTwo\n\nThree, finally"),
    ("length_constraints:nth_paragraph_first_word", _THIRD, "One\n\nTwo\n\nFinally three\n\nFour"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One\n***\n \n***\nTwo"),
    ("length_constraints:number_sentences", _SENTENCES, "Mr. Fox ran. He hid from Dr. Wolf"),
    ("length_constraints:number_words", _WORDS, "one two three-four"),
    ("punctuation:no_comma", {}, "one, two"),
    ("startend:end_checker", {"end_phrase": "That is all."}, "That is all. Bye."),
    ("startend:quotation", {}, '"'),
]


def _doc(instruction: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"key": 1, "prompt": "", "instruction_id_list": [instruction], "kwargs": [kwargs]}


@pytest.mark.parametrize(("instruction", "kwargs", "response"), FOLLOWED)
def test_a_response_that_follows_passes(instruction: str, kwargs: dict[str, Any], response: str) -> None:
    assert check(_doc(instruction, kwargs), response).strict == [True]


@pytest.mark.parametrize(("instruction", "kwargs", "response"), BROKEN)
def test_a_response_that_does_not_follow_fails(instruction: str, kwargs: dict[str, Any], response: str) -> None:
    assert check(_doc(instruction, kwargs), response).strict == [False]


def test_all_25_types_have_a_passing_and_a_failing_case() -> None:
    assert len(INSTRUCTIONS) == 25
    assert {case[0] for case in FOLLOWED} == {case[0] for case in BROKEN} == set(INSTRUCTIONS)


@pytest.mark.parametrize(("letter", "response"), [("#", "## #"), ("!", "no! yes!"), ("ß", "Straße, Straße")])
def test_a_sign_that_is_no_latin_letter_is_counted_itself(letter: str, response: str) -> None:
    kwargs = {"letter": letter, "let_frequency": 2, "let_relation": "at least"}
    doc = _doc("keywords:letter_frequency", kwargs)
    assert check(doc, response).strict == [True]
    assert check(doc, response.replace(letter, "", 2) + letter * 0).strict == [response.count(letter) > 3]


def test_null_and_falsy_arguments_are_dropped() -> None:
    kwargs = {"num_bullets": 1.0, "keywords": None, "relation": "", "num_words": 0}
    assert check(_doc("detectable_format:number_bullet_lists", kwargs), "* one").strict == [True]


@pytest.mark.parametrize(
    ("instruction", "kwargs", "named"),
    [
        ("keywords:rhyme", {}, "keywords:rhyme"),
        ("length_constraints:number_words", {"relation": "at least"}, "num_words"),
        ("length_constraints:number_words", {"relation": "at least", "num_words": None}, "num_words"),
        ("length_constraints:number_words", {"relation": "about", "num_words": 3}, "about"),
        ("length_constraints:number_words", {"relation": "at least", "num_words": "3"}, "num_words"),
        ("length_constraints:number_words", {"relation": "at least", "num_words": -3}, "num_words"),
        ("keywords:existence", {"keywords": ["ok", ""]}, "keywords"),
        ("keywords:existence", {"keywords": ["(a+)+$"]}, "regular expression"),
        ("keywords:letter_frequency", {"letter": "ab", "let_frequency": 1, "let_relation": "at least"}, "ab"),
        ("language:response_language", {"language": "zz"}, "zz"),
        ("startend:end_checker", {"end_phrase": "  "}, "end_phrase"),
        ("punctuation:no_comma", {"num_words": 3}, "num_words"),
        ("length_constraints:nth_paragraph_first_word", {**_THIRD, "nth_paragraph": 4}, "paragraph 4"),
    ],
)
def test_what_cannot_be_scored_is_refused_whatever_the_response(
    instruction: str, kwargs: dict[str, Any], named: str
) -> None:
    for response in ("", "some text"):
        with pytest.raises(MinceError, match=named.replace("(", r"\(").replace("+", r"\+").replace("$", r"\$")):
            check(_doc(instruction, kwargs), response)
