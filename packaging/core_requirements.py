"""Print the requirements of core, command line and their tests: all but what only the window needs."""

from __future__ import annotations

import tomllib
from pathlib import Path

_WINDOW = ("pyside6", "pyqtgraph", "pytest-qt")
_LINTERS = ("import-linter", "mypy", "ruff", "pandas-stubs", "scipy-stubs", "types-")

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for line in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
    if not line.lower().startswith(_WINDOW + _LINTERS):
        print(line)
