"""The demo's own tokenizer: byte-level BPE in which every common word, and every digit, is one token.

Digits never merge because the training text has none. The GPT-2 splitting rule is used because
onnxruntime-extensions implements it; the item stage's check compares the two on every prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from demo_build.prompts import END_OF_TEXT, ChoiceItem

CONTEXT = 512


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Train on prompt texts with the digits taken out."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        show_progress=False,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        min_frequency=2,
    )
    tokenizer.train_from_iterator((re.sub(r"[0-9]+", "", text) for text in texts), trainer)
    return tokenizer


def option_ids(tokenizer: Tokenizer, item: ChoiceItem) -> list[int]:
    """The token of each option as it follows ``Answer:``. Raises ValueError for an option of several tokens."""
    ids = [tokenizer.encode(f" {text}").ids for text in item["choices"]]
    if any(len(row) != 1 for row in ids):
        raise ValueError(f"an option of {item['choices']} is not one token")
    return [row[0] for row in ids]


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the two files that transformers and OGA 0.9.2 to 0.18.0 both read."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": False,
        "add_eos_token": False,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "eos_token": END_OF_TEXT,
        "pad_token": END_OF_TEXT,
        "bos_token": None,
        "unk_token": None,
        "model_max_length": CONTEXT,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def end_id(tokenizer: Tokenizer) -> int:
    """The id of end-of-text."""
    token = tokenizer.token_to_id(END_OF_TEXT)
    assert token is not None
    return token
