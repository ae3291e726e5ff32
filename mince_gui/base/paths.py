"""Where things lie: the project's own data files, and the user's default workspace."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from mince_gui.base.errors import MinceError

_PACKAGE = Path(__file__).resolve().parent.parent


def _data_folder(name: str) -> Path:
    """`name` inside the installed package, or beside it in a checkout."""
    for folder in (_PACKAGE / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise MinceError(f"The program's own folder '{name}' is missing.", "Install mince-gui again.")


def resources() -> Path:
    """The folder `resources/`: the demo and templates."""
    return _data_folder("resources")


def bundled_subsets() -> Path:
    """The folder `subsets/`: frozen subset files that ship with the program."""
    return _data_folder("subsets")


def expanded(path: str | Path) -> Path:
    """With the home folder for ~; as it is where there is none, of which pathlib would make an error."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def default_workspace() -> Path:
    """MINCE_WORKSPACE if set, else a folder in the user's data directory."""
    named = os.environ.get("MINCE_WORKSPACE")
    return Path(named) if named else Path(platformdirs.user_data_dir("mince-gui", appauthor=False)) / "workspace"


def state_dir() -> Path:
    """Where crash reports go; MINCE_CONFIG moves it too."""
    named = os.environ.get("MINCE_CONFIG")
    return Path(named) if named else Path(platformdirs.user_state_dir("mince-gui", appauthor=False))
