"""What a run is compared with, found in a workspace by itself or by name.

There is no NPU here: a run "on the NPU" is a copy of a CPU run's rows, whose conditions say so and whose answers were
changed on some items.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.demo import folder, model_dir
from mince_gui.app.reference import import_references
from mince_gui.app.report import compute
from mince_gui.app.run import RunOrder, create
from mince_gui.base.errors import UsageError
from mince_gui.report.model import PairedReport
from mince_gui.store import Workspace
from mince_gui.store import runs as stored_runs
from tests.app.conftest import Walked

FP32: dict[str, Any] = {"model": "demo-device-fp32", "precision": "fp32", "model_sha256": "f" * 64}
NPU: dict[str, Any] = {"device": "NPU (RyzenAI)", "device_proven": False, "device_proof": "not proven: no xrt-smi"}


def copied(workspace: Path, source: str, name: str, *, flip: int = 0, model: str = "", **conditions: Any) -> str:
    """A copy of a run under another name and with other conditions; every `flip`-th item has another verdict."""
    with closing(sqlite3.connect(workspace / "mince.db")) as db, db:
        for table in ("runs", "run_items", "run_scores"):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "run_id"]
            listed = ", ".join(names)
            db.execute(
                f"INSERT INTO {table} (run_id, {listed}) SELECT ?, {listed} FROM {table} WHERE run_id = ?",
                (name, source),
            )
        (text,) = db.execute("SELECT conditions FROM runs WHERE run_id = ?", (name,)).fetchone()
        changed = json.dumps(json.loads(text) | conditions)
        db.execute(
            "UPDATE runs SET conditions = ?, model = ifnull(?, model) WHERE run_id = ?", (changed, model or None, name)
        )
        if flip:
            db.execute(
                "UPDATE run_scores SET passed = trials - passed WHERE run_id = ? AND position % ? = 0", (name, flip)
            )
    return name


@pytest.fixture
def workspace(walked: Walked, tmp_path: Path) -> Path:
    """A copy of the demo's workspace: subset and full runs of both benchmarks."""
    copy = tmp_path / "workspace"
    shutil.copytree(walked.workspace, copy)
    return copy


@pytest.fixture
def subset_run(walked: Walked) -> str:
    """The run of the demo's word problems."""
    return next(part.subset_run.run_id for part in walked.parts if part.subset.benchmark == "demo-math")


@pytest.fixture
def full_run(walked: Walked) -> str:
    return next(part.full.run_id for part in walked.parts if part.full and part.subset.benchmark == "demo-math")


def roles(pairs: tuple[PairedReport, ...]) -> dict[str, str]:
    return {pair.ident: pair.role for pair in pairs}


def test_a_run_on_the_npu_finds_the_same_build_on_the_cpu_and_the_unquantised_model(
    workspace: Path, subset_run: str, full_run: str
) -> None:
    npu = copied(workspace, subset_run, "npu", flip=9, precision="int4", **NPU)
    full_precision = copied(workspace, subset_run, "fp32", flip=5, **FP32)
    found = compute(workspace, npu).paired
    # The full run on the CPU has the same items, and is newer than the subset's.
    assert roles(found) == {full_run: "hardware", full_precision: "quantisation and hardware"}
    hardware = next(pair for pair in found if pair.role == "hardware")
    assert hardware.common == hardware.wanted
    assert {item.change for item in hardware.changed} <= {"gained", "lost"}
    assert len(hardware.changed) == len([place for place in range(hardware.wanted) if place % 9 == 0])


def test_a_run_on_the_cpu_is_not_paired_with_the_npu_nor_an_unquantised_one_with_the_quantised(
    workspace: Path, subset_run: str
) -> None:
    copied(workspace, subset_run, "npu", precision="int4", **NPU)
    full_precision = copied(workspace, subset_run, "fp32", **FP32)
    assert roles(compute(workspace, subset_run).paired) == {full_precision: "quantisation"}
    assert compute(workspace, full_precision).paired == ()


def test_the_side_with_the_most_items_in_common_is_taken_and_of_equal_ones_the_newest(
    workspace: Path, subset_run: str
) -> None:
    older, newer, part = (copied(workspace, subset_run, name, **FP32) for name in ("older", "newer", "part"))
    with closing(sqlite3.connect(workspace / "mince.db")) as db, db:
        db.execute("UPDATE runs SET created_at = '2026-01-01' WHERE run_id = ?", (older,))
        db.execute("UPDATE runs SET created_at = '2027-01-01' WHERE run_id = ?", (part,))
        db.execute("DELETE FROM run_items WHERE run_id = ? AND position > 3", (part,))
    assert list(roles(compute(workspace, subset_run).paired)) == [newer]


def test_a_side_that_was_asked_alike_goes_before_a_newer_one_that_was_not(workspace: Path, subset_run: str) -> None:
    copied(workspace, subset_run, "alike", **FP32)
    copied(workspace, subset_run, "template", **FP32, chat_template_sha256="a" * 64)
    copied(workspace, subset_run, "budget", **FP32, budget=7)
    assert list(roles(compute(workspace, subset_run).paired)) == ["alike"]
    (pair,) = compute(workspace, subset_run, against=["budget"]).paired
    assert any(warning.startswith("The token budget differs: ") for warning in pair.warnings)


