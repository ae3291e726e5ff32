"""What an ONNX file says of its weights, read from its wire format without loading it.

Precision is told as far as the operators show it; whatever is wrong with a file is an InputError.
"""

from __future__ import annotations

import math
import mmap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mince_gui.base.errors import InputError
from mince_gui.run.checking.onnx_wire import BrokenError, Node, Tensor, Walk
from mince_gui.run.checking.phrases import COPY

_LFS = b"version https://git-lfs"
_MAX_DEPTH = 8
# Element types of TensorProto.
_BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 10: 16, 11: 64, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4}
_FLOATS = {1: "FP32", 10: "FP16", 11: "FP64", 16: "BF16", 17: "FP8", 18: "FP8", 19: "FP8", 20: "FP8", 23: "FP4"}

# Domains whose operators ONNX Runtime itself has.
_OPEN_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "com.microsoft", "com.microsoft.nchwc"})
_PLAIN_PRODUCTS = frozenset({"MatMul", "Gemm", "FusedMatMul"})
_INTEGER_PRODUCTS = frozenset({"MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul"})
_PASS_ON = frozenset({"Cast", "Transpose", "Identity", "Reshape"})


@dataclass(frozen=True)
class Weights:
    """Matrix products of one kind: `kind` "INT4", "FP16" ..., `block` values share a scale (None = not told)."""

    operator: str
    kind: str
    bits: int
    block: int | None
    products: int


@dataclass(frozen=True)
class ExternalFile:
    """A file beside the graph that holds tensors; the last one ends at byte `size`, as far as the graph tells."""

    location: str
    size: int


@dataclass(frozen=True)
class Graph:
    """What was read of one ONNX file.

    `opaque` counts operators whose inside the file does not show, as "domain: operator"; `quantised_activations`
    says that products compute with 8-bit activations (accuracy_level 4, or quantised inputs).
    """

    nodes: int
    weights: tuple[Weights, ...]
    opaque: Mapping[str, int]
    external: tuple[ExternalFile, ...]
    quantised_activations: bool

    @property
    def products(self) -> int:
        """How many matrix products with fixed weights there are, as far as they can be seen."""
        return sum(group.products for group in self.weights)


def read_graph(path: Path) -> Graph:
    """Read one ONNX file. Raises InputError where it cannot be read or is not one."""
    try:
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[: len(_LFS)] == _LFS:
                raise InputError(
                    f"{path} is a pointer of Git LFS, not the graph itself.",
                    "Fetch the files themselves (git lfs pull) and copy the folder again.",
                )
            walk = Walk(data)
            walk.model()
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror or exc}.", COPY) from exc
    except ValueError as exc:
        # mmap refuses an empty file.
        raise InputError(f"{path} is empty.", COPY) from exc
    except BrokenError as exc:
        raise InputError(f"{path} is not an ONNX graph, or is incomplete: {exc}.", COPY) from exc
    if not walk.found_graph:
        raise InputError(f"{path} holds no ONNX graph.", COPY)
    return _summary(walk)


def _summary(walk: Walk) -> Graph:
    made_by = {name: node for node in walk.nodes for name in node.outputs if name}
    groups: Counter[tuple[str, str, int, int | None]] = Counter()
    opaque: Counter[str] = Counter()
    quantised = False
    for node in walk.nodes:
        bits = node.numbers.get("bits", 4 if node.op == "MatMulNBits" else 0)
        if 0 < bits <= 32 and "K" in node.numbers and "N" in node.numbers:
            # MatMulNBits and its kin, also where AMD has them in domains of its own.
            groups[node.op, f"INT{bits}", bits, node.numbers.get("block_size")] += 1
            quantised |= node.numbers.get("accuracy_level") == 4
        elif node.op == "EPContext" or node.domain not in _OPEN_DOMAINS:
            opaque[f"{node.domain or 'ai.onnx'}: {node.op}"] += 1
        elif node.op == "QMoE":
            bits = node.numbers.get("expert_weight_bits", 4)
            groups[node.op, f"INT{bits}", bits, node.numbers.get("block_size")] += 1
        elif node.op == "MatMulBnb4":
            groups[node.op, "FP4 or NF4", 4, node.numbers.get("block_size")] += 1
        elif node.op in _INTEGER_PRODUCTS or node.op in _PLAIN_PRODUCTS:
            # Of QLinearMatMul scale and zero point of the first input come before the weights.
            index = 3 if node.op == "QLinearMatMul" else 1
            stored = _stored(walk, made_by, node.inputs[index] if len(node.inputs) > index else "")
            if stored is None:
                continue  # a product of two activations, such as attention's
            tensor, dequantise = stored
            operator = f"DequantizeLinear + {node.op}" if dequantise is not None else node.op
            block = (dequantise.numbers.get("block_size") or None) if dequantise is not None else None
            bits = _BITS[tensor.type]
            groups[operator, _FLOATS.get(tensor.type, f"INT{bits}"), bits, block] += 1
            quantised |= node.op in _INTEGER_PRODUCTS
    weights = tuple(
        Weights(operator, kind, bits, block, count) for (operator, kind, bits, block), count in groups.most_common()
    )
    external = tuple(ExternalFile(location, size) for location, size in sorted(walk.external.items()))
    return Graph(len(walk.nodes), weights, dict(opaque.most_common()), external, quantised)


def _stored(walk: Walk, made_by: Mapping[str, Node], name: str, depth: int = 0) -> tuple[Tensor, Node | None] | None:
    """The fixed tensor that `name` is computed from, and a DequantizeLinear between; None with activations in it."""
    tensor = walk.tensors.get(name)
    maker = made_by.get(name)
    if tensor is None and maker is not None and maker.op == "Constant":
        tensor = maker.tensor
    if tensor is not None:
        return (tensor, None) if tensor.type in _BITS else None
    if maker is None or depth > _MAX_DEPTH or not maker.inputs:
        return None
    if maker.op in _PASS_ON:
        return _stored(walk, made_by, maker.inputs[0], depth + 1)
    if maker.op == "DequantizeLinear":
        inner = _stored(walk, made_by, maker.inputs[0], depth + 1)
        return (inner[0], maker) if inner is not None else None
    if maker.op in ("Mul", "Sub"):
        # Weights that are scaled by hand: integers, cast and multiplied.
        parts = [_stored(walk, made_by, part, depth + 1) for part in maker.inputs[:2]]
        found = [part for part in parts if part is not None]
        return max(found, key=lambda part: math.prod(part[0].dims)) if len(found) == 2 else None
    return None
