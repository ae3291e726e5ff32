"""The facts that the ONNX files tell: precision, and whether their data files are there and whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from mince_gui.base.errors import InputError
from mince_gui.run.checking.graph import Graph, read_graph
from mince_gui.run.checking.phrases import COPY
from mince_gui.run.checking.types import Fact
from mince_gui.run.model_folder import ModelFolder

_SHOWN = 3
_FEWEST = 4
"""Bits that no vendor's operators go below, as far as is known."""
_LFS = b"version https://git-lfs"


def graph_facts(folder: ModelFolder) -> Iterator[Fact]:
    """Precision of all graphs together, and what is wrong with their files."""
    graphs: dict[str, Graph] = {}
    broken = []
    for name in folder.graphs:
        if not name.lower().endswith(".onnx"):
            continue
        try:
            graphs[name] = read_graph(folder.path / name)
        except InputError as exc:
            broken.append(Fact("graph", "bad", exc.message, exc.remedy))
    yield from broken
    if graphs:
        yield precision(list(graphs.values()), folder.name)
        yield from _data_facts(folder, graphs)
    elif not broken:
        yield Fact("precision", "warn", "cannot be told: genai_config.json names no ONNX graph")


def precision(graphs: Sequence[Graph], folder_name: str = "") -> Fact:
    """In what the weights of all matrix products are stored, as far as the graphs show it."""
    products: Counter[tuple[str, str, int, int | None]] = Counter()
    opaque: Counter[str] = Counter()
    for graph in graphs:
        for group in graph.weights:
            products[group.kind, group.operator, group.bits, group.block] += group.products
        opaque.update(graph.opaque)
    total = products.total()
    parts = [
        f"{kind} weights ({operator}{f', block {block}' if block else ''}) in {count:,} of {total:,} matrix products"
        for (kind, operator, _, block), count in products.most_common(_SHOWN)
    ]
    if len(products) > _SHOWN:
        parts.append(f"{len(products) - _SHOWN} more kinds")
    if any(graph.quantised_activations for graph in graphs):
        parts.append("8-bit activations are allowed")
    hidden = ", ".join(f"{name} × {count:,}" for name, count in opaque.most_common(_SHOWN))
    if opaque and not total:
        return Fact("precision", "warn", f"cannot be told: the weights are inside operators of the vendor ({hidden})")
    if not total:
        return Fact("precision", "warn", "cannot be told: no matrix product with stored weights was found")
    if opaque:
        parts.append(f"more may be inside operators of the vendor ({hidden})")
    lowest = min(bits for _, _, bits, _ in products)
    if not opaque and lowest > 4 and re.search(r"(?:int4|w4|q4|4bit)", folder_name, re.IGNORECASE):
        parts.append("although the folder's name says 4 bits")
        return Fact("precision", "warn", "; ".join(parts))
    return Fact("precision", "good", "; ".join(parts))


def precision_word(folder: ModelFolder) -> str:
    """The precision of the weights in one word, as the graphs show it: "int4", "int8", "fp16", "bf16", "fp32" ...

    Of several the one with the fewest bits. "" where it cannot be told: a graph cannot be read, or weights of more
    than 4 bits are in sight and others may be inside operators of a vendor.
    """
    try:
        graphs = [read_graph(folder.path / name) for name in folder.graphs if name.lower().endswith(".onnx")]
    except InputError:
        return ""
    lowest = min((group for graph in graphs for group in graph.weights), key=lambda group: group.bits, default=None)
    if lowest is None or (lowest.bits > _FEWEST and any(graph.opaque for graph in graphs)):
        return ""
    return lowest.kind.partition(" ")[0].lower()


def _data_facts(folder: ModelFolder, graphs: dict[str, Graph]) -> Iterator[Fact]:
    files = 0
    faults = []
    for name, graph in graphs.items():
        for external in graph.external:
            files += 1
            fault = _fault(folder.path / name, external.location, external.size)
            if fault:
                faults.append(fault)
    for name in folder.data_files:
        if not (folder.path / name).is_file():
            faults.append(f"{name}, which genai_config.json names, is not there")
    if faults:
        yield Fact("weights", "bad", "; ".join(faults[:_SHOWN]), COPY)
    elif files:
        yield Fact("weights", "good", f"{files:,} data file(s) beside the graph, there and long enough")


def _fault(graph: Path, location: str, size: int) -> str:
    """What is wrong with a data file; "" = nothing."""
    if (
        not location
        or "\0" in location
        or PureWindowsPath(location).is_absolute()
        or PurePosixPath(location).is_absolute()
    ):
        return f"{graph.name} keeps weights in {location!r}, which is not a file beside it"
    if ".." in PureWindowsPath(location).parts:
        return f"{graph.name} keeps weights in {location!r}, outside the model folder"
    file = graph.parent / location
    if file.exists() and not file.is_file():
        return f"{location}, where {graph.name} keeps weights, is not a file"
    try:
        found = file.stat().st_size
        with file.open("rb") as stream:
            if stream.read(len(_LFS)) == _LFS:
                return f"{location} is a pointer of Git LFS, not the weights themselves"
    except OSError as exc:
        return f"{location}, where {graph.name} keeps weights, cannot be read ({exc.strerror})"
    if found < size:
        return f"{location} is {found:,} bytes long, and {graph.name} needs {size:,}"
    return ""
