"""What transformers 5.24.0 renders from the single constructs of `templates/constructs.json`.

MINCE_WRITE_EXPECTED=1 writes the file anew; null stands where transformers refuses too.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jinja2 import TemplateError

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("default")]

_TEMPLATES = Path(__file__).parent / "templates"


def test_every_construct_renders_as_in_transformers() -> None:
    chats = pytest.importorskip("transformers.utils.chat_template_utils", reason="transformers is not installed")
    chat = json.loads((_TEMPLATES / "chats.json").read_text(encoding="utf-8"))["shots"]
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
