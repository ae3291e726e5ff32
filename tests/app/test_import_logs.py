from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mince_gui.app.import_logs import import_logs, look, set_excluded
from mince_gui.app.listings import list_logs, list_subsets
from mince_gui.base.cancel import CancelToken
from mince_gui.base.errors import CancelledError, InputError, UsageError
from mince_gui.base.events import Ended, Event, Progress, Started, Warned
from mince_gui.logs import build_matrix
from mince_gui.store import Workspace
from mince_gui.store import logs as stored_logs
from mince_gui.subset.drawing import draw_uniform

STAMPS = ("2026-01-01T00-00-00.000001", "2026-02-01T00-00-00.000001")


def rows(count: int, right: int) -> list[dict[str, Any]]:
    return [
        {"doc_id": i, "doc": {"q": f"item {i}"}, "filter": "none", "metrics": ["acc"], "acc": float(i < right)}
        for i in range(count)
    ]


def write(folder: Path, model: str, content: list[dict[str, Any]], stamp: str = STAMPS[0], task: str = "tiny") -> Path:
    target = folder / model
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"samples_{task}_{stamp}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return path


def artifact(path: Path, **change: Any) -> Path:
    """A frozen artifact as amd-quark writes it, of GSM8K."""
    indices = [int(i) for i in draw_uniform(1_319, 50, 42)]
    body = {
        "benchmark": "gsm8k", "models": ["m1", "m2"], "n": 50, "total_items": 1_319, "reduction_pct": 96.2, "seed": 42,
        "strategy": "random", "generated": "2026-01-01T00:00:00", "lm_eval_version": "0.4.9", "indices": indices,
        "items": [{"doc_id": i, "question": "..."} for i in indices], "drift": {}, **change,
    }  # fmt: skip
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def test_a_later_run_is_stored_beside_the_earlier_one(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    write(tmp_path / "logs", "m", rows(30, 10))
    first = import_logs(workspace, look([tmp_path / "logs"]))
    assert [log.others for log in first.imported] == [0]
    write(tmp_path / "logs", "m", rows(30, 20), STAMPS[1])
    second = import_logs(workspace, look([tmp_path / "logs"]))
    assert [(log.timestamp, log.new, log.others) for log in second.imported] == [
        (STAMPS[0], False, 1),
        (STAMPS[1], True, 1),
    ]
    assert [log.timestamp for log in list_logs(workspace)] == list(reversed(STAMPS))


def test_the_items_are_those_of_the_whole_benchmark_as_far_as_the_run_says(tmp_path: Path) -> None:
    path = write(tmp_path / "logs", "said", rows(50, 10))
    results = {
        "model_name": "said",
        "n-samples": {"tiny": {"original": 1_000, "effective": 50}},
        "config": {"limit": 50},
    }
    (path.parent / f"results_{STAMPS[0]}.json").write_text(json.dumps(results), encoding="utf-8")
    write(tmp_path / "logs", "unsaid", rows(50, 20))
    summary = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    expected = [("said", 50, 1_000), ("unsaid", 50, None)]
    assert [(log.model, log.items, log.total_items) for log in summary.imported] == expected
    assert [(log.model, log.items, log.total_items) for log in list_logs(tmp_path / "ws")] == expected


def test_a_given_name_is_made_fit_to_be_stored_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "logs", "m", rows(30, 10))
    summary = import_logs(tmp_path / "ws", look([tmp_path / "logs"]), model=" my\nown \x1b[31mname ")
    assert [log.model for log in summary.imported] == ["my own [31mname"]
    for name in ("", " \n", "\x1b"):
        with pytest.raises(UsageError, match="it is empty"):
            import_logs(tmp_path / "ws", look([tmp_path / "logs"]), model=name)


def test_how_many_of_the_runs_are_whole_is_said(tmp_path: Path) -> None:
    cut = {"model_name": "m", "config": {"limit": 30}}
    for stamp in STAMPS:
        path = write(tmp_path / "logs", "m", rows(30, 10), stamp)
        (path.parent / f"results_{stamp}.json").write_text(json.dumps(cut), encoding="utf-8")
    first = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.others, log.whole, log.together) for log in first.imported] == [(1, 0, False)] * 2
    write(tmp_path / "logs", "m", rows(60, 10), "2026-03-01T00-00-00.000001")
    second = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.others, log.whole, log.together) for log in second.imported] == [(2, 1, False)] * 3


