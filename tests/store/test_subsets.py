from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mince_gui.app.pack import find_subset
from mince_gui.base.errors import InputError, UsageError
from mince_gui.benchmarks import get
from mince_gui.cli.main import main
from mince_gui.logs.types import PerItemLog
from mince_gui.store import Workspace, logs, subsets
from mince_gui.subset import FrozenSubset, draw_uniform, write_subset


def _subset(n: int = 20, seed: int = 42, content: str | None = None) -> FrozenSubset:
    keys = tuple(str(i) for i in draw_uniform(1319, n, seed))
    return FrozenSubset("mine", "gsm8k", 1319, n, seed, "uniform", keys, (content,) * n, "openai/gsm8k")


def _freeze(ws: Workspace, subset: FrozenSubset, name: str = "mine.json") -> Path:
    path = ws.subsets_dir / name
    write_subset(path, subset)
    subsets.add_subset(ws, subset, path)
    return path


def _log(model: str, hashes: tuple[str | None, ...]) -> PerItemLog:
    n = len(hashes)
    return PerItemLog(
        model=model, benchmark=get("gsm8k"), task="gsm8k", keys=tuple(str(i) for i in range(n)),
        categories=(None,) * n, hashes=hashes, passed={"m": np.ones(n)}, trials={"m": np.ones(n)},
        format="made", source="here", timestamp="t",
    )  # fmt: skip


def test_the_same_items_may_be_stored_again_with_newer_evidence(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        _freeze(ws, _subset())
        newer = dataclasses.replace(_subset(content="a" * 64), evidence={"tau_pp": 1.0})
        _freeze(ws, newer)
        assert [stored.subset for stored in subsets.subsets(ws)] == [newer]


def test_other_items_under_a_name_are_refused_until_the_old_file_is_moved_away(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        path = _freeze(ws, _subset())
        for other in (_subset(seed=43), _subset(n=21)):
            with pytest.raises(UsageError, match="another subset mine, with other items"):
                _freeze(ws, other, f"{other.n}-{other.seed}.json")
        assert [stored.subset for stored in subsets.subsets(ws)] == [_subset()]
        path.unlink()
        _freeze(ws, _subset(seed=43), "third.json")
        assert [stored.subset for stored in subsets.subsets(ws)] == [_subset(seed=43)]


def test_a_new_subset_may_take_the_place_of_a_file_that_was_moved_away(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        path = _freeze(ws, _subset())
        pack = tmp_path / "mine.mincepack"
        pack.write_bytes(b"of the old items")
        subsets.add_pack(ws, _subset(), pack)
        _freeze(ws, dataclasses.replace(_subset(), evidence={"tau_pp": 1.0}))
        assert len(subsets.packs(ws)) == 1
        path.rename(tmp_path / "kept.json")
        _freeze(ws, _subset(seed=43))
        assert [stored.subset for stored in subsets.subsets(ws)] == [_subset(seed=43)]
        assert subsets.packs(ws) == []
        assert pack.is_file()


def test_the_content_hash_of_an_item_is_what_most_models_logs_say(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        for model, hashes in (
            ("old", ("x", "x", None, "x")),
            ("a", ("h", "h", None, None)),
            ("b", ("h", "y", None, None)),
        ):
            log_id = logs.add(ws, _log(model, hashes)).log_id
            logs.set_excluded(ws, log_id, model == "old")
        rerun = dataclasses.replace(_log("b", ("h", "y", None, None)), timestamp="t2")
        logs.add(ws, rerun)
        # A re-run is no second voice; an excluded log counts where nobody else knows the item.
        assert logs.content_hashes(ws, "gsm8k") == {"0": "h", "1": "h", "3": "x"}
        assert logs.content_hashes(ws, "ifeval") == {}


def test_the_content_hashes_of_frozen_subsets_are_known(tmp_path: Path) -> None:
    with Workspace(tmp_path) as ws:
        _freeze(ws, _subset(content="a" * 64))
        assert subsets.content_hashes(ws, "gsm8k") == dict.fromkeys(_subset().item_keys, "a" * 64)
        assert subsets.content_hashes(ws, "mmlu") == {}


def test_a_subset_that_cannot_be_used_any_more_stands_in_no_others_way(tmp_path: Path) -> None:
    """Frozen while ARC-Challenge was a benchmark of its own, from logs of ten of its items."""
    with Workspace(tmp_path) as ws:
        mine = _subset()
        _freeze(ws, mine)
        body = (ws.subsets_dir / "mine.json").read_text(encoding="utf-8")
        old = body.replace('"gsm8k"', '"arc_challenge"').replace("1319", "10").replace('"mine"', '"old"')
        with ws.writing() as db:
            db.execute("INSERT INTO subsets VALUES ('old', 'arc_challenge', 20, 'old.json', ?, 't')", (old,))
        assert [stored.subset for stored in subsets.subsets(ws)] == [mine]
        assert list(subsets.unreadable(ws)) == ["old"]
        assert "another name" in subsets.unreadable(ws)["old"].remedy
    with Workspace(tmp_path) as ws, pytest.raises(InputError, match="subset old in the workspace"):
        find_subset(ws, "old")


def test_the_command_lists_what_can_be_used_and_names_what_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Workspace(tmp_path) as ws:
        _freeze(ws, _subset())
        with ws.writing() as db:
            db.execute("INSERT INTO subsets VALUES ('old', 'gsm8k', 20, 'old.json', '{}', 't')")
    assert main(["subsets", "--workspace", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "mine" in shown.out
    assert "! " in shown.err
    assert "subset old in the workspace" in shown.err
