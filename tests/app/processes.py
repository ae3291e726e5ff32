"""Real `mince` processes for the tests: started, listened to, and surely ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Mince = subprocess.Popen[str]


@contextmanager
def mince(workspace: Path, *words: str) -> Iterator[Mince]:
    """`mince WORDS --events jsonl` in this workspace; killed at the end if it is still there."""
    command = [sys.executable, "-m", "mince_gui", *words, "--workspace", str(workspace), "--events", "jsonl"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def events(process: Mince) -> Iterator[dict[str, Any]]:
    """Its events, to the end of its output."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)
