"""The facts that the tokenizer's files tell: class, chat template, EOS and BOS."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mince_gui.base.errors import InputError
from mince_gui.run.checking.phrases import COPY
from mince_gui.run.checking.types import Fact
from mince_gui.run.model_folder import ModelFolder
from mince_gui.tasks.chat import load_template

_CONFIG = "tokenizer_config.json"
_MAX_BYTES = 128 << 20


def tokenizer_class(path: Path) -> str | None:
    """The tokenizer class that the folder `path` names; None where it names none or cannot be read."""
    name = _read(path / _CONFIG).get("tokenizer_class")
    return name if isinstance(name, str) and name else None


def word_facts(folder: ModelFolder) -> Iterator[Fact]:
    """Everything that decides how a prompt becomes tokens and where an answer ends."""
    tokenizer = _read(folder.path / "tokenizer.json")
    config = _read(folder.path / _CONFIG)
    ids = _ids_of_tokens(tokenizer, config)
    yield _tokenizer(folder.path, tokenizer)
    yield _template(folder.path)
    yield _eos(folder, config, ids)
    yield _bos(folder, config, ids)


def _tokenizer(path: Path, tokenizer: Mapping[str, Any]) -> Fact:
    missing = [name for name in ("tokenizer.json", _CONFIG) if not (path / name).is_file()]
    if missing:
        return Fact("tokenizer", "bad", f"{' and '.join(missing)} missing", COPY)
    if not tokenizer:
        return Fact("tokenizer", "bad", "tokenizer.json is not JSON, or too large", COPY)
    name = tokenizer_class(path)
    if name is None:
        return Fact("tokenizer", "warn", f"{_CONFIG} names no tokenizer class; some OGA versions refuse that")
    return Fact("tokenizer", "good", f"class {name}")


def _template(path: Path) -> Fact:
    try:
        template = load_template(path, "auto", today=datetime.date(2026, 1, 1))
    except InputError as exc:
        return Fact("chat template", "warn", exc.message, exc.remedy)
    if template is None:
        return Fact(
            "chat template",
            "warn",
            "none in chat_template.jinja, tokenizer_config.json or chat_template.json: prompts are given as "
            "they are, which suits base models and hurts chat models",
            "Give the model's own template with --chat-template FILE if it is a chat model.",
        )
    thinking = "; thinking is switched off in it" if template.thinking_off else ""
    return Fact("chat template", "good", f"in {template.origin.name}{thinking}")


def _eos(folder: ModelFolder, config: Mapping[str, Any], ids: Mapping[str, int]) -> Fact:
    """Every id that ends an answer elsewhere must end it here: OGA reads genai_config.json alone."""
    ours = ", ".join(str(i) for i in folder.eos_ids)
    others = {}
    generation = _read(folder.path / "generation_config.json").get("eos_token_id")
    for token in generation if isinstance(generation, list) else [generation]:
        if isinstance(token, int) and not isinstance(token, bool) and token not in folder.eos_ids:
            others[token] = "generation_config.json"
    named = ids.get(_content(config.get("eos_token")))
    if named is not None and named not in folder.eos_ids:
        others[named] = _CONFIG
    if not others:
        return Fact("EOS", "good", f"id {ours}")
    extra = ", ".join(f"{token} ({where})" for token, where in others.items())
    return Fact(
        "EOS",
        "warn",
        f"genai_config.json ends answers at id {ours}, other files also at {extra}: answers may run on to the limit",
        'In a copy of the folder, add these ids to "eos_token_id" in genai_config.json.',
    )


def _bos(folder: ModelFolder, config: Mapping[str, Any], ids: Mapping[str, int]) -> Fact:
    content = _content(config.get("bos_token"))
    named = ids.get(content)
    added = config.get("add_bos_token")
    adds = "whether the tokenizer adds it is not said"
    if isinstance(added, bool):
        adds = "added by the tokenizer" if added else "not added by the tokenizer"
    if folder.bos_id is None:
        return Fact("BOS", "good", "none")
    if named is not None and named != folder.bos_id:
        words = f"genai_config.json says id {folder.bos_id}, {_CONFIG} {content} (id {named})"
        return Fact("BOS", "warn", words, "See whether the run's BOS check says that BOS is missing or doubled.")
    return Fact("BOS", "good", f"id {folder.bos_id}, {adds}")


def _content(token: object) -> str:
    value = token.get("content") if isinstance(token, dict) else token
    return value if isinstance(value, str) else ""


def _ids_of_tokens(tokenizer: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, int]:
    """Special tokens by their text, from tokenizer_config.json and tokenizer.json."""
    ids = {}
    listed = tokenizer.get("added_tokens")
    for token in listed if isinstance(listed, list) else []:
        if isinstance(token, dict) and isinstance(token.get("id"), int) and _content(token):
            ids[_content(token)] = token["id"]
    decoder = config.get("added_tokens_decoder")
    for number, token in decoder.items() if isinstance(decoder, dict) else ():
        if number.isdecimal() and len(number) < 10 and _content(token):
            ids[_content(token)] = int(number)
    return ids


def _read(path: Path) -> dict[str, Any]:
    """A JSON object, empty where there is none."""
    try:
        # A pipe would be waited for without end.
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return {}
        body = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
