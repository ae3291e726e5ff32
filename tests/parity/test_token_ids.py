"""Token ids of rendered prompts: the runtime's are those of the `tokenizers` library on the same folder."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from mince_gui.run import WorkerProcess, bundled_runtime, read_model_folder
from mince_gui.run.protocol import LoadRequest
from mince_gui.tasks import load_template
from tests.parity.conftest import Asked

pytestmark = pytest.mark.shared

_CHATS = Path(__file__).parent.parent / "tasks" / "templates" / "chats.json"


def test_prompts_and_odd_chats_have_the_same_ids_both_ways(asked: list[Asked], model: Path) -> None:
    template = load_template(model, "auto", today=date(2026, 11, 29))
    assert template is not None
    texts = [one.item.request.prompt for one in asked]
    texts += [template.render(chat) for chat in json.loads(_CHATS.read_text(encoding="utf-8")).values()]
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    folder = read_model_folder(model)
    with WorkerProcess(bundled_runtime()) as worker:
        worker.load(LoadRequest(str(model), 1, {}, folder.ceiling, folder.kv_length, folder.eos_ids, folder.bos_id))
        for text in texts:
            assert list(worker.encode(text).ids) == tokenizer.encode(text).ids, text
    assert len(texts) == 73
