from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mince_gui.report.documents.visible import cut, visible

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@given(ANY_TEXT)
def test_what_is_visible_can_be_written_and_holds_nothing_that_turns_or_rings(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not [sign for sign in shown if ord(sign) < 32 and sign not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x7f\x85\u2028")
    assert visible(shown) == shown


def test_signs_that_nothing_shows_are_named_and_every_line_break_is_one() -> None:
    assert visible("a\x00b\ud800\u202ec") == "a[U+0000]b[U+D800][U+202E]c"
    assert visible("a\r\nb\rc\u2028d") == "a\nb\nc\nd"
    assert visible("Größe 東京 🙂\t|") == "Größe 東京 🙂\t|"


def test_a_cut_text_says_that_it_was_cut_and_how_long_it_was() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("a" * 100_000, 3) == "aaa [... cut here, 100,000 signs in all]"
