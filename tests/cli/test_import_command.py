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
    assert "alpha · tiny: 2 runs. Each is stored; sizing takes the newest whole one." in out
    assert "photo.jpg" in out
    assert stored(capsys) == []
    assert main(["import", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.index("the folder's name is taken") < out.index("60/60")
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
