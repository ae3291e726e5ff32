"""Print the requirements of core and command line, without the window's, and of the tests that run there."""

from __future__ import annotations

import tomllib
from pathlib import Path

_WINDOW = ("pyside6", "pyqtgraph")
_TESTS = ("hypothesis>", "pytest>", "pytest-timeout>", "pytest-xdist>")

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for line in project["dependencies"]:
    if not line.lower().startswith(_WINDOW):
        print(line)
for line in project["optional-dependencies"]["test"]:
    if line.startswith(_TESTS):
        print(line)
