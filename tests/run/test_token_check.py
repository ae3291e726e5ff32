"""The runtime's token ids against the folder's own tokenizer, and BOS."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from mince_gui.run import WorkerProcess
from mince_gui.run.token_check import check_tokens

_VOCAB = {"<s>": 0, "one": 1, "two": 2, "three": 3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tokenizer of words that begins every text with BOS, as Llama's does."""
    tokenizer = Tokenizer(WordLevel(_VOCAB, unk_token="<s>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(
    ("ids", "bos", "tokens"),
    [
        ([0, 1, 2], "", "equal, special tokens included"),
        ([1, 2], "missing: the model's tokenizer begins a prompt with BOS (id 0)", "equal"),
        ([0, 0, 1, 2], "doubled: prompts begin with 2 BOS tokens (id 0)", "differ from token 0 on: the runtime has 0"),
        ([1, 3], "missing", "differ from token 1 on: the runtime has 3, tokenizer.json 2 (2 and 2)"),
        ([1], "missing", "differ from token 1 on: the runtime has the end, tokenizer.json 2 (1 and 2)"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, ids: list[int], bos: str, tokens: str) -> None:
    found = check_tokens(folder, 0, "one two", ids)
    assert found.bos.startswith(bos)
    assert bool(found.bos) == bool(bos)
    assert found.tokens.startswith(tokens)
    assert found.differs == tokens.startswith("differ")


def test_a_model_without_bos_lacks_none(folder: Path) -> None:
    assert check_tokens(folder, None, "one two", [1, 2]).bos == ""


def test_nothing_to_compare_with_is_said(tmp_path: Path) -> None:
    assert check_tokens(tmp_path, 0, "one", [1]).tokens == "not compared: the model folder has no tokenizer.json"
    (tmp_path / "tokenizer.json").write_text("{}")
    broken = check_tokens(tmp_path, 0, "one", [1])
    assert broken.tokens.startswith("not compared: tokenizer.json cannot be used")
    assert not broken.differs


def test_the_demo_models_ids_are_its_tokenizers(worker: WorkerProcess, model_dir: Path) -> None:
    text = "Question: 12 + 30?\nAnswer: \u00e9\u4f60 \U0001f600"
    assert check_tokens(model_dir, None, text, worker.encode(text).ids).tokens == "equal"


@pytest.mark.shared
def test_a_real_models_ids_are_its_tokenizers(shared_worker: WorkerProcess, shared_model: Path) -> None:
    text = "<|im_start|>user\nWhat is 1,234 + 5?\n\n  Tabs\tand \u00e9\u4f60 \U0001f600 it's<|im_end|>\n"
    found = check_tokens(shared_model, 1, text, shared_worker.encode(text).ids)
    assert (found.bos, found.tokens) == ("", "equal")
