"""Whether an answer ends in an endless repetition, as broken kernels and models without an end make them."""

from __future__ import annotations

from collections.abc import Sequence

# A repetition is endless where the end of the answer has one period over at least so many blocks and tokens. Refrains,
# lists and lines of a table stay below: a line of dashes or zeros has fewer than 64 tokens, and no text says one
# sentence eight times in succession.
_LONGEST_PERIOD = 64
_BLOCKS = 8
_TOKENS = 64
# The first tokens of an answer may still be sound when the logits turn to NaN ("2+!!!!!!").
_SOUND_TOKENS = 7
_ONE_TOKEN = 16


def repeating(ids: Sequence[int]) -> int | None:
    """The period, in tokens, of an endless repetition in which the new tokens `ids` end, None where there is none.

    It is the smallest p up to 64 for which the last max(64, 8 p) tokens each equal the one p before them, counted from
    the second block on. The last block may be cut anywhere. Linear in the number of tokens.
    """
    for period, length in enumerate(_periodic_lengths(ids), start=1):
        if length >= max(_TOKENS, _BLOCKS * period):
            return period
    return None


def _periodic_lengths(ids: Sequence[int]) -> list[int]:
    """For each period p from 1: how many tokens at the end have it (the Z function of the reversed ids, plus p)."""
    # No more of the end than the longest repetition that is asked for.
    back = list(reversed(ids[-_BLOCKS * _LONGEST_PERIOD :]))
    lengths: list[int] = []
    left = right = 0
    known = [0]
    for shift in range(1, min(_LONGEST_PERIOD, len(back) - 1) + 1):
        same = min(right - shift, known[shift - left]) if shift < right else 0
        while shift + same < len(back) and back[same] == back[shift + same]:
            same += 1
        if shift + same > right:
            left, right = shift, shift + same
        known.append(same)
        lengths.append(same + shift)
    return lengths


def one_token_only(ids: Sequence[int]) -> bool:
    """Whether nearly the whole answer is one token: at least 16 tokens, from the eighth at the latest all the same."""
    return len(ids) >= _ONE_TOKEN and len(set(ids[_SOUND_TOKENS:])) == 1
