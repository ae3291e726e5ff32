"""What a model folder says of itself, read from genai_config.json without OGA."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mince_gui.base.cancel import CancelToken
from mince_gui.base.canonical import sha256_text
from mince_gui.base.errors import InputError
from mince_gui.run.made_for import MadeFor, Mode, made_for, mode_of
from mince_gui.run.provider_names import provider_key

_CONFIG = "genai_config.json"
_CHUNK = 1 << 20
_MAX_DEPTH = 32
_MAX_LENGTH = 1 << 40
_REMEDY = "Give a folder in ONNX Runtime GenAI format: genai_config.json, the .onnx files and the tokenizer."
_DEVICES = {
    "vitisai": "NPU (VitisAI)",
    "qnn": "NPU (QNN)",
    "openvino": "OpenVINO",
    "cuda": "GPU (CUDA)",
    "nvtensorrtrtx": "GPU (TensorRT)",
    "dml": "GPU (DirectML)",
    "webgpu": "GPU (WebGPU)",
}


DeviceKind = Literal["cpu", "gpu", "npu"]
_KINDS: Mapping[Mode, tuple[DeviceKind, ...]] = {
    "cpu": ("cpu",),
    "gpu": ("gpu",),
    "npu": ("npu",),
    "hybrid": ("npu", "gpu"),
    "npu or hybrid": ("npu",),
}


@dataclass(frozen=True)
class ModelFolder:
    """A model folder. Lengths in tokens, prompt and answer together.

    `ceiling` is the smallest of all `limits` (each with the key that names it); `kv_length` is a fixed KV length (the
    graph works with that max_length only), None where it grows. `prompt_limits` are limits of the prompt alone, by
    Ryzen AI version (rai_config.json). `device` is what the folder is made for, in words, `mode` the same as a value:
    a declaration, not a proof; `devices` names it in the words of leases (where it is not certain, an NPU is taken to
    be). `made_for` is the Ryzen AI release. `custom_ops_library` is native code that loading runs. `graphs` are the
    ONNX files that the configuration names, `data_files` the other files of weights that it names.
    """

    path: Path
    name: str
    model_type: str
    ceiling: int
    kv_length: int | None
    vocab_size: int | None
    eos_ids: tuple[int, ...]
    bos_id: int | None
    providers: tuple[str, ...]
    device: str
    devices: tuple[DeviceKind, ...]
    custom_ops_library: str | None
    has_chat_template: bool
    search: Mapping[str, Any]
    mode: Mode = "cpu"
    made_for: MadeFor = field(default_factory=MadeFor)
    limits: tuple[tuple[str, int], ...] = ()
    prompt_limits: Mapping[str, int] = field(default_factory=dict)
    graphs: tuple[str, ...] = ()
    data_files: tuple[str, ...] = ()


def read_model_folder(path: Path) -> ModelFolder:
    """Read a model folder. Raises InputError that names what is missing or broken in it."""
    if not path.is_dir():
        raise InputError(f"There is no model folder at {path}.", _REMEDY)
    config = _read_json(path / _CONFIG)
    model = config.get("model")
    if not isinstance(model, dict):
        raise InputError(f'{path / _CONFIG} has no object "model".', _REMEDY)
    search = config.get("search", {})
    if not isinstance(search, dict):
        raise InputError(f'{path / _CONFIG}: "search" is not an object.', _REMEDY)
    sessions = list(_sessions(model))
    options = [(name, values) for session in sessions for name, values in _provider_options(session)]
    entries = [values for _, values in options]
    entries += [session["config_entries"] for session in sessions if isinstance(session.get("config_entries"), dict)]
    limits = list(_limits(model, search, entries))
    if not limits:
        raise InputError(f"{path / _CONFIG} names no context length.", _REMEDY)
    _require_files(path, model)
    custom_ops = next((str(s["custom_ops_library"]) for s in sessions if s.get("custom_ops_library")), None)
    providers = tuple(dict.fromkeys(name for name, _ in options))
    name = path.resolve().name
    mode = mode_of(name, providers, sessions, entries)
    prompt_limits = _prompt_limits(path)
    return ModelFolder(
        path=path,
        name=name,
        model_type=str(model.get("type", "")),
        ceiling=min(limit for _, limit in limits),
        kv_length=min(_numbers(entries, "max_length_for_kv_cache"), default=None),
        vocab_size=model["vocab_size"] if isinstance(model.get("vocab_size"), int) else None,
        eos_ids=_eos_ids(path, model),
        bos_id=_bos_id(model),
        providers=providers,
        device=_device(mode, providers, custom_ops),
        devices=_KINDS[mode],
        custom_ops_library=custom_ops,
        has_chat_template=_has_chat_template(path),
        search=search,
        mode=mode,
        made_for=made_for(name, providers, sessions, prompt_limits),
        limits=tuple(limits),
        prompt_limits=prompt_limits,
        graphs=tuple(dict.fromkeys(_named_files(model, "filename"))),
        data_files=tuple(dict.fromkeys(_named_files(model, "external_data_file"))),
    )


def folder_sha256(path: Path, *, cancel: CancelToken | None = None) -> str:
    """SHA-256 over the sorted (relative path, size, SHA-256) of every file in the folder.

    Reads every byte: seconds to minutes for a real model, so keep the outcome. Raises CancelledError,
    and InputError where a file cannot be read.
    """
    rows = []
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest = hashlib.sha256()
        size = 0
        try:
            with file.open("rb") as stream:
                while chunk := stream.read(_CHUNK):
                    if cancel is not None:
                        cancel.check()
                    digest.update(chunk)
                    size += len(chunk)
        except OSError as exc:
            raise InputError(f"{file} cannot be read: {exc.strerror}.", _REMEDY) from exc
        rows.append(f"{file.relative_to(path).as_posix()}\t{size}\t{digest.hexdigest()}")
    if not rows:
        raise InputError(f"There are no files in {path}.", _REMEDY)
    return sha256_text("\n".join(sorted(rows)))


def _read_json(path: Path) -> dict[str, Any]:
    # A pipe would be waited for without end.
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file.", _REMEDY)
    try:
        body = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as exc:
        raise InputError(f"{path.parent} holds no {path.name}.", _REMEDY) from exc
    except json.JSONDecodeError as exc:
        raise InputError(f"{path}, line {exc.lineno}: not JSON ({exc.msg}).", _REMEDY) from exc
    # A number of thousands of digits, brackets of thousands of levels.
    except (OSError, ValueError, RecursionError) as exc:
        raise InputError(f"{path} cannot be read: {exc}.", _REMEDY) from exc
    if not isinstance(body, dict):
        raise InputError(f"{path} is not a JSON object.", _REMEDY)
    return body


def _parts(node: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every object inside `node`: a decoder, its pipeline's stages, an embedding, a vision part."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, dict):
        yield node
        for inner in node.values():
            yield from _parts(inner, depth + 1)
    elif isinstance(node, list):
        for inner in node:
            yield from _parts(inner, depth + 1)


def _sessions(model: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in _parts(model):
        session = part.get("session_options")
        if isinstance(session, dict):
            yield session


def _provider_options(session: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = session.get("provider_options")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict):
            for name, values in entry.items():
                yield name, values if isinstance(values, dict) else {}


def _numbers(entries: list[dict[str, Any]], key: str) -> list[int]:
    """The positive whole numbers under `key`; AMD writes them as text."""
    texts = (str(values[key]).strip() for values in entries if key in values)
    return [int(text) for text in texts if text.isdecimal() and len(text) < 12 and int(text) > 0]


def _limits(model: dict[str, Any], search: dict[str, Any], entries: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Every limit of prompt and answer together, with the key that names it; the smallest where a key is repeated."""
    for key, value in (
        ("model.context_length", model.get("context_length")),
        ("search.max_length", search.get("max_length")),
    ):
        if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value < _MAX_LENGTH:
            yield key, int(value)
    keys = ["max_length_for_kv_cache"]
    if not any(str(values.get("hybrid_opt_chunk_context")) == "1" for values in entries):
        keys.append("hybrid_opt_max_seq_length")
    for key in keys:
        numbers = _numbers(entries, key)
        if numbers:
            yield key, min(numbers)


