"""The messages of OGA, ONNX Runtime and AMD's stack, translated into cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Callable

from mince_gui.run.checking.codes import explain_code
from mince_gui.run.checking.phrases import ASCII_PATH, CHECK, COPY, MEMORY, VISUAL_CPP
from mince_gui.run.checking.providers import install_for, provider_title
from mince_gui.run.checking.types import Remedy

__all__ = ["Remedy", "explain"]

# A log may be long: what explains a failure stands at its beginning or at its end.
_ENDS = 32_768
_NOT_FOUND = re.compile(r"does not exist|doesn't exist|Invalid file|Error opening|Failed to open", re.IGNORECASE)


Translate = Callable[[re.Match[str]], Remedy]


def _fixed(cause: str, remedy: str) -> Translate:
    """The same words, whatever was matched; {0}, {1} ... stand for the pattern's groups."""

    def translate(match: re.Match[str]) -> Remedy:
        groups = [group or "" for group in match.groups()]
        return Remedy(cause.format(*groups), remedy.format(*groups))

    return translate


def _provider_unknown(match: re.Match[str]) -> Remedy:
    name = match[1]
    return Remedy(f"This onnxruntime-genai does not know the provider {name}.", install_for(name))


def _provider_not_built(match: re.Match[str]) -> Remedy:
    name = next(group for group in match.groups() if group)
    cause = f"This onnxruntime-genai was built without {provider_title(name)}: it is the wrong wheel for this model."
    return Remedy(cause, install_for(name))


def _config_key(match: re.Match[str]) -> Remedy:
    key, place = match[2], match[1].strip().rstrip(":")
    where = f' in "{place}"' if place else ""
    if key in ("custom_allocator", "config_entries", "external_data_file"):
        # RyzenAI-SW#265: a Windows hybrid folder on Linux.
        return Remedy(
            f'genai_config.json has "{key}"{where}, which AMD\'s own onnxruntime-genai for Windows reads and this one '
            "does not: the model was made for Ryzen AI 1.3 to 1.6 (hybrid or NPU).",
            "Hybrid models run on Windows only. Use the runtime of the release that the model was made for, or take a "
            f"model made for this runtime. {CHECK}",
        )
    return Remedy(
        f'genai_config.json has "{key}"{where}, which this onnxruntime-genai does not know: the model was made for '
        "another version, most often a newer one.",
        f"Use a runtime with a newer onnxruntime-genai. {CHECK}",
    )


def _library(match: re.Match[str]) -> Remedy:
    name = re.split(r"[\\/]", match[1].strip())[-1]
    low = name.lower()
    if "ryzenai" in low:
        return Remedy(
            f"The provider RyzenAI is asked for, and its library {name} is not there: this is the public "
            "onnxruntime-genai, or RYZENAI_EP_PATH does not lead to AMD's library.",
            install_for("RyzenAI"),
        )
    if "genai-cuda" in low:
        return Remedy("This onnxruntime-genai was built without CUDA.", install_for("cuda"))
    if "custom_ops" in low or "ryzen_mm" in low:
        return Remedy(
            f"The model needs AMD's library {name}, and it is not where it is looked for; a bare name is looked for in "
            "the current directory and on PATH.",
            f"Use the runtime of the Ryzen AI release that the model was made for; it brings {name}. {CHECK}",
        )
    return Remedy(
        f"The native library {name or '(unnamed)'} or one that it needs is missing.",
        f"Check the runtime with: mince runtimes. {VISUAL_CPP}",
    )


