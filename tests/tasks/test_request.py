"""A request's hash is that of its prompt, however much of it other prompts share."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from mince_gui.tasks.types import Request

# Lone surrogates among them: broken logs hold some.
_TEXT = st.text(st.characters())


@given(_TEXT, _TEXT, _TEXT)
def test_the_hash_is_of_the_whole_prompt_with_and_without_a_shared_beginning(
    prefix: str, rest: str, other: str
) -> None:
    prompt = prefix + rest
    whole = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    for shared in (prefix, "", other):
        assert Request("choice", prompt, prefix=shared).sha256 == whole
