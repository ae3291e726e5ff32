"""mince queue: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from mince_gui.app import queue
from mince_gui.app.demo import model_dir, prepare
from mince_gui.cli import main
from mince_gui.cli.queue import _print
from mince_gui.store import Workspace
from mince_gui.store import queue as stored_queue


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the demo's packs; each test leaves its queue empty."""
    workspace = tmp_path_factory.mktemp("packed")
    prepare(workspace)
    return workspace


@pytest.fixture
def workspace(packed: Path) -> Path:
    """With an empty queue."""
    queue.clear(packed)
    return packed


def test_every_model_is_added_on_every_subset_in_order(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--workspace", str(workspace)]
    words = ["queue", "add", "--model", "a", "--model", "b", "--subset", "s", "--subset", "t", "--limit", "2", *where]
    assert main([*words, "--timing", "fast", "--worker-memory", "1.5"]) == 0
    assert "Added entry 1 to 4." in capsys.readouterr().out
    with Workspace(workspace) as ws:
        orders = [entry.order for entry in stored_queue.entries(ws)]
    assert [(Path(order["model_dir"]).name, order["subset"]) for order in orders] == [
        ("a", "s"), ("a", "t"), ("b", "s"), ("b", "t"),
    ]  # fmt: skip
    assert {(order["limit"], order["timing"], order["worker_bytes"]) for order in orders} == {
        (2, "fast", 1_500_000_000)
    }
    assert main(["queue", "list", *where]) == 0
    assert capsys.readouterr().out.count("waiting") == 4
    assert main(["queue", "list", "--json", *where]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["runner"] is None
    assert [entry["entry_id"] for entry in listed["entries"]] == [1, 2, 3, 4]
    assert main(["queue", "remove", "2", *where]) == 0
    assert main(["queue", "remove", "2", *where]) == 2
    assert main(["queue", "clear", *where]) == 0
    assert "3 entries are out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        ([], 0, ""),
        (["--system-prompt", "Think of it. " * 400], 4, "Items are missing in 1 of 2 entries: 2."),
        (["--task", "nonsense"], 1, "1 of 2 entries failed: 2."),
    ],
)
def test_the_exit_code_says_what_the_worst_entry_came_to(
    workspace: Path, capsys: pytest.CaptureFixture[str], extra: list[str], code: int, words: str
) -> None:
    where = ["--workspace", str(workspace)]
    add = ["queue", "add", "--model", str(model_dir()), "--subset", "demo-math-full", "--limit", "2", *where]
    assert main(add) == 0
    assert main([*add, *extra]) == 0
    capsys.readouterr()
    assert main(["queue", "start", "--events", "none", "--json", *where]) == code
    told = capsys.readouterr()
    assert words in told.err
    body = json.loads(told.out)
    assert body["left"] == 0
    assert [entry["cause"] == "done" for entry in body["entries"]] == [True, code == 0]


def test_an_empty_queue_is_no_error(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queue", "start", "--workspace", str(workspace)]) == 0
    assert main(["queue", "list", "--workspace", str(workspace)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "No entry of the queue is waiting.",
        "The queue is empty. Add runs: mince queue add --model DIR --subset NAME",
    ]


def test_a_detached_queue_is_told_as_json_where_that_is_asked_for(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["queue", "start", "--detach", "--json", "--workspace", str(workspace)]) == 0
    told = json.loads(capsys.readouterr().out)
    psutil.wait_procs([psutil.Process(told["pid"])], timeout=60)
    assert Path(told["log"]) == queue.queue_log(workspace)


@pytest.mark.parametrize("option", ["--worker-memory", "--max-item-seconds"])
@pytest.mark.parametrize("amount", ["nan", "inf", "-inf", "0", "-1", "much"])
def test_an_amount_that_is_none_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str], option: str, amount: str
) -> None:
    add = ["queue", "add", "--model", str(model_dir()), "--workspace", str(workspace)]
    assert main([*add, f"{option}={amount}"]) == 2
    assert option in capsys.readouterr().err
    assert queue.listing(workspace).entries == ()


def test_a_model_folder_that_is_not_there_yet_is_told_at_once(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["queue", "add", "--model", str(model_dir()), "--model", str(tmp_path / "Größe"), "--subset", "s"]
    assert main([*words, "--workspace", str(workspace)]) == 0
    told = capsys.readouterr()
    assert "Added entry 1 to 2." in told.out
    (line,) = told.err.splitlines()
    assert str(tmp_path / "Größe") in line


def test_names_from_elsewhere_bring_no_control_characters_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entry = queue.QueueEntry(
        1, Path("a\x1b[2J"), "s\x07", None, "ended", "failed", "gone\x1b[2J\nremedy", None, None, None
    )
    _print([entry])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "! entry 1: gone\\x1b[2J" in printed
