"""Runtimes: Pythons that have OGA and can execute the worker file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mince_gui.base.errors import InputError

_WORKER = Path(__file__).with_name("worker.py")
# Isolated: no PYTHON* variables, no user packages, and the worker's own folder is not on the path
# (a `types.py` lies in it).
_OPTIONS = ("-I", "-X", "utf8")
# Variables that belong to this program (its Python, its bundle, its Qt) and would mislead another one.
_OURS = ("PYTHON", "QT_", "QML", "_PYI_", "_MEIPASS")
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


@dataclass(frozen=True)
class Runtime:
    """A Python that has OGA. `command` starts the worker; `supervisor.probe` asks what it has."""

    name: str
    command: tuple[str, ...]
    kind: Literal["bundled", "external"]


def _frozen() -> bool:
    return bool(getattr(sys, "frozen", False))


def bundled_runtime() -> Runtime:
    """The Python (or frozen bundle) that runs this program, with the OGA that came with it (CPU)."""
    executable = Path(sys.executable)
    suffix = executable.suffix
    if _frozen():
        # The windowed executable may have no stdin and stdout; the console one lies beside it.
        return Runtime("bundled", (str(executable.with_name(f"mince{suffix}")), "--worker"), "bundled")
    if executable.stem.lower() == "pythonw":
        executable = executable.with_name(f"python{suffix}")
    return Runtime("bundled", (str(executable), *_OPTIONS, str(_WORKER)), "bundled")


def external_runtime(python: Path, name: str | None = None) -> Runtime:
    """Another environment's Python, such as the one of a Ryzen AI release. Raises InputError if it is no program."""
    remedy = "Give the python executable of an environment that has onnxruntime-genai."
    if python.is_dir():
        raise InputError(f"{python} is a folder, not a Python.", remedy)
    if not python.is_file():
        raise InputError(f"There is no Python at {python}.", remedy)
    if not os.access(python, os.X_OK):
        raise InputError(f"{python} cannot be executed.", remedy)
    # The path as given: resolving the link of a virtual environment's Python would leave the environment.
    program = Path(os.path.abspath(python))  # noqa: PTH100
    label = name or (program.parent.parent.name if program.parent.name in ("bin", "Scripts") else program.parent.name)
    return Runtime(label, (str(program), *_OPTIONS, str(_WORKER)), "external")


def clean_environment(runtime: Runtime, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a worker: `base` (default: ours) without what belongs to this program alone.

    In a frozen bundle the library path is the bundle's; its value from before is restored. An external
    environment's own folders come first on PATH, as activating it would do.
    """
    given = dict(os.environ if base is None else base)
    kept = {k: v for k, v in given.items() if not k.upper().startswith(_OURS)}
    if _frozen():
        for name in _LIBRARY_PATHS:
            kept.pop(name, None)
            before = kept.pop(f"{name}_ORIG", None)
            if before is not None:
                kept[name] = before
    if runtime.kind == "external":
        root = Path(runtime.command[0]).parent
        folders = [root]
        if os.name == "nt":
            # A conda environment keeps its native libraries in these.
            tails = ("Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin")
            folders += [root / tail for tail in tails]
        present = [str(folder) for folder in folders if folder.is_dir()]
        kept["PATH"] = os.pathsep.join([*present, kept["PATH"]] if kept.get("PATH") else present)
    return kept
