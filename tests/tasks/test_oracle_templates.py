"""What transformers 5.24.0 renders from the templates and single constructs in `templates/`, beside what we render.

MINCE_WRITE_EXPECTED=1 writes `expected.json` and `constructs.json` anew; null stands where transformers refuses too.
"""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError

from mince_gui.tasks import load_template

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

_TEMPLATES = Path(__file__).parent / "templates"
_CHATS: dict[str, list[dict[str, str]]] = json.loads((_TEMPLATES / "chats.json").read_text(encoding="utf-8"))
_DAY = datetime.date(2025, 5, 5)


def _theirs(source: str, chat: list[dict[str, str]]) -> str:
    chats = pytest.importorskip("transformers.utils.chat_template_utils", reason="transformers is not installed")
    options: dict[str, Any] = {"date_string": _DAY.strftime("%d %b %Y")}
    if "enable_thinking" in source:
        options["enable_thinking"] = False
    rendered, _ = chats.render_jinja_template(
        [chat], chat_template=source, add_generation_prompt=True, bos_token="<s>", eos_token="</s>", **options
    )
    text: str = rendered[0]
    return text


def test_every_template_renders_as_in_transformers(tmp_path: Path) -> None:
    tokens = {"bos_token": "<s>", "eos_token": "</s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokens), encoding="utf-8")
    theirs, ours = {}, {}
    for path in sorted(_TEMPLATES.glob("*.jinja")):
        template = load_template(tmp_path, path, today=_DAY)
        assert template is not None
        for name, chat in _CHATS.items():
            theirs[f"{path.stem}/{name}"] = _theirs(path.read_text(encoding="utf-8"), chat)
            ours[f"{path.stem}/{name}"] = template.render(chat)
    assert ours == theirs
    kept = _TEMPLATES / "expected.json"
    if os.environ.get("MINCE_WRITE_EXPECTED"):
        kept.write_text(json.dumps(theirs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(kept.read_text(encoding="utf-8")) == theirs


def test_every_construct_renders_as_in_transformers() -> None:
    chats = pytest.importorskip("transformers.utils.chat_template_utils", reason="transformers is not installed")
    chat = _CHATS["shots"]
    kept = _TEMPLATES / "constructs.json"
    theirs: dict[str, str | None] = {}
    for source in json.loads(kept.read_text(encoding="utf-8")):
        try:
            rendered, _ = chats.render_jinja_template(
                [chat], chat_template=source, add_generation_prompt=True, bos_token="<s>", eos_token="</s>"
            )
            theirs[source] = rendered[0]
        except (TemplateError, TypeError, ValueError, AttributeError, LookupError, ArithmeticError, SyntaxError):
            theirs[source] = None
    if os.environ.get("MINCE_WRITE_EXPECTED"):
        kept.write_text(json.dumps(theirs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert json.loads(kept.read_text(encoding="utf-8")) == theirs
