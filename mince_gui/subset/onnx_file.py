"""What an ONNX file says of data outside of it, read from its bytes before any library is asked to load it."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from mince_gui.base.errors import InputError

# Field numbers of onnx.proto: where tensors can be, by message.
_MODEL_GRAPH, _MODEL_FUNCTIONS = 7, 25
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 5, 15
_FUNCTION_NODE = 7
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_TENSOR, _ATTRIBUTE_GRAPH, _ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS = 5, 6, 10, 11
_ATTRIBUTE_SPARSE, _ATTRIBUTE_SPARSES = 22, 23
_SPARSE_VALUES, _SPARSE_INDICES = 1, 2
_TENSOR_EXTERNAL = 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2

_WHERE_NEXT: dict[str, dict[int, str]] = {
    "model": {_MODEL_GRAPH: "graph", _MODEL_FUNCTIONS: "function"},
    "graph": {_GRAPH_NODE: "node", _GRAPH_INITIALIZER: "tensor", _GRAPH_SPARSE: "sparse"},
    "function": {_FUNCTION_NODE: "node"},
    "node": {_NODE_ATTRIBUTE: "attribute"},
    "attribute": {
        _ATTRIBUTE_TENSOR: "tensor", _ATTRIBUTE_TENSORS: "tensor", _ATTRIBUTE_GRAPH: "graph",
        _ATTRIBUTE_GRAPHS: "graph", _ATTRIBUTE_SPARSE: "sparse", _ATTRIBUTE_SPARSES: "sparse",
    },
    "sparse": {_SPARSE_VALUES: "tensor", _SPARSE_INDICES: "tensor"},
    "tensor": {_TENSOR_EXTERNAL: "entry"},
}  # fmt: skip
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST = 60


def external_files(path: Path) -> tuple[str, ...]:
    """The names of the files that hold data of the model, as the model has them.

    Raises InputError for what is no ONNX file.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            return tuple(dict.fromkeys(_locations(raw, 0, len(raw), "model", 0)))
    except (ValueError, IndexError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not an ONNX model: {error}.", "Export the model again.") from error


def _locations(raw: mmap.mmap, start: int, end: int, message: str, depth: int) -> Iterator[str]:
    """Every `location` of external data in a message of that kind."""
    if depth > _DEEPEST:
        raise ValueError("its graphs nest too deeply")
    inner = _WHERE_NEXT[message]
    for field, first, last in _parts(raw, start, end):
        kind = inner.get(field)
        if kind == "entry":
            entry = {number: bytes(raw[a:b]) for number, a, b in _parts(raw, first, last)}
            if entry.get(_ENTRY_KEY) == b"location":
                yield entry.get(_ENTRY_VALUE, b"").decode("utf-8")
        elif kind is not None:
            yield from _locations(raw, first, last, kind, depth + 1)


def _parts(raw: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(field number, first byte, byte after the last) of every length-delimited field of a message."""
    at = start
    while at < end:
        tag, at = _varint(raw, at)
        field, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            _, at = _varint(raw, at)
        elif wire == _FIXED64:
            at += 8
        elif wire == _FIXED32:
            at += 4
        elif wire == _BYTES:
            length, at = _varint(raw, at)
            if at + length > end:
                raise ValueError(f"a field at byte {at} is longer than the file has room for")
            yield field, at, at + length
            at += length
        else:
            raise ValueError(f"there is no field at byte {at}")
    if at != end:
        raise ValueError(f"a field at byte {at} is cut")


def _varint(raw: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError(f"a number at byte {at} is too long")