# The first that fits is taken: from the particular to the general.
_RULES: tuple[tuple[re.Pattern[str], Translate], ...] = tuple(
    (re.compile(pattern, re.MULTILINE | re.IGNORECASE), translate)
    for pattern, translate in (
        # RyzenAI-SW#333
        (r"Unknown provider name '([^'\n]{1,60})'", _provider_unknown),
        (
            r"\b(\w{1,40}) execution provider is not (?:supported|enabled) in this build"
            r"|\b(DML) provider requested, but the installed GenAI has not been built"
            r"|\b(Cuda) interface not available",
            _provider_not_built,
        ),
        (
            r"No RyzenAI devices detected",
            _fixed(
                "The provider RyzenAI was loaded, but it found no NPU.",
                "Check that the NPU is there and switched on (mince runtimes; Device Manager, 'NPU Compute Accelerator "
                "Device'; the BIOS), that its driver is installed, and restart the machine.",
            ),
        ),
        # The tokenizer class that transformers 5 writes; OGA up to 0.11.2.
        (
            r"Unsupported tokenizer class:?\s*(\S{1,80})",
            _fixed(
                "tokenizer_config.json names the tokenizer class {0}, which this onnxruntime-genai does not know.",
                "Use a newer onnxruntime-genai; or, in a copy of the folder, set tokenizer_class to "
                '"PreTrainedTokenizerFast", which every version loads where there is a tokenizer.json.',
            ),
        ),
        # RyzenAI-SW#176, #187, #201, #282, #350; gaia#25; foundry-local#327
        (
            r"invalid unordered_map\s*<\s*K\s*,\s*T\s*>\s*key",
            _fixed(
                "AMD's provider met something that it has no entry for: either the model was made for another Ryzen AI "
                "release, or the NPU is of the first generation (Ryzen 7040/8040: PHX, HPT), which cannot run these "
                "models.",
                f"{CHECK} mince runtimes says which NPU this machine has: language models need Ryzen AI 300 or newer.",
            ),
        ),
        # RyzenAI-SW#265 and newer keys in general
        (r"JSON Error:\s*([\w:\s]{0,120}?)Unknown value:?\s*[\"']?([\w.-]{1,80})", _config_key),
        (r"()Unknown value:?\s*[\"']?([\w.-]{1,80})", _config_key),
        (
            r"Error encountered while parsing '?([^'\n]{1,300}?)'? JSON Error:\s*([^\n]{1,200})",
            _fixed("{0} cannot be read: {1}.", "Take the file from the model's source again."),
        ),
        (
            r"Unsupported model_type in config\.json:?\s*(\S{1,80})",
            _fixed(
                'This onnxruntime-genai does not know the model type "{0}".',
                f"Use a runtime with a newer onnxruntime-genai. {CHECK}",
            ),
        ),
        # WindowsAppSDK#6173
        (
            r"No mapping for the Unicode character",
            _fixed("The model's path has letters that the provider cannot read.", ASCII_PATH),
        ),
        # Ryzen AI documentation, 1.6 to 1.7.1
        (
            r"'charmap' codec can't (?:en|de)code",
            _fixed(
                "Text was written or read in the console's code page, which lacks some of its letters.",
                "Set the environment variable PYTHONUTF8=1 and start again.",
            ),
        ),
        # genai#555, #638, #668; RyzenAI-SW#231
        (
            r"DLL load failed while importing (\w{1,60})",
            _fixed(
                "Python found {0}, but not a DLL that it needs, or the DLL is of another version: an old Visual C++ "
                "runtime, or two onnxruntime wheels in one environment that overwrote each other's files.",
                f"{VISUAL_CPP} An environment must hold one onnxruntime wheel only (pip list): else make it again.",
            ),
        ),
        (
            r"No module named ['\"]?onnxruntime_genai",
            _fixed(
                "This Python has no onnxruntime-genai.",
                "Give the python of the environment that has it; for Ryzen AI the conda environment named after the "
                "release (ryzen-ai-1.8.0).",
            ),
        ),
        (r"Failed to load library:?\s*(\S[^\n]{0,300}?)(?: with error|: cannot open|$)", _library),
        (r"LoadLibrary failed with error \d+[^\n]{0,80}?trying to load\s*[\"']?([^\"'\n]{1,300})", _library),
        (r"LoadLibrary failed with error \d+()", _library),
        (r"([^\s:'\"]{1,200}): cannot open shared object file", _library),
        # lemonade#1151
        (
            r"Failed to serialize proto|bad allocation|bad_alloc|out of memory|Failed to allocate memory|0x8007000E|"
            r"MemoryError",
            _fixed("The memory was not enough for the model.", MEMORY),
        ),
        # lemonade#34
        (
            r"Prompt tokens? ?\(?(\d*)\)?.{0,40}cannot be greater than the model's max prompt length ?\(?(\d*)",
            _fixed(
                "A prompt is longer than this model was compiled for ({1} tokens; rai_config.json says so).",
                "Run with fewer few-shot examples, take another subset, or a model compiled for longer prompts.",
            ),
        ),
        # genai#1425, #550, #980
        (
            r"input_ids size ?\(?(\d+)\)?.{0,20}exceeds max length ?\(?(\d+)",
            _fixed(
                "A prompt has {0} tokens, and the model takes {1}, prompt and answer together.",
                "Take a model compiled for a longer context, or fewer few-shot examples.",
            ),
        ),
        (
            r"max_length \(?(\d+)\)? cannot be greater than model context_length \(?(\d+)",
            _fixed(
                "{0} tokens were asked for, and the model's context has {1}, prompt and answer together.",
                "Ask for fewer new tokens, or take a model with a longer context.",
            ),
        ),
        # genai: devices that OGA does not list
        (
            r"Continuous decoding is not supported on the selected device type",
            _fixed(
                "On this device this onnxruntime-genai cannot append to a generator that has begun (before 0.12, which "
                "Ryzen AI 1.8 brings).",
                "Run in the standard mode; fast mode needs Ryzen AI 1.8 or newer, where the device allows it at all.",
            ),
        ),
        # A graph with a fixed KV length, given another max_length.
        (
            r"\{\d+(?:, ?\d+)+\}\s*(?:vs\.?|!=|Requested shape:)\s*\{\d+(?:, ?\d+)+\}",
            _fixed(
                "The graph works with one KV length only, and was given another: the model has a fixed shape that "
                "genai_config.json does not name.",
                "In a copy of the folder, set max_length_for_kv_cache and search.max_length in genai_config.json to "
                "the length the model was compiled for (the larger number in the message, often 4096).",
            ),
        ),
        (
            r"Fatal error: ([\w.]{0,60}:?\w{1,80})\(-?\d+\) is not a registered function/op|"
            r"No Op registered for (\w{1,80})",
            _fixed(
                "The graph has the operator {0}{1}, which this runtime does not know: the model was made for another "
                "runtime.",
                CHECK,
            ),
        ),
        (
            r"Protobuf parsing failed|External data path does not exist|out of bounds or can not be read in full|"
            r"Load model \S.{0,300} failed\. File doesn't exist",
            _fixed("A file of the model is missing or incomplete (or only a pointer of Git LFS).", COPY),
        ),
        (
            r"(?:Invalid file:|Failed to open a json file:|Error opening)\s*([^\n]{1,300})",
            _fixed("{0} is missing or cannot be read.", COPY),
        ),
        (
            r"Failed to get model node from tokenizer\.json|json\.exception\.\w{1,40}",
            _fixed(
                "A JSON file of the model, most often tokenizer.json, is broken, or only a pointer of Git LFS.",
                COPY,
            ),
        ),
    )
)


