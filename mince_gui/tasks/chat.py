"""Chat templates of model folders, rendered in a sandbox.

A template comes from elsewhere: it runs in a sandbox with the settings and functions that templates rely on
(those of the transformers library) and sees nothing but messages, the special tokens and one date, which is given:
a run keeps it, so that its prompts stay the same however long it takes.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jinja2 import Template, TemplateError, meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser

from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError, UsageError
from mince_gui.tasks.sandbox import Sandbox
from mince_gui.tasks.types import Message

_CONFIG = "tokenizer_config.json"
_NOW = "strftime_now"
_MAX_BYTES = 32 << 20
_THINKING_OFF = {"enable_thinking": False, "thinking": False, "thinking_budget": 0}
"""The switches for thinking that published templates read, and what turns it off."""
_REMEDY = "Name a good template file with --chat-template FILE, or run without one: --chat-template none."
_NO_SYSTEM = "It takes no system message: leave the system prompt out, or put it into the template itself."


class _Generation(Extension):
    """`{% generation %}`: marks what the model says, for training; what is inside is a scope of its own."""

    tags = {"generation"}  # noqa: RUF012 - jinja declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """The inner statements alone."""
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


def _raise_exception(message: str) -> None:
    raise TemplateError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _environment(today: datetime.date) -> Sandbox:
    def strftime_now(format: str) -> str:
        return datetime.datetime.combine(today, datetime.time()).strftime(format)

    environment = Sandbox([_Generation, loopcontrols], {"tojson": _tojson})
    environment.globals["raise_exception"] = _raise_exception
    environment.globals[_NOW] = strftime_now
    return environment


@dataclass(frozen=True)
class ChatTemplate:
    """One template, compiled. `source` is its text, `origin` the file it came from.

    `switches` are the variables for thinking that it reads, with the values that turn it off.
    """

    source: str
    origin: Path
    tokens: Mapping[str, str]
    switches: Mapping[str, bool | int]
    _sandbox: Sandbox = field(repr=False, compare=False)
    _compiled: Template = field(repr=False, compare=False)

    @property
    def sha256(self) -> str:
        """Of the template's text."""
        return sha256_text(self.source)

    @property
    def thinking_off(self) -> bool:
        """Whether the template has a switch for thinking, which is then off."""
        return bool(self.switches)

    @property
    def uses_date(self) -> bool:
        """Whether prompts may change with the date."""
        return _NOW in self.source

    def render(self, messages: Sequence[Message]) -> str:
        """The prompt text, ending where the model is to speak. Raises InputError if the template fails.

        The text holds whatever special tokens the template writes (often BOS): encode it without adding more.
        """
        self._sandbox.begin()
        try:
            text = self._compiled.render(
                messages=[dict(message) for message in messages],
                add_generation_prompt=True,
                tools=None,
                documents=None,
                **self.tokens,
                **self.switches,
            )
            text.encode()
            return text
        # A template is a program from elsewhere: besides jinja's own errors it meets those of the operations it does,
        # and may write half a surrogate pair, which is no text.
        except (
            TemplateError,
            TypeError,
            ValueError,
            ArithmeticError,
            LookupError,
            AttributeError,
            RecursionError,
            MemoryError,
        ) as exc:
            remedy = f"{_NO_SYSTEM} {_REMEDY}" if self._fails_for_the_system_message(messages) else _REMEDY
            raise InputError(f"{self.origin}: the chat template failed: {exc or type(exc).__name__}", remedy) from exc

    def _fails_for_the_system_message(self, messages: Sequence[Message]) -> bool:
        if not messages or messages[0]["role"] != "system":
            return False
        try:
            self.render(messages[1:])
        except InputError:
            return False
        return True


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path}: larger than {_MAX_BYTES >> 20} MiB, which no template needs.", _REMEDY)
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        raise InputError(f"{path}: cannot be read: {exc.strerror or exc}", _REMEDY) from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"{path}: not UTF-8 text.", _REMEDY) from exc


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_read_text(path))
    except (json.JSONDecodeError, RecursionError) as exc:
        raise InputError(f"{path}: not JSON: {exc}", _REMEDY) from exc
    if not isinstance(content, dict):
        raise InputError(f"{path}: not a JSON object.", _REMEDY)
    return content