def test_a_run_is_held_against_no_full_score_that_was_asked_otherwise_or_is_of_an_unknown_folder(
    workspace: Path, subset_run: str
) -> None:
    chat = copied(workspace, subset_run, "chat", chat_template_sha256="a" * 64)
    nameless = copied(workspace, subset_run, "nameless", model_sha256="")
    for name in (chat, nameless):
        report = compute(workspace, name)
        assert all(metric.drift_pp is None for metric in report.metrics)
        assert all(source.use == "total gap" for source in report.sources)


def test_full_runs_of_folders_without_a_hash_are_nobodys_own(workspace: Path, subset_run: str, full_run: str) -> None:
    copied(workspace, full_run, "whole", model="some other model", model_sha256="")
    part = copied(workspace, subset_run, "part", model_sha256="")
    assert all(metric.drift_pp is None for metric in compute(workspace, part).metrics)


def test_an_own_full_run_that_was_made_elsewhere_is_taken_with_a_warning(
    workspace: Path, subset_run: str, full_run: str
) -> None:
    npu = copied(workspace, subset_run, "npu", machine="laptop-7", **NPU)
    own = next(source for source in compute(workspace, npu).sources if source.use == "own full run")
    assert own.reference_id == full_run
    assert "its device is CPU, the run's NPU (RyzenAI)" in own.warnings
    assert any(warning.endswith("the run's laptop-7") for warning in own.warnings)
    same = next(source for source in compute(workspace, subset_run).sources if source.use == "own full run")
    assert same.warnings == ()


def test_a_reference_with_outcomes_per_item_is_a_side_and_aggregates_are_refused_by_name(
    workspace: Path, subset_run: str
) -> None:
    stored = import_references(workspace, folder() / "logs" / "demo-1200-steps", model="demo-device", precision="fp32")
    math = next(reference for reference in stored if reference.benchmark == "demo-math")
    assert roles(compute(workspace, subset_run).paired) == {math.reference_id: "quantisation"}
    results = next((folder() / "logs" / "demo-1200-steps").glob("results_*.json"))
    aggregates = import_references(workspace, results, model="another", precision="fp32")
    name = next(reference.reference_id for reference in aggregates if reference.benchmark == "demo-math")
    with pytest.raises(UsageError, match="aggregate scores only"):
        compute(workspace, subset_run, against=[name])


def test_sides_that_are_named_are_taken_whatever_they_are(workspace: Path, subset_run: str, full_run: str) -> None:
    found = compute(workspace, subset_run, against=[full_run, "demo-1200-steps"]).paired
    assert [pair.ident for pair in found] == [full_run, "log of demo-1200-steps"]
    assert [pair.role for pair in found] == ["repeat", "other"]
    assert all(pair.common == pair.wanted for pair in found)
    # The same model answers the same, so nothing changed; another model does not.
    assert found[0].changed == ()
    assert found[1].changed


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "no run, reference or imported log 'nothing'"),
        ("itself", "is the run itself"),
        ("choice", "is of demo-choice"),
    ],
)
def test_a_side_that_cannot_be_paired_is_refused_with_its_reason(
    workspace: Path, walked: Walked, subset_run: str, name: str, why: str
) -> None:
    choice = next(part.subset_run.run_id for part in walked.parts if part.subset.benchmark == "demo-choice")
    given = {"itself": subset_run, "choice": choice}.get(name, name)
    with pytest.raises(UsageError, match=why):
        compute(workspace, subset_run, against=[given])


def test_a_precision_that_the_folder_hides_is_taken_as_it_was_told(workspace: Path, subset_run: str) -> None:
    """NPU builds hide their weights in the vendor's operators, and are often not named after their precision."""
    hidden = {**NPU, "model": "demo-device-npu", "precision": "", "model_sha256": "e" * 64}
    unknown = copied(workspace, subset_run, "unknown", **hidden)
    told = copied(workspace, subset_run, "told", **hidden)
    with closing(sqlite3.connect(workspace / "mince.db")) as db, db:
        (text,) = db.execute("SELECT settings FROM runs WHERE run_id = ?", (told,)).fetchone()
        changed = json.dumps(json.loads(text) | {"precision": "int4"})
        db.execute("UPDATE runs SET settings = ? WHERE run_id = ?", (changed, told))
    assert compute(workspace, unknown).paired == ()
    report = compute(workspace, told)
    assert set(roles(report.paired).values()) == {"hardware", "quantisation and hardware"}
    assert (report.precision, report.conditions["precision"]) == ("int4", "int4, as told by whoever started the run")


def test_an_order_takes_a_precision_by_any_of_its_names_and_refuses_others(workspace: Path) -> None:
    run_id = create(workspace, RunOrder(model_dir(), "demo-math-175", precision="AWQ"))
    with Workspace(workspace) as ws:
        assert stored_runs.get(ws, run_id).plan.settings["precision"] == "int4"
    with pytest.raises(UsageError, match="'good' is no precision"):
        create(workspace, RunOrder(model_dir(), "demo-math-175", precision="good"))
