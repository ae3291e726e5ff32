from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from mince_gui.app.export import export_subset
from mince_gui.app.freeze import freeze
from mince_gui.app.pack import pack
from mince_gui.base.errors import UsageError
from mince_gui.base.events import Ended, Event
from mince_gui.base.paths import resources
from mince_gui.subset import bundled, draw_uniform, is_artifact, read_artifact, read_subset


def test_the_bundled_subset_of_mmlu_goes_out_as_lm_evals_map(tmp_path: Path) -> None:
    seen: list[Event] = []
    exported = export_subset(tmp_path / "ws", "mmlu-1500", "lm-eval", emit=seen.append)
    assert exported.path == tmp_path / "ws" / "exports" / "mmlu-1500.samples.json"
    samples = json.loads(exported.path.read_text(encoding="utf-8"))
    assert tuple(samples) == exported.tasks
    assert all(task.startswith("mmlu_") for task in exported.tasks)
    assert sum(map(len, samples.values())) == 1500
    assert isinstance(seen[-1], Ended)


def test_a_csv_has_position_key_category_and_hash(tmp_path: Path) -> None:
    exported = export_subset(tmp_path / "ws", "mmlu-1500", "csv", out=tmp_path / "m.csv")
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    subset = exported.subset
    assert [row["key"] for row in rows] == list(subset.item_keys)
    assert [row["hash"] for row in rows] == list(subset.hashes)
    assert [int(row["position"]) for row in rows] == list(draw_uniform(14_042, 1_500, 42))
    assert all(row["category"] == row["key"].rpartition("/")[0] for row in rows)


def test_categories_come_from_the_logs_and_stay_empty_where_nothing_knows_them(tmp_path: Path, prepared: Path) -> None:
    subset = freeze(prepared, "demo-choice", 40, seed=3, out=tmp_path / "s.json").subset
    for workspace, known in ((prepared, True), (tmp_path / "empty", False)):
        export_subset(workspace, str(tmp_path / "s.json"), "csv", out=tmp_path / "d.csv")
        with (tmp_path / "d.csv").open(encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
        assert [row["key"] for row in rows] == list(subset.item_keys)
        assert all(bool(row["category"]) is known for row in rows)


def test_an_artifact_comes_back_as_the_same_items(tmp_path: Path) -> None:
    for file in bundled():
        exported = export_subset(tmp_path / "ws", str(file), "quark")
        assert is_artifact(exported.path)
        assert read_artifact(exported.path).item_keys == read_subset(file).item_keys


def test_what_the_other_tool_does_not_know_is_refused(tmp_path: Path, prepared: Path) -> None:
    freeze(prepared, "demo-math", 30, seed=5)
    for form, named in (("lm-eval", "no task for Demo math"), ("quark", "knows no demo-math")):
        with pytest.raises(UsageError, match=named):
            export_subset(prepared, "demo-math-30-s5", form, out=tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--task belongs to"):
        export_subset(tmp_path / "ws", "gsm8k-400", "csv", task="gsm8k")
    with pytest.raises(UsageError, match="neither a file nor a subset"):
        export_subset(tmp_path / "ws", "nope", "csv")
    assert not (tmp_path / "x").exists()


@pytest.mark.shared
def test_item_texts_are_in_the_artifact_where_the_workspace_has_the_pack(shared: Path, tmp_path: Path) -> None:
    pack(tmp_path / "ws", shared / "data" / "gsm8k", subset="gsm8k-400")
    exported = export_subset(tmp_path / "ws", "gsm8k-400", "quark")
    items = json.loads(exported.path.read_text(encoding="utf-8"))["items"]
    assert all(0 < len(item["question"]) <= 80 for item in items)


def test_the_demo_packs_still_read(tmp_path: Path) -> None:
    made = pack(tmp_path / "ws", resources() / "demo" / "demo-choice", all_of="demo-choice").pack
    assert made.source.startswith("test.jsonl")
    assert "; few-shot dev.jsonl" in made.source
