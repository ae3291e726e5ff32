"""Environments of AMD's Ryzen AI releases that are on this machine, found by where its installers put them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

_CONDA = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "AppData/Local/miniforge3", "AppData/Local/miniconda3",
          "AppData/Local/anaconda3", ".conda")  # fmt: skip
_NAMES = re.compile(r"ryzen[-_ ]?ai", re.IGNORECASE)
_MAX_LISTED = 2_000


@dataclass(frozen=True)
class Candidate:
    """A Python that may belong to a Ryzen AI release; `found` says by what it was found."""

    python: Path
    name: str
    found: str


def environments(
    env: Mapping[str, str], home: Path, *, windows: bool = sys.platform == "win32", root: Path | None = None
) -> list[Candidate]:
    """Every candidate, each Python once, those that an environment variable names first. Reads folder names only.

    `env` are the environment's variables, `home` the user's folder, `root` stands for / in tests.
    """
    found: dict[Path, Candidate] = {}
    for folder, words in _folders(env, home, windows=windows, root=root or Path("/")):
        python = python_in(folder, windows=windows)
        if python is not None:
            found.setdefault(python, Candidate(python, _name(folder), words))
    return list(found.values())


def python_in(folder: Path, *, windows: bool = sys.platform == "win32") -> Path | None:
    """The Python of an environment: conda's, a venv's, or a venv inside an installation."""
    tails = ("python.exe", "Scripts/python.exe", "python/python.exe", "venv/Scripts/python.exe") if windows else (
        "bin/python", "bin/python3", "venv/bin/python", "venv/bin/python3")  # fmt: skip
    return next((folder / tail for tail in tails if _is_file(folder / tail)), None)


def installation_of(python: Path, env: Mapping[str, str], *, windows: bool = sys.platform == "win32") -> Path | None:
    """The Ryzen AI installation that a Python belongs to: its environment, or what the variable names; None if none.

    Its folder `deployment` holds the libraries that an application needs.
    """
    own = python.parent if windows and python.parent.name.lower() != "scripts" else python.parent.parent
    named = env.get("RYZEN_AI_INSTALLATION_PATH")
    places = [own]
    # An installation that the variable names serves the environments that carry its release in their name.
    if named and _release(own.name) is not None and _release(own.name) == _release(Path(named).name):
        places.append(Path(named))
    return next((place for place in places if _is_dir(place / "deployment")), None)


def provider_library(python: Path, env: Mapping[str, str], *, windows: bool = sys.platform == "win32") -> Path | None:
    """The RyzenAI provider's library for a Python: for RYZENAI_EP_PATH. None where its installation is not found."""
    installation = installation_of(python, env, windows=windows)
    if installation is None:
        return None
    tails = ("onnxruntime_providers_ryzenai.dll",) if windows else ("lib/libonnxruntime_providers_ryzenai.so",)
    return next((installation / "deployment" / t for t in tails if _is_file(installation / "deployment" / t)), None)


def _folders(env: Mapping[str, str], home: Path, *, windows: bool, root: Path) -> Iterator[tuple[Path, str]]:
    named = env.get("RYZEN_AI_INSTALLATION_PATH")
    if named:
        yield Path(named), "RYZEN_AI_INSTALLATION_PATH"
    library = env.get("RYZENAI_EP_PATH")
    if library:
        # .../deployment/lib/x.so or .../deployment/x.dll: the environment is what holds deployment.
        for parent in Path(library).parents:
            if parent.name == "deployment":
                yield parent.parent, "RYZENAI_EP_PATH"
    for listing in (home / ".conda/environments.txt",):
        for line in _lines(listing):
            if _NAMES.search(_last(line, windows=windows)):
                yield Path(line), "conda's list of environments"
    for base in _conda_bases(env, home, windows=windows, root=root):
        for folder in _list(base / "envs"):
            if _NAMES.search(folder.name):
                yield folder, f"conda environment in {base}"
    for base in (Path(env.get("PROGRAMFILES", r"C:\Program Files"), "RyzenAI"),) if windows else (
        home, root / "opt", root / "opt/amd"):  # fmt: skip
        for folder in _list(base):
            if windows or _NAMES.search(folder.name):
                yield folder, f"installation in {base}"


def _conda_bases(env: Mapping[str, str], home: Path, *, windows: bool, root: Path) -> Iterator[Path]:
    tool = env.get("CONDA_EXE")
    if tool:
        yield Path(tool).parent.parent
    if env.get("CONDA_PREFIX"):
        # The base itself, or an environment in its folder envs.
        prefix = Path(env["CONDA_PREFIX"])
        yield prefix.parent.parent if prefix.parent.name == "envs" else prefix
    if env.get("MAMBA_ROOT_PREFIX"):
        yield Path(env["MAMBA_ROOT_PREFIX"])
    homes = [home]
    if windows:
        homes += [Path(env[key]) for key in ("USERPROFILE", "PROGRAMDATA") if env.get(key)]
    else:
        homes.append(root / "opt")
    for folder in dict.fromkeys(homes):
        for name in _CONDA:
            yield folder / name


def _name(folder: Path) -> str:
    """The environment's name; that of the installation where the folder is only called venv."""
    return folder.parent.name if folder.name.lower() in ("venv", "python") else folder.name


def _release(name: str) -> str | None:
    found = re.search(r"\d+(?:\.\d+)+", name)
    return found[0] if found else None


def _last(line: str, *, windows: bool) -> str:
    return PureWindowsPath(line).name if windows else Path(line).name


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines()[:_MAX_LISTED] if line.strip()]


def _list(folder: Path) -> list[Path]:
    """The folders in a folder, by name; none where it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:_MAX_LISTED]
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
