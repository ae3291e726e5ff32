from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mince_gui.report.names import base_model, precision_of

PACKING = (
    "_rai_1.7.0_npu_8K", "_rai_1.9.0_npu", "-awq-g128-int4-asym-fp16-onnx-hybrid", "-awq-quant-onnx-hybrid",
    "-awq-g128-int4-asym-bf16-onnx-ryzen-strix", "-onnx-ryzenai-1.7-hybrid", "-onnx-ryzenai-npu", "-int4-cpu",
    "-cpu-int4-rtn-block-32-acc-level-4", "-Q4_K_M.gguf", ".Q8_0.gguf", ".IQ4_XS", "-GPTQ-Int4", "-AWQ-INT4",
    "-quantized.w4a16", "-FP8-dynamic", "-awq-asym-uint4-g128-lmhead-onnx-hybrid", "-FP8-KV", "-w8a8kv8", "-NVFP4A16",
    "-unsloth-bnb-4bit", "-bf16", "-FP32", "-hf",
)  # fmt: skip
MODELS = (
    "Llama-3.1-8B", "Llama-3.1-8B-Instruct", "Phi-4-mini-instruct", "Qwen3-8B", "Qwen2.5-0.5B-Instruct",
    "Mistral-7B-Instruct-v0.3", "Llama-3-8B-Instruct-262k", "Qwen3.5-35B-A3B", "smollm2-135m-instruct",
)  # fmt: skip


@pytest.mark.parametrize("packing", PACKING)
@pytest.mark.parametrize("owner", ["", "amd/", "C:\\models\\", "Qwen__"])
def test_a_build_is_known_by_the_model_it_was_made_from(packing: str, owner: str) -> None:
    for model in MODELS:
        assert base_model(f"{owner}{model}{packing}") == base_model(model) == model.lower()


@pytest.mark.parametrize(
    "other",
    [
        "Llama-3.1-8B", "Llama-3.2-8B-Instruct", "Llama-3.1-70B-Instruct", "Llama-3.1-8B-Instruct-medical",
        "Llama-3.1-8B-Instruct-medical-int4", "Llama-3.1-8B-Instruct-128k", "Llama-3.1-8B-Instruct-v2",
        "Llama-3.1-8B-Instruct-awq-tuned", "Llama-3.1-8B-Chat", "my-Llama-3.1-8B-Instruct",
    ],
)  # fmt: skip
def test_another_model_is_never_taken_for_it(other: str) -> None:
    assert base_model(other) != base_model("Llama-3.1-8B-Instruct_rai_1.7.0_npu_8K")


def test_metas_older_repository_name_is_the_same_model() -> None:
    assert base_model("meta-llama/Meta-Llama-3.1-8B-Instruct") == base_model("Llama-3.1-8B-Instruct")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Phi-4-mini-instruct-awq-g128-int4-asym-fp16-onnx-hybrid", "int4"),
        ("Qwen3-8B-awq-quant-onnx-hybrid", "int4"),
        ("Llama-3.1-8B-Instruct-Q4_K_M.gguf", "int4"),
        ("llama-3.1-8b-instruct.Q8_0.gguf", "int8"),
        ("Qwen2.5-0.5B-Instruct-GPTQ-Int8", "int8"),
        ("Qwen3-8B-quantized.w8a16", "int8"),
        ("Qwen3-8B-4bit", "int4"),
        ("Qwen3-8B-w8a8kv8", "int8"),
        ("Llama-3.1-8B-Instruct-NVFP4A16", "fp4"),
        ("Llama-3.1-8B-Instruct-FP8-dynamic", "fp8"),
        ("gpt-oss-20b-mxfp4", "fp4"),
        ("Qwen3-8B-BF16", "bf16"),
        ("smollm2-135m-instruct-float32", "fp32"),
        ("Qwen3-8B-fp16-onnx", "fp16"),
        ("Llama-3.1-8B-Instruct_rai_1.7.0_npu_8K", ""),
        ("Qwen3-8B", ""),
        ("Qwen3.5-35B-A3B", ""),
        ("BitNet-w12-point4", ""),
    ],
)
def test_a_name_tells_its_precision_or_nothing(name: str, word: str) -> None:
    assert precision_of(name) == word


WORDS = st.text("abcxyzw0123456789", min_size=1, max_size=8)


def test_a_folder_named_by_its_packing_alone_is_taken_for_no_model() -> None:
    assert base_model("cpu-int4-rtn-block-32-acc-level-4") != base_model("cpu-int8-rtn-block-32") != "cpu"


@given(st.lists(WORDS, min_size=1, max_size=5), st.sampled_from("-_"), st.lists(st.sampled_from(PACKING), max_size=3))
def test_packing_on_packing_changes_nothing(words: list[str], sign: str, packings: list[str]) -> None:
    name = sign.join(words)
    assert base_model(name + "".join(packings)) == base_model(name)


@given(st.text(max_size=60))
def test_the_base_of_a_base_is_itself(name: str) -> None:
    assert base_model(base_model(name)) == base_model(name)


@given(st.text(max_size=60).filter(lambda text: any(c.isalnum() for c in text)))
def test_no_name_is_stripped_to_nothing(name: str) -> None:
    assert base_model(name)


@given(st.sampled_from(MODELS), st.text("abcdefghijklmnopqrstuvwxyz", max_size=12))
def test_what_a_fine_tune_is_called_stays_in_the_name(model: str, suffix: str) -> None:
    assert base_model(f"{model}-tuned{suffix}-int4-cpu") == f"{model}-tuned{suffix}".lower()
