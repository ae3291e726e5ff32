"""Strict and loose verdicts together: variants, determinism, odd responses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import MinceError
from mince_gui.tasks.ifeval import INSTRUCTIONS, check

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "change_case:capital_word_frequency": {"capital_frequency": 2, "capital_relation": "at least"},
    "combination:repeat_prompt": {"prompt_to_repeat": "Say it twice."},
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "keywords:existence": {"keywords": ["tree", "leaf"]},
    "keywords:forbidden_words": {"forbidden_words": ["tree"]},
    "keywords:frequency": {"keyword": "tree", "frequency": 2, "relation": "less than"},
    "keywords:letter_frequency": {"letter": "#", "let_frequency": 2, "let_relation": "at least"},
    "language:response_language": {"language": "de"},
    "length_constraints:nth_paragraph_first_word": {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "so"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_sentences": {"num_sentences": 3, "relation": "at least"},
    "length_constraints:number_words": {"num_words": 4, "relation": "less than"},
    "startend:end_checker": {"end_phrase": "That is all."},
}
_EVERY: dict[str, Any] = {
    "key": 1,
    "prompt": "",
    "instruction_id_list": list(INSTRUCTIONS),
    "kwargs": [_ARGUMENTS.get(name, {}) for name in INSTRUCTIONS],
}
_RESPONSES = (
    "the river runs slowly through the old town and nobody is in a hurry today",
    "NOBODY IS IN A HURRY TODAY, THEY SAY. ## P.S. [one] [two]",
    "Der Fluss ist langsam.\n\nSo ist es! Oder *nicht*? That is all.",
    "1 2 3",
    "la casa e la rosa, no problem, hotel taxi",
)

_LONG = 5_000
_ODD = {
    "blank lines": "\n" * _LONG + "x",
    "blanks": " " * _LONG + "x",
    "open brackets": "[" * _LONG,
    "open angles": "<" * _LONG,
    "angles": "<<>" * _LONG,
    "asterisks": "*" * _LONG,
    "asterisks and blanks": "* " * _LONG,
    "dashes": "-" * _LONG + " -" * _LONG,
    "points": "." * _LONG,
    "abbreviations": "a." * _LONG,
    "quotes": "\"'" * _LONG,
    "one word": "a" * _LONG,
    "capitals": "A" * _LONG,
    "digits": "7" * _LONG,
    "sections": "Section " * _LONG,
    "right to left": "\u202eאבג " * _LONG,
    "emoji": "😀\u200d" * _LONG,
    "control characters": "\x00\x1c\x85\r\x0b" * _LONG,
    "lone surrogates": "\ud800 " * _LONG,
    "nested lists": "[" * _LONG + "]" * _LONG,
    "nested objects": '{"a":' * _LONG,
    "fences": "```json\n" * _LONG,
    "opening parentheses": "(" * _LONG,
    "titles": "Mr. " * _LONG,
    "postscripts": "P.S. p. p. " * _LONG,
    "stops and new lines": ".\n" * _LONG,
    "dividers": " *** " * _LONG,
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 " * _LONG,
    "NUL": "\x00" * _LONG,
    "addresses": "a@" * _LONG + "http://" * _LONG,
}


def _instruction(name: str, response: str, **kwargs: Any) -> tuple[bool, bool]:
    checked = check({"key": 1, "instruction_id_list": [name], "kwargs": [kwargs]}, response)
    return checked.strict[0], checked.loose[0]


@pytest.mark.parametrize("response", ["", " \n\t", "\n\n", None])
def test_a_blank_response_follows_nothing(response: str | None) -> None:
    checked = check(_EVERY, response)
    assert not any(checked.strict)
    assert not any(checked.loose)
    assert len(checked.strict) == len(checked.loose) == 25


@pytest.mark.parametrize(
    "response",
    [
        'Here you are:\n"All of it"',
        '"All of it"\nI hope that helps!',
        'Here you are:\n"All of it"\nBye.',
        '**"All of it"**',
        'Sure!\n*"All of it"*\nBye.',
    ],
)
def test_loose_forgives_a_first_and_a_last_line_and_asterisks(response: str) -> None:
    assert _instruction("startend:quotation", response) == (False, True)


def test_loose_does_not_forgive_two_lines_before() -> None:
    assert _instruction("startend:quotation", 'One\nTwo\n"All of it"') == (False, False)


def test_a_variant_that_is_blank_follows_nothing() -> None:
    # Without its only line nothing is left, and nothing has no comma.
    assert _instruction("punctuation:no_comma", "a, b") == (False, False)


@pytest.mark.parametrize(
    "doc",
    [
        {},
        {"instruction_id_list": [], "kwargs": []},
        {"instruction_id_list": ["punctuation:no_comma"], "kwargs": []},
        {"instruction_id_list": "punctuation:no_comma", "kwargs": [{}]},
    ],
)
def test_a_doc_without_matching_lists_is_refused(doc: dict[str, Any]) -> None:
    with pytest.raises(MinceError, match="lists of equal length"):
        check(doc, "text")


def test_null_arguments_of_an_instruction_mean_none() -> None:
    assert check({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]}, "text").strict == [True]


def test_the_result_depends_on_neither_order_nor_repetition() -> None:
    first = [check(_EVERY, response) for response in _RESPONSES]
    again = [check(_EVERY, response) for response in reversed(_RESPONSES)]
    assert first == again[::-1]


def test_the_seed_of_langdetect_itself_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from langdetect import DetectorFactory

    response = _RESPONSES[-1]
    verdicts = []
    for seed in (None, 0, 1, 2):
        monkeypatch.setattr(DetectorFactory, "seed", seed)
        verdicts += [_instruction("language:response_language", response, language="it") for _ in range(3)]
    assert len(set(verdicts)) == 1


@pytest.mark.parametrize("name", _ODD)
def test_odd_and_long_responses_are_judged(name: str) -> None:
    checked = check(_EVERY, _ODD[name])
    assert all(loose or not strict for strict, loose in zip(checked.strict, checked.loose, strict=True))


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_judged_and_strict_implies_loose(response: str) -> None:
    checked = check(_EVERY, response)
    assert all(loose or not strict for strict, loose in zip(checked.strict, checked.loose, strict=True))


_SIGNS = st.text(alphabet="*-[]<>\n .a1,\"'\t\r\x0b", max_size=60)


@settings(max_examples=50, deadline=None)
@given(_SIGNS, st.integers(1, 4))
def test_the_scans_count_what_the_plain_expressions_count(response: str, number: int) -> None:
    """The oracle is lm-eval's expression, whose backtracking does no harm on short texts."""
    if not response.strip():
        return
    bullets = len(re.findall(r"^\s*\*[^\*].*$", response, re.MULTILINE))
    bullets += len(re.findall(r"^\s*-.*$", response, re.MULTILINE))
    placeholders = len(re.findall(r"\[.*?\]", response))
    title = any(found.lstrip("<").rstrip(">").strip() for found in re.findall(r"<<[^\n]+>>", response))
    strict = {
        "bullets": _instruction("detectable_format:number_bullet_lists", response, num_bullets=number)[0],
        "places": _instruction("detectable_content:number_placeholders", response, num_placeholders=number)[0],
        "title": _instruction("detectable_format:title", response)[0],
    }
    assert strict == {"bullets": bullets == number, "places": placeholders >= number, "title": title}


@pytest.mark.parametrize(
    ("instruction", "kwargs"),
    [
        ("keywords:existence", {"keywords": 5}),
        ("length_constraints:number_words", {"relation": ["at least"], "num_words": 5}),
        ("length_constraints:number_sentences", {"relation": "at least", "num_sentences": float("inf")}),
        (["keywords:existence"], {"keywords": ["a"]}),
        ("keywords:existence", "keywords"),
    ],
)
def test_odd_arguments_are_an_error_that_names_them_and_no_defect(instruction: Any, kwargs: Any) -> None:
    with pytest.raises(MinceError):
        check({"key": 1, "instruction_id_list": [instruction], "kwargs": [kwargs]}, "a response")
