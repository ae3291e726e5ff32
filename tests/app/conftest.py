"""The demo, walked once; several tests look at what it left."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from mince_gui.app.demo import DemoPart, demo, prepare
from mince_gui.base.events import Event


@dataclass(frozen=True)
class Walked:
    """The demo's parts, its workspace and every event that it emitted."""

    parts: list[DemoPart]
    workspace: Path
    events: list[Event]


@pytest.fixture(scope="session")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """`mince demo`, subset and full runs by the real worker, once a session."""
    workspace = tmp_path_factory.mktemp("demo")
    events: list[Event] = []
    return Walked(demo(workspace, emit=events.append), workspace, events)


@pytest.fixture(scope="session")
def _prepared_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workspace = tmp_path_factory.mktemp("prepared")
    prepare(workspace)
    return workspace


@pytest.fixture(scope="module")
def prepared(_prepared_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the demo's logs, subsets and packs; of runs only those that tests of the same module made."""
    workspace = tmp_path_factory.mktemp("module") / "prepared"
    shutil.copytree(_prepared_once, workspace)
    return workspace
