"""Real disks that are really full, by real workers: no finished item is lost or repeated, and the run goes on later."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mince_gui.app.demo import model_dir
from mince_gui.app.listings import show_run
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.errors import MinceError
from mince_gui.base.events import Ended, Event, ItemDone
from mince_gui.store import Workspace
from mince_gui.store.runs import StoredItem

ITEMS = 40
_KB = 1024

unix = pytest.mark.skipif(os.name == "nt", reason="Windows has neither small file systems nor limits of a file's size")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = shutil.which("mount") is not None and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("this system mounts no small disk for us")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _fill(disk: Path, free: int) -> Path:
    """Write a file that leaves so many bytes of the disk."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        file.write(bytes(max(0, shutil.disk_usage(disk).free - free)))
    return ballast


def _items(workspace: Path, run_id: str) -> dict[str, StoredItem]:
    return {item.item_key: item for item in show_run(workspace, run_id)[1]}


@unix
@pytest.mark.parametrize("free", [0, 16, 48, 100, 160])
def test_a_run_on_a_full_disk_ends_with_a_word_and_goes_on_once_there_is_space(
    prepared: Path, disk: Path, free: int
) -> None:
    workspace = disk / "ws"
    shutil.copytree(prepared, workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-full", limit=ITEMS))
    ballast = _fill(disk, free * _KB)
    first: list[Event] = []
    with pytest.raises(MinceError, match=r"cannot be (written|read or written)|full"):
        execute(workspace, run_id, emit=first.append)
    told = [event.item_key for event in first if isinstance(event, ItemDone)]
    if first:
        assert [type(event) for event in first].count(Ended) == 1
        assert isinstance(first[-1], Ended)
    ballast.unlink()
    before = _items(workspace, run_id)
    # Told is committed; the last one may be committed without having been told.
    assert set(told) <= set(before)
    assert len(before) < ITEMS
    second: list[Event] = []
    assert execute(workspace, run_id, emit=second.append).done == ITEMS
    after = _items(workspace, run_id)
    assert {key: after[key] for key in before} == before
    again = [event.item_key for event in second if isinstance(event, ItemDone)]
    assert sorted(again) == sorted(set(after) - set(before))


@unix
def test_without_room_for_a_copy_an_older_workspace_is_left_as_it_is(disk: Path) -> None:
    workspace = disk / "ws"
    workspace.mkdir()
    sample = Path(__file__).parent.parent / "store" / "schema_2.sql"
    with closing(sqlite3.connect(workspace / "mince.db")) as db:
        db.executescript(sample.read_text(encoding="utf-8"))
        db.execute("INSERT INTO pack_subsets VALUES ('p', ?)", ("x" * 300_000,))
        db.execute("PRAGMA user_version = 2")
        db.commit()
        before = list(db.iterdump())
    ballast = _fill(disk, 200 * _KB)
    with pytest.raises(MinceError, match="Nothing was changed"):
        Workspace(workspace)
    with closing(sqlite3.connect(workspace / "mince.db")) as db:
        assert list(db.iterdump()) == before
    assert [file.name for file in workspace.iterdir() if file.name.startswith((".", "mince.db."))] == []
    ballast.unlink()


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
from mince_gui.cli import main
sys.exit(main(sys.argv[1:]))
"""


@unix
def test_files_that_may_not_grow_end_the_run_and_resume_finishes_it(prepared: Path, tmp_path: Path) -> None:
    """A limit of a file's size stands for a quota, and needs no rights."""
    workspace = tmp_path / "ws"
    shutil.copytree(prepared, workspace)
    run_id = create(workspace, RunOrder(model_dir(), "demo-choice-full", limit=ITEMS))
    words = ["run", "--resume", run_id, "--workspace", str(workspace), "--events", "none"]
    limited = [sys.executable, "-c", _LIMITED.format(size=300 * _KB), *words]
    ended = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert "cannot be read or written" in ended.stderr or "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
    before = _items(workspace, run_id)
    assert 0 < len(before) < ITEMS
    assert execute(workspace, run_id).done == ITEMS
    after = _items(workspace, run_id)
    assert {key: after[key] for key in before} == before