def test_a_results_file_that_comes_later_makes_the_stored_log_partial(tmp_path: Path) -> None:
    path = write(tmp_path / "logs", "m", rows(50, 10))
    first = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.new, log.checks) for log in first.imported] == [(True, ())]
    results = path.parent / f"results_{STAMPS[0]}.json"
    body = {"model_name": "m", "config": {"limit": 50}, "n-samples": {"tiny": {"original": 1_000, "effective": 50}}}
    results.write_text(json.dumps(body), encoding="utf-8")
    second = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.new, log.updated) for log in second.imported] == [(False, True)]
    (stored,) = list_logs(tmp_path / "ws")
    assert stored.checks == second.imported[0].checks
    assert [(check.kind, check.severity) for check in stored.checks] == [("partial", "refusal")]
    with Workspace(tmp_path / "ws") as ws, pytest.raises(InputError):
        build_matrix(stored_logs.benchmark_of("tiny"), stored_logs.pool(ws, "tiny"))

    results.unlink()
    third = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.updated, log.checks) for log in third.imported] == [(False, stored.checks)]
    assert list_logs(tmp_path / "ws") == [stored]


def test_content_read_in_a_wrong_encoding_is_mended_by_the_next_import(tmp_path: Path) -> None:
    content = rows(30, 10)
    for row in content:
        row["doc"]["q"] += " \u00e9"
    path = write(tmp_path / "logs", "m", content)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content), encoding="utf-8")
    import_logs(tmp_path / "ws", look([tmp_path / "logs"], encoding="cp1252"))
    again = import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    assert [(log.new, log.updated) for log in again.imported] == [(False, True)]
    import_logs(tmp_path / "other", look([tmp_path / "logs"]))
    with Workspace(tmp_path / "ws") as ws, Workspace(tmp_path / "other") as other:
        assert stored_logs.content_hashes(ws, "tiny") == stored_logs.content_hashes(other, "tiny")


def test_an_archive_is_stored_under_its_own_place(tmp_path: Path) -> None:
    write(tmp_path / "logs", "m", rows(30, 10))
    made = Path(shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "logs"))
    with look([made]) as seen:
        import_logs(tmp_path / "ws", seen)
    (log,) = list_logs(tmp_path / "ws")
    assert log.source == f"{made}/m/samples_tiny_{STAMPS[0]}.jsonl"


def test_a_broken_log_is_refused_with_the_way_out_and_salvaged_if_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "logs", "m", rows(30, 10))
    path.write_bytes(path.read_bytes()[:-20])
    write(tmp_path / "logs", "n", rows(30, 10))
    events: list[Event] = []
    summary = import_logs(tmp_path / "ws", look([tmp_path / "logs"]), emit=events.append)
    assert [log.model for log in summary.imported] == ["n"]
    ((_, why),) = summary.refused
    assert f"{path}, line 30" in why
    assert "--salvage" in why
    assert any(isinstance(event, Warned) for event in events)
    summary = import_logs(tmp_path / "ws", look([tmp_path / "logs"], salvage=True), salvage=True)
    assert [(log.model, log.items) for log in summary.imported] == [("m", 29), ("n", 30)]


def test_looking_and_importing_are_streams_that_end_once_and_count_up(tmp_path: Path) -> None:
    for model in "abc":
        write(tmp_path / "logs", model, rows(2_000, 10))
    made = Path(shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path / "logs"))
    events: list[Event] = []
    with look([made], emit=events.append) as seen:
        import_logs(tmp_path / "ws", seen, emit=events.append)
    assert [type(event) for event in events if isinstance(event, Started | Ended)] == [Started, Ended] * 2
    done = [event.done for event in events[2:] if isinstance(event, Progress) and event.total is not None]
    assert done == sorted(done)
    last = [event for event in events if isinstance(event, Progress)][-1]
    assert last.done == last.total


def test_cancel_keeps_what_was_stored_and_stops(tmp_path: Path) -> None:
    for model in "ab":
        write(tmp_path / "logs", model, rows(2_000, 10))
    cancel = CancelToken()

    def stop(event: Event) -> None:
        if isinstance(event, Progress) and "b" in event.note:
            cancel.cancel()

    with pytest.raises(CancelledError):
        import_logs(tmp_path / "ws", look([tmp_path / "logs"]), emit=stop, cancel=cancel)
    assert [log.model for log in list_logs(tmp_path / "ws")] == ["a"]
    with pytest.raises(CancelledError):
        look([tmp_path / "logs"], cancel=cancel)


