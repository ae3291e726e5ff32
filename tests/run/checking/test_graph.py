"""Reading ONNX graphs without loading them: real files, graphs built by hand, and bytes of ill will."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mince_gui.base.errors import InputError
from mince_gui.run.checking import onnx_wire
from mince_gui.run.checking.graph import ExternalFile, Graph, Weights, read_graph
from mince_gui.run.checking.precision import precision, precision_word
from mince_gui.run.model_folder import read_model_folder
from tests.run.checking.folders import block, build, matmul_nbits, node, number, onnx, tensor, varint

FLOAT, UINT8, INT8, FLOAT16, UINT4 = 1, 2, 3, 10, 21


def _read(tmp_path: Path, data: bytes) -> Graph:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    return read_graph(file)


def test_the_demo_models_matrix_products_are_all_found(model_dir: Path) -> None:
    config = json.loads((model_dir / "genai_config.json").read_text(encoding="utf-8"))
    graph = read_graph(model_dir / "model.onnx")
    # Five per layer (Q, K and V are one), and the head.
    assert graph.products == 5 * config["model"]["decoder"]["num_hidden_layers"] + 1
    assert {(w.kind, w.bits, w.block) for w in graph.weights} == {("INT4", 4, 32)}
    assert graph.external == (ExternalFile("model.onnx.data", (model_dir / "model.onnx.data").stat().st_size),)
    assert not graph.opaque


@pytest.mark.shared
def test_the_shared_models_matrix_products_are_all_found(shared_model: Path) -> None:
    config = json.loads((shared_model / "genai_config.json").read_text(encoding="utf-8"))
    graph = read_graph(shared_model / "model.onnx")
    assert graph.products == 5 * config["model"]["decoder"]["num_hidden_layers"] + 1
    assert graph.external[0].size <= (shared_model / "model.onnx.data").stat().st_size


@pytest.mark.parametrize(
    ("parts", "weights"),
    [
        ([node("MatMul", ("x", "w"), "y"), tensor("w", FLOAT16, 4, 8)], Weights("MatMul", "FP16", 16, None, 1)),
        ([node("Gemm", ("x", "w"), "y"), tensor("w", FLOAT, 4, 8)], Weights("Gemm", "FP32", 32, None, 1)),
        # Quantise and dequantise around a float product, as Quark exports it; the weights transposed on the way.
        (
            [
                tensor("q", UINT4, 4, 8),
                tensor("s", FLOAT, 1),
                node("DequantizeLinear", ("q", "s"), "d", block_size=32),
                node("Transpose", ("d",), "w"),
                node("MatMul", ("x", "w"), "y"),
            ],
            Weights("DequantizeLinear + MatMul", "INT4", 4, 32, 1),
        ),
        (
            [node("MatMulInteger", ("x", "w"), "y"), tensor("w", INT8, 4, 8)],
            Weights("MatMulInteger", "INT8", 8, None, 1),
        ),
        (
            [node("QLinearMatMul", ("x", "xs", "xz", "w"), "y"), tensor("w", UINT8, 4, 8), tensor("xs", FLOAT, 1)],
            Weights("QLinearMatMul", "INT8", 8, None, 1),
        ),
        # Integers, cast and scaled by hand.
        (
            [
                tensor("q", INT8, 4, 8),
                tensor("s", FLOAT, 1),
                node("Cast", ("q",), "c"),
                node("Mul", ("c", "s"), "w"),
                node("MatMul", ("x", "w"), "y"),
            ],
            Weights("MatMul", "INT8", 8, None, 1),
        ),
        # AMD keeps a MatMulNBits in a domain of its own.
        ([matmul_nbits(2, domain="com.ryzenai")], Weights("MatMulNBits", "INT4", 4, 128, 2)),
        ([node("QMoE", domain="com.microsoft", expert_weight_bits=4)], Weights("QMoE", "INT4", 4, None, 1)),
    ],
)
def test_each_way_to_store_weights_is_told(tmp_path: Path, parts: list[bytes], weights: Weights) -> None:
    assert _read(tmp_path, onnx(*parts)).weights == (weights,)


def test_products_of_two_activations_do_not_count(tmp_path: Path) -> None:
    scaled = [node("Add", ("a", "bias"), "b"), node("Mul", ("b", "scale"), "k"), node("MatMul", ("q", "k"), "y")]
    graph = _read(tmp_path, onnx(*scaled, tensor("bias", FLOAT, 8), tensor("scale", FLOAT, 1)))
    assert graph.weights == ()
    assert precision([graph]).level == "warn"


def test_operators_of_a_vendor_hide_the_precision_and_are_named(tmp_path: Path) -> None:
    hidden = _read(tmp_path, onnx(node("SSMLP", domain="com.amd") * 3, node("EPContext", domain="com.microsoft")))
    fact = precision([hidden])
    assert fact.level == "warn"
    assert "cannot be told" in fact.words
    assert "com.amd: SSMLP × 3" in fact.words
    assert "com.microsoft: EPContext × 1" in fact.words
    partly = precision([_read(tmp_path, onnx(matmul_nbits(4), node("SSMLP", domain="com.amd")))])
    assert "INT4 weights (MatMulNBits, block 128) in 4 of 4" in partly.words
    assert "more may be inside" in partly.words


def test_the_shares_of_several_precisions_are_told_over_all_graphs_of_a_pipeline(tmp_path: Path) -> None:
    first = _read(tmp_path, onnx(matmul_nbits(30)))
    head = _read(tmp_path, onnx(matmul_nbits(1, bits=8, size=32)))
    words = precision([first, head]).words
    assert "INT4 weights (MatMulNBits, block 128) in 30 of 31" in words
    assert "INT8 weights (MatMulNBits, block 32) in 1 of 31" in words


def test_a_folder_called_int4_whose_weights_are_larger_is_told(tmp_path: Path) -> None:
    graph = _read(tmp_path, onnx(node("MatMul", ("x", "w"), "y"), tensor("w", FLOAT16, 4, 8)))
    assert precision([graph], "phi-int4-npu").level == "warn"
    assert precision([graph], "phi-fp16").level == "good"


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ([matmul_nbits(30)], "int4"),
        ([matmul_nbits(30, bits=8)], "int8"),
        ([matmul_nbits(30, bits=8), matmul_nbits(1)], "int4"),
        ([node("MatMul", ("x", "w"), "y"), tensor("w", FLOAT16, 4, 8)], "fp16"),
        ([node("MatMul", ("x", "w"), "y"), tensor("w", 16, 4, 8)], "bf16"),
        ([node("MatMul", ("x", "w"), "y"), tensor("w", FLOAT, 4, 8)], "fp32"),
        ([node("MatMulBnb4", domain="com.microsoft")], "fp4"),
        ([node("MatMul", ("q", "k"), "y")], ""),
        ([node("SSMLP", domain="com.amd") * 3], ""),
        # What is in sight is the head alone; the rest may have fewer bits.
        ([node("SSMLP", domain="com.amd") * 3, node("MatMul", ("x", "w"), "y"), tensor("w", FLOAT16, 4, 8)], ""),
        ([node("SSMLP", domain="com.amd") * 3, matmul_nbits(1)], "int4"),
    ],
)
def test_the_precision_in_one_word_is_that_of_the_fewest_bits_or_not_told(
    tmp_path: Path, parts: list[bytes], word: str
) -> None:
    assert precision_word(read_model_folder(build(tmp_path, "plain-cpu", graph=onnx(*parts)))) == word


@pytest.mark.parametrize("data", [b"", b"not a graph", b"version https://git-lfs.github.com/spec/v1"])
def test_a_graph_that_cannot_be_read_tells_no_precision(tmp_path: Path, data: bytes) -> None:
    assert precision_word(read_model_folder(build(tmp_path, "plain-cpu", graph=data))) == ""


def test_the_demo_models_precision_is_told_in_one_word(model_dir: Path) -> None:
    assert precision_word(read_model_folder(model_dir)) == "int4"


def test_nodes_in_subgraphs_and_functions_count(tmp_path: Path) -> None:
    branch = block(5, block(1, "then_branch") + block(6, matmul_nbits(1)) + number(20, 5))
    inside = block(1, block(4, "If") + branch)
    function = block(25, block(1, "fused") + block(7, matmul_nbits(1)[len(varint(1 << 3 | 2)) + 1 :]))
    assert _read(tmp_path, onnx(inside) + function).products == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "Git LFS"),
        (b"<html>not found</html>", "not an ONNX graph"),
        (number(1, 8), "no ONNX graph"),
        (onnx(matmul_nbits(3))[:-20], "incomplete"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "does not end"),
        (b"\x3a\xff\xff\xff\xff\x7f", "are left"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_reason_and_a_way_out(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        _read(tmp_path, data)
    assert words in caught.value.message
    assert "model.onnx" in caught.value.message
    assert caught.value.remedy


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    inner = matmul_nbits(1)
    for _ in range(40):
        inner = block(1, block(4, "If") + block(5, block(1, "b") + block(6, inner)))
    with pytest.raises(InputError, match="nested deeper"):
        _read(tmp_path, onnx(inner))


@pytest.mark.parametrize("limit", ["_MAX_FIELDS", "_MAX_NODES", "_MAX_INITIALIZERS"])
def test_the_work_that_a_file_can_ask_for_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(onnx_wire, limit, 5)
    with pytest.raises(InputError, match="more than 5"):
        _read(tmp_path, onnx(*(tensor(f"w{n}", FLOAT, 2) for n in range(9)), matmul_nbits(9)))


def test_weights_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    circle = [node("Transpose", ("b",), "a"), node("Cast", ("a",), "b"), node("MatMul", ("x", "a"), "y")]
    assert _read(tmp_path, onnx(*circle)).weights == ()


def _read_or_refuse(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with contextlib.suppress(InputError):
        assert precision([read_graph(file)]).words


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_real_graph_is_read_or_refused_and_nothing_else(
    tmp_path: Path, model_dir: Path, data: st.DataObject
) -> None:
    whole = bytearray((model_dir / "model.onnx").read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(whole) - 1))
        piece = data.draw(st.binary(max_size=12))
        end = at + data.draw(st.integers(0, 12))
        whole[at:end] = piece
    _read_or_refuse(tmp_path / "m.onnx", bytes(whole[: data.draw(st.integers(1, max(len(whole), 1)))]))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(min_size=1, max_size=400))
def test_any_bytes_inside_a_graph_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    for whole in (data, block(7, data), onnx(block(1, data)), onnx(block(5, data))):
        _read_or_refuse(tmp_path / "m.onnx", whole)
