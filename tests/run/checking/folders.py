"""Model folders of the shapes that releases wrote, and ONNX graphs, built by hand for the tests of the checks.

No AMD model is here: the shapes are those that public documentation shows of genai_config.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, body: bytes | str) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name: str, value: int) -> bytes:
    return block(1, name) + number(3, value) + number(20, 2)


def node(op: str, inputs: tuple[str, ...] = (), output: str = "", *, domain: str = "", **values: int) -> bytes:
    body = b"".join(block(1, name) for name in inputs)
    body += block(2, output) if output else b""
    body += block(3, f"{op}_node") + block(4, op)
    body += b"".join(block(5, attribute(name, value)) for name, value in values.items())
    return block(1, body + (block(7, domain) if domain else b""))


def tensor(name: str, kind: int, *dims: int, location: str | None = None, end: int = 0) -> bytes:
    body = b"".join(number(1, size) for size in dims) + number(2, kind) + block(8, name)
    if location is not None:
        for key, value in (("location", location), ("offset", "0"), ("length", str(end))):
            body += block(13, block(1, key) + block(2, value))
        body += number(14, 1)
    return block(5, body)


def onnx(*parts: bytes) -> bytes:
    return number(1, 8) + block(2, "by hand") + block(7, b"".join(parts))


def matmul_nbits(count: int, *, bits: int = 4, size: int = 128, domain: str = "com.microsoft") -> bytes:
    one = node("MatMulNBits", ("x", "w", "s"), "y", domain=domain, K=512, N=512, bits=bits, block_size=size)
    return one * count


INT4_GRAPH = onnx(matmul_nbits(7), node("MatMul", ("q", "k"), "qk"), node("Softmax", ("qk",), "p"))
FUSED_GRAPH = onnx(node("SSMLP", ("x",), "y", domain="com.amd") * 3, node("DynamicDispatch", domain="com.amd"))


def session(**options: Any) -> dict[str, Any]:
    return {"log_id": "onnxruntime-genai", "provider_options": [], **options}


def ryzen(**values: str) -> dict[str, Any]:
    return session(provider_options=[{"RyzenAI": {"external_data_file": "model_jit.pb.bin", **values}}])


# Name of the folder -> its session options and search options; ryzen-ai.md, 1.1.
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "phi-awq-g128-int4-asym-fp16-onnx-hybrid": (
        session(
            custom_ops_library="onnx_custom_ops.dll",
            custom_allocator="shared_d3d_xrt",
            external_data_file="m_jit.pb.bin",
        ),
        {"max_length": 4096},
    ),
    "phi-onnx-ryzen-strix": (
        session(custom_ops_library="onnxruntime_vitis_ai_custom_ops.dll"),
        {"max_length": 2048},
    ),
    "qwen-fused-1_6": (
        session(
            custom_ops_library="onnx_custom_ops.dll",
            config_entries={
                "dd_cache": "",
                "hybrid_opt_token_backend": "gpu",
                "hybrid_opt_max_seq_length": "4096",
                "max_length_for_kv_cache": "4096",
            },
        ),
        {"max_length": 131072},
    ),
    "llama_rai_1.8.0_npu_4K": (
        ryzen(hybrid_opt_token_backend="npu", hybrid_opt_max_seq_length="4096", max_length_for_kv_cache="4096"),
        {"max_length": 4096},
    ),
    "llama_rai_1.8.0_npu_16K": (
        ryzen(hybrid_opt_token_backend="npu", hybrid_opt_max_seq_length="4096", hybrid_opt_chunk_context="1"),
        {"max_length": 16384, "chunk_size": 2048},
    ),
    "mistral-onnx-ryzenai-1.7-hybrid": (
        ryzen(hybrid_opt_free_after_prefill="1", hybrid_opt_max_seq_length="4096", hybrid_opt_chunk_context="1"),
        {"max_length": 8192, "chunk_size": 2048},
    ),
    "winml-npu": (session(provider_options=[{"VitisAI": {}}]), {"max_length": 4096}),
    "vaip-npu": (session(provider_options=[{"VitisAI": {"config_file": "vaip_llm.json"}}]), {"max_length": 2048}),
    "plain-cpu": (session(), {"max_length": 32768}),
    "extensions-cpu": (session(custom_ops_library="ortextensions.dll"), {"max_length": 4096}),
    "plain-qnn": (session(provider_options=[{"QNN": {"backend_path": "QnnHtp.dll"}}]), {"max_length": 4096}),
    "plain-cuda": (session(provider_options=[{"cuda": {"enable_cuda_graph": "0"}}]), {"max_length": 32768}),
    "plain-dml": (session(provider_options=[{"dml": {}}]), {"max_length": 32768}),
}


def build(
    root: Path,
    shape: str,
    *,
    name: str | None = None,
    graph: bytes = INT4_GRAPH,
    config: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
) -> Path:
    """A folder of one of SHAPES, in `root`; `config` and `tokenizer` are laid over its two main files."""
    options, search = SHAPES[shape]
    folder = root / (name or shape)
    folder.mkdir(parents=True)
    model = {
        "type": "llama",
        "context_length": 131072,
        "eos_token_id": [5, 7],
        "bos_token_id": 1,
        "vocab_size": 100,
        "decoder": {"filename": "model.onnx", "session_options": options},
        **(config or {}),
    }
    _write(folder / "genai_config.json", {"model": model, "search": {"do_sample": False, **search}})
    (folder / "model.onnx").write_bytes(graph)
    for session_options in (options, *(v for entry in options["provider_options"] for v in entry.values())):
        if "external_data_file" in session_options:
            (folder / session_options["external_data_file"]).write_bytes(b"weights")
    tokens = [{"id": 1, "content": "<s>"}, {"id": 5, "content": "</s>"}, {"id": 7, "content": "<end>"}]
    _write(folder / "tokenizer.json", {"added_tokens": tokens, "model": {}})
    given = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "add_bos_token": True,
        "chat_template": "{{ messages[0].content }}",
    }
    _write(folder / "tokenizer_config.json", {**given, **(tokenizer or {})})
    return folder


def _write(path: Path, body: dict[str, Any]) -> None:
    path.write_text(json.dumps(body), encoding="utf-8")


@dataclass(frozen=True)
class View:
    """A runtime as a probe would describe it. A fake: AMD's wheels exist on Windows machines with an NPU only."""

    name: str
    oga_version: str | None = "0.18.0"
    distribution: str | None = "onnxruntime-genai"
    can_run: frozenset[str] = frozenset({"cpu"})
    release: str | None = None
    refused_tokenizers: tuple[str, ...] = ()
    error: str | None = None


_AMD = "onnxruntime-genai-directml-ryzenai"
_AMD_PROVIDERS = frozenset({"cpu", "dml", "ryzenai"})
BUNDLED = View("bundled")
RYZEN_16 = View("ryzen-ai-1.6", "0.9.2", _AMD, _AMD_PROVIDERS, "1.6", ("TokenizersBackend",))
RYZEN_17 = View("ryzen-ai-1.7.1", "0.11.2", _AMD, _AMD_PROVIDERS, "1.7.1", ("TokenizersBackend",))
RYZEN_18 = View("ryzen-ai-1.8", "0.14.0", _AMD, _AMD_PROVIDERS, "1.8")
WINML = View("winml", "0.13.2", "onnxruntime-genai-winml", frozenset({"cpu", "dml", "vitisai"}))
