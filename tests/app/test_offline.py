"""No network, ever: the demo with its worker in a network namespace that has no interface."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]


def test_the_quick_demo_runs_where_there_is_no_network(tmp_path: Path) -> None:
    tool = shutil.which("unshare")
    if tool is None or subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system makes no network namespaces")
    words = [sys.executable, "-m", "mince_gui", "demo", "--quick", "--workspace", str(tmp_path)]
    done = subprocess.run([*_UNSHARE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "== Result" in done.stdout
