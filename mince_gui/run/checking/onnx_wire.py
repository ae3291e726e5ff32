"""The wire format of ONNX files: operators, and types, sizes and places of tensors; their data is stepped over.

The bytes come from elsewhere: every length is checked against what holds it, nesting and counts are bounded.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAX_NODES = 1_000_000
_MAX_INITIALIZERS = 1_000_000
_MAX_DEPTH = 8
# Some seconds of reading; graphs of 70 billion weights have a hundredth of it.
_MAX_FIELDS = 5_000_000
_MAX_NAME = 1_024
# Field numbers of onnx.proto.
_MODEL_GRAPH, _MODEL_FUNCTION = 7, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _FUNCTION_NODE = 1, 5, 7
_NODE_INPUT, _NODE_OUTPUT, _NODE_OP, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 2, 4, 5, 7
_ATTRIBUTE_NAME, _ATTRIBUTE_INT, _ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS = 1, 3, 5, 6, 11
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_EXTERNAL = 1, 2, 8, 13


class BrokenError(Exception):
    """Not the wire format of an ONNX model; says where."""


@dataclass
class Tensor:
    """A tensor without its data; `type` is an element type of TensorProto, `dims` at most 8 sizes."""

    name: str = ""
    type: int = 0
    dims: list[int] = field(default_factory=list)


@dataclass
class Node:
    """An operator; `numbers` are its integer attributes, `tensor` the one that a Constant holds."""

    op: str = ""
    domain: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    tensor: Tensor | None = None


class Walk:
    """One pass over a file's bytes: `nodes` of all graphs and functions, `tensors` by name.

    `external` has, for each data file, the byte where its last tensor ends.
    """

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.nodes: list[Node] = []
        self.tensors: dict[str, Tensor] = {}
        self.external: dict[str, int] = {}
        self.found_graph = False
        self._read = 0

    def model(self) -> None:
        """Read the whole file."""
        for number, begin, end in self._messages(0, len(self._data)):
            if number == _MODEL_GRAPH:
                self.found_graph = True
                self._graph(begin, end, 0, _GRAPH_NODE)
            elif number == _MODEL_FUNCTION:
                self._graph(begin, end, 0, _FUNCTION_NODE)

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while at < end and shift < 70:
            byte = self._data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, at
            shift += 7
        raise BrokenError(f"a number at byte {at} does not end")

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """(field number, wire type, begin, end) of each field; for a varint begin is its value, end 0."""
        while at < end:
            self._read += 1
            if self._read > _MAX_FIELDS:
                raise BrokenError(f"more than {_MAX_FIELDS:,} fields")
            key, at = self._varint(at, end)
            number, wire = key >> 3, key & 7
            if number == 0:
                raise BrokenError(f"field 0 at byte {at}")
            if wire == 0:
                value, at = self._varint(at, end)
                yield number, wire, value, 0
                continue
            if wire == 2:
                length, at = self._varint(at, end)
            elif wire in (1, 5):
                length = 8 if wire == 1 else 4
            else:
                raise BrokenError(f"wire type {wire} at byte {at}")
            if length > end - at:
                raise BrokenError(f"a field at byte {at} is {length:,} bytes long, and {end - at:,} are left")
            yield number, wire, at, at + length
            at += length

    def _messages(self, at: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The fields that have a length: texts, messages, packed numbers."""
        return ((number, begin, stop) for number, wire, begin, stop in self._fields(at, end) if wire == 2)

    def _text(self, begin: int, end: int) -> str:
        return self._data[begin : min(end, begin + _MAX_NAME)].decode("utf-8", "replace")

    def _graph(self, begin: int, end: int, depth: int, node_field: int) -> None:
        if depth > _MAX_DEPTH:
            raise BrokenError(f"graphs nested deeper than {_MAX_DEPTH}")
        for number, start, stop in self._messages(begin, end):
            if number == node_field:
                if len(self.nodes) >= _MAX_NODES:
                    raise BrokenError(f"more than {_MAX_NODES:,} operators")
                self._node(start, stop, depth)
            elif number == _GRAPH_INITIALIZER and node_field == _GRAPH_NODE:
                if len(self.tensors) >= _MAX_INITIALIZERS:
                    raise BrokenError(f"more than {_MAX_INITIALIZERS:,} tensors")
                tensor = self._tensor(start, stop)
                self.tensors[tensor.name] = tensor

    def _node(self, begin: int, end: int, depth: int) -> None:
        node = Node()
        self.nodes.append(node)
        for number, start, stop in self._messages(begin, end):
            if number == _NODE_OP:
                node.op = self._text(start, stop)
            elif number == _NODE_DOMAIN:
                node.domain = self._text(start, stop)
            elif number == _NODE_INPUT:
                node.inputs.append(self._text(start, stop))
            elif number == _NODE_OUTPUT:
                node.outputs.append(self._text(start, stop))
            elif number == _NODE_ATTRIBUTE:
                self._attribute(node, start, stop, depth)

    def _attribute(self, node: Node, begin: int, end: int, depth: int) -> None:
        name, value = "", None
        for number, wire, start, stop in self._fields(begin, end):
            if number == _ATTRIBUTE_NAME and wire == 2:
                name = self._text(start, stop)
            elif number == _ATTRIBUTE_INT and wire == 0:
                value = start
            elif number == _ATTRIBUTE_TENSOR and wire == 2:
                node.tensor = self._tensor(start, stop)
            elif number in (_ATTRIBUTE_GRAPH, _ATTRIBUTE_GRAPHS) and wire == 2:
                self._graph(start, stop, depth + 1, _GRAPH_NODE)
        if value is not None:
            node.numbers[name] = value

    def _tensor(self, begin: int, end: int) -> Tensor:
        tensor = Tensor()
        entries = {}
        for number, wire, start, stop in self._fields(begin, end):
            if number == _TENSOR_TYPE and wire == 0:
                tensor.type = start
            elif number == _TENSOR_DIMS and len(tensor.dims) < _MAX_DEPTH:
                if wire == 0:
                    tensor.dims.append(start)
                elif wire == 2:
                    while start < stop and len(tensor.dims) < _MAX_DEPTH:
                        size, start = self._varint(start, stop)
                        tensor.dims.append(size)
            elif number == _TENSOR_NAME and wire == 2:
                tensor.name = self._text(start, stop)
            elif number == _TENSOR_EXTERNAL and wire == 2:
                pair = {n: self._text(s, e) for n, s, e in self._messages(start, stop)}
                entries[pair.get(1, "")] = pair.get(2, "")
        if "location" in entries:
            ends = sum(int(text) for key in ("offset", "length") if (text := entries.get(key, "0")).isdecimal())
            location = entries["location"]
            self.external[location] = max(ends, self.external.get(location, 0))
        return tensor
