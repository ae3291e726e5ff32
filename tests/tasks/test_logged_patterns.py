"""Patterns from elsewhere run in bounded time, and read as Python's own."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError, MinceError
from mince_gui.tasks.logged import patterns

USUAL = (
    r"#### (\-?[0-9\.\,]+)", r"(-?[$0-9.,]{2,})|(-?[0-9]+)", r"The answer is (\-?[0-9\.\,]+).", r"(\([A-Z]\))",
    r"((?<=The answer is )(.*)(?=.)|(?<=the answer is )(.*)(?=.))", r"answer is \(?([ABCDEFGHIJ])\)?", r"([A-E]).*",
    r"\b(Yes|No|yes|no)\b", r"(?s).*#### ", r"\.$", r"\$", r"(?<= )([\" \[\(<{}>\)\]]+)|([\" \[\(<{}>\)\]]+)",
    r"(?i)final answer:?\s*\\boxed\{(.*?)\}", r"[^\]]+",
)  # fmt: skip
"""Of the kinds that lm-eval's task files have."""
_PIECES = st.sampled_from(
    ["#### 12", "The answer is 1,200.", "(B)", " A ", "$3.50", "\n", "yes", "No", "-7", "{x}", "é", "\\boxed{4}", "."]
)


@pytest.mark.parametrize("pattern", USUAL)
@given(st.lists(_PIECES, max_size=8).map("".join))
@settings(max_examples=40, deadline=None)
def test_usual_patterns_read_as_pythons_own(pattern: str, text: str) -> None:
    assert patterns.find_all(pattern, text) == re.findall(pattern, text)
    assert patterns.without(pattern, text) == re.sub(pattern, "", text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(", "a" * 3000, "(((a{1000}){1000}){1000})", "a{99999999999999}", "(?:foo){e<=1}", r"\p{Lu}", r"\X", "[[a]b]",
        "(" * 1900, "a{,3000}{,3000}",
    ],
)  # fmt: skip
def test_patterns_that_are_broken_endless_or_read_in_two_ways_are_refused(pattern: str) -> None:
    begun = time.process_time()
    with pytest.raises(InputError, match="cannot be run"):
        patterns.compiled(pattern)
    assert time.process_time() - begun < 5, "refused before it is compiled"


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(x+x+)+y", r"(a|aa)+$", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_finds_no_end_is_stopped(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.05)
    for run in (patterns.find_all, patterns.without):
        try:
            run(pattern, "a" * 4000 + "!")
        except MinceError as error:
            assert "found no end" in error.message  # noqa: PT017 - either end will do, hanging would not
