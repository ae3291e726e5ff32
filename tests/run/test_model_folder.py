"""Model folders: what genai_config.json says, in the shapes that releases have written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError
from mince_gui.run import folder_sha256, read_model_folder


def _write(path: Path, session: dict[str, Any], *, search: int = 4096, **model: Any) -> Path:
    config = {
        "model": {
            "context_length": 32768,
            "eos_token_id": [5, 7],
            "vocab_size": 9,
            "type": "llama",
            "decoder": {"session_options": session, "filename": "model.onnx"},
            **model,
        },
        "search": {"max_length": search},
    }
    path.mkdir(exist_ok=True)
    (path / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
    (path / "model.onnx").write_bytes(b"graph")
    return path


def _ryzen(**values: str) -> dict[str, Any]:
    return {"provider_options": [{"RyzenAI": values}]}


@pytest.mark.parametrize(
    ("session", "device", "providers", "ceiling", "kv_length"),
    [
        ({"provider_options": []}, "CPU", (), 4096, None),
        ({}, "CPU", (), 4096, None),
        ({"provider_options": [{"cuda": {}}]}, "GPU (CUDA)", ("cuda",), 4096, None),
        ({"provider_options": [{"VitisAI": {}}]}, "NPU (VitisAI)", ("VitisAI",), 4096, None),
        (
            _ryzen(hybrid_opt_max_seq_length="2048", hybrid_opt_chunk_context="1"),
            "NPU and GPU, hybrid (RyzenAI)",
            ("RyzenAI",),
            4096,
            None,
        ),
        (
            _ryzen(hybrid_opt_max_seq_length="2048", hybrid_opt_token_backend="npu", max_length_for_kv_cache="4096"),
            "NPU (RyzenAI)",
            ("RyzenAI",),
            2048,
            4096,
        ),
        (
            {"custom_ops_library": "onnx_custom_ops.dll", "config_entries": {"max_length_for_kv_cache": "1024"}},
            "NPU or hybrid (operators of onnx_custom_ops.dll)",
            (),
            1024,
            1024,
        ),
    ],
)
def test_device_and_lengths_are_read_from_every_shape(
    tmp_path: Path,
    session: dict[str, Any],
    device: str,
    providers: tuple[str, ...],
    ceiling: int,
    kv_length: int | None,
) -> None:
    folder = read_model_folder(_write(tmp_path / "m", session))
    assert folder.device == device
    assert folder.providers == providers
    assert folder.ceiling == ceiling
    assert folder.kv_length == kv_length
    assert folder.eos_ids == (5, 7)
    assert folder.custom_ops_library == session.get("custom_ops_library")
    assert not folder.has_chat_template


def test_the_stages_of_a_pipeline_are_read_too(tmp_path: Path) -> None:
    stage: dict[str, Any] = {"session_options": {"provider_options": [{"QNN": {}}]}}
    decoder = {"pipeline": [{"context": stage, "iterator": stage}]}
    assert read_model_folder(_write(tmp_path / "m", {}, decoder=decoder)).device == "NPU (QNN)"


@pytest.mark.parametrize("name", ["chat_template.jinja", "tokenizer_config.json"])
def test_a_chat_template_is_found_where_folders_keep_it(tmp_path: Path, name: str) -> None:
    folder = _write(tmp_path / "m", {})
    (folder / name).write_text('{"chat_template": "x"}', encoding="utf-8")
    assert read_model_folder(folder).has_chat_template


def test_a_broken_folder_is_refused_with_file_and_way_out(tmp_path: Path, subtests: pytest.Subtests) -> None:
    def refused(path: Path, words: str) -> None:
        with subtests.test(words):
            with pytest.raises(InputError) as caught:
                read_model_folder(path)
            assert words in caught.value.message
            assert caught.value.remedy

    refused(tmp_path / "none", "no model folder")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(empty, "no genai_config.json")
    config = empty / "genai_config.json"
    for text, words in (
        ('{"model":\n{,}}', "line 2: not JSON"),
        ("[]", "not a JSON object"),
        ("{}", 'no object "model"'),
        ('{"model": {}, "search": 5}', '"search" is not an object'),
        ('{"model": {}}', "no context length"),
        ('{"model": {"context_length": true}}', "no context length"),
        ('{"model": {"context_length": 1e999}}', "no context length"),
        (f'{{"model": {"[" * 100_000}', "cannot be read"),
        (f'{{"model": {"9" * 5_000}}}', "cannot be read"),
        ('{"model": {"context_length": 9}}', "no eos_token_id"),
        ('{"model": {"context_length": 9, "decoder": {"filename": "model.onnx"}}}', "lacks model.onnx"),
    ):
        config.write_text(text, encoding="utf-8")
        refused(empty, words)
    config.write_bytes(b"\xff\xfe\x00")
    refused(empty, "cannot be read")


def test_the_hash_is_of_names_sizes_and_contents_and_not_of_the_place(tmp_path: Path) -> None:
    one, two = _write(tmp_path / "one", {}), _write(tmp_path / "two", {})
    for folder in (one, two):
        (folder / "cache").mkdir()
        (folder / "cache" / "a").write_bytes(b"xy")
    rows = sorted(
        f"{file.relative_to(one).as_posix()}\t{file.stat().st_size}\t{hashlib.sha256(file.read_bytes()).hexdigest()}"
        for file in one.rglob("*")
        if file.is_file()
    )
    assert folder_sha256(one) == hashlib.sha256("\n".join(rows).encode()).hexdigest()
    assert folder_sha256(one) == folder_sha256(two)
    (two / "cache" / "a").rename(two / "a")
    assert folder_sha256(one) != folder_sha256(two)


def test_hashing_can_be_cancelled_and_refuses_an_empty_folder(tmp_path: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        folder_sha256(_write(tmp_path / "m", {}), cancel=cancel)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        folder_sha256(tmp_path / "empty")


@pytest.mark.shared
def test_the_shared_model_is_a_cpu_model_with_a_template(shared_model: Path) -> None:
    folder = read_model_folder(shared_model)
    assert (folder.device, folder.ceiling, folder.eos_ids, folder.vocab_size) == ("CPU", 8192, (2,), 49152)
    assert folder.has_chat_template


@pytest.mark.parametrize(
    ("name", "device", "devices"),
    [
        ("CPUExecutionProvider", "CPU", ("cpu",)),
        ("CUDAExecutionProvider", "GPU (CUDA)", ("gpu",)),
        ("VitisAIExecutionProvider", "NPU (VitisAI)", ("npu",)),
        ("RyzenAIExecutionProvider", "NPU (RyzenAI)", ("npu",)),
    ],
)
def test_a_provider_in_onnxruntimes_spelling_is_the_same_one(
    tmp_path: Path, name: str, device: str, devices: tuple[str, ...]
) -> None:
    session = {"provider_options": [{name: {"hybrid_opt_token_backend": "npu"}}]}
    folder = read_model_folder(_write(tmp_path / "model", session))
    assert (folder.device, folder.devices) == (device, devices)
    assert folder.made_for.releases == (("1.7", "1.8") if "Ryzen" in name else ())


def test_of_a_limit_that_two_stages_name_the_smaller_counts(tmp_path: Path) -> None:
    stages = [{"prompt": {"session_options": _ryzen(max_length_for_kv_cache=n)}} for n in ("1024", "4096")]
    folder = read_model_folder(_write(tmp_path / "model", {}, decoder={"filename": "model.onnx", "pipeline": stages}))
    assert folder.ceiling == folder.kv_length == dict(folder.limits)["max_length_for_kv_cache"] == 1024