_STATUS = re.compile(r"\b0x([0-9a-f]{8})\b", re.IGNORECASE)


def explain(text: str, *, code: int | None = None) -> Remedy | None:
    """Cause and remedy of a native message or of a worker's exit code; None where it is not known.

    `text` is whatever was said (an exception's words, the last lines of stderr); `code` an exit code as Python gives
    it: NTSTATUS, signed or not, or a negated signal. Words tell more than codes and are looked at first; a status that
    stands in the text itself counts as a code.
    """
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]}\n{text[-_ENDS:]}"
    if _misread_path(text):
        return Remedy(
            "A file was not found although it may be there: its path has letters outside ASCII, which some versions of "
            "onnxruntime-genai read wrongly on Windows.",
            ASCII_PATH,
        )
    for pattern, translate in _RULES:
        match = pattern.search(text)
        if match:
            return translate(match)
    known = explain_code(code) if code is not None else None
    if known is not None:
        return known
    said = (explain_code(int(match[1], 16)) for match in _STATUS.finditer(text))
    return next((found for found in said if found is not None), None)


def _misread_path(text: str) -> bool:
    """Whether a file with letters outside ASCII in its path was not found (genai#1262, genai#1835)."""
    for line in text.splitlines():
        if not line.isascii() and _NOT_FOUND.search(line):
            _, slash, path = line.replace("\\", "/").partition("/")
            if slash and not path.isascii():
                return True
    return False
