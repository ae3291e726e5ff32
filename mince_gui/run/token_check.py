"""Whether a runtime reads prompts as the model folder's own tokenizer does: the token ids, and BOS at the beginning.

A doubled or missing BOS, or a tokenizer that splits otherwise than the one the model was trained with, costs points
that look like quantisation loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EQUAL = "equal"
_FILE = "tokenizer.json"


@dataclass(frozen=True)
class TokenCheck:
    """`bos`: what is wrong with BOS ("" = nothing). `tokens`: "equal" (also with more words), what differs, or why
    nothing was compared."""

    bos: str
    tokens: str

    @property
    def differs(self) -> bool:
        """Whether the ids were compared and are not the tokenizer's."""
        return self.tokens.startswith("differ")


def check_tokens(folder: Path, bos_id: int | None, text: str, ids: Sequence[int]) -> TokenCheck:
    """Compare the runtime's `ids` of the prompt `text` with those of the folder's tokenizer.json."""
    plain, special, why = _own_ids(folder, text)
    return TokenCheck(_bos(bos_id, ids, special), why or _tokens(ids, plain, special))


def _own_ids(folder: Path, text: str) -> tuple[list[int], list[int], str]:
    """The tokenizer's ids without and with the special tokens it adds; or why there are none."""
    path = folder / _FILE
    if not path.is_file():
        return [], [], f"not compared: the model folder has no {_FILE}"
    # Loaded here: a run that is only listed or reported on needs no tokenizer.
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
        return (
            tokenizer.encode(text, add_special_tokens=False).ids,
            tokenizer.encode(text, add_special_tokens=True).ids,
            "",
        )
    except Exception as exc:  # noqa: BLE001 - the package raises bare Exception for every file it cannot read
        return [], [], f"not compared: {_FILE} cannot be used ({str(exc)[:200]})"


def _bos(bos_id: int | None, ids: Sequence[int], special: Sequence[int]) -> str:
    if bos_id is None:
        return ""
    leading = next((i for i, token in enumerate(ids) if token != bos_id), len(ids))
    if leading > 1:
        return f"doubled: prompts begin with {leading} BOS tokens (id {bos_id})"
    if leading == 0 and special[:1] == [bos_id]:
        return f"missing: the model's tokenizer begins a prompt with BOS (id {bos_id}), the runtime does not"
    return ""


def _tokens(ids: Sequence[int], plain: list[int], special: list[int]) -> str:
    given = list(ids)
    if given == plain:
        return EQUAL
    if given == special:
        return f"{EQUAL}, special tokens included"
    at = next((i for i, (a, b) in enumerate(zip(given, plain, strict=False)) if a != b), min(len(given), len(plain)))
    there = [str(row[at]) if at < len(row) else "the end" for row in (given, plain)]
    return f"differ from token {at} on: the runtime has {there[0]}, {_FILE} {there[1]} ({len(given)} and {len(plain)})"
