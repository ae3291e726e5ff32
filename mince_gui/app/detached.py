"""A runner of its own: a headless `mince run --resume RUN` that outlives whoever started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mince_gui.app.run import RunOrder, create, require_own_answers
from mince_gui.base.errors import MinceError
from mince_gui.run.types import Control
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs

_children: list[subprocess.Popen[bytes]] = []
"""Runners started here: kept so that an ended one can be reaped; they outlive us all the same."""


def command() -> list[str]:
    """How to start our own command line: the console executable in a frozen bundle, else this Python."""
    if getattr(sys, "frozen", False):
        suffix = ".exe" if os.name == "nt" else ""
        return [str(Path(sys.executable).with_name(f"mince{suffix}"))]
    return [sys.executable, "-m", "mince_gui"]


def start(workspace: Path, order: RunOrder) -> str:
    """Create the run and start its runner; returns the run's id at once. Raises as `create` does."""
    run_id = create(workspace, order)
    resume(workspace, run_id)
    return run_id


def resume(workspace: Path, run_id: str) -> None:
    """Start a runner for a run that was interrupted, stopped or only created. Raises UsageError for any other."""
    with Workspace(workspace) as ws:
        require_own_answers(stored_runs.get(ws, run_id))
        stored_runs.await_runner(ws, run_id)
        words = ["run", "--resume", run_id, "--workspace", str(ws.folder), "--events", "none"]
        try:
            child = spawn(words, ws.runner_log(run_id))
        except MinceError as exc:
            stored_runs.end(ws, run_id, "not_started", exc.message)
            raise
        stored_runs.set_runner(ws, run_id, child.pid)


def spawn(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start our own command line with `words` so that it outlives us; its stderr is appended to `log`.

    Raises MinceError where it cannot be started.
    """
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    _children[:] = [child for child in _children if child.poll() is None]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as stderr:
            child = subprocess.Popen(  # noqa: S603 - our own command line
                [*command(), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                creationflags=flags,
                # A session of its own: closing the terminal or the window does not reach it.
                start_new_session=os.name != "nt",
            )
    except OSError as exc:
        raise MinceError(f"The runner could not be started: {exc}.", "Install mince-gui again.") from exc
    _children.append(child)
    return child


def ask(workspace: Path, run_id: str, control: Control) -> None:
    """Ask the runner to pause, go on (run), skip the item or stop; taken at the next item boundary."""
    with Workspace(workspace) as ws:
        stored_runs.ask(ws, run_id, control)