def _prompt_limits(path: Path) -> dict[str, int]:
    """rai_config.json's `max_prompt_length` by Ryzen AI version; empty where there is none."""
    file = path / "rai_config.json"
    limits = _read_json(file).get("max_prompt_length") if file.is_file() else None
    given = limits if isinstance(limits, dict) else {}
    return {str(version): n for version, n in given.items() if isinstance(n, int) and not isinstance(n, bool) and n > 0}


def _named_files(model: dict[str, Any], key: str) -> Iterator[str]:
    """The file names under `key`, wherever in the configuration of the model they stand."""
    for part in _parts(model):
        if isinstance(part.get(key), str) and part[key]:
            yield part[key]


def _device(mode: Mode, providers: tuple[str, ...], custom_ops: str | None) -> str:
    names = [key for name in providers if (key := provider_key(name)) != "cpu"]
    if "ryzenai" in names:
        return "NPU (RyzenAI)" if mode == "npu" else "NPU and GPU, hybrid (RyzenAI)"
    if names:
        return " and ".join(dict.fromkeys(_DEVICES.get(name, name) for name in names))
    if mode == "cpu":
        return f"CPU (with operators of {custom_ops})" if custom_ops else "CPU"
    words = {"npu": "NPU", "hybrid": "NPU and GPU, hybrid", "npu or hybrid": "NPU or hybrid"}[mode]
    return f"{words} (operators of {custom_ops})"


def _eos_ids(path: Path, model: dict[str, Any]) -> tuple[int, ...]:
    value = model.get("eos_token_id")
    ids = value if isinstance(value, list) else [value]
    found = tuple(i for i in ids if isinstance(i, int) and not isinstance(i, bool))
    if not found:
        raise InputError(f"{path / _CONFIG} names no eos_token_id; answers would never end.", _REMEDY)
    return found


def _bos_id(model: dict[str, Any]) -> int | None:
    value = model.get("bos_token_id")
    first = value[0] if isinstance(value, list) and value else value
    return first if isinstance(first, int) and not isinstance(first, bool) and first >= 0 else None


def _require_files(path: Path, model: dict[str, Any]) -> None:
    for filename in _named_files(model, "filename"):
        if filename.lower().endswith(".onnx") and not (path / filename).is_file():
            raise InputError(f"{path} lacks {filename}, which {_CONFIG} names.", "Copy the model folder again, whole.")


def _has_chat_template(path: Path) -> bool:
    if (path / "chat_template.jinja").is_file() or (path / "chat_template.json").is_file():
        return True
    config = path / "tokenizer_config.json"
    return config.is_file() and bool(_read_json(config).get("chat_template"))
