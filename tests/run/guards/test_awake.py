"""Sleep is held off. A stand-in takes systemd-inhibit's place: there is no login manager in a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from mince_gui.run.guards import awake as module
from mince_gui.run.guards.awake import _held_by_windows, awake

linux = pytest.mark.skipif(sys.platform != "linux", reason="systemd-inhibit is of Linux")

# Records its process id and words, then becomes the command, as systemd-inhibit waits for it.
_RECORDING = """#!/bin/sh
echo "$$ $*" > "$(dirname "$0")/asked"
echo "a warning"
for command; do :; done
exec "$command"
"""


@pytest.fixture
def inhibit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in, first on PATH."""
    script = tmp_path / "tools" / "systemd-inhibit"
    script.parent.mkdir()
    script.write_text(_RECORDING, encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    return script


def _asked(inhibit: Path) -> tuple[int, str]:
    pid, _, words = (inhibit.parent / "asked").read_text(encoding="utf-8").partition(" ")
    return int(pid), words


@linux
def test_sleep_is_held_off_while_inside_and_no_longer(inhibit: Path) -> None:
    with awake() as words:
        pid, asked = _asked(inhibit)
        assert words == "held off by systemd-inhibit"
        assert "--what=sleep:idle" in asked
        assert "--mode=block" in asked
        assert psutil.pid_exists(pid)
    assert not psutil.pid_exists(pid)


@linux
def test_a_failure_inside_lets_the_machine_sleep_again(inhibit: Path) -> None:
    with pytest.raises(KeyError), awake():
        raise KeyError
    assert not psutil.pid_exists(_asked(inhibit)[0])


@linux
def test_a_killed_runner_leaves_nothing_behind(inhibit: Path) -> None:
    source = "from mince_gui.run.guards.awake import awake\nwith awake() as words: print(words, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "held off by systemd-inhibit\n"
        holding = psutil.Process(_asked(inhibit)[0])
        runner.kill()
    psutil.wait_procs([holding], timeout=30)
    assert not holding.is_running()


@linux
def test_a_refusal_is_told_in_its_own_words(inhibit: Path) -> None:
    inhibit.write_text("#!/bin/sh\necho 'Failed to connect to bus: nobody there' >&2\nexit 1\n", encoding="utf-8")
    with awake() as words:
        assert words == "not held off: systemd-inhibit refused: Failed to connect to bus: nobody there"


@linux
def test_a_silent_refusal_is_told(inhibit: Path) -> None:
    inhibit.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    with awake() as words:
        assert words == "not held off: systemd-inhibit refused"


@linux
def test_one_that_never_answers_is_waited_for_a_little_and_ended(
    inhibit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(module, "_LEAVE_SECONDS", 0.2)
    inhibit.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do :; done\n", encoding="utf-8")
    with awake() as words:
        assert words == "not held off: systemd-inhibit did not answer within 0 s"


@linux
def test_a_program_that_cannot_be_started_is_told(inhibit: Path) -> None:
    inhibit.write_bytes(b"\0no program")
    with awake() as words:
        assert words.startswith("not held off: systemd-inhibit could not be started")


@linux
def test_its_absence_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with awake() as words:
        assert words == "not held off: systemd-inhibit is not there"


def test_windows_is_asked_once_and_told_when_it_is_over() -> None:
    """SetThreadExecutionState is a stand-in: what it is given is in winbase.h."""
    states: list[int] = []

    def set_state(state: int) -> int:
        states.append(state)
        return 0x80000000

    with _held_by_windows(set_state) as words:
        assert words == "held off by Windows"
        assert states == [0x80000001]
    assert states == [0x80000001, 0x80000000]


def test_a_refusal_of_windows_is_told() -> None:
    """SetThreadExecutionState is a stand-in: it answers 0 where it fails."""
    with _held_by_windows(lambda _: 0) as words:
        assert words == "not held off: Windows refused"
