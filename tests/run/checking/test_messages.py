"""Native messages in plain words: those that OGA can be brought to say here, and those of public reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.run import WorkerProcess, WorkerRefusedError, bundled_runtime
from mince_gui.run.checking import explain
from mince_gui.run.protocol import LoadRequest

Load = Callable[..., LoadRequest]
Break = Callable[[Path, dict[str, Any]], object]


def _session(**values: Any) -> Break:
    return lambda _, config: config["model"]["decoder"]["session_options"].update(values)


def _provider(name: str) -> Break:
    return _session(provider_options=[{name: {}}])


def _tokenizer_class(folder: Path, _: dict[str, Any]) -> None:
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "tokenizer_class": "NoSuchTokenizer"}))


def _foreign_operators(folder: Path, _: dict[str, Any]) -> None:
    file = folder / "model.onnx"
    file.write_bytes(file.read_bytes().replace(b"com.microsoft", b"com.ryzenaixx"))


@pytest.fixture(scope="module")
def empty_worker() -> Iterator[WorkerProcess]:
    with WorkerProcess(bundled_runtime()) as process:
        yield process


@pytest.mark.parametrize(
    ("spoil", "cause", "remedy"),
    [
        (_provider("NoSuch"), "does not know the provider NoSuch", "mince runtimes add"),
        (_provider("RyzenAI"), "RyzenAI", "onnxruntime-genai-directml-ryzenai"),
        (_provider("VitisAI"), "without VitisAI", "Windows ML"),
        (_provider("cuda"), "without CUDA", "onnxruntime-genai-cuda"),
        (_provider("dml"), "without DirectML", "onnxruntime-genai-directml"),
        (_tokenizer_class, "NoSuchTokenizer", "PreTrainedTokenizerFast"),
        (_session(config_entries={"dd_cache": ""}), "Ryzen AI 1.3 to 1.6", "Windows only"),
        (lambda _, c: c["search"].update(no_such_key=1), '"no_such_key" in "search"', "newer"),
        (lambda _, c: c["search"].update(max_length="many"), "Expected a number", "source"),
        (lambda _, c: c["model"].update(type="no_such_type"), '"no_such_type"', "newer"),
        (_session(custom_ops_library="onnx_custom_ops.dll"), "onnx_custom_ops.dll", "Ryzen AI release"),
        (_foreign_operators, "com.ryzenaixx", "check-model"),
        (lambda d, _: (d / "model.onnx.data").unlink(), "missing or incomplete", "Copy"),
        (lambda d, _: (d / "model.onnx.data").write_bytes(b"short"), "missing or incomplete", "Copy"),
        (lambda d, _: (d / "model.onnx").write_bytes(b"version https://git-lfs"), "Git LFS", "Copy"),
        (lambda d, _: (d / "tokenizer.json").unlink(), "tokenizer.json is missing", "Copy"),
        (lambda d, _: (d / "tokenizer.json").write_bytes(b"no JSON"), "most often tokenizer.json", "Copy"),
        (lambda d, _: (d / "tokenizer.json").write_bytes(b"12"), "most often tokenizer.json", "Copy"),
        (lambda d, _: (d / "tokenizer_config.json").unlink(), "tokenizer_config.json is missing", "Copy"),
    ],
)
def test_what_the_real_oga_says_of_a_broken_folder_is_explained(
    empty_worker: WorkerProcess,
    model_dir: Path,
    tmp_path: Path,
    load_request: Load,
    spoil: Break,
    cause: str,
    remedy: str,
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    request = load_request(folder)
    config = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    spoil(folder, config)
    (folder / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(WorkerRefusedError) as caught:
        empty_worker.load(request)
    assert caught.value.kind == "load_failed"
    known = explain(caught.value.message)
    assert known is not None, caught.value.message
    assert cause in known.cause
    assert remedy in known.remedy


@pytest.mark.parametrize(
    ("text", "cause", "remedy"),
    [
        # RyzenAI-SW#333
        ("RuntimeError: Unknown provider name 'RyzenAI'", "provider RyzenAI", "onnxruntime-genai-directml-ryzenai"),
        ("VitisAI execution provider is not supported in this build", "wrong wheel", "Ryzen AI installer"),
        # RyzenAI-SW#350, #282
        (
            "Exception during initialization: invalid unordered_map<K, T> key",
            "first generation",
            "mince runtimes",
        ),
        # RyzenAI-SW#265
        ('JSON Error: Unknown value "custom_allocator" at line 9', "Windows", "Windows only"),
        (
            "Unsupported tokenizer class: TokenizersBackend",
            "TokenizersBackend",
            "newer onnxruntime-genai",
        ),
        # genai#555
        (
            "ImportError: DLL load failed while importing onnxruntime_genai: The specified module could not be found.",
            "Visual C++",
            "one onnxruntime wheel",
        ),
        ("ModuleNotFoundError: No module named 'onnxruntime_genai'", "no onnxruntime-genai", "conda environment"),
        ('LoadLibrary failed with error 126 "" when trying to load "C:\\x\\onnx_custom_ops.dll"', "AMD's", "release"),
        # lemonade#1151
        ("[ONNXRuntimeError] Failed to serialize proto", "memory", "half"),
        ("std::bad_alloc", "memory", "smaller"),
        # lemonade#34
        (
            "Prompt tokens (2100) cannot be greater than the model's max prompt length (2000)",
            "2000 tokens",
            "few-shot",
        ),
        # genai#1425
        ("input_ids size (3216) exceeds max length (2048)", "3216 tokens", "longer context"),
        ("max_length (4096) cannot be greater than model context_length (2048)", "2048", "fewer"),
        ("No RyzenAI devices detected", "no NPU", "driver"),
        ("Continuous decoding is not supported on the selected device type (CPU)", "append", "standard mode"),
        ("Invalid dimensions: {1,4,256,256} vs {1,4,4096,256}", "one KV length", "max_length_for_kv_cache"),
        (
            "OrtValue shape verification failed. Current shape:{1,4,256,256} Requested shape:{1,4,4096,256}",
            "one KV length",
            "4096",
        ),
        # genai#1262, WindowsAppSDK#6173
        ("Invalid file: C:\\Users\\Håkansson\\m\\tokenizer.json", "outside ASCII", "C:\\models"),
        ("No mapping for the Unicode character exists in the target multi-byte code page", "letters", "mklink"),
        ("UnicodeEncodeError: 'charmap' codec can't encode characters", "code page", "PYTHONUTF8"),
        ("worker died: 0xC0000409 (fail-fast)", "fail-fast", "check-model"),
    ],
)
def test_messages_of_public_reports_are_explained(text: str, cause: str, remedy: str) -> None:
    for said in (text, f"2026-01-01 [E:onnxruntime:, session.cc:1 operator()]\n{text}\nTraceback ..."):
        known = explain(said)
        assert known is not None
        assert cause in known.cause
        assert remedy in known.remedy


@pytest.mark.parametrize(
    ("code", "cause", "remedy"),
    [
        (0xC0000005, "access violation", "check-model"),
        (0xC0000005 - (1 << 32), "access violation", "check-model"),
        (0xC0000409, "fail-fast", "NPU driver"),
        (0xC0000135, "DLL", "Visual C++"),
        (0xC00002B6, "went offline", "Restart"),
        (0xC0000017, "memory", "smaller model"),
        (-9, "SIGKILL", "memory"),
        (-11, "SIGSEGV", "check-model"),
        (-4, "another processor", "wheels"),
    ],
)
def test_exit_codes_are_explained_where_no_words_were_left(code: int, cause: str, remedy: str) -> None:
    known = explain("the worker crashed while loading", code=code)
    assert known is not None
    assert cause in known.cause
    assert remedy in known.remedy


def test_words_tell_more_than_the_exit_code() -> None:
    known = explain("Unknown provider name 'RyzenAI'", code=0xC0000409)
    assert known is not None
    assert "RyzenAI" in known.cause


@pytest.mark.parametrize("code", [None, 0, 1, 3, -1, -64, 0xC0FFEE00])
def test_what_is_not_known_is_not_explained(code: int | None) -> None:
    assert explain("something else went wrong in step 0x12345678", code=code) is None


def test_a_file_that_is_missing_at_a_plain_path_is_not_blamed_on_letters() -> None:
    known = explain("Invalid file: C:\\models\\m\\tokenizer.json\nfür später")
    assert known is not None
    assert "ASCII" not in known.cause


def test_the_end_of_a_long_log_is_looked_at() -> None:
    assert explain("noise\n" * 100_000 + "Unknown provider name 'RyzenAI'") is not None


@given(st.text(), st.one_of(st.none(), st.integers()))
def test_any_text_and_code_is_explained_or_not_but_never_fails(text: str, code: int | None) -> None:
    known = explain(text, code=code)
    assert known is None or (known.cause and known.remedy)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n'"), min_size=1, max_size=60))
def test_a_name_with_signs_of_formatting_stays_as_it_is(name: str) -> None:
    known = explain(f"Unknown provider name '{name}'")
    assert known is not None
    assert name in known.cause
