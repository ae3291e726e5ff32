"""Our verdicts on IFEVAL's instructions beside those of lm-eval 0.4.13 itself, on texts made here.

lm-eval's IFEval needs nltk's punkt_tab, which NLTK_DATA must name (the tests download nothing).
"""

from __future__ import annotations

import logging
from typing import Any

import nltk
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.tasks.ifeval import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

_PIECES = st.sampled_from(
    [
        *"*-[]<>\n\t .,!?;:'\"#()0aZ",
        "\n\n",
        "***",
        "******",
        "**",
        "<<",
        ">>",
        "```",
        "P.S.",
        "p. p. s",
        "Section 1",
        "SECTION 2",
        "Dr. ",
        "U.S. ",
        "e.g. ",
        "3.5",
        "...",
        "can't ",
        "CANNOT ",
        "NASA ",
        "tree ",
        "Trees ",
        "Finally ",
        "My answer is no.",
        "That is all.",
        "Say it twice.",
        '{"a": 1}',
        "The house is old. ",
        "das Haus ist alt ",
        "THE HOUSE IS OLD AND BIG ",
        "\u00e9",
        "\u3002",
        "\u201d",
        "\x1c",
        "\u00a0",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=25).map("".join)
_KWARGS: list[tuple[str, dict[str, Any]]] = [
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}),
    ("change_case:english_capital", {}),
    ("change_case:english_lowercase", {}),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it twice. "}),
    ("combination:two_responses", {}),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}),
    ("detectable_content:postscript", {"postscript_marker": "Finally"}),
    ("detectable_format:constrained_response", {}),
    ("detectable_format:json_format", {}),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 1}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}),
    ("detectable_format:title", {}),
    ("keywords:existence", {"keywords": ["tree", "house"]}),
    ("keywords:forbidden_words", {"forbidden_words": ["tree", "house"]}),
    ("keywords:frequency", {"keyword": "tree ", "frequency": 2, "relation": "less than"}),
    ("keywords:letter_frequency", {"letter": "s", "let_frequency": 4, "let_relation": "less than"}),
    ("language:response_language", {"language": "de"}),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Finally"}),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"}),
    ("length_constraints:number_sentences", {"num_sentences": 5, "relation": "less than"}),
    ("length_constraints:number_words", {"num_words": 6, "relation": "less than"}),
    ("punctuation:no_comma", {}),
    ("startend:end_checker", {"end_phrase": "That is all."}),
    ("startend:quotation", {}),
]
_DOC: dict[str, Any] = {
    "key": 1,
    "prompt": "",
    "instruction_id_list": [name for name, _ in _KWARGS],
    "kwargs": [kwargs for _, kwargs in _KWARGS],
}


@pytest.fixture(scope="module", autouse=True)
def _no_progress_thread() -> None:
    """Keeps lm-eval's progress bars from starting a thread that would outlive the test."""
    pytest.importorskip("tqdm", reason="lm-eval is not installed").tqdm.monitor_interval = 0


@pytest.fixture(scope="module")
def scorer() -> Any:
    """lm-eval's IFEval module, with the seed that makes language detection repeatable."""
    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        pytest.skip("NLTK_DATA names no folder with punkt_tab, which lm-eval would download")
    utils = pytest.importorskip("lm_eval.tasks.ifeval.utils", reason="lm-eval is not installed")
    from langdetect import DetectorFactory

    DetectorFactory.seed = 0
    # It logs an error for every text without letters.
    logging.getLogger("lm_eval.tasks.ifeval.instructions").setLevel(logging.CRITICAL)
    return utils


@settings(max_examples=300, deadline=None)
@given(response=_TEXTS)
def test_all_verdicts_on_made_up_responses(scorer: Any, response: str) -> None:
    theirs = scorer.process_results(_DOC, [response])
    ours = check(_DOC, response)
    named = dict(enumerate(_DOC["instruction_id_list"]))
    for mine, metric in ((ours.strict, "inst_level_strict_acc"), (ours.loose, "inst_level_loose_acc")):
        differing = [named[i] for i, pair in enumerate(zip(mine, theirs[metric], strict=True)) if pair[0] != pair[1]]
        assert differing == []
