"""Outcomes in .npy files, with their keys and models in text files beside them."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mince_gui.base.errors import InputError
from mince_gui.benchmarks import Benchmark, keys_of
from mince_gui.logs.tables.layout import file_name
from mince_gui.logs.types import FloatArray

_NAMES_LIMIT = 64 << 20
_HEADER_LIMIT = 10_000
_VERSIONS = (b"\x01", b"\x02", b"\x03")
_NUMBERS = re.compile(r"[<>|=](?:b1|[iu][1248]|f[248])")
_SAVE = "Save outcomes as bool, int or float with numpy.save."


@dataclass(frozen=True)
class Names:
    """The names of rows and columns: item keys, and models ("" for a vector whose file does not say)."""

    keys: tuple[str, ...]
    models: tuple[str, ...]


def sidecar(path: Path, what: str) -> Path:
    """The text file with names: `<stem>.keys.txt` or `<stem>.models.txt`."""
    return path.with_name(f"{path.stem}.{what}.txt")


def _lines(path: Path) -> tuple[str, ...] | None:
    """The lines of a file of names; None where there is none. Raises InputError."""
    try:
        if not path.is_file():
            return None
        if path.stat().st_size > _NAMES_LIMIT:
            raise InputError(f"{path}: larger than {_NAMES_LIMIT >> 20} MiB, which no list of names is.")
        names = tuple(line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{path}: cannot be read ({exc}).", "Save it as UTF-8 text with one name a line.") from exc
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        if len(name) > 200 or not name.isprintable():
            raise InputError(f"{path}, name {number}: this is no name.", "One name a line.")
        if name in seen:
            raise InputError(f"{path}, name {number}: {name} is there twice.", "Every name once.")
        seen.add(name)
    return names


def names_of(path: Path, benchmark: Benchmark) -> Names:
    """Keys and models of the array. Raises InputError where keys are neither beside it nor known."""
    keys = _lines(sidecar(path, "keys")) or keys_of(benchmark)
    if keys is None:
        raise InputError(
            f"{path}: the items have no keys.", f"Put them beside it in {sidecar(path, 'keys').name}, one a line."
        )
    models = _lines(sidecar(path, "models"))
    return Names(keys, models if models is not None else (file_name(path).model,))


def load(path: Path, names: Names) -> FloatArray:
    """The outcomes, shape (models, items), NaN where missing. Raises InputError."""
    items, models = len(names.keys), len(names.models)
    try:
        array = _array(path, items, models)
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror}).", "Look for the logs again.") from exc
    by_model = array.ndim == 1 or array.shape == (models, items)
    values = (array.reshape(models, items) if by_model else array.T).astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    wrong = np.argwhere((values < 0) | (values > 1))
    if len(wrong):
        model, item = (int(place) for place in wrong[0])
        raise InputError(
            f"{path}: item {names.keys[item]} of model {model + 1} is {values[model, item]:g}, outside 0 to 1.",
            "Outcomes are shares of 1, NaN where missing.",
        )
    return values


def _array(path: Path, items: int, models: int) -> npt.NDArray[np.generic]:
    """The numbers of a .npy file. numpy's own reader is not asked: of a damaged header it raises what it likes."""
    with path.open("rb") as file:
        head = file.read(8)
        length = int.from_bytes(file.read(2 if head[6:7] == b"\x01" else 4), "little")
        if head[:6] != b"\x93NUMPY" or head[6:7] not in _VERSIONS or length > _HEADER_LIMIT:
            raise InputError(f"{path}: not a .npy file.", "Save the array again with numpy.save.")
        header = file.read(length).decode("latin-1")
        try:
            said = ast.literal_eval(header.strip())
            kind, shape, columns_first = said["descr"], said["shape"], said["fortran_order"]
        except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as exc:
            raise InputError(f"{path}: its header is broken.", "Save the array again with numpy.save.") from exc
        if not isinstance(kind, str) or not _NUMBERS.fullmatch(kind):
            raise InputError(f"{path}: it holds {ascii(kind)[:40]}, not numbers; objects are never unpickled.", _SAVE)
        if not isinstance(shape, tuple) or not all(type(side) is int and side >= 0 for side in shape):
            raise InputError(f"{path}: its header is broken.", "Save the array again with numpy.save.")
        _check_shape(path, shape, items, models)
        kind = np.dtype(kind)
        left = path.stat().st_size - file.tell()
        if left != math.prod(shape) * kind.itemsize:
            raise InputError(f"{path}: {left} bytes of numbers, which its shape {shape} does not fit.", _SAVE)
        flat = np.frombuffer(file.read(left), dtype=kind)
    return flat.reshape(shape, order="F" if columns_first else "C")


def _check_shape(path: Path, shape: tuple[int, ...], items: int, models: int) -> None:
    """Whether it is one value per item and model, either way round but never ambiguous. Raises InputError."""
    of_one = shape == (items,) and models == 1
    if not of_one and (shape not in ((models, items), (items, models)) or models == items):
        raise InputError(
            f"{path}: its shape is {shape}, but there are {items} keys and {models} model{'s' * (models != 1)}.",
            f"Name the models in {sidecar(path, 'models').name} and the items in {sidecar(path, 'keys').name}, "
            "one a line.",
        )
