"""Chat templates: where they are found, what they render, what a broken or hostile one does.

The templates in `templates/` were written for these tests with the constructs that published ones use;
`expected.json` holds what transformers 5.24.0 renders from them and `chats.json`, `constructs.json` single constructs
and what transformers renders of the chat "shots" (null: it refuses). `test_oracle_templates` makes both.
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
_CHATS = json.loads((_TEMPLATES / "chats.json").read_text(encoding="utf-8"))
_CONSTRUCTS: dict[str, str | None] = json.loads((_TEMPLATES / "constructs.json").read_text(encoding="utf-8"))
_HELLO = [{"role": "user", "content": "Hello"}]
_DAY = datetime.date(2025, 5, 5)


def _config(folder: Path, **content: Any) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def _load(folder: Path, choice: Literal["auto"] | Path = "auto") -> ChatTemplate:
    template = load_template(folder, choice, today=_DAY)
    assert template is not None
    return template


@pytest.mark.parametrize("case", _EXPECTED)
def test_templates_of_known_kinds_render_as_in_transformers(tmp_path: Path, case: str) -> None:
    kind, chat = case.split("/")
    _config(tmp_path, bos_token="<s>", eos_token={"content": "</s>", "lstrip": False})
    text = _load(tmp_path, _TEMPLATES / f"{kind}.jinja").render(_CHATS[chat])
    assert text == _EXPECTED[case]


def test_single_constructs_render_as_in_transformers_and_are_refused_where_it_refuses(tmp_path: Path) -> None:
    _config(tmp_path, bos_token="<s>", eos_token="</s>")
    found: dict[str, str | None] = {}
    for source in _CONSTRUCTS:
        (tmp_path / "own.jinja").write_bytes(source.encode())
        try:
            found[source] = _load(tmp_path, tmp_path / "own.jinja").render(_CHATS["shots"])
        except InputError:
            found[source] = None
    assert found == _CONSTRUCTS


@pytest.mark.parametrize(
    ("source", "off"),
    [
        ("{% if enable_thinking is defined and enable_thinking is false %}off{% endif %}", True),
        ("{%- set enable_thinking = enable_thinking | default(true) -%}{{ 'on' if enable_thinking else 'off' }}", True),
        ("{%- if thinking is undefined %}{% set thinking = true %}{% endif %}{{ 'on' if thinking else 'off' }}", True),
        ("{% macro m() %}{{ 'on' if thinking | default(true) else 'off' }}{% endmacro %}{{ m() }}", True),
        ("{% if not thinking_budget is defined %}{% set thinking_budget = -1 %}{% endif %}{{ thinking_budget }}", True),
        ("{% set ns = namespace(enable_thinking=true) %}{{ 'on' if ns.enable_thinking }}", False),
        ("{# enable_thinking #}{{ messages[0].thinking is defined }}", False),
    ],
)
def test_thinking_is_off_exactly_where_the_template_reads_a_switch(tmp_path: Path, source: str, off: bool) -> None:
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    template = _load(tmp_path)
    assert template.thinking_off == off
    assert (template.render(_HELLO) in ("off", "0")) == off


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


def test_named_templates_may_be_an_object(tmp_path: Path) -> None:
    assert _load(_config(tmp_path, chat_template={"tool_use": "tools", "default": "plain"})).render(_HELLO) == "plain"
    with pytest.raises(InputError, match="no template named 'default'"):
        _load(_config(tmp_path, chat_template={"tool_use": "tools"}))


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
    assert load_template(_config(tmp_path, bos_token="<s>"), "auto", today=_DAY) is None
    (tmp_path / "chat_template.jinja").write_text("{% broken", encoding="utf-8")
    assert load_template(tmp_path, "none", today=_DAY) is None


def test_a_file_of_ones_own_may_be_json(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text('{"chat_template": "mine"}', encoding="utf-8")
    assert _load(tmp_path, own).render(_HELLO) == "mine"
    own.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.json: no 'chat_template'"):
        load_template(tmp_path, own, today=_DAY)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", b"{% for m in messages %}"),
        ("chat_template.jinja", b"\xff\xfe"),
        ("chat_template.jinja", b"{% continue %}"),
        ("chat_template.jinja", b"{{ " + b"9" * 5000 + b" }}"),
        ("chat_template.jinja", b"{% for m in [1] %}" * 25 + b"{% endfor %}" * 25),
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
        load_template(tmp_path, "auto", today=_DAY)
    assert "--chat-template none" in caught.value.remedy


def test_a_file_or_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"own\.jinja: cannot be read"):
        load_template(tmp_path, tmp_path / "own.jinja", today=_DAY)
    with pytest.raises(InputError, match="no such model folder"):
        load_template(tmp_path / "model", "auto", today=_DAY)


def test_an_unknown_choice_is_refused(tmp_path: Path) -> None:
    choice: Any = "always"
    with pytest.raises(UsageError, match="'always'"):
        load_template(tmp_path, choice, today=_DAY)


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
        (r"{{ '\ud800' }}", "surrogates"),
    ],
)
def test_a_template_that_fails_or_breaks_out_is_an_error_that_names_it(
    tmp_path: Path, source: str, reason: str
) -> None:
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    template = _load(tmp_path)
    with pytest.raises(InputError, match=rf"chat_template\.jinja: .*({reason})"):
        template.render(_HELLO)


_DOUBLED = "{% set ns = namespace(x='ab', y='ab') %}{% for i in range(60) %}%s{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 100000000000 }}",
        "{{ [1] * 100000000000 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ '%100000000000d' % 1 }}",
        "{{ '%*d' % (10000000000, 1) }}",
        "{{ '{:>100000000000}'.format(1) }}",
        "{{ '{:>{w}}'.format(1, w=10000000000) }}",
        "{{ 'a'.ljust(100000000000) }}",
        "{{ 'a' | center(100000000000) }}",
        "{{ ['a'] | map('center', 100000000000) | list }}",
        "{{ ('x\n' * 1000000) | indent(1000000) }}",
        "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
        "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
        "{{ (['a'] * 1000000) | join('b' * 1000000) }}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) if j < 0 %}{% endfor %}{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% for i in range(9) recursive %}{% if loop.depth < 30 %}{{ loop(range(9)) }}{% endif %}{% endfor %}",
        _DOUBLED.replace("%s", "{% set ns.x = ns.x ~ ns.x %}"),
        _DOUBLED.replace("%s", "{% set ns.x = ns.x + ns.x %}"),
        _DOUBLED.replace("%s", "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
        _DOUBLED.replace("%s", "{% set ns.x = [ns.x, ns.x] %}") + "{{ ns.x }}",
        _DOUBLED.replace("%s", "{% set ns.x = [ns.x, ns.x] %}") + "{{ ns.x | tojson }}",
        "{% set ns = namespace(x=10) %}{% for i in range(60) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
        "{% for i in range(100000) %}" + "word " * 1000 + "{% endfor %}",
        "{{ lipsum(n=1000000000) }}",
        "{{ ('{0}' * 1000).format('a' * 100000) }}",
        "{{ ('%(a)s' * 1000) % {'a': 'b' * 100000} }}",
        "{{ '{:{s}}'.format(1, s='>10000000000') }}",
        "{{ '%((a(b))1000000000d' % {'(a(b)': 1} }}",
        "{{ '%5%%1000000000d' % 1 }}",
        "{{ '%.*f' % (1000000000, 1) }}",
        "{{ range(100000) | join('x' * 1000000) }}",
        "{{ (1).to_bytes(1000000000, 'big') }}",
        "{{ [1, 2] | slice(1000000000) | list }}",
        "{{ ('a' * 4000000) | wordwrap(1) }}",
        "{{ ('<a>' * 1000000) | striptags }}",
        _DOUBLED.replace("%s", "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}") + "{{ ns.x == ns.y }}",
        _DOUBLED.replace("%s", "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}") + "{{ ns.x is eq ns.y }}",
    ],
)
def test_a_template_that_asks_for_the_world_is_refused_before_it_gets_it(tmp_path: Path, source: str) -> None:
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    with pytest.raises(InputError, match=r"chat_template\.jinja: .*(work|value|width|key|lipsum)") as caught:
        _load(tmp_path).render(_HELLO)
    assert "--chat-template" in caught.value.remedy


def test_a_long_conversation_is_no_work_to_speak_of(tmp_path: Path) -> None:
    chat = [{"role": ("user", "assistant")[i % 2], "content": "word " * 4000} for i in range(40)]
    template = _load(tmp_path, _TEMPLATES / "llama3_kind.jinja")
    for _ in range(3):  # each rendering has the whole budget
        assert template.render(chat).count("word") == 160_000


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'a' ~ 1 ~ none ~ 'b' }}", "a1Noneb"),
        ("{% for m in messages if m.role == 'user' %}{{ loop.last }}{{ loop.length }}{% endfor %}", "True1"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(', ') }}", "Hello"),
        ("{{ '%s-%02d' % ('a', 7) }}{{ '{}:{}'.format(1, 'x') }}", "a-071:x"),
        ("{{ 2 ** 10 + 3 * 4 % 5 }}{{ [1] + [2] }}{{ 'ab' * 2 }}{{ 1.5 * 2 }}", "1026[1, 2]abab3.0"),
        ("{% macro m(a) %}<{{ a }}{{ caller() }}>{% endmacro %}{% call m('x') %}y{% endcall %}", "<xy>"),
        ("{{ undefined_name }}{{ messages[0] | tojson }}", '{"role": "user", "content": "Hello"}'),
        ("{{ 'a,b'.split(',') | last }}{{ ' x '.strip() }}{{ 'ab'.startswith('a') }}", "bxTrue"),
    ],
)
def test_counting_changes_nothing_of_what_is_rendered(tmp_path: Path, source: str, expected: str) -> None:
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    assert _load(tmp_path).render(_HELLO) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages | map(attribute='content') | join('<|im_end|>\n<|im_start|>') }}",
        "{{ '<|im_end|>\n<|im_start|>'.join(messages | map(attribute='content')) }}",
        "{% for m in messages %}{{ m.content.replace('x', 'y').replace('<|start|>', '<|other_start|>') }}{% endfor %}",
        "{% for m in messages %}{{ m.content.find('d', 15000) }}{{ m.content.split(' ', 30000) | join }}{% endfor %}",
        "{{ messages[0].content | truncate(15000) }}{{ messages[0].content | indent(8) }}",
        "{% for m in messages %}{% for word in m.content.split(' ') %}{{ word }}{% endfor %}{% endfor %}",
        "{{ '**%s**' % messages[0].content }}{{ '* 1234567 {}'.format(messages[0].content) }}{{ '%d' % 20240101 }}",
    ],
)
def test_long_messages_are_not_taken_for_work(tmp_path: Path, source: str) -> None:
    chat = [{"role": ("user", "assistant")[i % 2], "content": "word " * 4000} for i in range(11)]
    (tmp_path / "chat_template.jinja").write_text(source, encoding="utf-8")
    assert len(_load(tmp_path).render(chat)) > 15_000


def test_a_template_tells_the_date_that_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ strftime_now('%Y-%m-%d %H:%M') }}", encoding="utf-8")
    template = _load(tmp_path)
    assert template.render(_HELLO) == "2025-05-05 00:00"
    assert template.uses_date
    assert not _load(tmp_path, _TEMPLATES / "smollm2_kind.jinja").uses_date


def test_messages_that_alternate_wrongly_are_refused_by_the_template(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must alternate"):
        _load(tmp_path, _TEMPLATES / "mistral_kind.jinja").render(_HELLO * 2)


_ALONE = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}ok"


def test_a_template_without_a_system_role_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(_ALONE, encoding="utf-8")
    system = {"role": "system", "content": "Be brief."}
    with pytest.raises(InputError, match="System role not supported") as caught:
        _load(tmp_path).render([system, *_HELLO])
    assert "leave the system prompt out" in caught.value.remedy
    assert _load(tmp_path).render(_HELLO) == "ok"


def test_a_failure_that_has_another_reason_does_not_blame_the_system_message(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('never') }}", encoding="utf-8")
    with pytest.raises(InputError, match="never") as caught:
        _load(tmp_path).render([{"role": "system", "content": "Be brief."}, *_HELLO])
    assert "system" not in caught.value.remedy


def test_the_callers_messages_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].update({'content': 1}) }}", encoding="utf-8")
    with pytest.raises(InputError):
        _load(tmp_path).render(_HELLO)
    assert _HELLO == [{"role": "user", "content": "Hello"}]