def test_an_artifact_of_amd_quark_becomes_a_subset_with_the_hashes_that_are_known(tmp_path: Path) -> None:
    content = [
        {"doc_id": i, "doc": {"question": f"q{i}", "answer": "#### 1"}, "filter": "flexible-extract",
         "metrics": ["exact_match"], "exact_match": float(i % 3 == 0)}
        for i in range(1_319)
    ]  # fmt: skip
    write(tmp_path / "logs", "m", content, task="gsm8k")
    path = artifact(tmp_path / "logs" / "frozen.json")
    seen = look([tmp_path / "logs"])
    assert (seen.artifacts, seen.skipped) == ((path,), ())
    summary = import_logs(tmp_path / "ws", seen)
    (taken,) = summary.subsets
    assert (taken.benchmark, taken.n, taken.new, taken.source) == ("gsm8k", 50, True, str(path))
    (stored,), _ = list_subsets(tmp_path / "ws")
    assert stored.subset.name == taken.name
    assert None not in stored.subset.hashes
    again = import_logs(tmp_path / "ws", look([path]))
    assert [subset.new for subset in again.subsets] == [False]


def test_an_artifact_inside_an_archive_is_named_by_its_place(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    artifact(tmp_path / "in" / "frozen.json")
    made = Path(shutil.make_archive(str(tmp_path / "all"), "gztar", tmp_path / "in"))
    with look([made]) as seen:
        summary = import_logs(tmp_path / "ws", seen)
    assert [subset.source for subset in summary.subsets] == [f"{made}/frozen.json"]


def test_an_artifact_that_was_tampered_with_is_refused_by_name(tmp_path: Path) -> None:
    path = artifact(tmp_path / "frozen.json", seed=43)
    with pytest.raises(InputError, match="Everything was refused") as caught:
        import_logs(tmp_path / "ws", look([path]))
    assert str(path) in caught.value.message


def test_logs_are_excluded_by_number_or_by_model_and_taken_in_again(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    for model in ("a", "b"):
        for stamp in STAMPS:
            write(tmp_path / "logs", model, rows(30, len(model) + len(stamp)), stamp)
    import_logs(workspace, look([tmp_path / "logs"]))
    number = next(log.log_id for log in list_logs(workspace) if log.model == "b")
    changed = set_excluded(workspace, ["a", str(number)], True)
    assert sorted(log.model for log in changed) == ["a", "a", "b"]
    assert all(log.excluded for log in changed)
    with Workspace(workspace) as ws:
        assert [log.model for log in stored_logs.pool(ws, "tiny")] == ["b"]
    set_excluded(workspace, ["a"], False)
    assert sum(log.excluded for log in list_logs(workspace)) == 1


def test_nothing_is_excluded_where_one_name_is_wrong(tmp_path: Path) -> None:
    write(tmp_path / "logs", "a", rows(30, 10))
    import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    with pytest.raises(UsageError, match="no log 'nope'"):
        set_excluded(tmp_path / "ws", ["a", "nope"], True)
    assert not any(log.excluded for log in list_logs(tmp_path / "ws"))


def test_an_encoding_that_is_none_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    write(tmp_path / "logs", "a", rows(3, 1))
    with pytest.raises(UsageError, match="no text encoding 'cp99'"):
        look([tmp_path], encoding="cp99")


def test_the_logs_of_a_group_are_sized_from_the_workspace(tmp_path: Path) -> None:
    names = ["bbh_navigate", "bbh_snarks"]
    results = {
        "model_name": "m", "results": {"bbh": {"acc,none": 0.5}}, "groups": {"bbh": {"acc,none": 0.5}},
        "group_subtasks": {"bbh": names, **{name: [] for name in names}},
    }  # fmt: skip
    for k, model in enumerate("abc"):
        folder = tmp_path / "logs" / model
        for name in names:
            write(tmp_path / "logs", model, rows(300, 100 + 40 * k), task=name)
        body = json.dumps(results | {"model_name": model})
        (folder / f"results_{STAMPS[0]}.json").write_text(body, encoding="utf-8")
    import_logs(tmp_path / "ws", look([tmp_path / "logs"]))
    with Workspace(tmp_path / "ws") as ws:
        matrix = build_matrix(stored_logs.benchmark_of("bbh"), stored_logs.pool(ws, "bbh"))
    assert matrix.models == ("a", "b", "c")
    assert matrix.total_items == 600
    assert set(matrix.categories) == set(names)
