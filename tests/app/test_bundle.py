"""Runs that are carried from one workspace to another: real runs of the demo model, real workspaces."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.bundle import export_runs, import_bundle, show_bundle
from mince_gui.app.demo import model_dir
from mince_gui.app.export_run import export_run
from mince_gui.app.listings import delete_run, list_runs, show_run
from mince_gui.app.report import compute
from mince_gui.app.rescore import rescore
from mince_gui.app.run import RunOrder, create, execute
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import InputError, UsageError
from mince_gui.base.events import Event, ItemDone
from mince_gui.cli import main
from mince_gui.report.documents.write import json_text
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from tests.app.bundles import content, lines, members, put_together


@dataclass(frozen=True)
class Laptop:
    """A workspace with a full run, a subset run, and one that was stopped in the middle; and bundles of them."""

    workspace: Path
    full: str
    subset: str
    stopped: str
    bundle: Path
    early: Path


def run_of(workspace: Path, subset: str, *, limit: int | None = None, stop_after: int | None = None) -> str:
    run_id = create(workspace, RunOrder(model_dir(), subset, limit=limit))
    go_on(workspace, run_id, stop_after=stop_after)
    return run_id


def go_on(workspace: Path, run_id: str, *, stop_after: int | None = None) -> None:
    cancel = CancelToken()

    def watch(event: Event) -> None:
        if isinstance(event, ItemDone) and event.done == stop_after:
            cancel.cancel()

    execute(workspace, run_id, emit=watch, cancel=cancel)


@pytest.fixture(scope="module")
def laptop(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Laptop:
    place = tmp_path_factory.mktemp("laptop")
    workspace = place / "ws"
    shutil.copytree(prepared, workspace)
    full, subset = run_of(workspace, "demo-math-full"), run_of(workspace, "demo-math-175")
    stopped = run_of(workspace, "demo-choice-full", limit=30, stop_after=10)
    every = export_runs(workspace, [full, subset, stopped], place / "all")
    early = export_runs(workspace, [stopped], place / "early")
    return Laptop(workspace, full, subset, stopped, every.path, early.path)


@pytest.fixture
def own(laptop: Laptop, tmp_path: Path) -> Path:
    """A copy of the laptop's workspace, to be changed."""
    shutil.copytree(laptop.workspace, tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def lab(prepared: Path, tmp_path: Path) -> Path:
    """Another workspace, with the same references and packs and without runs."""
    shutil.copytree(prepared, tmp_path / "lab")
    return tmp_path / "lab"


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def changed(workspace: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(workspace / "mince.db")) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(statement, values)


def whats(workspace: Path, bundle: Path) -> list[str]:
    return [one.what for one in import_bundle(workspace, bundle).runs]


def test_a_bundle_is_the_same_bytes_every_time_and_from_an_imported_copy(laptop: Laptop, tmp_path: Path) -> None:
    runs = [laptop.full, laptop.subset, laptop.stopped]
    again = export_runs(laptop.workspace, list(reversed(runs)), tmp_path / "again")
    assert again.path.name == "again.mincerun"
    assert again.path.read_bytes() == laptop.bundle.read_bytes()
    assert whats(tmp_path / "empty", laptop.bundle) == ["new"] * 3
    copy = export_runs(tmp_path / "empty", runs, tmp_path / "copy.mincerun")
    assert copy.path.read_bytes() == laptop.bundle.read_bytes()


def test_runs_come_over_with_everything_that_is_stored_of_their_items(laptop: Laptop, lab: Path) -> None:
    import_bundle(lab, laptop.bundle)
    for run_id in (laptop.full, laptop.subset, laptop.stopped):
        mine, items = show_run(laptop.workspace, run_id)
        theirs, copied = show_run(lab, run_id)
        assert copied == items
        assert (theirs.conditions, theirs.cause, theirs.ended_at) == (mine.conditions, mine.cause, mine.ended_at)
        assert list(theirs.conditions or {}) == list(mine.conditions or {})
        assert theirs.elapsed_seconds == mine.elapsed_seconds


def test_the_report_of_an_imported_run_is_that_of_its_laptop_with_a_measured_speedup(laptop: Laptop, lab: Path) -> None:
    import_bundle(lab, laptop.bundle)
    there, here = compute(laptop.workspace, laptop.subset), compute(lab, laptop.subset)
    assert here.speedup.kind == "measured"

    def body(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text)
        found.pop("origin", None)
        return found

    assert body(json_text(here)) == body(json_text(there))


def test_without_its_full_run_an_imported_one_has_no_measured_speedup(
    laptop: Laptop, lab: Path, tmp_path: Path
) -> None:
    alone = export_runs(laptop.workspace, [laptop.subset], tmp_path / "alone").path
    import_bundle(lab, alone)
    assert compute(lab, laptop.subset).speedup.kind == "estimate"


def test_an_imported_run_says_where_it_came_from_and_is_exported_and_deleted_like_any_other(
    laptop: Laptop, lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = import_bundle(lab, laptop.bundle)
    run = next(run for run in list_runs(lab) if run.run_id == laptop.subset)
    assert run.origin["machine"] == (run.conditions or {})["machine"]
    assert (run.origin["bundle"], run.origin["bundle_sha256"]) == (laptop.bundle.name, imported.sha256)
    assert not str(run.plan.model_dir).startswith("/")
    assert main(["runs", "--workspace", str(lab)]) == 0
    assert "made on" in capsys.readouterr().out
    assert main(["runs", "--json", "--workspace", str(lab)]) == 0
    assert {entry["origin"]["bundle"] for entry in json.loads(capsys.readouterr().out)} == {laptop.bundle.name}
    assert main(["runs", "show", laptop.subset, "--limit", "1", "--workspace", str(lab)]) == 0
    assert f"from {laptop.bundle.name}" in capsys.readouterr().out
    assert export_run(lab, laptop.subset, "csv", out=tmp_path / "run.csv").items == 175
    delete_run(lab, laptop.subset)
    assert [one.what for one in import_bundle(lab, laptop.bundle).runs if one.run.run_id == laptop.subset] == ["new"]


def test_a_run_is_only_resumed_where_it_was_made(laptop: Laptop, lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_bundle(lab, laptop.early)
    before = content(lab)
    assert main(["run", "--resume", laptop.stopped, "--workspace", str(lab), "--events", "none"]) == 2
    assert "can be resumed only there" in capsys.readouterr().err
    with Workspace(lab) as ws, pytest.raises(UsageError, match="only there"):
        stored_runs.await_runner(ws, laptop.stopped)
    assert content(lab) == before


def test_a_run_that_went_on_is_brought_up_to_date_and_an_older_bundle_of_it_changes_nothing(
    laptop: Laptop, own: Path, lab: Path, tmp_path: Path
) -> None:
    assert whats(lab, laptop.early) == ["new"]
    go_on(own, laptop.stopped)
    later = export_runs(own, [laptop.stopped], tmp_path / "later").path
    assert whats(lab, later) == ["updated"]
    run, items = show_run(lab, laptop.stopped)
    assert (run.cause, run.done, run.origin["bundle"]) == ("done", 30, later.name)
    assert items == show_run(own, laptop.stopped)[1]
    after = content(lab)
    assert whats(lab, laptop.early) == ["older"]
    assert whats(lab, later) == ["already here"]
    assert content(lab) == after


def test_the_same_runs_of_another_bundle_are_here_already(laptop: Laptop, lab: Path, tmp_path: Path) -> None:
    import_bundle(lab, laptop.bundle)
    before = content(lab)
    other = export_runs(lab, [laptop.subset], tmp_path / "other").path
    assert whats(lab, other) == ["already here"]
    assert whats(laptop.workspace, other) == ["already here"]
    assert content(lab) == before


def test_a_copy_under_another_id_is_the_same_run(laptop: Laptop, lab: Path, tmp_path: Path) -> None:
    import_bundle(lab, laptop.early)
    parts = {name.replace(laptop.stopped, "20200101-000000-abcd"): raw for name, raw in members(laptop.early).items()}
    for name in ("manifest.json", "runs/20200101-000000-abcd/run.json"):
        parts[name] = parts[name].replace(laptop.stopped.encode(), b"20200101-000000-abcd")
    renamed = tmp_path / "renamed.mincerun"
    renamed.write_bytes(put_together(parts, digests=False))
    (one,) = import_bundle(lab, renamed).runs
    assert (one.what, one.here) == ("already here", laptop.stopped)
    assert len(list_runs(lab)) == 1


@pytest.mark.parametrize(
    ("statement", "facts"),
    [
        ('UPDATE run_items SET extracted = \'{"none": "forged"}\' WHERE position = 3 AND run_id = ?', "extracted of"),
        ("UPDATE run_scores SET passed = 1 - passed WHERE position = 4 AND run_id = ?", "scores of item"),
        ("UPDATE run_items SET wall_seconds = wall_seconds / 2 WHERE position = 5 AND run_id = ?", "wall_seconds of"),
        ("UPDATE runs SET model = 'another' WHERE run_id = ?", "'another' in the file"),
        ("UPDATE runs SET settings = json_set(settings, '$.threads', 3) WHERE run_id = ?", "settings is"),
    ],
)
def test_a_run_that_contradicts_the_one_that_is_here_is_refused_with_both_facts(
    laptop: Laptop, own: Path, lab: Path, tmp_path: Path, statement: str, facts: str
) -> None:
    import_bundle(lab, laptop.early)
    changed(own, statement, laptop.stopped)
    # The first run of the file would be new here: it stays out, too.
    forged = export_runs(own, [laptop.full, laptop.stopped], tmp_path / "forged").path
    before = content(lab)
    with pytest.raises(InputError, match=r"contradicts this workspace.* here, .* in the file") as caught:
        import_bundle(lab, forged)
    assert facts in caught.value.message
    assert forged.name in caught.value.message
    assert content(lab) == before


def test_runs_that_went_on_in_two_places_contradict_each_other(
    laptop: Laptop, own: Path, lab: Path, tmp_path: Path
) -> None:
    changed(own, "DELETE FROM run_items WHERE position = 0 AND run_id = ?", laptop.stopped)
    import_bundle(lab, laptop.early)
    changed(lab, "DELETE FROM run_items WHERE position = 1 AND run_id = ?", laptop.stopped)
    parted = export_runs(own, [laptop.stopped], tmp_path / "parted").path
    with pytest.raises(InputError, match="is done here alone"):
        import_bundle(lab, parted)


def test_a_run_of_this_workspace_is_never_overwritten_by_a_bundle_that_has_more_of_it(
    laptop: Laptop, own: Path, tmp_path: Path
) -> None:
    shutil.copytree(own, tmp_path / "backup")
    go_on(own, laptop.stopped)
    later = export_runs(own, [laptop.stopped], tmp_path / "later").path
    before = content(tmp_path / "backup")
    with pytest.raises(InputError, match=r"made in this workspace, and has 30 items in the file against 10 here"):
        import_bundle(tmp_path / "backup", later)
    assert content(tmp_path / "backup") == before


def test_an_own_bundle_with_nothing_more_in_it_changes_nothing_whenever_it_was_made(
    laptop: Laptop, own: Path, tmp_path: Path
) -> None:
    later = export_runs(own, [laptop.stopped], tmp_path / "later").path
    # As after a second sitting that did no item and was killed.
    statement = (
        "UPDATE runs SET state = 'running', cause = NULL, ended_at = NULL, pid = ?, pid_started = 0 WHERE run_id = ?"
    )
    changed(own, statement, dead_process(), laptop.stopped)
    before = content(own)
    assert whats(own, later) == ["older"]
    assert content(own) == before


def test_an_interrupted_run_is_carried_as_one_and_a_live_or_new_one_is_not(
    laptop: Laptop, own: Path, lab: Path, tmp_path: Path
) -> None:
    changed(
        own,
        "UPDATE runs SET state = 'running', cause = NULL, ended_at = NULL, pid = ?, pid_started = 1.0 WHERE run_id = ?",
        dead_process(),
        laptop.stopped,
    )
    waiting = create(own, RunOrder(model_dir(), "demo-math-175"))
    exported = export_runs(own, [], tmp_path / "all", everything=True)
    assert exported.left_out == {waiting: f"Run {waiting} has not begun."}
    assert {run.run_id: run.state for run in exported.runs}[laptop.stopped] == "interrupted"
    import_bundle(lab, exported.path)
    assert {run.run_id: run.state for run in list_runs(lab)}[laptop.stopped] == "interrupted"
    ids = [run.run_id for run in exported.runs]
    assert export_runs(lab, ids, tmp_path / "copy").path.read_bytes() == exported.path.read_bytes()
    # The end that the laptop's run has by now is later than none.
    assert whats(lab, laptop.early) == ["updated"]
    with Workspace(own) as ws:
        stored_runs.take(ws, laptop.stopped)
    with pytest.raises(UsageError, match="is going on"):
        export_runs(own, [laptop.stopped], tmp_path / "live")
    assert not (tmp_path / "live.mincerun").exists()
    with pytest.raises(UsageError, match="is going on"):
        import_bundle(own, laptop.early)


def test_a_run_that_no_reader_would_take_is_told_before_it_is_carried_away(
    laptop: Laptop, own: Path, tmp_path: Path
) -> None:
    changed(own, "UPDATE run_items SET finished_at = 'yesterday' WHERE position = 7 AND run_id = ?", laptop.stopped)
    with pytest.raises(InputError, match=rf"run {laptop.stopped}, item .*'finished_at' is not a time"):
        export_runs(own, [laptop.stopped], tmp_path / "one")
    every = export_runs(own, [], tmp_path / "all", everything=True)
    assert list(every.left_out) == [laptop.stopped]
    assert {run.run_id for run in every.runs} == {laptop.full, laptop.subset}
    with pytest.raises(UsageError, match="no run to export"):
        export_runs(tmp_path / "empty", [], tmp_path / "none", everything=True)
    assert not (tmp_path / "one.mincerun").exists()
    assert not (tmp_path / "none.mincerun").exists()


def test_a_run_that_was_scored_again_is_carried_with_where_its_answers_are_from(
    laptop: Laptop, own: Path, lab: Path, tmp_path: Path
) -> None:
    again = rescore(own, laptop.subset, keep=True).run_id
    assert again is not None
    pair = export_runs(own, [laptop.subset, again], tmp_path / "pair")
    import_bundle(lab, pair.path)
    assert {run.run_id: run.rescored_of for run in list_runs(lab)} == {again: laptop.subset, laptop.subset: ""}
    copy = export_runs(lab, [again, laptop.subset], tmp_path / "copy")
    assert copy.path.read_bytes() == pair.path.read_bytes()
    # What came over can itself be scored again: its pack is known here.
    assert rescore(lab, laptop.subset).run_id is None


def test_no_path_of_the_laptop_is_in_a_bundle(laptop: Laptop, own: Path, tmp_path: Path) -> None:
    changed(
        own,
        "UPDATE runs SET settings = json_set(settings, '$.chat_template', ?, '$.runtime', ?), model_dir = ?,"
        " detail = ? WHERE run_id = ?",
        r"C:\Users\somebody\chat.jinja",
        r"C:\Users\somebody\ryzen\python.exe",
        r"C:\Users\somebody\models\phi",
        r"C:\Users\somebody\models\phi cannot be read",
        laptop.stopped,
    )
    bundle = export_runs(own, [laptop.stopped], tmp_path / "run").path
    parts = members(bundle)
    assert not [name for name, raw in parts.items() if b"somebody" in raw or str(laptop.workspace).encode() in raw]
    run = json.loads(parts[f"runs/{laptop.stopped}/run.json"])
    assert (run["model_dir"], run["detail"]) == ("phi", "phi cannot be read")
    assert (run["settings"]["chat_template"], run["settings"]["runtime"]) == ("chat.jinja", "python.exe")
    assert run["pack"] == "demo-choice-full.mincepack"


def test_what_a_bundle_said_of_a_pack_gives_way_to_the_pack_itself(laptop: Laptop, lab: Path, tmp_path: Path) -> None:
    parts = members(laptop.early)
    name = next(name for name in parts if name.startswith("subsets/"))
    with Workspace(laptop.workspace) as ws:
        other = next(row[0] for row in ws.db.execute("SELECT sha256 FROM packs WHERE name = 'demo-math-full'"))
    run_json = f"runs/{laptop.stopped}/run.json"
    parts[f"subsets/{other}.json"] = parts.pop(name)
    parts[run_json] = parts[run_json].replace(name[8:-5].encode(), other.encode())
    lying = tmp_path / "lying.mincerun"
    lying.write_bytes(put_together(parts))
    import_bundle(lab, lying)
    run_id = create(lab, RunOrder(model_dir(), "demo-math-full", limit=1))
    with Workspace(lab) as ws:
        assert stored_runs.subset_of(ws, stored_runs.get(ws, run_id)).name == "demo-math-full"
    # And the other way round: what is known of a pack here is not overruled.
    delete_run(lab, laptop.stopped)
    with pytest.raises(InputError, match="is another one here"):
        import_bundle(lab, lying)


def test_an_item_of_another_subset_and_a_metric_of_another_task_are_refused(
    laptop: Laptop, lab: Path, tmp_path: Path
) -> None:
    member = f"runs/{laptop.stopped}/items.jsonl"
    for change, words in (
        ({"item_key": "no-such-item"}, "line 3: .*not of the run's subset"),
        ({"scores": {"acc": [1.0, 1.0], "bleu": [1.0, 1.0]}}, "line 3: its metrics are not"),
    ):
        parts = members(laptop.early)
        items = [json.loads(line) for line in parts[member].splitlines()]
        items[2] |= change
        parts[member] = lines(items)
        bad = tmp_path / "bad.mincerun"
        bad.write_bytes(put_together(parts))
        with pytest.raises(InputError, match=words):
            import_bundle(lab, bad)
    assert not list_runs(lab)


def test_the_command_line_exports_shows_and_imports_and_one_bad_file_keeps_no_other_out(
    laptop: Laptop, lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--workspace", str(laptop.workspace)]
    out = tmp_path / "runs"
    assert main(["bundle", "export", laptop.subset, "--out", str(out), "--json", *where]) == 0
    path = json.loads(capsys.readouterr().out)["path"]
    assert path == f"{out}.mincerun"
    assert main(["bundle", "export", "--out", str(out), *where]) == 2
    assert main(["bundle", "export", "--all", laptop.subset, "--out", str(out), *where]) == 2
    assert main(["bundle", "export", "20000101-000000-0000", "--out", str(out), *where]) == 2
    capsys.readouterr()
    assert main(["bundle", "show", path, "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["run_id"], run["done"], run["model"]) == (laptop.subset, 175, show_bundle(Path(path)).runs[0].model)
    bad = tmp_path / "bad.mincerun"
    bad.write_bytes(Path(path).read_bytes()[:-100])
    into = ["--workspace", str(lab)]
    assert main(["bundle", "import", str(bad), path, *into]) == 3
    shown = capsys.readouterr()
    assert "bad.mincerun" in shown.err
    assert laptop.subset in shown.out
    assert main(["bundle", "import", str(bad), str(bad), *into]) == 3
    assert "2 of 2 files were refused (see above); nothing was changed." in capsys.readouterr().err
    assert main(["bundle", "import", path, str(laptop.bundle), "--json", *into]) == 0
    done = json.loads(capsys.readouterr().out)["bundles"]
    assert [[one["what"] for one in bundle["runs"]] for bundle in done] == [
        ["already here"], ["new", "already here", "new"],
    ]  # fmt: skip
