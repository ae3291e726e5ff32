"""The check of model folders, in the shapes that releases wrote, against runtimes as a probe describes them.

AMD's runtimes and machines with an NPU are fakes here (there is no NPU where these tests run): values of the kinds that
`RuntimeFacts` and `Machine` have, with what public documentation says of each release.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.run.checking import Machine, ModelCheck, RuntimeView, check_model, surroundings
from mince_gui.run.runtime_facts import RuntimeFacts
from tests.run.checking.folders import (
    BUNDLED,
    FUSED_GRAPH,
    RYZEN_16,
    RYZEN_17,
    RYZEN_18,
    WINML,
    View,
    build,
    onnx,
    tensor,
)

GB = 1 << 30
STRIX = Machine("Windows", 20 * GB, 32 * GB, "AMD NPU, XDNA2 (Strix)", True)
PHOENIX = Machine("Windows", 20 * GB, 32 * GB, "AMD NPU, XDNA1 (Phoenix, Hawk Point)", False)
LINUX = Machine("Linux", 20 * GB, 32 * GB, "AMD NPU, XDNA2 (Strix)", True)
ALL = (BUNDLED, RYZEN_16, RYZEN_17, RYZEN_18, WINML)


def _facts(check: ModelCheck, topic: str) -> list[tuple[str, str]]:
    return [(fact.level, fact.words) for fact in check.facts if fact.topic == topic]


def _fact(check: ModelCheck, topic: str) -> tuple[str, str]:
    (found,) = _facts(check, topic)
    return found


def _able(check: ModelCheck) -> set[str]:
    return {verdict.runtime for verdict in check.verdicts if verdict.fits}


def _check(path: Path, machine: Machine = STRIX, runtimes: tuple[RuntimeView, ...] = ALL) -> ModelCheck:
    return check_model(path, runtimes, machine, trust_native_code=True)


@pytest.mark.parametrize(
    ("shape", "mode", "releases", "ceiling", "kv_length", "able"),
    [
        ("phi-awq-g128-int4-asym-fp16-onnx-hybrid", "hybrid", ("1.3", "1.4", "1.5"), 4096, None, set()),
        ("phi-onnx-ryzen-strix", "npu", ("1.3", "1.4", "1.5"), 2048, None, set()),
        ("qwen-fused-1_6", "hybrid", ("1.6",), 4096, 4096, {"ryzen-ai-1.6"}),
        ("llama_rai_1.8.0_npu_4K", "npu", ("1.8",), 4096, 4096, {"ryzen-ai-1.8"}),
        ("llama_rai_1.8.0_npu_16K", "npu", ("1.8",), 16384, None, {"ryzen-ai-1.8"}),
        ("mistral-onnx-ryzenai-1.7-hybrid", "hybrid", ("1.7",), 8192, None, {"ryzen-ai-1.7.1"}),
        ("winml-npu", "npu", (), 4096, None, {"winml"}),
        ("vaip-npu", "npu", ("1.3", "1.4"), 2048, None, {"winml"}),
        ("plain-cpu", "cpu", (), 32768, None, {view.name for view in ALL}),
        ("plain-cuda", "gpu", (), 32768, None, set()),
        ("plain-dml", "gpu", (), 32768, None, {"ryzen-ai-1.6", "ryzen-ai-1.7.1", "ryzen-ai-1.8", "winml"}),
    ],
)
def test_every_shape_is_recognised_and_given_to_the_runtimes_that_fit(
    tmp_path: Path,
    shape: str,
    mode: str,
    releases: tuple[str, ...],
    ceiling: int,
    kv_length: int | None,
    able: set[str],
) -> None:
    check = _check(build(tmp_path, shape))
    folder = check.folder
    assert (folder.mode, folder.made_for.releases) == (mode, releases)
    assert (folder.ceiling, folder.kv_length) == (ceiling, kv_length)
    assert _able(check) == able
    assert check.ok == bool(able)
    assert not [fact for fact in check.facts if fact.level == "bad"]
    assert check.ok or check.remedy
    json.dumps(check.to_json(), allow_nan=False)


def test_without_amds_runtime_the_verdict_says_what_to_carry_in(tmp_path: Path) -> None:
    # RyzenAI-SW#333
    check = _check(build(tmp_path, "llama_rai_1.8.0_npu_4K"), runtimes=(BUNDLED,))
    assert not check.ok
    assert "Ryzen AI 1.8" in check.verdict
    assert "it has no RyzenAI (onnxruntime-genai 0.18.0)" in check.verdicts[0].words
    assert "Carry in AMD's installer of Ryzen AI 1.8" in check.remedy
    assert "onnxruntime-genai-directml-ryzenai" in check.remedy


@pytest.mark.parametrize("shape", ["plain-cuda", "plain-dml", "winml-npu"])
def test_what_to_install_never_counts_on_a_network(tmp_path: Path, shape: str) -> None:
    check = _check(build(tmp_path, shape), runtimes=(BUNDLED,))
    assert not check.ok
    assert "mince runtimes add" in check.remedy
    assert "pip install" not in check.remedy.replace("pip install --no-index", "")


def test_a_model_of_another_release_is_refused_with_both_releases(tmp_path: Path) -> None:
    # RyzenAI-SW#350: models of another release fail with messages that nobody understands.
    check = _check(build(tmp_path, "llama_rai_1.8.0_npu_4K"), runtimes=(RYZEN_17,))
    assert "belongs to Ryzen AI 1.7" in check.verdicts[0].words
    assert "made for 1.8" in check.verdicts[0].words


def test_where_the_release_is_not_certain_the_verdict_says_so(tmp_path: Path) -> None:
    path = build(tmp_path, "llama_rai_1.8.0_npu_4K", name="llama-npu")
    check = _check(path, runtimes=(RYZEN_17, RYZEN_18))
    assert check.folder.made_for.releases == ("1.7", "1.8")
    assert _able(check) == {"ryzen-ai-1.7.1", "ryzen-ai-1.8"}
    assert all("may be for 1.7 or 1.8" in verdict.words for verdict in check.verdicts)


def test_a_name_that_contradicts_the_configuration_is_told(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "qwen-fused-1_6", name="qwen_rai_1.8.0_hybrid"))
    level, words = _fact(check, "release")
    assert level == "warn"
    assert "says 1.8" in words
    assert "1.6" in words


def test_operators_of_amd_never_run_on_the_public_wheel(tmp_path: Path) -> None:
    # RyzenAI-SW#346: the wrong stack for a model crashes while loading.
    check = _check(build(tmp_path, "phi-onnx-ryzen-strix"), runtimes=(BUNDLED,))
    assert "lacks AMD's operators" in check.verdicts[0].words
    assert "Ryzen AI 1.5" in check.remedy
    assert "onnxruntime_vitis_ai_custom_ops.dll" in _fact(check, "provider")[1]


def test_first_generation_npus_are_refused_before_loading(tmp_path: Path) -> None:
    # RyzenAI-SW#350, #282
    check = _check(build(tmp_path, "llama_rai_1.8.0_npu_4K"), PHOENIX)
    assert not check.ok
    level, words = _fact(check, "device")
    assert level == "bad"
    assert "XDNA1" in words
    assert _check(build(tmp_path, "plain-cpu"), PHOENIX).ok


def test_an_npu_that_could_not_be_read_is_no_reason_to_refuse(tmp_path: Path) -> None:
    # lemonade#475, #2528: driver queries fail on locked-down machines.
    path = build(tmp_path, "llama_rai_1.8.0_npu_4K")
    check = _check(path, Machine("Windows", 20 * GB, 32 * GB))
    assert check.ok
    assert _fact(check, "device")[0] == "warn"
    assert not _check(path, Machine("Windows", 20 * GB, 32 * GB, "")).ok


def test_an_npu_of_another_maker_is_not_looked_for_among_amds(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "plain-qnn"), Machine("Windows", 20 * GB, 32 * GB, ""))
    assert _fact(check, "device") == ("good", "NPU (QNN)")
    assert "QNN" in check.remedy


@pytest.mark.parametrize("shape", ["qwen-fused-1_6", "mistral-onnx-ryzenai-1.7-hybrid"])
def test_hybrid_models_are_refused_on_linux_and_npu_models_are_not(tmp_path: Path, shape: str) -> None:
    # RyzenAI-SW#265
    check = _check(build(tmp_path, shape), LINUX)
    assert not check.ok
    assert _fact(check, "device")[0] == "bad"
    assert "Windows" in _fact(check, "device")[1]
    assert _able(check) == set()
    assert _check(build(tmp_path, "llama_rai_1.8.0_npu_16K"), LINUX).ok


def test_the_ceiling_names_the_limit_that_it_comes_from(tmp_path: Path) -> None:
    # genai#1425
    words = _fact(_check(build(tmp_path, "llama_rai_1.8.0_npu_16K")), "context")[1]
    assert words.startswith("16,384 tokens")
    assert "by search.max_length" in words
    assert "model.context_length 131,072" in words


def test_a_fixed_kv_length_is_told(tmp_path: Path) -> None:
    assert "4,096" in _fact(_check(build(tmp_path, "llama_rai_1.8.0_npu_4K")), "KV cache")[1]
    assert _facts(_check(build(tmp_path, "llama_rai_1.8.0_npu_16K")), "KV cache") == []


def test_a_prompt_limit_is_no_limit_of_the_whole_and_tells_releases(tmp_path: Path) -> None:
    # lemonade#34
    path = build(tmp_path, "phi-onnx-ryzen-strix")
    limits = {"1.5.1": 3000, "1.5.0": 2000, "1.4.0": 1000}
    (path / "rai_config.json").write_text(json.dumps({"max_prompt_length": limits}))
    check = _check(path)
    assert check.folder.ceiling == 2048
    assert check.folder.prompt_limits == limits
    assert check.folder.made_for.releases == ("1.4", "1.5")
    assert _fact(check, "prompt")[0] == "warn"


def test_native_code_is_refused_until_it_is_trusted(tmp_path: Path) -> None:
    path = build(tmp_path, "qwen-fused-1_6")
    untrusted = check_model(path, ALL, STRIX)
    assert not untrusted.ok
    assert _fact(untrusted, "native code")[0] == "bad"
    assert "current directory" in _fact(untrusted, "native code")[1]
    assert "--trust-native-code" in untrusted.remedy
    assert check_model(path, ALL, STRIX, trust_native_code=True).ok


def test_another_vendors_operators_do_not_make_an_npu_of_a_cpu(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "extensions-cpu"))
    assert check.folder.devices == ("cpu",)
    assert check.folder.device == "CPU (with operators of ortextensions.dll)"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", "{{ messages[0].content }}"),
        ("tokenizer_config.json", json.dumps({"chat_template": "{{ messages[0].content }}", "tokenizer_class": "A"})),
        ("chat_template.json", json.dumps({"chat_template": "{{ messages[0].content }}"})),
    ],
)
def test_a_chat_template_is_found_in_each_of_its_places(tmp_path: Path, name: str, content: str) -> None:
    # lemonade#1111: a template in chat_template.jinja alone was not found, and prompts were garbage.
    path = build(tmp_path, "plain-cpu", tokenizer={"chat_template": None})
    assert _fact(_check(path), "chat template")[0] == "warn"
    (path / name).write_text(content)
    assert _fact(_check(path), "chat template") == ("good", f"in {name}")


def test_a_broken_chat_template_is_told(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "plain-cpu", tokenizer={"chat_template": "{% if %}"}))
    assert _fact(check, "chat template")[0] == "warn"
    assert "broken" in _fact(check, "chat template")[1]


@pytest.mark.parametrize(
    ("generation", "tokenizer", "missing"),
    [
        ({"eos_token_id": [5, 7]}, {}, None),
        ({"eos_token_id": 9}, {}, "9 (generation_config.json)"),
        ({"eos_token_id": [5, 8]}, {}, "8 (generation_config.json)"),
        (None, {"eos_token": {"content": "<s>"}}, "1 (tokenizer_config.json)"),
        (None, {"eos_token": "<late>", "added_tokens_decoder": {"77": {"content": "<late>"}}}, "77 (tokenizer"),
    ],
)
def test_an_end_that_only_other_files_know_is_told(
    tmp_path: Path, generation: dict[str, Any] | None, tokenizer: dict[str, Any], missing: str | None
) -> None:
    # lemonade#132: a model that never stops.
    path = build(tmp_path, "plain-cpu", tokenizer=tokenizer)
    if generation is not None:
        (path / "generation_config.json").write_text(json.dumps(generation))
    level, words = _fact(_check(path), "EOS")
    assert level == ("good" if missing is None else "warn")
    assert missing is None or missing in words


def test_a_begin_that_two_files_see_differently_is_told(tmp_path: Path) -> None:
    assert _fact(_check(build(tmp_path / "a", "plain-cpu")), "BOS") == ("good", "id 1, added by the tokenizer")
    check = _check(build(tmp_path / "b", "plain-cpu", tokenizer={"bos_token": "<end>"}))
    assert _fact(check, "BOS")[0] == "warn"
    check = _check(build(tmp_path / "c", "plain-cpu", config={"bos_token_id": None}))
    assert _fact(check, "BOS") == ("good", "none")


def test_a_tokenizer_class_that_an_oga_refuses_rules_out_that_runtime_alone(tmp_path: Path) -> None:
    path = build(tmp_path, "plain-cpu", tokenizer={"tokenizer_class": "TokenizersBackend"})
    assert _able(_check(path)) == {"bundled", "ryzen-ai-1.8", "winml"}
    check = _check(path, runtimes=(RYZEN_17,))
    assert "TokenizersBackend" in check.verdicts[0].words
    assert "ryzen-ai-1.7.1: OGA 0.11.2 does not know" in check.verdict
    assert "PreTrainedTokenizerFast" in check.remedy


def test_sampling_of_the_folder_is_told_with_its_values(tmp_path: Path) -> None:
    path = build(tmp_path, "plain-cpu")
    assert _facts(_check(path), "sampling") == []
    config = json.loads((path / "genai_config.json").read_text())
    config["search"].update(do_sample=True, temperature=0.6, top_k=20)
    (path / "genai_config.json").write_text(json.dumps(config))
    level, words = _fact(_check(path), "sampling")
    assert level == "warn"
    assert "temperature 0.6, top_k 20" in words
    assert "greedy" in words


def _sized(path: Path, size: int) -> Path:
    with (path / "weights.bin").open("wb") as stream:
        stream.truncate(size)  # a hole: it takes no space
    return path


@pytest.mark.parametrize(
    ("shape", "size", "machine", "level"),
    [
        ("plain-cpu", 4 * GB, STRIX, "good"),
        ("plain-cpu", 18 * GB, STRIX, "warn"),
        ("plain-cpu", 40 * GB, STRIX, "bad"),
        # lemonade#1151: Windows gives the NPU half of the memory.
        ("llama_rai_1.8.0_npu_4K", 18 * GB, STRIX, "bad"),
        ("llama_rai_1.8.0_npu_4K", 14 * GB, STRIX, "warn"),
        ("llama_rai_1.8.0_npu_4K", 18 * GB, LINUX, "warn"),
        # A GPU of its own has its own memory.
        ("plain-cuda", 18 * GB, STRIX, "warn"),
        ("plain-cpu", GB, Machine("Linux"), "warn"),
    ],
)
def test_the_size_is_held_against_the_memory(
    tmp_path: Path, shape: str, size: int, machine: Machine, level: str
) -> None:
    assert _fact(_check(_sized(build(tmp_path, shape), size), machine), "memory")[0] == level


def test_folders_of_thousands_of_files_are_told(tmp_path: Path) -> None:
    path = build(tmp_path, "llama_rai_1.8.0_npu_4K")
    assert _fact(_check(path), "files")[0] == "good"
    (path / "cache").mkdir()
    for n in range(1_100):
        (path / "cache" / f"{n}.bin").touch()
    assert _fact(_check(path), "files")[0] == "warn"


def test_letters_outside_ascii_are_told_on_windows(tmp_path: Path) -> None:
    # genai#1262, #1835
    path = build(tmp_path / "Håkansson", "plain-cpu")
    level, words = _fact(_check(path), "path")
    assert level == "warn"
    assert "ASCII" in words
    assert _facts(_check(path, LINUX), "path") == []


def test_long_paths_are_told_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # mlperf_client: too deep paths end in empty results. The limits are moved, as no such path can be made on Windows.
    path = build(tmp_path, "plain-cpu")
    longest = max(len(str(file)) for file in path.iterdir())
    monkeypatch.setattr(surroundings, "_LONG_PATH", longest)
    assert _facts(_check(path), "path") == []
    monkeypatch.setattr(surroundings, "_LONG_PATH", longest - 1)
    assert _fact(_check(path), "path")[0] == "warn"
    monkeypatch.setattr(surroundings, "_LONGEST_PATH", longest - 1)
    assert _fact(_check(path), "path")[0] == "bad"
    assert not _check(path).ok


@pytest.mark.parametrize(
    ("weights", "location", "words"),
    [
        (None, "model.onnx.data", "cannot be read"),
        (b"x" * 99, "model.onnx.data", "99 bytes"),
        (b"version https://git-lfs.github.com/spec/v1", "model.onnx.data", "Git LFS"),
        (b"x" * 100, "../model.onnx.data", "outside"),
        (b"x" * 100, "C:\\secret", "not a file beside"),
        (b"x" * 100, "/etc/passwd", "not a file beside"),
    ],
)
def test_weights_that_are_missing_short_or_elsewhere_are_told(
    tmp_path: Path, weights: bytes | None, location: str, words: str
) -> None:
    graph = onnx(tensor("w", 2, 10, 10, location=location, end=100))
    path = build(tmp_path, "plain-cpu", graph=graph)
    if weights is not None:
        (path / "model.onnx.data").write_bytes(weights)
    check = _check(path)
    level, found = _fact(check, "weights")
    assert level == "bad"
    assert words in found
    assert not check.ok
    assert "Copy" in check.remedy


def test_whole_weights_are_good_and_a_file_that_the_configuration_names_must_be_there(tmp_path: Path) -> None:
    graph = onnx(tensor("w", 2, 10, 10, location="model.onnx.data", end=100))
    path = build(tmp_path, "llama_rai_1.8.0_npu_4K", graph=graph)
    (path / "model.onnx.data").write_bytes(b"x" * 100)
    assert _fact(_check(path), "weights")[0] == "good"
    (path / "model_jit.pb.bin").unlink()
    assert "model_jit.pb.bin" in _fact(_check(path), "weights")[1]


def test_fused_graphs_say_that_their_precision_cannot_be_told(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "llama_rai_1.8.0_npu_4K", graph=FUSED_GRAPH))
    assert _fact(check, "precision")[0] == "warn"
    assert "com.amd: SSMLP × 3" in _fact(check, "precision")[1]
    assert check.ok


def test_a_graph_that_is_none_is_bad_and_the_other_facts_stay(tmp_path: Path) -> None:
    check = _check(build(tmp_path, "plain-cpu", graph=b"not an ONNX file"))
    assert _fact(check, "graph")[0] == "bad"
    assert _fact(check, "context")[0] == "good"
    assert not check.ok
    assert check.verdict.startswith("Not as it is: graph: ")
    assert ".." not in check.verdict.replace(str(tmp_path), "")


@pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    graph = onnx(tensor("w", 2, 10, 10, location="model.onnx.data", end=100))
    path = build(tmp_path, "plain-cpu", graph=graph)
    for name in ("model.onnx.data", "tokenizer.json"):
        (path / name).unlink(missing_ok=True)
        os.mkfifo(path / name)
    check = _check(path)
    assert "is not a file" in _fact(check, "weights")[1]
    assert _fact(check, "tokenizer")[0] == "bad"
    (path / "genai_config.json").unlink()
    os.mkfifo(path / "genai_config.json")
    with pytest.raises(InputError, match="is not a file"):
        _check(path)


def test_the_graphs_of_a_pipeline_are_all_read(tmp_path: Path) -> None:
    pipeline = [{"context": {"filename": "context.onnx"}, "iterator": {"filename": "iterator.onnx"}}]
    path = build(tmp_path, "winml-npu")
    config = json.loads((path / "genai_config.json").read_text())
    config["model"]["decoder"]["pipeline"] = pipeline
    (path / "genai_config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"context\.onnx"):
        _check(path)
    for name in ("context.onnx", "iterator.onnx"):
        (path / name).write_bytes((path / "model.onnx").read_bytes())
    check = _check(path)
    assert check.folder.graphs == ("model.onnx", "context.onnx", "iterator.onnx")
    assert "21 of 21" in _fact(check, "precision")[1]


def test_a_missing_tokenizer_is_bad(tmp_path: Path) -> None:
    path = build(tmp_path, "plain-cpu")
    (path / "tokenizer.json").write_text("version https://git-lfs")
    assert _fact(_check(path), "tokenizer")[0] == "bad"
    (path / "tokenizer.json").unlink()
    assert "tokenizer.json missing" in _fact(_check(path), "tokenizer")[1]


def test_a_runtime_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    broken = View("broken", None, None, frozenset(), error="DLL load failed")
    check = _check(build(tmp_path, "plain-cpu"), runtimes=(broken,))
    assert not check.ok
    assert check.verdicts[0].words == "DLL load failed"
    assert "broken: DLL load failed" in check.verdict


def test_the_facts_of_a_real_probe_are_what_a_check_takes(tmp_path: Path) -> None:
    facts = RuntimeFacts("x", "external", "python", oga_version="0.18.0", can_run=frozenset({"cpu"}))
    assert _check(build(tmp_path, "plain-cpu"), runtimes=(facts,)).ok


def test_the_demo_model_is_a_cpu_model_of_int4_weights(model_dir: Path) -> None:
    check = check_model(model_dir, (BUNDLED,), Machine("Linux", 20 * GB, 32 * GB))
    assert check.ok
    assert "INT4 weights (MatMulNBits, block 32) in 16 of 16" in _fact(check, "precision")[1]
    assert _fact(check, "weights")[0] == "good"
    assert _fact(check, "provider") == ("good", "CPU")


@pytest.mark.shared
def test_the_shared_model_passes_every_check(shared_model: Path) -> None:
    check = check_model(shared_model, (BUNDLED,), Machine("Linux", 20 * GB, 32 * GB))
    assert check.ok
    assert {fact.level for fact in check.facts} == {"good"}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_KEYS = (
    "model", "search", "context_length", "eos_token_id", "bos_token_id", "decoder", "session_options",
    "provider_options", "custom_ops_library", "custom_allocator", "RyzenAI", "config_entries",
    "max_length_for_kv_cache", "hybrid_opt_max_seq_length", "hybrid_opt_chunk_context", "filename",
    "external_data_file", "type", "vocab_size",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_hostile_configurations_are_checked_or_refused_and_nothing_else(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        path = build(Path(root), "llama_rai_1.8.0_npu_4K")
        config = json.loads((path / "genai_config.json").read_text())
        decoder = config["model"]["decoder"]
        options = decoder["session_options"]
        places = [config, config["model"], decoder, options, options["provider_options"][0]["RyzenAI"]]
        for _ in range(data.draw(st.integers(1, 4))):
            data.draw(st.sampled_from(places))[data.draw(st.sampled_from(_KEYS))] = data.draw(_JSON)
        (path / "genai_config.json").write_text(json.dumps(config))
        beside = data.draw(st.sampled_from(["rai_config.json", "generation_config.json", "tokenizer_config.json"]))
        (path / beside).write_text(json.dumps(data.draw(_JSON)))
        with contextlib.suppress(InputError):
            json.dumps(_check(path).to_json())
