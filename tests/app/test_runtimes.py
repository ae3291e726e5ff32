"""Registering runtimes: real Pythons, a real workspace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mince_gui.app import runtimes
from mince_gui.app.runtimes import add, discover, find_runtime, listing, probe, remove, survey
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.base.events import Ended, Event, Started
from mince_gui.run import bundled_runtime
from mince_gui.store import Workspace
from mince_gui.store import runtimes as stored_runtimes

_PYTHON = Path(sys.executable)


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a second environment that has this one's packages."""
    folder = tmp_path_factory.mktemp("app-runtimes") / "ryzen-ai-9.9.9"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("Lib/site-packages" if os.name == "nt" else "lib/python3*/site-packages"))
    ours = [entry for entry in sys.path if entry.endswith("site-packages")]
    (site / "packages.pth").write_text("\n".join(ours), encoding="utf-8")
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_the_bundled_runtime_is_there_from_the_start_and_probed_once(ws: Path) -> None:
    unprobed = listing(ws, probe=False)
    assert [(known.name, known.facts) for known in unprobed] == [("bundled", None)]
    first = listing(ws)
    assert first[0].facts is not None
    assert first[0].facts.can_run == {"cpu"}
    with Workspace(ws) as opened, opened.writing() as db:
        db.execute("UPDATE runtimes SET probed_at = 'before'")
    assert listing(ws)[0].probed_at == "before"
    # Another installation of this program, or another OGA in it: the kept facts are none of its.
    with Workspace(ws) as opened, opened.writing() as db:
        db.execute("""UPDATE runtimes SET facts = replace(facts, '"signature": "', '"signature": "older ')""")
    assert listing(ws)[0].probed_at != "before"


def test_a_registered_runtime_is_found_by_name_and_by_path(ws: Path, second: Path) -> None:
    events: list[Event] = []
    added = add(ws, second, emit=events.append)
    assert added.name == "ryzen-ai-9.9.9"
    assert added.facts is not None
    assert added.facts.oga_version
    assert [type(event) for event in events] == [Started, Ended]
    assert [known.name for known in listing(ws, probe=False)] == ["bundled", "ryzen-ai-9.9.9"]
    with Workspace(ws) as opened:
        by_name = find_runtime(opened, "ryzen-ai-9.9.9")
        assert by_name == added.runtime
        assert find_runtime(opened, str(second)) == by_name
        assert find_runtime(opened, str(second.parent.parent)) == by_name
        for bundled in (None, "bundled"):
            assert find_runtime(opened, bundled) == bundled_runtime()


def test_the_folder_of_an_environment_stands_for_its_python(ws: Path, second: Path) -> None:
    assert add(ws, second.parent.parent, "lab").python == second
    # Added again it is probed again, under the name it has.
    assert add(ws, second).name == "lab"
    assert add(ws, second, "other").name == "other"
    assert [known.name for known in listing(ws, probe=False)] == ["bundled", "other"]


def test_an_unregistered_name_lists_the_names(ws: Path, second: Path) -> None:
    add(ws, second, "lab")
    with Workspace(ws) as opened:
        with pytest.raises(UsageError) as caught:
            find_runtime(opened, "labb")
        assert "bundled, lab" in caught.value.remedy
        with pytest.raises(InputError):
            find_runtime(opened, str(second.parent / "none"))


def test_the_home_of_nobody_is_no_python_and_no_defect(ws: Path) -> None:
    with pytest.raises(InputError):
        add(ws, Path("~nobody-of-this-name/python"))
    with Workspace(ws) as opened, pytest.raises(InputError):
        find_runtime(opened, "~nobody-of-this-name/python")


def test_a_name_can_neither_be_taken_twice_nor_be_the_bundled_one(ws: Path, second: Path) -> None:
    add(ws, second, "lab")
    for name, words in (("lab", "is taken by"), ("bundled", "cannot be called"), ("a/b", "cannot be called")):
        with pytest.raises(UsageError) as caught:
            add(ws, _PYTHON, name)
        assert words in caught.value.message
        assert "--name" in caught.value.remedy


def test_what_cannot_run_is_not_registered(ws: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.raises(InputError) as caught:
        add(ws, bare)
    assert "was not registered" in caught.value.message
    assert caught.value.remedy
    with pytest.raises(InputError):
        add(ws, tmp_path / "none")
    assert [known.name for known in listing(ws, probe=False)] == ["bundled"]


def test_a_runtime_that_has_gone_is_told_with_a_way_out(ws: Path, second: Path, tmp_path: Path) -> None:
    add(ws, second, "lab")
    with Workspace(ws) as opened, opened.writing() as db:
        db.execute("UPDATE runtimes SET python = ? WHERE name = 'lab'", (str(tmp_path / "gone/python"),))
    assert [known.is_there for known in listing(ws, probe=False)] == [True, False]
    with Workspace(ws) as opened, pytest.raises(InputError) as caught:
        find_runtime(opened, "lab")
    assert "mince runtimes remove lab" in caught.value.remedy
    again = probe(ws, "lab")[0]
    assert again.facts is not None
    assert again.facts.error is not None
    remove(ws, "lab")
    assert [known.name for known in listing(ws, probe=False)] == ["bundled"]


def test_probing_again_replaces_the_facts(ws: Path, second: Path) -> None:
    add(ws, second, "lab")
    with Workspace(ws) as opened, opened.writing() as db:
        # As a version of this program with other facts would have left it.
        db.execute("""UPDATE runtimes SET facts = '{"signature": "", "facts": {"name": "lab"}}'""")
    assert listing(ws, probe=False)[1].facts is None
    assert [known.name for known in probe(ws)] == ["bundled", "lab"]
    assert all(known.facts is not None for known in listing(ws, probe=False))
    with pytest.raises(UsageError):
        probe(ws, "labb")


def test_the_bundled_and_the_unknown_cannot_be_removed(ws: Path) -> None:
    for name in ("bundled", "none"):
        with pytest.raises(UsageError):
            remove(ws, name)


def test_a_probe_can_be_cancelled_and_leaves_nothing(ws: Path, second: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        add(ws, second, cancel=cancel)
    with pytest.raises(CancelledError):
        listing(ws, cancel=cancel)
    with Workspace(ws) as opened:
        assert stored_runtimes.listing(opened) == []


def test_a_workspace_that_cannot_be_written_does_not_hide_what_the_bundled_runtime_has(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Workspace(ws).close()

    class ReadOnly(Workspace):
        """Root may write everywhere, so SQLite itself refuses here."""

        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            self.db.execute("PRAGMA query_only = 1")
            self.read_only = True

    monkeypatch.setattr(runtimes, "Workspace", ReadOnly)
    known = listing(ws)[0]
    assert known.facts is not None
    assert known.facts.can_run == {"cpu"}
    assert known.probed_at is None


def test_environments_of_amd_are_discovered_until_they_are_registered(
    ws: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RYZEN_AI_INSTALLATION_PATH", str(second.parent.parent))
    assert second in [candidate.python for candidate in discover(ws)]
    add(ws, second)
    assert second not in [candidate.python for candidate in discover(ws)]


def test_a_survey_has_runtimes_and_machine(ws: Path) -> None:
    seen = survey(ws)
    assert seen.runtimes[0].name == "bundled"
    assert seen.machine["total_memory_bytes"] > 0
