"""Chat templates: where they are found, what they render, what a broken or hostile one does.

The templates in `templates/` were written for these tests with the constructs that published ones use;
`expected.json` holds what transformers 5.24.0 renders from them (`render_jinja_template` with bos_token "<s>",
eos_token "</s>", date_string "5 May 2025", add_generation_prompt, and enable_thinking=False where it is a switch).
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError, UsageError
from mince_gui.tasks import ChatTemplate, load_template

_TEMPLATES = Path(__file__).parent / "templates"
_EXPECTED: dict[str, str] = json.loads((_TEMPLATES / "expected.json").read_text(encoding="utf-8"))
_CHATS = {
    "one": [{"role": "user", "content": 'How many <b>? "é"\n'}],
    "shots": [
        {"role": "system", "content": " Be brief. "},
        {"role": "user", "content": "Q: 1+1\nA:"},
        {"role": "assistant", "content": " <think>\nhm\n</think>\n\n2. "},
        {"role": "user", "content": "Q: 2+2\nA:"},
    ],
}
_HELLO = [{"role": "user", "content": "Hello"}]


def _config(folder: Path, **content: Any) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _load(folder: Path, choice: Literal["auto"] | Path = "auto") -> ChatTemplate:
    template = load_template(folder, choice)
    assert template is not None
    return template


def _today() -> str:
    return datetime.datetime.now().astimezone().strftime("%d %b %Y")


@pytest.mark.parametrize("case", _EXPECTED)
def test_templates_of_known_kinds_render_as_in_transformers(tmp_path: Path, case: str) -> None:
    kind, chat = case.split("/")
    _config(tmp_path, bos_token="<s>", eos_token={"content": "</s>", "lstrip": False})
    before = _today()
    text = _load(tmp_path, _TEMPLATES / f"{kind}.jinja").render(_CHATS[chat])
    assert text in {_EXPECTED[case].replace("5 May 2025", day) for day in (before, _today())}


def test_the_switch_for_thinking_is_known_and_off(tmp_path: Path) -> None:
    assert _load(tmp_path, _TEMPLATES / "qwen3_kind.jinja").thinking_off
    assert not _load(tmp_path, _TEMPLATES / "phi4_kind.jinja").thinking_off


def test_a_template_in_the_tokenizer_config_is_found(tmp_path: Path) -> None:
    template = _load(_config(tmp_path, chat_template="{{ messages[0].content }}{{ eos_token }}", eos_token="!"))
    assert template.render(_HELLO) == "Hello!"
    assert template.origin == tmp_path / "tokenizer_config.json"
    assert template.sha256 == sha256_text("{{ messages[0].content }}{{ eos_token }}")


def test_of_named_templates_the_default_counts(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    assert _load(_config(tmp_path, chat_template=named)).render(_HELLO) == "plain"


def test_a_jinja_file_goes_before_the_config_and_the_config_before_chat_template_json(tmp_path: Path) -> None:
    (tmp_path / "chat_template.json").write_text('{"chat_template": "third"}', encoding="utf-8")
    assert _load(tmp_path).render(_HELLO) == "third"
    _config(tmp_path, chat_template="second")
    assert _load(tmp_path).render(_HELLO) == "second"
    (tmp_path / "chat_template.jinja").write_text("first\n", encoding="utf-8")
    assert _load(tmp_path).render(_HELLO) == "first"


def test_special_tokens_may_lie_in_their_own_file(tmp_path: Path) -> None:
    tokens = {"bos_token": "<s>", "eos_token": "old", "additional_special_tokens": ["<x>"]}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(tokens), encoding="utf-8")
    _config(tmp_path, chat_template="{{ bos_token }}{{ eos_token }}{{ pad_token }}", eos_token="new", pad_token=None)
    assert _load(tmp_path).render(_HELLO) == "<s>new"


def test_no_template_anywhere_is_none_and_none_asked_for_is_none(tmp_path: Path) -> None:
    assert load_template(_config(tmp_path, bos_token="<s>"), "auto") is None
    (tmp_path / "chat_template.jinja").write_text("{% broken", encoding="utf-8")
    assert load_template(tmp_path, "none") is None


def test_a_file_of_ones_own_may_be_json(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"chat_template": "mine"}', encoding="utf-8")
    assert _load(tmp_path, own).render(_HELLO) == "mine"
    own.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.json: no 'chat_template'"):
        load_template(tmp_path, own)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", b"{% for m in messages %}"),
        ("chat_template.jinja", b"\xff\xfe"),
        ("chat_template.json", b"[]"),
        ("chat_template.json", b"{"),
        ("chat_template.json", b"[" * 100_000),
        ("tokenizer_config.json", b'{"chat_template": 7}'),
        ("tokenizer_config.json", b'{"chat_template": [{"name": "rag", "template": "x"}]}'),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name) as caught:
        load_template(tmp_path, "auto")
    assert "--chat-template none" in caught.value.remedy


def test_a_file_or_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"own\.jinja: cannot be read"):
        load_template(tmp_path, tmp_path / "own.jinja")
    with pytest.raises(InputError, match="no such model folder"):
        load_template(tmp_path / "model", "auto")


def test_an_unknown_choice_is_refused(tmp_path: Path) -> None:
    choice: Any = "always"
    with pytest.raises(UsageError, match="'always'"):
        load_template(tmp_path, choice)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{{ raise_exception('Roles must alternate') }}", "Roles must alternate"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe|not safely"),
        ("{% for i in range(1000000000) %}{% endfor %}", "Range too big"),
        ("{{ messages[5].content.x }}", "no element 5"),
        ("{{ 1 // 0 }}", "zero"),
        ("{{ messages[0].content + 1 }}", "str"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{% include '/etc/hostname' %}", "loader"),
    ],
)
def test_a_template_that_fails_or_breaks_out_is_an_error_that_names_it(
    tmp_path: Path, source: str, reason: str
) -> None:
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    template = _load(tmp_path)
    with pytest.raises(InputError, match=rf"chat_template\.jinja: .*({reason})"):
        template.render(_HELLO)


def test_messages_that_alternate_wrongly_are_refused_by_the_template(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must alternate"):
        _load(tmp_path, _TEMPLATES / "mistral_kind.jinja").render(_HELLO * 2)


def test_the_callers_messages_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].update({'content': 1}) }}", encoding="utf-8")
    with pytest.raises(InputError):
        _load(tmp_path).render(_HELLO)
    assert _HELLO == [{"role": "user", "content": "Hello"}]
