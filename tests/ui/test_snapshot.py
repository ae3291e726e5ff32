"""What a follower makes of rows and of an event file that is still being written."""

from __future__ import annotations

from pathlib import Path

import pytest

from mince_gui import benchmarks
from mince_gui.base.events import ItemDone, Progress, to_json
from mince_gui.report import finite_population_interval
from mince_gui.ui.follower import Tail
from mince_gui.ui.run_words import can_resume, state_of, verdict
from mince_gui.ui.snapshot import Trail
from tests.ui.conftest import stored_item, stored_run


def test_the_running_score_has_the_exact_interval_of_the_full_score() -> None:
    trail = Trail(stored_run(), benchmarks.get("gsm8k"))
    trail.add([stored_item(i, float(i % 4 == 0)) for i in range(60)])
    trail.add([stored_item(i, 1.0) for i in range(60, 80)])
    (score,) = trail.scores({"exact_match,strict-match": 41.0})
    assert score.percent == pytest.approx(100 * 35 / 80)
    assert (score.low, score.high) == finite_population_interval(35, 80, 1_319)
    assert (score.title, score.full) == ("strict match", 41.0)


def test_missing_items_count_but_have_no_score_and_no_time() -> None:
    trail = Trail(stored_run(), benchmarks.get("gsm8k"))
    lost = stored_item(1, 0.0, state="missing", scores={}, first_token_seconds=None, cause="crashed twice")
    trail.add([stored_item(0, 1.0), lost])
    assert (trail.count, trail.done) == (2, 1)
    assert trail.scores({})[0].percent == 100.0
    facts = trail.facts()
    assert facts["first_token_seconds"] == pytest.approx(0.6)
    assert facts["decode_rate"] == pytest.approx(5.0)
    assert facts["prefill_rate"] == pytest.approx(200.0)
    assert verdict(lost) == ("missing: crashed twice", "bad:warn")


def test_the_workers_memory_is_that_of_the_latest_item_that_tells_it() -> None:
    trail = Trail(stored_run(), benchmarks.get("gsm8k"))
    assert trail.facts()["memory_bytes"] is None
    trail.add([stored_item(0, 1.0, memory_bytes=7), stored_item(1, 1.0, memory_bytes=9), stored_item(2, 1.0)])
    assert trail.facts()["memory_bytes"] == 9


def test_a_line_that_is_still_being_written_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    tail = Tail(path)
    assert tail.new() == []
    line = to_json(Progress(3, 10, "é"))
    path.write_text(line[:20], encoding="ascii")
    assert tail.new() == []
    with path.open("a", encoding="ascii") as file:
        file.write(line[20:] + "\n")
    assert tail.new() == [Progress(3, 10, "é")]
    assert tail.new() == []


def test_a_long_event_file_is_read_from_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    done = ItemDone("r", 1, 9, "k", None, "done", {}, {}, 1, 1, 0.1, 0.1, 1.0, 1.0, 5.0)
    with path.open("w", encoding="ascii") as file:
        for _ in range(2_000):
            file.write(to_json(done) + "\n")
        file.write(to_json(Progress(9, 9, "last")) + "\n")
    events = Tail(path).new()
    assert 0 < len(events) < 2_000
    assert events[-1] == Progress(9, 9, "last")


@pytest.mark.parametrize(
    ("changed", "word", "resumable"),
    [
        ({}, "done", False),
        ({"state": "interrupted", "cause": None, "done": 137}, "interrupted at 137 of 200", True),
        ({"cause": "stopped", "done": 12, "missing": 1}, "stopped at 13 of 200", True),
        ({"cause": "incomplete", "done": 198, "missing": 2}, "done, 2 missing", True),
        ({"state": "running", "cause": None, "done": 5}, "running, 5 of 200", False),
        ({"state": "paused", "cause": None, "done": 5}, "paused at 5 of 200", False),
        ({"state": "started", "cause": None, "done": 0, "pid": None}, "not started", True),
        ({"cause": "failed", "done": 0}, "failed", True),
    ],
)
def test_a_state_is_said_in_words(changed: dict[str, object], word: str, resumable: bool) -> None:
    run = stored_run(**changed)
    assert state_of(run)[0] == word
    assert can_resume(run) is resumable
