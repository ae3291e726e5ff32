from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mince_gui.cli import main

STAMPS = ("2026-01-01T00-00-00.000001", "2026-02-01T10-20-30.000001")


def write(folder: Path, model: str, stamp: str = STAMPS[0], text: str = "item") -> Path:
    target = folder / model
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"samples_tiny_{stamp}.jsonl"
    right = len(stamp + model)
    lines = [
        {"doc_id": i, "doc": {"q": f"{text} {i}"}, "filter": "none", "metrics": ["acc"], "acc": float(i < right)}
        for i in range(60)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines), encoding="utf-8")
    return path


def stored(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["logs", "--json"]) == 0
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return listed


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    """As if somebody sat there and answered; gives the questions."""
    asked: list[str] = []

    def confirm(text: str, default: bool) -> bool:
        asked.append(text)
        return default if not answer else answer == "y"

    monkeypatch.setattr("mince_gui.cli.import_logs.sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("mince_gui.cli.import_logs.sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("click.confirm", confirm)
    return asked


def test_what_was_found_is_shown_before_it_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "alpha")
    write(tmp_path, "alpha", STAMPS[1])
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    assert main(["import", str(tmp_path), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "2026-02-01 10:20:30" in out
    assert "lm-eval samples" in out
    assert "the folder's name is taken" in out
    assert "alpha · tiny: 2 runs. Each is stored; sizing takes the newest that is whole." in out
    assert "photo.jpg" in out
    assert stored(capsys) == []
    assert main(["import", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.index("the folder's name is taken") < out.index("60/?")
    assert "the workspace has 2 runs of it now. None was replaced" in out
    assert len(stored(capsys)) == 2


def test_dry_run_as_json_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "alpha")
    assert main(["import", str(tmp_path), "--dry-run", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert (found["model"], found["benchmark"], found["timestamp"], found["files"]) == ("alpha", "tiny", STAMPS[0], 1)
    assert found["source"] == str(path)


@pytest.mark.parametrize(("answer", "code", "count"), [("y", 0, 1), ("", 0, 1), ("n", 1, 0)])
def test_on_a_terminal_nothing_is_stored_before_a_yes(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    count: int,
) -> None:
    write(tmp_path, "alpha")
    asked = on_a_terminal(monkeypatch, answer)
    assert main(["import", str(tmp_path)]) == code
    assert asked == ["Import it?"]
    assert len(stored(capsys)) == count


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_who_says_yes_or_is_a_program_is_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    write(tmp_path, "alpha")
    asked = on_a_terminal(monkeypatch, "n")
    assert main(["import", str(tmp_path), option]) == 0
    assert asked == []
    assert len(stored(capsys)) == 1


def test_a_broken_log_ends_with_3_and_salvage_takes_what_is_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "alpha")
    path.write_bytes(path.read_bytes()[:-10])
    assert main(["import", str(tmp_path)]) == 3
    assert "--salvage" in capsys.readouterr().err
    assert main(["import", str(tmp_path), "--salvage"]) == 0
    assert "Only what is whole was read" in capsys.readouterr().out
    assert [log["items"] for log in stored(capsys)] == [59]


def test_an_archive_in_another_encoding_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "logs", "alpha", text="caf\u00e9")
    path.write_bytes(path.read_bytes().decode("utf-8").encode("cp1252"))
    made = shutil.make_archive(str(tmp_path / "all"), "xztar", tmp_path / "logs")
    assert main(["import", made]) == 3
    err = capsys.readouterr().err
    assert f"{made}/alpha/{path.name}, line 1: not UTF-8 text" in err
    assert "--encoding cp1252" in err
    assert main(["import", made, "--encoding", "cp1252"]) == 0
    assert main(["import", made, "--encoding", "klingon"]) == 2


def subjects_at(folder: Path, stamp: str, numbers: range) -> None:
    """A run of lm-eval of these subjects of a group of three, of two items each."""
    names = [f"group_{i}" for i in range(3)]
    folder.mkdir(parents=True, exist_ok=True)
    for name in (names[i] for i in numbers):
        lines = [
            {"doc_id": i, "doc": {"q": f"{name} {i}"}, "filter": "none", "metrics": ["acc"], "acc": float(i)}
            for i in range(2)
        ]
        path = folder / f"samples_{name}_{stamp}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    body = {
        "model_name": "m", "group_subtasks": {"group": names}, "groups": {"group": {"acc,none": 0.5}},
        "n-samples": {name: {"original": 2, "effective": 2} for name in names},
    }  # fmt: skip
    (folder / f"results_{stamp}.json").write_text(json.dumps(body), encoding="utf-8")


def test_runs_that_are_whole_only_together_are_said_to_be_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subjects_at(tmp_path / "logs", STAMPS[0], range(2))
    subjects_at(tmp_path / "logs", STAMPS[1], range(2, 3))
    assert main(["import", str(tmp_path / "logs")]) == 0
    out = capsys.readouterr().out
    assert "none is whole, but together they have all 6 items: put their samples files into one folder" in out
    assert "newest whole" not in out
    for path in (tmp_path / "logs").glob(f"*{STAMPS[1]}*"):
        path.rename(path.with_name(path.name.replace(STAMPS[1], STAMPS[0])))
    assert main(["import", str(tmp_path / "logs")]) == 0
    out = capsys.readouterr().out
    assert "6/6" in out
    assert "sizing takes the newest whole one" in out


def test_runs_of_which_none_is_whole_are_not_said_to_be_sized(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for stamp in STAMPS:
        subjects_at(tmp_path / "logs", stamp, range(2))
    assert main(["import", str(tmp_path / "logs")]) == 0
    assert "none is whole, so sizing takes none of them." in capsys.readouterr().out


def test_as_json_a_refusal_of_all_is_an_object_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "alpha")
    path.write_bytes(b'{"doc_id": 0}\n')
    assert main(["import", str(tmp_path), "--json"]) == 3
    told = capsys.readouterr()
    body = json.loads(told.out)
    assert body["imported"] == []
    assert [refused["source"] for refused in body["refused"]] == [str(path)]
    assert "Everything was refused" in told.err


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_where_there_is_no_log_a_trial_ends_as_the_import_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8")
    assert main(["import", str(tmp_path), *options]) == 3
    err = capsys.readouterr().err
    assert "photo.jpg" in err
    assert all(name in err for name in ("lm-eval", "lighteval", "inspect_ai", "HELM", "OpenCompass", "EvalScope"))
    assert main(["import", str(tmp_path), *options, "--json"]) == 3
    assert [skipped["path"] for skipped in json.loads(capsys.readouterr().out)["skipped"]] == [
        str(tmp_path / "photo.jpg")
    ]


def test_the_help_names_the_formats_and_the_form_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--help"]) == 0
    out = capsys.readouterr().out
    for name in ("lm-eval", "lighteval", "inspect_ai", "HELM", "OpenCompass", "EvalScope", "item_key", "BENCHMARK[__"):
        assert name in out


def test_logs_are_excluded_and_included(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "alpha")
    write(tmp_path, "beta")
    assert main(["import", str(tmp_path)]) == 0
    numbers = {log["model"]: log["log_id"] for log in stored(capsys)}
    assert main(["logs", "--exclude", "alpha", "--exclude", str(numbers["beta"])]) == 0
    assert capsys.readouterr().out.count("(excluded)") == 2
    assert main(["logs", "--include", "beta"]) == 0
    assert [log["excluded"] for log in stored(capsys)] == [True, False]
    assert main(["logs", "--exclude", "gamma"]) == 2
