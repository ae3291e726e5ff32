"""Runtimes: Pythons that have OGA and can execute the worker file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mince_gui.base.errors import InputError
from mince_gui.run.discovery import installation_of, provider_library

_WORKER = Path(__file__).with_name("worker.py")
# Isolated: no PYTHON* variables, no user packages, and the worker's own folder is not on the path
# (a `types.py` lies in it).
_OPTIONS = ("-I", "-X", "utf8")
# Variables that belong to this program (its Python, its bundle, its Qt) and would mislead another one.
_OURS = ("PYTHON", "QT_", "QML", "_PYI_", "_MEIPASS")
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_XRT = Path("/opt/xilinx/xrt")


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
    folder = program.parent.parent if program.parent.name in ("bin", "Scripts") else program.parent
    label = name or folder.name or program.stem  # /bin/python belongs to no folder that has a name
    return Runtime(label, (str(program), *_OPTIONS, str(_WORKER)), "external")


def foreign_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a program that is not ours: `base` (default: our own) without what belongs to us alone.

    In a frozen bundle the library path is the bundle's; its value from before is restored.
    """
    given = dict(os.environ if base is None else base)
    kept = {k: v for k, v in given.items() if not k.upper().startswith(_OURS)}
    if _frozen():
        for name in _LIBRARY_PATHS:
            kept.pop(name, None)
            before = kept.pop(f"{name}_ORIG", None)
            if before is not None:
                kept[name] = before
    return kept


def clean_environment(runtime: Runtime, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a worker: `foreign_environment`, and for an external one what activating it would set.

    Its own folders come first on PATH. Where it belongs to a Ryzen AI installation, RYZENAI_EP_PATH names the
    provider's library (it is found by luck otherwise), and on Linux the library path leads to it and to XRT.
    """
    kept = foreign_environment(base)
    if runtime.kind == "external":
        python = Path(runtime.command[0])
        folders = [python.parent]
        if sys.platform == "win32":
            # A conda environment keeps its native libraries in these.
            tails = ("Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin")
            folders += [python.parent / tail for tail in tails]
        _put_first(kept, "PATH", folders)
        _activate_ryzen_ai(kept, python)
    return kept


def _activate_ryzen_ai(kept: dict[str, str], python: Path) -> None:
    """What AMD's own scripts set for an environment of theirs; nothing for any other."""
    installation = installation_of(python, kept)
    if installation is None:
        return
    kept["RYZEN_AI_INSTALLATION_PATH"] = str(installation)
    library = provider_library(python, kept)
    if library is not None:
        kept["RYZENAI_EP_PATH"] = str(library)
    if sys.platform != "win32":
        _put_first(kept, "LD_LIBRARY_PATH", [_XRT / "lib", installation / "deployment/lib"])
        if _XRT.is_dir():
            kept.setdefault("XILINX_XRT", str(_XRT))


def _put_first(kept: dict[str, str], name: str, folders: Sequence[Path]) -> None:
    """Those of the folders that exist, before what the variable has."""
    parts = [*(str(folder) for folder in folders if folder.is_dir()), *([kept[name]] if kept.get(name) else [])]
    if parts:
        kept[name] = os.pathsep.join(parts)
