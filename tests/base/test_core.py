"""Everything but the window works where Qt is not installed."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import mince_gui

PACKAGE = Path(mince_gui.__file__).parent
_IMPORT_ALL = """
import importlib, sys
for name in ("PySide6", "shiboken6", "pyqtgraph"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def _core_files() -> list[Path]:
    """Every module but the window's."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "ui"]


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_every_module_but_the_windows_is_imported_without_qt() -> None:
    # The worker is started, never imported, and __main__ would start the command line.
    names = [name for name in map(_name, _core_files()) if not name.endswith((".worker", ".__main__"))]
    assert len(names) > 200
    done = subprocess.run([sys.executable, "-W", "error", "-c", _IMPORT_ALL, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_imported_only_when_it_is_needed_is_installed() -> None:
    wanted = set()
    for path in _core_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                wanted |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                wanted.add(node.module.partition(".")[0])
    # _typeshed is a name for type checkers alone; the two others come with the extra "inspect", which nobody must have.
    needless = {"mince_gui", "_typeshed", "inspect_ai", "zstandard"}
    outside = wanted - set(sys.stdlib_module_names) - needless
    assert {name for name in outside if importlib.util.find_spec(name) is None} == set()