def _named(value: object, path: Path) -> str | None:
    """The template in a `chat_template` field: a text, or named ones (a list, an object) of which "default" counts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        entries = [] if isinstance(value, dict) else [entry for entry in value if isinstance(entry, dict)]
        named = value if isinstance(value, dict) else {entry.get("name"): entry.get("template") for entry in entries}
        if isinstance(named.get("default"), str):
            return str(named["default"])
        raise InputError(f"{path}: 'chat_template' has no template named 'default'.", _REMEDY)
    raise InputError(f"{path}: 'chat_template' is neither text nor a list of named templates.", _REMEDY)


def _special_tokens(model_dir: Path) -> dict[str, str]:
    """The special tokens by name ("bos_token", ...): tokenizer_config.json's, else special_tokens_map.json's."""
    tokens = {}
    for path in (model_dir / "special_tokens_map.json", model_dir / _CONFIG):
        for name, value in (_read_object(path) if path.is_file() else {}).items():
            content = value.get("content") if isinstance(value, dict) else value
            if name.endswith("_token") and isinstance(content, str):
                tokens[name] = content
    return tokens


def _find(model_dir: Path) -> tuple[str, Path] | None:
    if not model_dir.is_dir():
        raise InputError(f"{model_dir}: there is no such model folder.")
    path = model_dir / "chat_template.jinja"
    if path.is_file() and (text := _read_text(path)).strip():
        return text, path
    for name in (_CONFIG, "chat_template.json"):
        path = model_dir / name
        named = _named(_read_object(path).get("chat_template"), path) if path.is_file() else None
        if named is not None and named.strip():
            return named, path
    return None


def load_template(
    model_dir: Path, choice: Literal["auto", "none"] | Path, *, today: datetime.date
) -> ChatTemplate | None:
    """The chat template of a model folder, or of a file of one's own.

    `choice` "auto" looks for chat_template.jinja, then `chat_template` in tokenizer_config.json, then in
    chat_template.json, as transformers does; None means that there is none, or an empty one. "none" gives None. A Path
    is read as a jinja file, or as JSON with a `chat_template` field if it ends in .json. Special tokens come from the
    folder's tokenizer_config.json (or special_tokens_map.json) in all cases. `today` is the day that `strftime_now` of
    a template tells, at midnight.
    Raises InputError, naming the file, for one that is broken.
    """
    if choice == "none":
        return None
    if choice == "auto":
        found = _find(model_dir)
        if found is None:
            return None
        text, origin = found
    elif isinstance(choice, Path):
        origin = choice
        named = _named(_read_object(origin).get("chat_template"), origin) if origin.suffix == ".json" else None
        if origin.suffix == ".json" and named is None:
            raise InputError(f"{origin}: no 'chat_template' in it.", _REMEDY)
        text = named if named is not None else _read_text(origin)
        if not text.strip():
            raise InputError(f"{origin}: the chat template is empty.", _REMEDY)
    else:
        raise UsageError(f"The chat template '{choice}' is neither auto, none nor a file.")
    sandbox = _environment(today)
    try:
        compiled = sandbox.compiled(text)
        read = meta.find_undeclared_variables(sandbox.parse(text))
    # Besides jinja's own errors those of Python's compiler: too deep, a number too long, a `continue` without a loop.
    except (TemplateError, SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise InputError(f"{origin}: the chat template is broken: {exc}", _REMEDY) from exc
    switches = {name: off for name, off in _THINKING_OFF.items() if name in read}
    return ChatTemplate(text, origin, _special_tokens(model_dir), switches, sandbox, compiled)
