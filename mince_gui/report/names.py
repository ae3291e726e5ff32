"""Model names: which of them name the same weights, quantised or packed in another way; and what they say of precision.

Folders, repositories and logs name a build of a model after the model, with words of packing behind it:
Llama-3.1-8B-Instruct_rai_1.7.0_npu_8K, Phi-4-mini-instruct-awq-g128-int4-asym-fp16-onnx-hybrid, a GGUF's .Q4_K_M.
"""

from __future__ import annotations

import re

_VERSION = r"(?:-\d+(?:\.\d+)*)?"
_PLACE = "npu|hybrid|cpu|gpu|igpu|dml|directml|cuda|vulkan|webgpu|openvino|qnn|vitisai"
# Only words that say how weights were stored, converted or placed. What trained them further ("instruct", "chat", a
# fine-tune's name) or tells two models apart (a version, a size, a context length of its own) is not among them.
_PACKING = re.compile(
    rf"""[-.](?:
      rai{_VERSION} | ryzen(?:-?ai)?{_VERSION} | strix(?:-halo)? | stx | krk
    | (?:{_PLACE})(?:-\d+k)?
    | onnx | oga | ort | genai | gguf | ggml | mlx | safetensors | hf
    | awq | gptq | rtn | quark | quant | (?:de)?quanti[sz]ed | unsloth-bnb | bnb
    | u?int[2-8] | [2-8]-?bit | w[2-8](?:a\d+)?(?:kv\d+)? | kv\d* | lm-?head
    | i?q[2-8](?:-[01k]|-(?:x{{0,2}}s|m|nl))?(?:-(?:s|m|l|xl))?
    | fp(?:4|8|16|32)(?:-dynamic)? | b?f(?:16|32) | b?float(?:16|32) | nf4 | mxfp4 | nvfp4(?:a\d+)?
    | a?sym | g\d+ | gs\d+ | group-?size-?\d+ | block-\d+ | acc-level-\d
    )$""",
    re.VERBOSE,
)
_INTEGERS = re.compile(r"(?<![a-z0-9])(?:u?int([2-8])|w([2-8])(?:a\d+)?(?:kv\d+)?|i?q([2-8])|([2-8])-?bit)(?![a-z0-9])")
# Of AWQ's own tools all write 4 bits; a name with other bits says them.
_WORDS = (
    ("fp4", re.compile(r"(?<![a-z0-9])(?:fp4|nf4|mxfp4|nvfp4(?:a\d+)?)(?![a-z0-9])")),
    ("fp8", re.compile(r"(?<![a-z0-9])fp8(?![a-z0-9])")),
    ("int4", re.compile(r"(?<![a-z0-9])awq(?![a-z0-9])")),
    ("bf16", re.compile(r"(?<![a-z0-9])(?:bf16|bfloat16)(?![a-z0-9])")),
    ("fp16", re.compile(r"(?<![a-z0-9])(?:fp16|f16|float16)(?![a-z0-9])")),
    ("fp32", re.compile(r"(?<![a-z0-9])(?:fp32|f32|float32)(?![a-z0-9])")),
)


def _tidy(name: str) -> str:
    """The name's last part, without its owner ("amd/", "Qwen__"), in lower case, with "-" between its words."""
    parts = [part for part in re.split(r"[/\\]|__", name) if part.strip("-_. ")]
    return re.sub(r"[\s_-]+", "-", (parts[-1] if parts else name).lower()).strip("-. ")


def base_model(name: str) -> str:
    """The model that a folder or log name is a build of, in lower case, without what says how it was packed.

    Only words of packing at the end are left out, so that a fine-tune is never taken for the model it was made from.
    """
    rest = _tidy(name)
    while (shorter := _PACKING.sub("", rest).strip("-. ")) != rest:
        rest = shorter
    if _PACKING.fullmatch(f"-{rest}"):
        # A folder that is named by its packing alone (cpu-int4-rtn-block-32) says nothing of the model.
        rest = _tidy(name)
    # Meta's repositories of Llama 3.1 were renamed: Meta-Llama-3.1-8B is Llama-3.1-8B.
    return re.sub(r"^(?:meta-)+(?=llama)", "", rest)


def precision_of(name: str) -> str:
    """The precision of the weights as a name tells it ("int4", "int8", "fp8", "bf16", ...); "" where it does not.

    Of several the one with the fewest bits: in "int4-asym-fp16" the floats are those of the activations.
    """
    # "fp32-dequantised-q4-1": the floats that 4-bit weights were turned back into.
    tidy = re.sub(r"-dequanti[sz]ed\b.*", "", _tidy(name))
    bits = [int(digit) for found in _INTEGERS.findall(tidy) for digit in found if digit]
    if bits:
        return f"int{min(bits)}"
    return next((word for word, pattern in _WORDS if pattern.search(tidy)), "")
