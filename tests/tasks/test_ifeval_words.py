"""Sentences and words: the data and the nltk behaviour that the reference scores were made with."""

from __future__ import annotations

import pytest
from nltk import redos
from punkt.data import english

from mince_gui.base.canonical import canonical_json, sha256_text
from mince_gui.base.errors import MinceError
from mince_gui.tasks.ifeval import words


def test_the_punkt_data_equals_nltks_punkt_tab() -> None:
    """The hash is that of nltk's own punkt_tab for English, loaded with nltk 3.10.4."""
    lists = [sorted(english.ABBREV_TYPES), sorted(map(list, english.COLLOCATIONS)), sorted(english.SENT_STARTERS)]
    content = canonical_json([*lists, english.ORTHO_CONTEXT])
    assert sha256_text(content) == "dbd5425dfae1c26ad11ddc3acd4339e2fa91208322782aaf15e7a4cf9b767e79"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Fox ran. He hid.", 2),
        ("He said “Run!” Then he left.", 2),  # nltk 3.9 gives 1: curly quotes did not close a sentence
        ("It costs 3.5 dollars, e.g. at J. Smith's. OK?", 3),
        ("Wait... what? Yes!", 2),
        ("One line\nand another without a stop", 1),
        ("!!!", 3),
        ("", 0),
    ],
)
def test_sentences_are_split_as_in_the_reference(text: str, expected: int) -> None:
    """Counts are those of nltk 3.10.4 with its own punkt_tab."""
    assert len(list(words.sentences(text))) == expected


def test_words_are_split_as_in_the_treebank() -> None:
    text = "CANNOT stop: it's “A-B” (or C--D)... I'd say NO. U.S. wins"
    assert list(words.capital_words(text)) == ["CAN", "NOT", "A-B", "C", "D", "I", "NO", "U.S."]


def test_underscores_join_and_hyphens_part_what_is_counted_as_words() -> None:
    assert words.count_words("one_two three-four 5.5 é") == 6


def test_nltk_giving_up_for_time_is_an_error_and_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redos, "DEFAULT_TIMEOUT", 1e-9)
    with pytest.raises(MinceError, match="too long"):
        list(words.capital_words("One thing. And another, longer thing. " * 20_000))


def test_words_are_split_no_further_than_asked_and_only_where_a_capital_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    def split(sentence: str) -> list[str]:
        seen.append(sentence)
        return sentence.split()

    monkeypatch.setattr(words, "sentences", lambda text: iter(text.split("|")))
    monkeypatch.setattr(words, "_words_of", split)
    assert next(words.capital_words("no capital here|NASA it is|nor|WHO")) == "NASA"
    assert seen == ["NASA it is"]


def test_the_words_around_a_stop_are_judged_once_however_often_they_come() -> None:
    words._splitter.cache_clear()
    assert len(list(words.sentences("Mr. Fox ran. " * 5_000))) == 5_000
    judged = words._splitter().text_contains_sentbreak.cache_info()
    assert judged.misses < 10 < 5_000 < judged.hits


def test_a_sentence_without_a_capital_is_not_split_into_words() -> None:
    words._words_of.cache_clear()
    assert list(words.capital_words("they ran. " * 100 + "They ran. NO!")) == ["NO"]
    assert words._words_of.cache_info().misses == 2
